// Who may call a tool, with which credential, where its data may go, and what stands around it.

import { isBuilt } from './check-type.ts'
import { allowsUrl, parseAllowedOrigin } from './net-allowlist.ts'
import type { Path } from './problem.ts'
import type { ResolveContext } from './resolve-context.ts'
import type { IsolationMode, ResolvedTool } from './resolved-tool.ts'

const CAPABILITY = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)+$/
/** name, name:key, namespace/name, namespace/name:key */
const SECRET_REF =
  /^(?:([a-z0-9][a-z0-9._-]{0,127})\/)?[A-Za-z0-9][A-Za-z0-9._-]{0,127}(?::[A-Za-z0-9._-]{1,128})?$/
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/

export function resolveCapabilities({ spec, findings }: ResolveContext): string[] {
  const labels = (spec.capabilities ?? []).flatMap((written, index) => {
    const label = written.trim().toLowerCase()
    if (CAPABILITY.test(label)) return [label]
    const fix = 'write two or more segments with dots between them, such as data.read'
    findings.error(['spec', 'capabilities', index], `'${written}' is no capability`, fix)
    return []
  })
  return [...new Set(labels)]
}

/** Local code is never without a boundary by default; what runs elsewhere needs none here, whatever its risk. */
export function resolveIsolation(context: ResolveContext): IsolationMode {
  const { spec, type } = context
  const risk = spec.risk_level ?? 'low'
  const declared = spec.runtime?.isolation_mode
  const mode = declared ?? (type === 'cli' ? 'container' : type === 'wasm' ? wasmDefault(risk) : 'none')
  if (mode !== 'none' && isBuilt(type)) {
    context.refuseCalls(
      ['spec', 'runtime', 'isolation_mode'],
      `isolation ${mode} is not built`,
      'remove it: no code of the tool runs here',
      'isolation-unavailable',
    )
  }
  return mode
}

function wasmDefault(risk: string): IsolationMode {
  return risk === 'high' || risk === 'critical' ? 'sandboxed' : 'wasm'
}

/** S50: code from elsewhere does not run next to the runtime, except on a laptop that was told so. */
export function checkCodeExecution(
  context: ResolveContext,
  tool: Pick<ResolvedTool, 'operations' | 'isolation'>,
): void {
  if (tool.isolation !== 'none' || context.options.profile === 'local') return
  const runsCode = Object.values(tool.operations).some(
    (operation) => operation.effect.class === 'code-execution',
  )
  if (runsCode) {
    context.findings.error(
      ['spec', 'runtime', 'isolation_mode'],
      'none is refused for class code-execution outside profile local',
      'use sandboxed, container, kubernetes or wasm',
    )
  }
}

export function resolveAuth(context: ResolveContext): ResolvedTool['auth'] {
  const { spec, findings, type } = context
  const { auth } = spec
  if (auth === undefined) return undefined
  const at = (name: string): Path => ['spec', 'auth', name]
  const profile = auth.profile ?? 'bearer'
  const { secretRef = '', headerName, tokenURL, scopes = [] } = auth
  if (secretRef === '')
    findings.error(at('secretRef'), 'is missing: auth needs a secret', 'add secretRef: NAME')
  else checkSecretRef(context, secretRef, at('secretRef'))
  if (profile === 'api_key_header' && headerName === undefined) {
    findings.error(
      at('headerName'),
      'is missing: profile api_key_header needs one',
      'add headerName: X-API-Key',
    )
  } else if (headerName !== undefined && !HEADER_NAME.test(headerName)) {
    findings.error(at('headerName'), `'${headerName}' is no header name`, 'write it such as X-API-Key')
  }
  if (profile === 'oauth2_client_credentials' && tokenURL === undefined) {
    findings.error(
      at('tokenURL'),
      'is missing: profile oauth2_client_credentials needs one',
      'add tokenURL: https://...',
    )
  } else if (tokenURL !== undefined && !isTokenUrl(tokenURL)) {
    findings.error(at('tokenURL'), 'must be an https URL without user name', 'correct it')
  }
  if (headerName !== undefined && profile !== 'api_key_header') {
    findings.warn(at('headerName'), `is not used by profile ${profile}`, 'remove it')
  }
  if (tokenURL !== undefined && profile !== 'oauth2_client_credentials') {
    findings.warn(at('tokenURL'), `is not used by profile ${profile}`, 'remove it')
  }
  if (type !== 'cli') {
    const why = 'credentials are not built, and nothing is sent without the declared one'
    context.refuseCalls(['spec', 'auth'], why, 'remove auth, if the tool needs none', 'secret-missing')
  }
  return {
    profile,
    secretRef,
    ...(headerName === undefined ? {} : { headerName }),
    ...(tokenURL === undefined ? {} : { tokenURL }),
    scopes: [...new Set(scopes.map((scope) => scope.trim()).filter((scope) => scope !== ''))],
  }
}

function checkSecretRef({ manifest, findings }: ResolveContext, ref: string, path: Path): void {
  const match = SECRET_REF.exec(ref)
  const namespace = manifest.metadata.namespace ?? 'default'
  if (match === null)
    findings.error(path, 'is no reference to a secret', 'write the name of a secret, or NAME:KEY')
  else if (match[1] !== undefined && match[1] !== namespace) {
    findings.error(
      path,
      `refers to the namespace '${match[1]}'`,
      `use a secret of the namespace '${namespace}'`,
    )
  }
}

function isTokenUrl(text: string): boolean {
  const url = URL.parse(text)
  if (url === null || url.username !== '' || url.password !== '') return false
  return url.protocol === 'https:'
}

/**
 * Where the tool's data may go. For http and external the endpoint is the only place that is ever contacted (no redirect
 * is followed), so the list holds when it covers the endpoint; any other type needs a boundary that is not built.
 */
export function resolveNetAllowlist(context: ResolveContext): string[] {
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
  if (type !== 'http' && type !== 'external') {
    const why = `where a tool of type ${type} connects to cannot be held to a list by this build`
    context.refuseCalls(path, why, 'remove the list')
    return [...list]
  }
  const url = spec.endpoint === undefined ? null : URL.parse(spec.endpoint)
  if (url !== null && !allowsUrl(list, url)) {
    findings.error(
      path,
      'does not cover the endpoint, so the tool could never be called',
      `add ${url.origin}`,
    )
  }
  return [...list]
}
