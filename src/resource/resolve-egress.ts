// What of the network a tool may reach: its allowed origins, how far in they may lie, and the strict profile.
import { classOf, type Reach } from '../util/address-class.ts'
import { endpointUrl, outsideEgress, REMOTE_TYPES } from './egress-rule.ts'
import { allowsUrl, isLoopbackHost, parseAllowedOrigin } from './net-allowlist.ts'
import type { Path } from './problem.ts'
import type { ResolveContext } from './resolve-context.ts'
import type { IsolationMode, ResolvedTool } from './resolved-tool.ts'

const ENDPOINT: Path = ['spec', 'endpoint']
const PRIVATE: Path = ['spec', 'egress', 'private']

export function resolveEgress(
  context: ResolveContext,
  isolation: IsolationMode,
): Pick<ResolvedTool, 'netAllowlist' | 'reach'> {
  const netAllowlist = resolveNetAllowlist(context)
  const reach = reachOf(context)
  const { spec, type, findings } = context
  if (spec.egress?.private?.trim() === '') findings.error(PRIVATE, 'is empty', 'say why, or remove it')
  if (!REMOTE_TYPES.has(type)) {
    if (spec.egress?.private !== undefined) findings.warn(PRIVATE, `is not used by type ${type}`, 'remove it')
    return { netAllowlist, reach }
  }
  const own = endpointUrl(type, spec.endpoint, spec.grpc?.plaintext)
  if (own !== null) {
    checkPlace(context, own, ENDPOINT)
    warnOfNeedless(context, own)
    if (isolation === 'sandboxed') checkStrict(context, { netAllowlist, reach, isolation, own })
  }
  return { netAllowlist, reach }
}

/** Profile local reaches this machine, so that a first tool just works. Anything further in needs a reason (S51). */
function reachOf({ spec, options }: ResolveContext): Reach {
  const inside = spec.egress?.private !== undefined
  if (options.profile === 'local') return inside ? 'private' : 'loopback'
  return inside ? 'intranet' : 'public'
}

/** An address that is written as a number can be judged here already; a name is judged when it is dialled. */
export function checkPlace({ spec, findings }: ResolveContext, url: URL, path: Path): void {
  const found = classOfHost(url.hostname)
  if (found === 'forbidden') {
    const why = 'is link-local, metadata or another address where no tool lives'
    findings.error(path, why, 'use the address of the tool')
  } else if (found === 'private' && spec.egress?.private === undefined) {
    findings.error(path, 'is a private address', 'say why it is reached: egress: {private: "WHY"}')
  }
}

function classOfHost(hostname: string) {
  const bare = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
  return /^[\d.]+$/.test(bare) || bare.includes(':') ? classOf(bare) : undefined
}

function warnOfNeedless({ spec, findings }: ResolveContext, own: URL): void {
  if (spec.egress?.private === undefined) return
  // The endpoint for tokens is reached as the tool is.
  const token = URL.parse(spec.auth?.tokenURL ?? '')
  if (isOutside(own) && (token === null || isOutside(token))) {
    findings.warn(PRIVATE, 'is not needed: the endpoint is no private address', 'remove it')
  }
}

/** For certain: a name may stand for anything. */
function isOutside({ hostname }: URL): boolean {
  const found = classOfHost(hostname)
  return found === 'public' || found === 'loopback' || isLoopbackHost(hostname)
}

/**
 * Where the tool's data may go. What runs elsewhere is reached at its endpoint and at what it lists; any other type needs
 * a boundary that is not built.
 */
function resolveNetAllowlist(context: ResolveContext): string[] {
  const { spec, findings, type } = context
  const own = spec.egress?.allow
  const granted = spec.grants?.net_allowlist
  if (own !== undefined && granted !== undefined) {
    findings.error(
      ['spec', 'grants', 'net_allowlist'],
      'says the same as spec.egress.allow',
      'keep one of the two',
    )
  }
  const list = own ?? granted
  if (list === undefined) return []
  const path: Path = own === undefined ? ['spec', 'grants', 'net_allowlist'] : ['spec', 'egress', 'allow']
  for (const [index, entry] of list.entries()) {
    if (parseAllowedOrigin(entry) === undefined) {
      const fix = 'write it such as https://api.example.com or https://*.example.com, without a path'
      findings.error([...path, index], `'${entry}' is no origin`, fix)
    }
  }
  if (!REMOTE_TYPES.has(type)) {
    const why = `where a tool of type ${type} connects to cannot be held to a list by this build`
    context.refuseCalls(path, why, 'remove the list')
    return [...list]
  }
  const url = endpointUrl(type, spec.endpoint, spec.grpc?.plaintext)
  if (url !== null && !allowsUrl(list, url)) {
    const why = 'does not cover the endpoint, so the tool could never be called'
    findings.error(path, why, `add ${url.origin}`)
  }
  return [...list]
}

/** The strict profile of what runs elsewhere: its own endpoint, no redirects, TLS. */
function checkStrict(context: ResolveContext, tool: Parameters<typeof outsideEgress>[0]): void {
  const { spec, findings } = context
  if ((spec.http?.max_redirects ?? 0) > 0) {
    const fix = 'remove it, or declare isolation_mode: none'
    findings.error(['spec', 'http', 'max_redirects'], 'isolation sandboxed follows no redirect', fix)
  }
  const others = tool.netAllowlist.filter((entry) => !isOnly(entry, tool.own))
  if (others.length > 0) {
    const why = `isolation sandboxed reaches the endpoint alone: ${others.join(', ')} is not used`
    findings.warn(
      ['spec', 'egress', 'allow'],
      why,
      `leave ${tool.own.origin}, or declare isolation_mode: none`,
    )
  }
  const why = outsideEgress({ ...tool, netAllowlist: [] }, tool.own)
  if (why !== undefined) {
    const fix = 'use https, or declare runtime.isolation_mode: none'
    context.refuseCalls(ENDPOINT, `the endpoint ${why}`, fix, 'isolation-unavailable')
  }
}

function isOnly(entry: string, own: URL): boolean {
  return parseAllowedOrigin(entry)?.below === false && allowsUrl([entry], own)
}
