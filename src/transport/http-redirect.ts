// Whether a redirect is followed, and where to. Each one is a send of its own (S25), so none is followed that the tool
// does not declare, and each is held to the egress rules as the first address was.
import { isReadOnly } from '../contract/effect.ts'
import { isRepeatHarmless } from '../contract/projection.ts'
import { endpointUrl, outsideEgress } from '../resource/egress-rule.ts'
import { type Endpoint, endpointAt } from './endpoint.ts'
import { type Exchange, headerText } from './http-exchange.ts'
import { isDefiniteStatus } from './http-status.ts'
import type { Refusal, Send } from './transport.ts'

/** One request on the way. */
export interface Hop extends Endpoint {
  readonly method: string
  readonly body: string | null
}

export type Next =
  | { readonly kind: 'hop'; readonly hop: Hop }
  | { readonly kind: 'refused'; readonly refusal: Refusal }

const SAME_REQUEST: ReadonlySet<number> = new Set([307, 308])
const MAY_BECOME_GET: ReadonlySet<number> = new Set([301, 302, 303])

/** undefined: the answer stands as it is. `trail` is every request so far, the last one included. */
export function nextHop(
  answered: Extract<Exchange, { kind: 'answered' }>,
  trail: readonly Hop[],
  send: Send,
): Next | undefined {
  const { status } = answered
  const last = trail.at(-1)
  const most = send.tool.http?.maxRedirects ?? 0
  if (last === undefined || most === 0 || answered.flaw !== undefined) return undefined
  const location = headerText(answered.headers, 'location')
  if (location === undefined || !follows(status, last.method, send)) return undefined
  const url = URL.parse(location, last.url.href)
  const refuse = (why: string, denied = false): Next => ({
    kind: 'refused',
    refusal: redirectRefusal(status, why, denied, send),
  })
  if (url === null || !/^https?:$/.test(url.protocol)) return refuse('leads to no http or https address')
  if (url.username !== '' || url.password !== '') return refuse('leads to an address with a user name', true)
  if (last.url.protocol === 'https:' && url.protocol === 'http:')
    return refuse(`leads to ${url.origin}, away from TLS`, true)
  const own = endpointUrl(send.tool.type, send.tool.endpoint) ?? last.url
  const outside = outsideEgress({ ...send.tool, own }, url, send.constraints?.netAllowlist)
  if (outside !== undefined) return refuse(`leads to ${url.origin}, which ${outside}`, true)
  url.hash = ''
  const { method, body } = last
  if (trail.some((hop) => hop.url.href === url.href && hop.method === method))
    return refuse('leads back to where it came from: they go in a circle')
  if (trail.length > most) return refuse(`is one more than the ${most} that spec.http.max_redirects allows`)
  return { kind: 'hop', hop: { ...endpointAt(url), method, body } }
}

/** 301 to 303 change what a request means, unless it only reads. A write is sent on as it is, or not at all. */
function follows(status: number, method: string, { operation }: Send): boolean {
  if (SAME_REQUEST.has(status)) return true
  return MAY_BECOME_GET.has(status) && method === 'GET' && isRepeatHarmless(operation.effect)
}

function redirectRefusal(status: number, why: string, denied: boolean, { operation }: Send): Refusal {
  return {
    kind: 'failure',
    // "Denied" says that nothing happened. Of a write that was sent and answered so, nobody knows that (S23).
    failure: denied && isReadOnly(operation.effect) ? 'egress-denied' : 'upstream-rejected',
    message: `the tool answered HTTP ${status}, a redirect that ${why}`,
    details: { http_status: status, upstream_status: status, path: 'spec.http.max_redirects' },
    definite: isDefiniteStatus(status, operation),
  }
}
