// Where a tool is reached, checked at the attempt: a manifest may have been accepted with a warning (S33).
import { endpointUrl, outsideEgress } from '../resource/egress-rule.ts'
import type { ResolvedTool } from '../resource/resolved-tool.ts'
import type { Refusal } from './transport.ts'

export interface Endpoint {
  readonly url: URL
  readonly origin: string
  /** Path and query. */
  readonly path: string
}

export type EndpointResult =
  | { readonly ok: true; readonly endpoint: Endpoint }
  | { readonly ok: false; readonly refusal: Refusal }

/** Reads the endpoint of a tool, or says why nothing can be sent to it. */
export function readEndpoint(tool: ResolvedTool): EndpointResult {
  // `sandboxed` is the strict profile of the egress rule; there is no other boundary around what runs elsewhere.
  if (tool.isolation !== 'none' && tool.isolation !== 'sandboxed')
    return refuse(
      'isolation-unavailable',
      'spec.runtime.isolation_mode',
      `isolation ${tool.isolation} cannot be provided for a tool of type ${tool.type} here`,
    )
  if (tool.endpoint === undefined || tool.endpoint === '')
    return refuse('config-invalid', 'spec.endpoint', 'the tool has no endpoint')
  const url = endpointUrl(tool.type, tool.endpoint)
  if (url === null) return refuse('config-invalid', 'spec.endpoint', 'the endpoint is not an absolute URL')
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return refuse('config-invalid', 'spec.endpoint', 'the endpoint must start with http:// or https://')
  if (url.username !== '' || url.password !== '')
    return refuse(
      'config-invalid',
      'spec.endpoint',
      'the endpoint must not hold a user name or password: use auth',
    )
  const why = outsideEgress({ ...tool, own: url }, url)
  if (why !== undefined) return refuse('egress-denied', 'spec.endpoint', `${url.origin} ${why}`)
  return { ok: true, endpoint: endpointAt(url) }
}

/** Reading the parts of an address costs more than keeping them. */
export function endpointAt(url: URL): Endpoint {
  return { url, origin: url.origin, path: url.pathname + url.search }
}

/**
 * `.` and `..` are no segments: an address with one of them is another address. Nor are they where they are encoded already:
 * who decodes an address more than once, on the way or at its end, folds them all the same.
 */
export function isDotSegment(text: string): boolean {
  return /^(?:\.|%2e){1,2}$/i.test(text)
}

/** The address of a named operation, still to be filled in for a call. */
export type RequestResult =
  | { readonly ok: true; fill(key: string, token: string | undefined): EndpointResult }
  | { readonly ok: false; readonly refusal: Refusal }

// Letters that no parser of addresses touches, so that an address is read once and filled in afterwards: a key or token
// is one segment of it then, whatever is in it but dots alone.
const KEY_MARK = 'writkeygoeshere'
const TOKEN_MARK = 'writtokengoeshere'

/** Reads the address of a named operation (S27), or says why nothing can be sent there. */
export function readRequest(tool: ResolvedTool, template: string): RequestResult {
  const url = URL.parse(template.replaceAll('{key}', KEY_MARK).replaceAll('{token}', TOKEN_MARK))
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '')
    return refuse('config-invalid', 'spec.effect', 'the address of a named operation cannot be called')
  const own = endpointUrl(tool.type, tool.endpoint) ?? url
  const why = outsideEgress({ ...tool, own }, url)
  if (why !== undefined) return refuse('egress-denied', 'spec.effect', `${url.origin} ${why}`)
  const { origin } = url
  const path = url.pathname + url.search
  const segments = url.pathname.split('/')
  const isFolded = (token: string): boolean =>
    path.includes(TOKEN_MARK) &&
    (isDotSegment(token) || segments.some((one) => isDotSegment(one.replaceAll(TOKEN_MARK, token))))
  return {
    ok: true,
    fill(key, token) {
      if (token === undefined && path.includes(TOKEN_MARK))
        return refuse('config-invalid', 'spec.effect', 'the address needs a token, and the tool gave none')
      if (token !== undefined && isFolded(token))
        return refuse(
          'config-invalid',
          'spec.effect',
          `no address can hold the token '${token}' of the tool, which leads elsewhere. Fix: have the tool give longer ones`,
        )
      const filled = path
        .replaceAll(KEY_MARK, () => encodeURIComponent(key))
        .replaceAll(TOKEN_MARK, () => encodeURIComponent(token ?? ''))
      return { ok: true, endpoint: endpointAt(new URL(origin + filled)) }
    },
  }
}

export function refuse(
  failure: Refusal['failure'],
  path: string,
  message: string,
): { readonly ok: false; readonly refusal: Refusal } {
  return { ok: false, refusal: { kind: 'failure', failure, message, details: { path }, definite: true } }
}
