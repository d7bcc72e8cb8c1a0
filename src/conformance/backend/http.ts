// Plain HTTP services: one path for each operation, the input as the body, statuses for failures.
import { createOperations, type Fault } from '../operations.ts'
import { OPERATIONS } from '../tools.ts'
import { type Backend, COMMON_LIMITATIONS, manifestOf, REMOTE_ISOLATION } from './backend.ts'
import { credentialsOf, headerOf, listen, type ServiceReply, traceIdOf } from './loopback.ts'

export const httpBackend: Backend = {
  name: 'http',
  limitations: COMMON_LIMITATIONS,
  isolation: REMOTE_ISOLATION,
  hasEndpoint: true,
  givesStatus: true,
  presents: 'profiles',
  notes: Object.freeze([
    'A plain service is not told the request_id; where it answers with an envelope, a wrong one is refused and a missing one is not.',
    'A status says less than an error envelope: what a tool itself says about retrying comes through only where it answers with an envelope.',
    'Redirects are not followed.',
  ]),
  async openPeer({ world }) {
    const operations = createOperations(world)
    const service = await listen(async ({ path, headers, body, signal }): Promise<ServiceReply> => {
      const operation = OPERATIONS.find((name) => name === path)
      if (operation === undefined) return { status: 404, body: { message: `no operation '${path}'` } }
      const key = headerOf(headers, 'idempotency-key')
      const attempt = Number(headerOf(headers, 'writ-attempt'))
      const result = await operations.run({
        operation,
        input: body,
        key,
        attempt,
        signal,
        traceId: traceIdOf(headers),
        credentials: credentialsOf(headers),
      })
      return result.ok ? { status: 200, body: result.output } : refusalOf(result.fault, service.origin)
    })
    return {
      offer: (tool) => ({
        kind: 'manifest',
        manifest: manifestOf(tool, 'http', `${service.origin}/${tool.operation}`),
      }),
      sends: operations.sends,
      close: service.close,
    }
  },
}

/** A service that has something to say about retrying says it in an error envelope; the status stands beside it. */
function refusalOf(fault: Fault, origin: string): ServiceReply {
  const { code, message, status, retryable } = fault
  // A redirect that is followed shows as a send of `echo`.
  const headers = status >= 300 && status < 400 ? { location: `${origin}/echo` } : {}
  if (retryable === undefined) return { status, headers, body: { message } }
  const error = { code, reason: 'tool_backend_failure', retryable, message, details: {} }
  return { status, headers, body: { status: 'error', error } }
}
