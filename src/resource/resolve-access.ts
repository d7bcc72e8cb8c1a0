// Who may call a tool, with which credential, where its data may go, and what stands around it.

import { isBuilt } from './check-type.ts'
import { REMOTE_TYPES } from './egress-rule.ts'
import type { Path } from './problem.ts'
import type { ResolveContext } from './resolve-context.ts'
import { checkPlace } from './resolve-egress.ts'
import type { IsolationMode, ResolvedTool } from './resolved-tool.ts'
import { readSecretRef } from './secret-ref.ts'

const CAPABILITY = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)+$/
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

export function resolveIsolation(context: ResolveContext): IsolationMode {
  const { spec, type } = context
  const mode = isolationOf(context)
  // Whether an MCP server runs elsewhere is for its transport to see: of one that does not, sandboxed is refused there.
  const strict = mode === 'sandboxed' && (REMOTE_TYPES.has(type) || type === 'mcp')
  if (mode !== 'none' && !strict && isBuilt(type)) {
    context.refuseCalls(
      ['spec', 'runtime', 'isolation_mode'],
      `isolation ${mode} is not built`,
      type === 'cli' || spec.runtime?.isolation_mode === undefined
        ? 'declare none'
        : 'remove it, or use sandboxed',
      'isolation-unavailable',
    )
  }
  return mode
}

/**
 * Local code is never without a boundary by default. What runs elsewhere needs none here; from high risk on it is held to
 * its own endpoint (seed 002).
 */
export function isolationOf({ spec, type }: Pick<ResolveContext, 'spec' | 'type'>): IsolationMode {
  const declared = spec.runtime?.isolation_mode
  if (declared !== undefined) return declared
  const risky = spec.risk_level === 'high' || spec.risk_level === 'critical'
  if (type === 'cli') return 'container'
  if (type === 'wasm') return risky ? 'sandboxed' : 'wasm'
  return risky && (REMOTE_TYPES.has(type) || type === 'mcp') ? 'sandboxed' : 'none'
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
  } else if (tokenURL !== undefined && !isTokenUrl(tokenURL, context.options.profile)) {
    const fix = 'write it such as https://auth.example.com/token'
    findings.error(at('tokenURL'), 'must be an https URL without user name', fix)
  } else if (profile === 'oauth2_client_credentials' && tokenURL !== undefined) {
    checkPlace(context, new URL(tokenURL), at('tokenURL'))
  }
  if (headerName !== undefined && profile !== 'api_key_header') {
    findings.warn(at('headerName'), `is not used by profile ${profile}`, 'remove it')
  }
  if (tokenURL !== undefined && profile !== 'oauth2_client_credentials') {
    findings.warn(at('tokenURL'), `is not used by profile ${profile}`, 'remove it')
  }
  if (type === 'native' || type === 'wasm') {
    const why = `nothing can be presented to a tool of type ${type}, and nothing is sent without the declared credential`
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

export function checkSecretRef(
  { manifest, findings }: Pick<ResolveContext, 'findings'> & { readonly manifest: Named },
  text: string,
  path: Path,
): void {
  const own = manifest.metadata.namespace ?? 'default'
  const ref = readSecretRef(text, own)
  if (ref === undefined)
    findings.error(path, 'is no reference to a secret', 'write the name of a secret, or NAME:KEY')
  else if (ref.namespace !== own) {
    findings.warn(
      path,
      `refers to the namespace '${ref.namespace}'`,
      `have that secret shared with '${own}' (its spec.share_with), or use one of '${own}'`,
    )
  }
}

/** Whatever names secrets: a tool or an MCP server. */
interface Named {
  readonly metadata: { readonly namespace?: string | undefined }
}

/** What is shown there is the secret itself, so it goes over TLS, or stays on a laptop. */
function isTokenUrl(text: string, profile: ResolveContext['options']['profile']): boolean {
  const url = URL.parse(text)
  if (url === null || url.username !== '' || url.password !== '') return false
  if (url.protocol === 'https:') return true
  return url.protocol === 'http:' && profile === 'local' && LOOPBACK.test(url.hostname)
}

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/
