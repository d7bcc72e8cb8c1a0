// Services that speak the contract: an envelope in, an envelope out. Ours on loopback, or somebody's own (S54).
import { isJsonObject, type Json, type JsonObject } from '../../util/json.ts'
import { objectOf } from '../envelope.ts'
import { createOperations } from '../operations.ts'
import { OPERATIONS } from '../tools.ts'
import {
  type Backend,
  type BackendFacts,
  COMMON_LIMITATIONS,
  manifestOf,
  REMOTE_ISOLATION,
} from './backend.ts'
import { listen } from './loopback.ts'

const FACTS: Omit<BackendFacts, 'name' | 'limitations'> = {
  isolation: REMOTE_ISOLATION,
  hasEndpoint: true,
  givesStatus: false,
  notes: Object.freeze([
    'A reply that is no envelope, or answers another request_id, is refused: of a write it is then not known whether it happened.',
    'Redirects are not followed.',
  ]),
}

export const externalBackend: Backend = {
  ...FACTS,
  name: 'external',
  limitations: COMMON_LIMITATIONS,
  async openPeer({ world }) {
    const operations = createOperations(world)
    const service = await listen(async ({ body, signal }) => {
      if (!isJsonObject(body)) return { status: 400, body: { message: 'no envelope' } }
      const named = objectOf(body.tool).operation
      const operation = OPERATIONS.find((name) => name === named)
      if (operation === undefined) return { status: 200, body: unsupported(body, named) }
      const result = await operations.run({
        operation,
        input: body.input ?? null,
        key: textOf(body.idempotency_key),
        attempt: Number(body.attempt),
        traceId: textOf(objectOf(body.trace).trace_id),
        signal,
      })
      if (result.ok) return { status: 200, body: envelope(body, { status: 'ok', output: result.output }) }
      const { code, message, retryable } = result.fault
      const error = {
        code,
        reason: 'tool_backend_failure',
        retryable: retryable ?? false,
        message,
        details: {},
      }
      return { status: 200, body: envelope(body, { status: 'error', error }) }
    })
    return {
      offer: (tool) => ({ kind: 'manifest', manifest: manifestOf(tool, 'external', service.origin) }),
      sends: operations.sends,
      close: service.close,
    }
  },
}

/** A service that somebody else runs. Nothing is known of it but what it answers. */
export function createEndpointBackend(endpoint: string): Backend {
  return {
    ...FACTS,
    name: endpoint,
    limitations: {
      ...COMMON_LIMITATIONS,
      'C2.3': 'Whether the service itself stops when its caller hangs up cannot be seen from outside.',
    },
    openPeer: async () => ({
      offer: (tool) => ({ kind: 'manifest', manifest: manifestOf(tool, 'external', endpoint) }),
      sends: () => undefined,
      close: async () => {},
    }),
  }
}

function unsupported(request: JsonObject, named: Json | undefined): JsonObject {
  const message = `no operation '${String(named)}'`
  const error = {
    code: 'unsupported_tool',
    reason: 'tool_unsupported',
    retryable: false,
    message,
    details: {},
  }
  return envelope(request, { status: 'error', error })
}

function envelope(request: JsonObject, outcome: JsonObject): JsonObject {
  return {
    tool_contract_version: 'v1',
    request_id: request.request_id ?? '',
    ...outcome,
    usage: { attempt: request.attempt ?? 1, duration_ms: 0 },
    trace: request.trace ?? {},
  }
}

function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}
