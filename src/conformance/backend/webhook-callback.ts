// Services whose work may take long: an envelope is taken on, and its end is asked for. What they know at once they say at
// once.
import { isJsonObject, type JsonObject } from '../../util/json.ts'
import { createOperations } from '../operations.ts'
import { type Backend, COMMON_LIMITATIONS, manifestOf, REMOTE_ISOLATION } from './backend.ts'
import { answerEnvelope, operationIn } from './envelope-service.ts'
import { credentialsOf, listen } from './loopback.ts'

/** Taken on, and over when they are asked for the second time. */
const TAKEN_ON = ['echo', 'count']

export const webhookCallbackBackend: Backend = {
  name: 'webhook-callback',
  limitations: COMMON_LIMITATIONS,
  isolation: REMOTE_ISOLATION,
  hasEndpoint: true,
  givesStatus: false,
  presents: 'profiles',
  notes: Object.freeze([
    'A call whose work was taken on leaves memory: a tool is not told that it was canceled, and a failure that comes later is not sent again by itself; `retryable` says whether its caller may.',
    'A reply that is no envelope, or answers another request_id, is refused: of a write it is then not known whether it happened.',
    'Redirects are not followed.',
  ]),
  async openPeer({ world }) {
    const operations = createOperations(world)
    const works = new Map<string, { readonly end: JsonObject; asked: number }>()
    const service = await listen(async ({ path, headers, body, signal }) => {
      const work = works.get(decodeURIComponent(path))
      if (path !== '') {
        if (work === undefined) return { status: 404, body: { message: 'no such work' } }
        return work.asked++ === 0
          ? { status: 202, body: { status: 'pending' } }
          : { status: 200, body: work.end }
      }
      if (!isJsonObject(body)) return { status: 400, body: { message: 'no envelope' } }
      const end = await answerEnvelope(body, operations, { signal, credentials: credentialsOf(headers) })
      if (!TAKEN_ON.includes(operationIn(body) ?? '')) return { status: 200, body: end }
      works.set(String(body.request_id), { end, asked: 0 })
      return { status: 202, body: { status: 'pending' } }
    })
    return {
      offer: (tool) => {
        const spec = { ...tool.spec, webhook: { poll: '100ms' } }
        const manifest = manifestOf({ ...tool, spec }, 'webhook-callback', service.origin)
        return { kind: 'manifest', manifest }
      },
      sends: operations.sends,
      close: service.close,
    }
  },
}
