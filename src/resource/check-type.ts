// What each type of tool must declare, and must not.
import { isLoopbackHost } from './net-allowlist.ts'
import type { Path } from './problem.ts'
import type { ResolveContext } from './resolve-context.ts'
import type { ToolType } from './resolved-tool.ts'

/** Types that this build can call. The others are read, kept and shown; each call is refused (S33). */
const BUILT_TYPES: ReadonlySet<ToolType> = new Set([
  'http',
  'external',
  'native',
  'webhook-callback',
  'grpc',
  'mcp',
  'cli',
])

export function isBuilt(type: ToolType): boolean {
  return BUILT_TYPES.has(type)
}

const OWN_BLOCKS = ['cli', 'wasm', 'grpc', 'http'] as const

export function checkType(context: ResolveContext): void {
  const { spec, type, findings, options } = context
  if (!isBuilt(type)) {
    const why = `tools of type ${type} cannot be called by this build; calls are refused`
    findings.warn(['spec', 'type'], why, 'use another type, such as cli or http')
  }
  for (const block of OWN_BLOCKS) {
    if (spec[block] !== undefined && type !== block) {
      findings.error(
        ['spec', block],
        `is for type ${block}; this tool has type ${type}`,
        'remove it, or correct spec.type',
      )
    }
  }
  if (spec.webhook !== undefined && type !== 'webhook-callback') {
    findings.error(
      ['spec', 'webhook'],
      `is for type webhook-callback; this tool has type ${type}`,
      'remove it, or correct spec.type',
    )
  }
  if (spec.contract !== undefined && type !== 'external' && type !== 'grpc' && type !== 'webhook-callback') {
    findings.warn(['spec', 'contract'], `is not used by type ${type}`, 'remove it')
  }
  if (type === 'wasm') checkWasm(context)
  checkMcp(context)
  if (type === 'http' || type === 'external' || type === 'webhook-callback' || type === 'grpc')
    checkEndpoint(context)
  else if (spec.endpoint !== undefined)
    findings.error(['spec', 'endpoint'], `has no meaning for type ${type}`, 'remove it')

  if (spec.grpc?.plaintext === true && options.profile === 'production') {
    findings.error(['spec', 'grpc', 'plaintext'], 'is refused in profile production', 'use TLS')
  }
}

function checkWasm({ spec, findings }: ResolveContext): void {
  const module = spec.wasm?.module
  if (module === undefined) {
    findings.error(['spec', 'wasm'], 'is missing: type wasm needs a module', 'add wasm: {module: PATH}')
  } else if (!isModuleName(module)) {
    findings.error(
      ['spec', 'wasm', 'module'],
      'must be a relative path without .., an https:// URL or an oci:// reference',
      'correct it',
    )
  }
}

function isModuleName(module: string): boolean {
  if (module.includes('://')) return module.startsWith('https://') || module.startsWith('oci://')
  return !module.startsWith('/') && !module.split(/[\\/]/).includes('..')
}

/** S46: an MCP tool is labelled on its server, so that a resync cannot lose the labels. */
function checkMcp({ spec, type, findings, options }: ResolveContext): void {
  for (const name of ['mcp_server_ref', 'mcp_tool_name'] as const) {
    if (type === 'mcp' && spec[name] === undefined && options.generated === true) {
      findings.error(['spec', name], 'is missing: type mcp needs it', 'add it')
    } else if (type !== 'mcp' && spec[name] !== undefined) {
      findings.error(['spec', name], `is for type mcp; this tool has type ${type}`, 'remove it')
    }
  }
  if (type !== 'mcp' && spec.mcp !== undefined) {
    findings.error(['spec', 'mcp'], 'is written by the runtime, for type mcp', 'remove it')
  }
  if (type === 'mcp' && options.generated !== true) {
    findings.error(
      ['spec', 'type'],
      'mcp is not written by hand',
      'declare an McpServer and label its tools there',
    )
  }
}

function checkEndpoint(context: ResolveContext): void {
  const { spec, type, findings, options } = context
  const path: Path = ['spec', 'endpoint']
  const { endpoint } = spec
  if (endpoint === undefined || endpoint.trim() === '') {
    // A contract of seed 001 or 004 may be written before there is anything to call.
    if (spec.type === undefined && endpoint === undefined) {
      context.refuseCalls(
        path,
        'there is neither type nor endpoint',
        'add type and endpoint',
        'config-invalid',
      )
    } else findings.error(path, `is missing: type ${type} needs one`, 'add endpoint: https://HOST/PATH')
    return
  }
  const url = URL.parse(type === 'grpc' && !endpoint.includes('://') ? `grpc://${endpoint}` : endpoint)
  const schemes = type === 'grpc' ? /^(?:https?|grpcs?):$/ : /^https?:$/
  if (url === null || !schemes.test(url.protocol) || url.hostname === '') {
    const wanted = type === 'grpc' ? 'host:port' : 'https://HOST/PATH'
    findings.error(path, 'is no address that can be called', `write it such as ${wanted}`)
    return
  }
  if (url.username !== '' || url.password !== '') {
    findings.error(path, 'holds a user name or password', 'remove it, declare auth, and change the password')
  }
  if (type === 'grpc') checkGrpcEndpoint(context, url, path)
  if (url.hash !== '') findings.error(path, 'has a fragment, which is never sent', 'remove what follows #')
  if (options.profile === 'production' && isLoopbackHost(url.hostname)) {
    findings.error(
      path,
      'is on this machine, which profile production refuses',
      'use an address of the network',
    )
  }
}

/** The service and its method are those of the contract, so there is no path to choose; and nothing goes out unsealed unasked. */
function checkGrpcEndpoint({ spec, findings }: ResolveContext, url: URL, path: Path): void {
  if (url.protocol === 'http:' && spec.grpc?.plaintext !== true) {
    const fix = `use https://${url.host}, or add grpc: {plaintext: true}`
    findings.error(path, 'is without TLS, and grpc.plaintext is not declared', fix)
  }
  const beyond = (url.pathname === '/' ? '' : url.pathname) + url.search
  if (beyond !== '') {
    findings.error(
      path,
      `goes on behind its host with ${beyond}, a path that type grpc does not use`,
      `write ${url.host} alone`,
    )
  }
}
