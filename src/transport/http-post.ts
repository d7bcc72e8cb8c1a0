// A request to a tool, to its endpoint or to the address of a named operation: what the transports over HTTP share.
// Ends in an answer of the tool or in a refusal.
import { isRepeatHarmless } from '../contract/projection.ts'
import type { ResolvedOperation, ResolvedTool } from '../resource/resolved-tool.ts'
import { abortRefusal } from './abort-refusal.ts'
import { type EndpointResult, type RequestResult, readEndpoint, readRequest } from './endpoint.ts'
import { type Exchange, exchange } from './http-exchange.ts'
import { brokenRefusal } from './http-status.ts'
import { traceparent } from './traceparent.ts'
import type { AttemptSink, Refusal, Send, TransportOptions } from './transport.ts'

export type Answered = Extract<Exchange, { kind: 'answered' }>

export interface PostBody {
  /** null sends no body. */
  readonly text: string | null
  readonly contentType: string
  /** Further headers, names and values in turn. */
  readonly headers?: readonly string[]
}

type Post = (send: Send, sink: AttemptSink, body: PostBody) => Promise<Answered | Refusal>

/** The header that carries the key where the tool declares no other. */
const KEY_HEADER = 'idempotency-key'

export function createPost(options: TransportOptions): Post {
  const { network } = options.world
  const userAgent = options.userAgent ?? 'writ'
  // A tool is frozen and pinned, so its endpoint is read once.
  const endpoints = new WeakMap<ResolvedTool, EndpointResult>()
  const requests = new WeakMap<ResolvedOperation, RequestResult>()

  function placeOf(send: Send): EndpointResult {
    const { tool, operation } = send
    let endpoint = endpoints.get(tool)
    if (endpoint === undefined) {
      endpoint = readEndpoint(tool)
      endpoints.set(tool, endpoint)
    }
    // What stands against the endpoint, such as a credential that cannot be shown, stands against every address.
    if (!endpoint.ok || operation.request === undefined) return endpoint
    let request = requests.get(operation)
    if (request === undefined) {
      request = readRequest(tool, operation.request.url)
      requests.set(operation, request)
    }
    return request.ok ? request.fill(send.undoneKey ?? send.key, send.commitToken) : request
  }

  return async (send, sink, body) => {
    const { tool, operation } = send
    const result = placeOf(send)
    if (!result.ok) return result.refusal

    const headers = [
      'accept',
      'application/json, text/plain;q=0.9, */*;q=0.1',
      'accept-encoding',
      'gzip, br',
      operation.effect.keyed?.header ?? KEY_HEADER,
      send.key,
      'writ-attempt',
      String(send.attempt),
      'traceparent',
      traceparent(send.trace),
      'user-agent',
      userAgent,
    ]
    if (body.text !== null) headers.push('content-type', body.contentType)
    if (body.headers !== undefined) headers.push(...body.headers)

    const came = await exchange(
      network,
      {
        origin: result.endpoint.origin,
        path: result.endpoint.path,
        method: operation.request?.method ?? 'POST',
        headers,
        body: body.text,
        maxBytes: tool.limits.outputBytes,
        repeatHarmless: isRepeatHarmless(operation.effect),
      },
      send.abort,
      sink,
    )
    if (came.kind === 'answered') return came
    return came.kind === 'aborted' ? abortRefusal(came.reason, came.sent, send) : brokenRefusal(came)
  }
}
