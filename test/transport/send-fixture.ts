// Tools, sends and sinks for the tests of the transports.
import type { ResolvedOperation, ResolvedTool } from '../../src/resource/resolved-tool.ts'
import type { AttemptSink, Send } from '../../src/transport/transport.ts'
import { Abort } from '../../src/util/abort.ts'
import type { Json, JsonObject } from '../../src/util/json.ts'

/** S23's list, as a manifest without `refused_on` resolves to it. */
export const REFUSED_ON = [400, 401, 403, 404, 405, 406, 413, 415, 422, 429] as const

export function makeOperation(overrides: Partial<ResolvedOperation> = {}): ResolvedOperation {
  return {
    name: 'invoke',
    description: '',
    classes: ['write'],
    effect: {
      class: 'irreversible',
      determinism: 'side_effectful',
      repeat: 'never',
      keyRequired: false,
      refusedOn: REFUSED_ON,
    },
    timeoutMs: 30_000,
    retry: { maxAttempts: 1, backoffMs: 0, maxBackoffMs: 0, jitter: 'none' },
    approvalTriggers: [],
    harmlessErrors: [],
    ...overrides,
  }
}

export function makeTool(
  overrides: Partial<ResolvedTool> = {},
  operation: ResolvedOperation = makeOperation(),
): ResolvedTool {
  return {
    namespace: 'default',
    name: 'probe',
    version: '1.0.0',
    digest: 'sha256:probe',
    type: 'http',
    description: '',
    owner: '',
    contract: 'v1',
    capabilities: ['network.write'],
    riskLevel: 'low',
    dataClassification: 'internal',
    isolation: 'none',
    netAllowlist: [],
    reach: 'loopback',
    limits: { inputBytes: 1_048_576, outputBytes: 1_048_576 },
    auditStrict: false,
    auditFields: [],
    approval: { quorum: 1, ttlMs: 600_000 },
    operations: { [operation.name]: operation },
    unenforced: [],
    ...overrides,
  }
}

export function makeSend(tool: ResolvedTool, input: Json | undefined, overrides: Partial<Send> = {}): Send {
  const operation = Object.values(tool.operations)[0] as ResolvedOperation
  return {
    callId: '01890000-0000-7000-8000-000000000001',
    requestId: 'req-1',
    tool,
    operation,
    input,
    key: 'k3y_k3y-k3yk3yk3yk3yk3yk3yk3yk3yk3yk3yk3yk3',
    attempt: 1,
    namespace: 'default',
    actor: 'agent://tests',
    agent: 'tester',
    taskId: 'default/weekly',
    trace: { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' },
    timeoutMs: 5_000,
    deadlineUnixMs: 1_900_000_000_000,
    abort: new Abort(),
    ...overrides,
  }
}

export interface RecordingSink extends AttemptSink {
  /** How often `sending` was called. */
  sent: number
  readonly facts: JsonObject[]
  /** Of work that was taken on. */
  readonly handles: JsonObject[]
}

export function makeSink(onSending: () => void = () => {}): RecordingSink {
  const facts: JsonObject[] = []
  const handles: JsonObject[] = []
  return {
    sent: 0,
    facts,
    handles,
    sending() {
      this.sent++
      onSending()
    },
    accepted(handle) {
      if (this.sent === 0) throw new Error('a handle before anything was sent')
      handles.push(handle)
    },
    progress: (fact) => void facts.push(fact),
    chunk() {
      throw new Error('no transport of this build gives chunks')
    },
    late() {},
  }
}
