// A request to a tool, to its endpoint or to the address of a named operation: what the transports over HTTP share.
// Ends in an answer of the tool or in a refusal.
import { isReadOnly } from '../contract/effect.ts'
import { isRepeatHarmless } from '../contract/projection.ts'
import { endpointUrl, outsideEgress } from '../resource/egress-rule.ts'
import type { ResolvedOperation, ResolvedTool } from '../resource/resolved-tool.ts'
import { abortRefusal } from './abort-refusal.ts'
import {
  type Endpoint,
  type EndpointResult,
  endpointAt,
  type RequestResult,
  readEndpoint,
  readRequest,
  refuse,
} from './endpoint.ts'
import { type Exchange, exchange } from './http-exchange.ts'
import { type Hop, nextHop } from './http-redirect.ts'
import { blockedRefusal, brokenRefusal } from './http-status.ts'
import { traceparent } from './traceparent.ts'
import type { AttemptSink, Refusal, Send, TransportOptions } from './transport.ts'

export type Answered = Extract<Exchange, { kind: 'answered' }>

export interface PostBody {
  /** null sends no body. */
  readonly text: string | null
  readonly contentType: string
  /** Further headers, names and values in turn. */
  readonly headers?: readonly string[]
  /** A segment below the endpoint, which is then only asked, with GET: such a request has no effect. */
  readonly below?: string
  /** @default 'POST'; a named operation has its own */
  readonly method?: string
  /** Put behind the query of the endpoint. */
  readonly query?: string
}

type Post = (send: Send, sink: AttemptSink, body: PostBody) => Promise<Answered | Refusal>

/** The header that carries the key where the tool declares no other. */
const KEY_HEADER = 'idempotency-key'

export function createPost(options: TransportOptions): Post {
  const { network } = options.world
  const always = [
    'accept',
    'application/json, text/plain;q=0.9, */*;q=0.1',
    'accept-encoding',
    'gzip, br',
    'user-agent',
    options.userAgent ?? 'writ',
  ]
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
    const { operation } = send
    const result = placeOf(send)
    if (!result.ok) return result.refusal
    const { origin } = result.endpoint
    const asking = body.below !== undefined
    const first: Hop = {
      ...placeFor(body, result.endpoint),
      method: asking ? 'GET' : (operation.request?.method ?? body.method ?? 'POST'),
      body: body.text,
    }
    const refused = refusedNow(send, first)
    if (refused !== undefined) return refused

    const trail: Hop[] = []
    let hop: Hop | undefined = first
    let came: Exchange | undefined
    let crossed = false
    while (hop !== undefined) {
      trail.push(hop)
      crossed ||= hop.origin !== origin
      came = await exchangeHop(hop, headersOf(send, body, crossed), send, sink, asking, trail.length > 1)
      const next = came.kind === 'answered' ? nextHop(came, trail, send) : undefined
      if (next?.kind === 'refused') return next.refusal
      hop = next?.hop
    }
    if (came?.kind === 'answered') return came
    return notAnswered(came, trail, send)
  }

  function headersOf(send: Send, body: PostBody, crossed: boolean): string[] {
    const own = [
      ...always,
      send.operation.effect.keyed?.header ?? KEY_HEADER,
      send.key,
      'writ-attempt',
      String(send.attempt),
      'traceparent',
      traceparent(send.trace),
    ]
    if (body.text !== null) own.push('content-type', body.contentType)
    // A credential is for the place that it was declared for, and for no other that a redirect leads to.
    const shown = crossed ? [] : (send.credentials?.headers ?? [])
    const headers = shown.length === 0 ? own : replacedBy(shown, own)
    if (body.headers !== undefined) headers.push(...body.headers)
    return headers
  }

  async function exchangeHop(
    { origin, path, method, body }: Hop,
    headers: string[],
    send: Send,
    sink: AttemptSink,
    asking: boolean,
    again: boolean,
  ): Promise<Exchange> {
    const { tool, operation } = send
    const request = {
      origin,
      path,
      method,
      headers,
      body,
      maxBytes: tool.limits.outputBytes,
      repeatHarmless: asking || isRepeatHarmless(operation.effect),
      reach: tool.reach,
    }
    try {
      return await exchange(network, request, send.abort, sink)
    } catch (error) {
      // The sink lets nothing more be sent. That is no word on what was sent before a redirect.
      if (!again) throw error
      return { kind: 'broken', sent: false, code: 'NOT_SENT_ON' }
    }
  }
}

/** `own` without the headers that are shown in their place, and those. */
function replacedBy(shown: readonly (readonly [string, string])[], own: readonly string[]): string[] {
  const replaced = new Set(shown.map(([name]) => name))
  const isKept = (index: number) => !replaced.has((own[index - (index % 2)] ?? '').toLowerCase())
  return [...own.filter((_, index) => isKept(index)), ...shown.flat()]
}

/** What stands against this send, though the tool may be called in general. */
function refusedNow(send: Send, { url }: Hop): Refusal | undefined {
  const { tool, constraints } = send
  if (tool.auth !== undefined && send.credentials === undefined) {
    const why = `nothing is sent without the declared credential (profile ${tool.auth.profile})`
    return refuse('secret-missing', 'spec.auth', why).refusal
  }
  if (constraints?.netAllowlist === undefined) return undefined
  const own = endpointUrl(tool.type, tool.endpoint) ?? url
  const outside = outsideEgress({ ...tool, own }, url, constraints.netAllowlist)
  if (outside === undefined) return undefined
  return refuse('egress-denied', '/constraints/net_allowlist', `${url.origin} ${outside}`).refusal
}

/** After a redirect something was sent, whatever became of the request that followed it. */
function notAnswered(
  came: Exclude<Exchange, { kind: 'answered' }> | undefined,
  trail: readonly Hop[],
  send: Send,
): Refusal {
  const again = trail.length > 1
  if (came === undefined) throw new Error('a request without an exchange')
  if (came.kind === 'aborted') return abortRefusal(came.reason, came.sent || again, send)
  if (came.kind === 'broken') return again ? { ...brokenRefusal(came), definite: false } : brokenRefusal(came)
  const refusal = blockedRefusal(came, trail.at(-1)?.origin ?? '')
  if (!again) return refusal
  const failure = isReadOnly(send.operation.effect) ? 'egress-denied' : 'upstream-rejected'
  return { ...refusal, failure, definite: false }
}

/** The address itself, or one below it or with a query: most requests are to the address itself. */
function placeFor({ below, query }: PostBody, endpoint: Endpoint): Endpoint {
  if (below === undefined && (query === undefined || query === '')) return endpoint
  const path = below === undefined ? endpoint.path : pathBelow(endpoint.path, below)
  return endpointAt(new URL(endpoint.origin + withQuery(path, query)))
}

function withQuery(path: string, query: string | undefined): string {
  if (query === undefined || query === '') return path
  return `${path}${path.includes('?') ? '&' : '?'}${query}`
}

/** One segment, whatever is in it; the query of the endpoint stays. */
function pathBelow(path: string, segment: string): string {
  const [base = '', query] = path.split(/\?(.*)/s, 2)
  const below = `${base.replace(/\/+$/, '')}/${encodeURIComponent(segment)}`
  return query === undefined || query === '' ? below : `${below}?${query}`
}
