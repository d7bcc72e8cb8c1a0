// What each type of tool must declare, and must not.
import { isLoopbackHost } from './net-allowlist.ts'
import type { Path } from './problem.ts'
import { PAUSE_BOUNDS, type ResolveContext } from './resolve-context.ts'
import type { IsolationMode, ToolType } from './resolved-tool.ts'

/** Types that this build can call. The others are read, kept and shown; each call is refused (S33). */
const BUILT_TYPES: ReadonlySet<ToolType> = new Set(['http', 'external', 'native'])

export function isBuilt(type: ToolType): boolean {
  return BUILT_TYPES.has(type)
}

const OWN_BLOCKS = ['cli', 'wasm', 'grpc', 'http'] as const

export function checkType(context: ResolveContext, isolation: IsolationMode): void {
  const { spec, type, findings, options } = context
  if (!isBuilt(type)) {
    findings.warn(['spec', 'type'], `tools of type ${type} cannot be called by this build; calls are refused`)
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
  if (type === 'cli') checkCli(context, isolation)
  if (type === 'wasm') checkWasm(context)
  checkMcp(context)
  if (type === 'http' || type === 'external' || type === 'webhook-callback' || type === 'grpc')
    checkEndpoint(context)
  else if (spec.endpoint !== undefined)
    findings.error(['spec', 'endpoint'], `has no meaning for type ${type}`, 'remove it')

  const { poll } = spec.webhook ?? {}
  if (poll !== undefined) context.duration(['spec', 'webhook', 'poll'], poll, { ...PAUSE_BOUNDS, min: 1 })
  if (spec.grpc?.plaintext === true && options.profile === 'production') {
    findings.error(['spec', 'grpc', 'plaintext'], 'is refused in profile production', 'use TLS')
  }
  refuseOtherRequests(context)
}

function checkCli({ spec, findings, options }: ResolveContext, isolation: IsolationMode): void {
  const { cli } = spec
  if (cli === undefined) {
    findings.error(['spec', 'cli'], 'is missing: type cli needs a command', 'add cli: {command: NAME}')
    return
  }
  if (spec.auth !== undefined) {
    findings.error(['spec', 'auth'], 'is not for type cli', 'give credentials as environment: cli.env_from')
  }
  if (isolation !== 'none' && cli.image === undefined) {
    findings.error(
      ['spec', 'cli', 'image'],
      `is missing: isolation_mode ${isolation} needs one`,
      'add cli.image',
    )
  }
  if (cli.image_pull_secret !== undefined && cli.image === undefined) {
    findings.error(
      ['spec', 'cli', 'image_pull_secret'],
      'has no image to pull',
      'add cli.image, or remove it',
    )
  }
  if (isolation === 'none' && options.profile === 'production') {
    findings.error(
      ['spec', 'runtime', 'isolation_mode'],
      'none would run the program on the host',
      'use container',
    )
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
  if (url.hash !== '') findings.error(path, 'has a fragment, which is never sent', 'remove what follows #')
  if (options.profile === 'production' && isLoopbackHost(url.hostname)) {
    findings.error(
      path,
      'is on this machine, which profile production refuses',
      'use an address of the network',
    )
  }
}

/** The http transport sends POST and JSON: another request than the declared one is never sent instead of it. */
function refuseOtherRequests(context: ResolveContext): void {
  const { method, content_type: content, max_redirects: redirects } = context.spec.http ?? {}
  if (method !== undefined && method !== 'POST') {
    context.refuseCalls(['spec', 'http', 'method'], `${method} is not built`, 'use POST')
  }
  if (content !== undefined && !/^application\/json\s*(?:;|$)/i.test(content)) {
    context.refuseCalls(['spec', 'http', 'content_type'], `${content} is not built`, 'use application/json')
  }
  if (redirects !== undefined && redirects > 0) {
    context.findings.warn(['spec', 'http', 'max_redirects'], 'no redirect is ever followed', 'remove it')
  }
}
