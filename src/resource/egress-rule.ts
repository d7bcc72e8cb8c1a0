// Where the traffic of a tool may go: one rule for apply, for each send, and for each redirect.
import type { Reach } from '../util/address-class.ts'
import { allowsUrl, isLoopbackHost } from './net-allowlist.ts'
import type { ResolvedTool, ToolType } from './resolved-tool.ts'

/** Types whose tools are reached at an address of their own. */
export const REMOTE_TYPES: ReadonlySet<ToolType> = new Set(['http', 'external', 'grpc', 'webhook-callback'])

/** The endpoint as an http or https URL, whatever its type calls it; null where it is none. */
export function endpointUrl(type: ToolType, endpoint: string | undefined, plaintext = false): URL | null {
  if (endpoint === undefined) return null
  if (type !== 'grpc') return URL.parse(endpoint)
  const bare = endpoint.replace(/^grpcs?:\/\//i, '')
  if (bare.includes('://')) return URL.parse(bare)
  if (/^grpcs:/i.test(endpoint)) return URL.parse(`https://${bare}`)
  return URL.parse(`${plaintext ? 'http' : 'https'}://${bare}`)
}

export type EgressSubject = Pick<ResolvedTool, 'netAllowlist' | 'isolation' | 'reach'> & {
  /** Where the tool itself is. */
  readonly own: URL
}

/**
 * Why nothing may be sent to an address; undefined where it may. Without a list of its own a tool reaches the origin of
 * its endpoint. `sandboxed` is the strict profile: that origin alone, and over TLS. What a request asks for narrows
 * both (S2).
 */
export function outsideEgress(
  tool: EgressSubject,
  url: URL,
  asked?: readonly string[] | undefined,
): string | undefined {
  const strict = tool.isolation === 'sandboxed'
  const isOwn = url.origin === tool.own.origin
  const allowed = tool.netAllowlist.length === 0 ? isOwn : allowsUrl(tool.netAllowlist, url)
  if (!allowed) return 'is outside the allowed origins of the tool'
  if (strict && !isOwn) return 'is not the endpoint, which is all that isolation sandboxed reaches'
  if (strict && !isSealed(url, tool.reach)) return 'is without TLS, which isolation sandboxed demands'
  if (asked !== undefined && !allowsUrl(asked, url)) return "is outside the request's net_allowlist"
  return undefined
}

/** On this machine nobody listens in; production reaches nothing there anyway (S51). */
function isSealed(url: URL, reach: Reach): boolean {
  if (url.protocol === 'https:') return true
  return (reach === 'loopback' || reach === 'private') && isLoopbackHost(url.hostname)
}
