// One send of the external transport to a tool that answers as a test says.
import { after } from 'node:test'
import type { DialectName } from '../../src/contract/call.ts'
import { createDialects } from '../../src/contract/dialect/registry.ts'
import { createNetwork } from '../../src/egress/network.ts'
import type { ResolvedOperation } from '../../src/resource/resolved-tool.ts'
import { createExternalTransport } from '../../src/transport/external.ts'
import type { Refusal, Reply, Send } from '../../src/transport/transport.ts'
import { createSystemWorld } from '../../src/util/clock.ts'
import type { Json, JsonObject } from '../../src/util/json.ts'
import { makeOperation, makeSend, makeSink, makeTool } from './send-fixture.ts'
import { listenHttp, type Received, type Respond, sendJson } from './tool-peer.ts'
import { refusal } from './transport-contract.ts'

const network = createNetwork()
const dialects = createDialects()
export const external = createExternalTransport({ world: createSystemWorld({ network }), dialects })
after(() => network.destroy())

export const UUID = '3f333df6-90a4-4fda-8dd3-9485d27cee36'

export async function attempt(
  respond: Respond,
  options: { contract?: DialectName; operation?: Partial<ResolvedOperation>; send?: Partial<Send> } = {},
): Promise<{ reply: Reply; request: Received }> {
  const peer = await listenHttp(respond)
  try {
    const tool = makeTool(
      { type: 'external', endpoint: peer.origin, contract: options.contract ?? 'v1' },
      makeOperation(options.operation),
    )
    const reply = await external.attempt(makeSend(tool, { city: 'Brno' }, options.send), makeSink())
    return { reply, request: peer.received[0] as Received }
  } finally {
    await peer.close()
  }
}

export const answer =
  (value: Json, status = 200): Respond =>
  (_request, response) =>
    sendJson(response, value, status)

export const failure = (error: JsonObject, rest: JsonObject = {}): Respond =>
  answer({
    request_id: 'req-1',
    status: 'error',
    error: { reason: 'tool_backend_failure', retryable: false, message: 'it says', details: {}, ...error },
    ...rest,
  })

export async function refused(
  respond: Respond,
  options: Parameters<typeof attempt>[1] = {},
): Promise<Refusal> {
  return refusal((await attempt(respond, options)).reply)
}

export function fourOutcome(rest: JsonObject): Respond {
  return answer({
    call_id: UUID,
    metrics: { duration_ms: 1 },
    provenance: { tool_id: 'probe', tool_version: '1.0.0' },
    ...rest,
  })
}
