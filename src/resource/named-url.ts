// The address of a named operation (S27): checked at apply as the endpoint is, since the tool's data goes there too.
import { endpointUrl } from './egress-rule.ts'
import { allowsUrl, isLoopbackHost } from './net-allowlist.ts'
import type { Path } from './problem.ts'
import { isolationOf } from './resolve-access.ts'
import type { ResolveContext } from './resolve-context.ts'
import { checkPlace } from './resolve-egress.ts'

export interface NamedUrl {
  readonly url: string
  readonly method: string
  /** The tool has given its token by then. */
  readonly hasToken: boolean
}

/** Methods whose request has a body, which says which call it is about. */
export const WITH_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH'])

const PLACE = /\{(key|token)\}/g

export function checkNamedUrl(context: ResolveContext, named: NamedUrl, path: Path): void {
  const { findings, type, options } = context
  if (type !== 'http') {
    const fix = 'name an operation that the tool declares under operations, in place of url'
    findings.error(path, `is only read for type http, not ${type}`, fix)
    return
  }
  const places = [...named.url.matchAll(PLACE)].map((match) => match[1])
  const url = URL.parse(named.url.replaceAll(PLACE, 'x'))
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
    const fix = 'write it such as https://host/status/{key}'
    findings.error(path, 'is no absolute http or https URL without user name', fix)
    return
  }
  if (url.origin !== URL.parse(named.url.replaceAll(PLACE, 'y'))?.origin) {
    findings.error(path, 'goes to another host for every call', 'put {key} and {token} after the host')
    return
  }
  if (/[{}]/.test(named.url.replaceAll(PLACE, ''))) {
    findings.error(path, 'has a placeholder other than {key} and {token}', 'use these two')
  } else if (places.length === 0 && !WITH_BODY.has(named.method)) {
    findings.error(path, 'does not say which call it is about', 'put {key} or {token} into it')
  } else if (places.includes('token') && !named.hasToken) {
    findings.error(path, 'there is no token yet when this is sent', 'use {key}')
  }
  if (url.hash !== '') findings.error(path, 'has a fragment, which is never sent', 'remove what follows #')
  if (options.profile === 'production' && isLoopbackHost(url.hostname)) {
    const fix = 'use an address of the network'
    findings.error(path, 'is on this machine, which profile production refuses', fix)
  }
  checkAllowed(context, url, path)
}

function checkAllowed(context: ResolveContext, url: URL, path: Path): void {
  const { spec, findings, type } = context
  checkPlace(context, url, path)
  const list = spec.egress?.allow ?? spec.grants?.net_allowlist
  const own = endpointUrl(type, spec.endpoint)
  if (isolationOf(context) === 'sandboxed' && own !== null && url.origin !== own.origin) {
    const fix = `use an address of ${own.origin}, or declare runtime.isolation_mode: none`
    findings.error(path, 'is not the endpoint, which is all that isolation sandboxed reaches', fix)
  } else if (list === undefined) {
    if (own === null || url.origin === own.origin) return
    const fix = `add egress: {allow: [${own.origin}, ${url.origin}]}`
    findings.error(path, 'is of another origin than the endpoint', fix)
  } else if (!allowsUrl(list, url)) {
    const where = spec.egress?.allow === undefined ? 'spec.grants.net_allowlist' : 'spec.egress.allow'
    findings.error(path, `is not covered by ${where}`, `add ${url.origin} there`)
  }
}
