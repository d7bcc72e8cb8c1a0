// From a manifest to an MCP server with every default applied. Its egress, credentials and labels are those of a Tool, and
// are read by the same code.
import { canonicalJson, sha256Hex } from '../util/canonical.ts'
import type { Json, JsonObject } from '../util/json.ts'
import { DAY_MS, readDuration } from './bounded-duration.ts'
import { API_VERSION } from './document.ts'
import { type KindResolveOptions, type Resolution, resolution, UNVERSIONED } from './kind.ts'
import type { McpServerManifest } from './mcp-server.ts'
import { labelledSpec } from './mcp-tool.ts'
import { checkMetadata } from './name.ts'
import { createFindings, type Finding, type Findings, type Path } from './problem.ts'
import { checkSecretRef } from './resolve-access.ts'
import { resolveTool } from './resolve-tool.ts'
import type { McpHttp, McpStdio, ResolvedMcpServer } from './resolved-mcp-server.ts'
import type { ResolvedTool } from './resolved-tool.ts'
import type { ToolManifest, ToolSpec } from './tool.ts'

type Spec = McpServerManifest['spec']

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/
/** What the loader of programs obeys: other code would run under the name of this command. */
const LOADER = /^(?:LD_|DYLD_)|^(?:PATH|GCONV_PATH|NODE_OPTIONS|PYTHONSTARTUP|BASH_ENV|ENV)$/
const ONLY: Readonly<Record<Spec['transport'], readonly (keyof Spec)[]>> = {
  stdio: ['command', 'args', 'env', 'image', 'image_pull_secret', 'resources'],
  http: ['endpoint', 'auth', 'egress', 'allowPrivate'],
}

export function resolveMcpServer(
  manifest: McpServerManifest,
  options: KindResolveOptions,
): Resolution<ResolvedMcpServer> {
  const { spec, metadata } = manifest
  const findings = createFindings()
  checkMetadata(findings, metadata)
  const other = spec.transport === 'stdio' ? 'http' : 'stdio'
  for (const name of ONLY[other]) {
    if (spec[name] !== undefined)
      findings.error(['spec', name], `is for transport ${other}`, 'remove it, or correct spec.transport')
  }
  const remote = spec.transport === 'http' ? resolveRemote(manifest, findings, options) : undefined
  const connection = remote?.connection ?? resolveProgram(manifest, findings, options)
  const auth = remote?.auth
  const reconnect = {
    maxAttempts: spec.reconnect?.max_attempts ?? 3,
    backoffMs:
      readDuration(findings, ['spec', 'reconnect', 'backoff'], spec.reconnect?.backoff, {
        min: 1,
        max: DAY_MS,
      }) ?? 2_000,
  }
  const idleMs = idleOf(spec, findings)
  const concurrency = spec.concurrency ?? 16
  const resyncMs = readDuration(findings, ['spec', 'resync'], spec.resync, { min: 1_000, max: DAY_MS })
  const server = metadata.name
  checkLabels(manifest, findings, options)
  const labels = (spec.tools ?? {}) as Readonly<Record<string, JsonObject>>
  const meaning = plain({ connection, auth, reconnect, idleMs, concurrency })
  const digest = `sha256:${sha256Hex('McpServer', canonicalJson(plain(spec)))}`
  return resolution(findings.all, UNVERSIONED, digest, () => ({
    namespace: metadata.namespace ?? 'default',
    name: server,
    digest: `sha256:${sha256Hex('McpConnection', canonicalJson(meaning))}`,
    connection,
    ...(auth === undefined ? {} : { auth }),
    ...(spec.tool_filter?.include === undefined ? {} : { include: spec.tool_filter.include }),
    reconnect,
    ...(idleMs === undefined ? {} : { idleMs }),
    concurrency,
    resyncMs: resyncMs ?? 300_000,
    ...(spec.default_tool_runtime === undefined
      ? {}
      : { defaultToolRuntime: plain(spec.default_tool_runtime) as JsonObject }),
    labels: plain(labels) as Readonly<Record<string, JsonObject>>,
    ...(spec.image === undefined
      ? {}
      : { unavailable: 'it runs in a container, and containers are not built' }),
  }))
}

function plain(value: object): Json {
  return JSON.parse(JSON.stringify(value)) as Json
}

function idleOf({ idle_timeout: text }: Spec, findings: Findings): number | undefined {
  if (text === undefined) return 600_000
  if (/^0+[a-z]*$/.test(text.trim())) return undefined
  return readDuration(findings, ['spec', 'idle_timeout'], text, { min: 1_000, max: 30 * DAY_MS })
}

function resolveProgram(
  manifest: McpServerManifest,
  findings: Findings,
  options: KindResolveOptions,
): McpStdio {
  const { spec } = manifest
  const words = (spec.command ?? '').split(/\s+/).filter((word) => word !== '')
  const [command = '', ...first] = words
  if (command === '' && spec.image === undefined) {
    findings.error(['spec', 'command'], 'is missing: transport stdio needs one', 'add command: PROGRAM')
  }
  if (command !== '' && spec.image === undefined && options.profile === 'production') {
    if (options.hostCommands?.includes(command) !== true) {
      const fix = `allow it on this host: cli_allow: ${command}`
      findings.error(['spec', 'command'], `'${command}' would run on the host`, fix)
    }
  }
  for (const name of ['image_pull_secret', 'resources'] as const) {
    if (spec[name] !== undefined && spec.image === undefined)
      findings.error(['spec', name], 'is for a container', 'add image, or remove it')
  }
  if (spec.image !== undefined)
    findings.warn(
      ['spec', 'image'],
      'containers are not built; the server is not started',
      'name a program in place of it: command: PROGRAM',
    )
  const env: Record<string, string> = {}
  const envFrom: McpStdio['envFrom'][number][] = []
  for (const [index, variable] of (spec.env ?? []).entries()) {
    const path: Path = ['spec', 'env', index]
    const { name, value, secretRef, key, mountPath } = variable
    if (!VARIABLE.test(name))
      findings.error([...path, 'name'], `'${name}' is no name of a variable`, 'use letters, digits and `_`')
    else if (LOADER.test(name))
      findings.error([...path, 'name'], `${name} decides what other code is run`, 'remove it')
    if (Object.hasOwn(env, name) || envFrom.some((one) => one.name === name))
      findings.error([...path, 'name'], `${name} is there twice`, 'keep one')
    if ((value === undefined) === (secretRef === undefined))
      findings.error(path, 'needs either value or secretRef', 'write one of the two')
    if (mountPath !== undefined && (spec.image === undefined || !mountPath.startsWith('/')))
      findings.error([...path, 'mountPath'], 'needs an image, and is an absolute path', 'correct it')
    if (key !== undefined && secretRef === undefined)
      findings.error([...path, 'key'], 'belongs to a secretRef', 'remove it')
    if (secretRef !== undefined) {
      checkSecretRef({ manifest, findings }, secretRef, [...path, 'secretRef'])
      envFrom.push({ name, secretRef, ...(key === undefined ? {} : { key }) })
    } else if (value !== undefined) env[name] = value
  }
  const args = [...first, ...(spec.args ?? [])]
  if ([command, ...args, ...Object.values(env)].some((text) => text.includes('\0')))
    findings.error(['spec', 'args'], 'holds a NUL character, which no program can be given', 'remove it')
  return { kind: 'stdio', command, args, env, envFrom }
}

interface Remote {
  readonly connection: McpHttp
  readonly auth: ResolvedTool['auth']
}

/** Read as the endpoint, egress and auth of a Tool of type http. */
function resolveRemote(
  { spec, metadata }: McpServerManifest,
  findings: Findings,
  options: KindResolveOptions,
): Remote {
  const endpoint = spec.endpoint ?? ''
  if (spec.allowPrivate === true && spec.egress?.private === undefined) {
    const fix = 'say why it is reached: egress: {private: "WHY"}'
    findings.warn(['spec', 'allowPrivate'], 'gives no reason for reaching private addresses', fix)
  }
  const egress = spec.allowPrivate === true ? { private: 'allowPrivate: true', ...spec.egress } : spec.egress
  const auth = spec.auth?.profile === 'api_key_header' ? { headerName: 'X-API-Key', ...spec.auth } : spec.auth
  const { tool, errors, warnings } = resolveTool(
    manifestOf(metadata, {
      type: 'http',
      endpoint,
      ...(egress === undefined ? {} : { egress }),
      ...(auth === undefined ? {} : { auth }),
      effect: { class: 'read-only' },
    }),
    options,
  )
  const own = ['endpoint', 'egress', 'auth']
  for (const { path, message, fix, severity } of [...errors, ...warnings]) {
    if (!own.includes(String(path[1]))) continue
    if (severity === 'error') findings.error(path, message.replace('type http', 'transport http'), fix)
    else if (spec.allowPrivate !== true || path[1] !== 'egress') findings.warn(path, message, fix)
  }
  return {
    connection: {
      kind: 'http',
      endpoint,
      allow: tool?.netAllowlist ?? [],
      reach: tool?.reach ?? 'public',
    },
    auth: tool?.auth,
  }
}

/** The labels of each tool, as a Tool with them would be read. Its schemas are not known yet. */
function checkLabels(
  { spec, metadata }: McpServerManifest,
  findings: Findings,
  options: KindResolveOptions,
): void {
  const runtime = spec.default_tool_runtime
  const check = (labels: JsonObject, place: (finding: Finding) => Path | undefined) => {
    const tool = {
      type: 'mcp' as const,
      mcp_server_ref: metadata.name,
      mcp_tool_name: 'tool',
      ...labelledSpec(labels, runtime as JsonObject | undefined),
    }
    const { errors, warnings } = resolveTool(manifestOf(metadata, tool), { ...options, generated: true })
    for (const finding of [...errors, ...warnings]) {
      const path = place(finding)
      if (path === undefined) continue
      if (finding.severity === 'error') findings.error(path, finding.message, finding.fix)
      else findings.warn(path, finding.message, finding.fix)
    }
  }
  if (runtime !== undefined) {
    check({}, ({ path }) =>
      path[1] === 'runtime' ? ['spec', 'default_tool_runtime', ...path.slice(2)] : undefined,
    )
  }
  for (const [name, labels] of Object.entries(spec.tools ?? {})) {
    const at: Path = ['spec', 'tools', name]
    const declared = labels as JsonObject
    if (declared.effect === undefined && declared.operation_classes === undefined) {
      const fix = 'add effect or operation_classes'
      findings.warn(at, 'does not say what the tool does: every call of it waits for approval', fix)
    }
    if (spec.tool_filter?.include?.includes(name) === false)
      findings.warn(at, 'is not among tool_filter.include', 'add it there, or remove its labels')
    check(declared, ({ path, severity }) => {
      const field = String(path[1])
      if (Object.hasOwn(declared, field)) return [...at, ...path.slice(1)]
      return severity === 'error' && field !== 'runtime' ? at : undefined
    })
  }
}

function manifestOf(metadata: McpServerManifest['metadata'], spec: ToolSpec): ToolManifest {
  const { name, namespace } = metadata
  const who = { name, ...(namespace === undefined ? {} : { namespace }) }
  return { apiVersion: API_VERSION, kind: 'Tool', metadata: who, spec }
}
