// From a manifest to a tool with every default applied. Says all that is wrong, and warns of what this build does not do.
import semver from 'semver'
import { checkType } from './check-type.ts'
import { resolveApproval } from './governance-part.ts'
import { freeze } from './kind.ts'
import { checkMetadata, isName } from './name.ts'
import { type Finding, formatPath, type Path } from './problem.ts'
import { MEGABYTE, parseRate, parseSize } from './quantity.ts'
import { checkCodeExecution, resolveAuth, resolveCapabilities, resolveIsolation } from './resolve-access.ts'
import { resolveCli } from './resolve-cli.ts'
import {
  createResolveContext,
  PAUSE_BOUNDS,
  type ResolveContext,
  type ResolveOptions,
} from './resolve-context.ts'
import { resolveField } from './resolve-effect.ts'
import { resolveEgress } from './resolve-egress.ts'
import { resolveHttp } from './resolve-http.ts'
import { resolveOperations } from './resolve-operation.ts'
import type { ResolvedOperation, ResolvedTool } from './resolved-tool.ts'
import type { ToolManifest } from './tool.ts'
import { toolDigest } from './tool-digest.ts'

export type { ResolveOptions } from './resolve-context.ts'

export interface ToolResolution {
  /** Absent when there are errors. */
  readonly tool?: ResolvedTool
  readonly warnings: readonly Finding[]
  readonly errors: readonly Finding[]
}

const INPUT_BYTES = MEGABYTE
const OUTPUT_BYTES = 4 * MEGABYTE
/** Payloads are kept whole, in memory and in the ledger. */
const MAX_PAYLOAD_BYTES = 256 * MEGABYTE
/** A tool that works long is not asked faster than this, by every call of it. */
const POLL_BOUNDS = Object.freeze({ ...PAUSE_BOUNDS, min: 100 })
const DIGEST = /^sha256:[0-9a-f]{64}$/

export function resolveTool(manifest: ToolManifest, options: ResolveOptions): ToolResolution {
  const context = createResolveContext(manifest, options)
  const { spec, type } = context
  checkNames(context)
  const isolation = resolveIsolation(context)
  checkType(context)
  const cli = resolveCli(context, isolation)
  const auth = resolveAuth(context)
  const http = resolveHttp(context)
  const operations = resolveOperations(context)
  checkCodeExecution(context, { operations, isolation })
  const deprecation = resolveDeprecation(context)
  const dataClassification = spec.data_classification ?? 'internal'
  const confidential = dataClassification === 'confidential' || dataClassification === 'restricted'
  warnOfUnused(context)

  const resolved: Omit<ResolvedTool, 'digest' | 'unenforced'> = {
    namespace: manifest.metadata.namespace ?? 'default',
    name: manifest.metadata.name,
    version: spec.version ?? '0.0.0',
    type,
    description: spec.description ?? '',
    owner: spec.owner ?? '',
    ...(spec.endpoint === undefined ? {} : { endpoint: spec.endpoint }),
    contract: spec.contract ?? 'v1',
    capabilities: resolveCapabilities(context),
    riskLevel: spec.risk_level ?? 'low',
    ...(spec.permission_class === undefined ? {} : { permissionClass: spec.permission_class }),
    dataClassification,
    isolation,
    ...(auth === undefined ? {} : { auth }),
    ...resolveEgress(context, isolation),
    ...(http === undefined ? {} : { http }),
    ...(cli === undefined ? {} : { cli }),
    ...resolveWebhook(context),
    ...(spec.grpc?.plaintext === true ? { grpc: { plaintext: true as const } } : {}),
    ...(spec.mcp_server_ref === undefined || spec.mcp_tool_name === undefined
      ? {}
      : { mcp: { server: spec.mcp_server_ref, tool: spec.mcp_tool_name } }),
    ...withheldOf(manifest),
    limits: resolveLimits(context),
    auditStrict: spec.audit === 'strict' || (spec.audit === undefined && confidential),
    auditFields: resolveAuditFields(context, operations),
    ...(deprecation === undefined ? {} : { deprecation }),
    operations,
    approval: resolveApproval(context.findings, spec.approval, ['spec', 'approval']),
    ...(spec.approval_waiver === undefined ? {} : { approvalWaiver: spec.approval_waiver }),
  }
  const artifact = checkArtifact(context)
  const findings = withoutRepeats(context.findings.all)
  const errors = findings.filter((finding) => finding.severity === 'error')
  const warnings = findings.filter((finding) => finding.severity === 'warning')
  if (errors.length > 0) return { warnings, errors }
  const digest = toolDigest(resolved, spec, artifact)
  // A copy: schemas are the caller's own objects, and not ours to freeze.
  const tool = freeze(structuredClone({ ...resolved, digest, unenforced: context.unenforced }))
  return { tool, warnings, errors }
}

/** Operations share blocks of the tool, and each of them finds the same in them. */
function withoutRepeats(findings: readonly Finding[]): readonly Finding[] {
  const seen = new Map<string, Finding>()
  for (const finding of findings) {
    const id = `${formatPath(finding.path)}\n${finding.message}`
    if (!seen.has(id)) seen.set(id, finding)
  }
  return [...seen.values()]
}

function checkNames({ manifest, spec, findings }: ResolveContext): void {
  checkMetadata(findings, manifest.metadata)
  const { version, permission_class: permissionClass } = spec
  if (version !== undefined && (semver.parse(version) === null || !/^\d/.test(version))) {
    const guess = semver.coerce(version)?.version ?? '1.0.0'
    findings.error(['spec', 'version'], `'${version}' is no semantic version`, `write version: ${guess}`)
  }
  if (permissionClass !== undefined && !isName(permissionClass)) {
    findings.error(
      ['spec', 'permission_class'],
      `'${permissionClass}' is no valid name`,
      'use letters, digits, `.`, `_` and `-`',
    )
  }
}

function resolveWebhook(context: ResolveContext): Pick<ResolvedTool, 'webhook'> {
  const path: Path = ['spec', 'webhook', 'poll']
  const pollMs = context.duration(path, context.spec.webhook?.poll, POLL_BOUNDS)
  return pollMs === undefined ? {} : { webhook: { pollMs } }
}

function withheldOf({ metadata: { name }, spec }: ToolManifest): Pick<ResolvedTool, 'withheld'> {
  const { mcp_server_ref: server, mcp } = spec
  if (mcp?.offered !== undefined) {
    const why = `the server ${server} has changed the definition of ${name} since it was taken on`
    const fix = `See 'writ tool diff ${name}', and take it on with 'writ tool accept ${name}'.`
    return { withheld: { code: 'quarantined', why, fix } }
  }
  if (mcp?.gone !== true) return {}
  const why = `the server ${server} no longer offers ${name}`
  const fix = `See 'writ describe mcp-server ${server}'. It can be called again once the server offers it.`
  return { withheld: { code: 'gone', why, fix } }
}

function resolveLimits(context: ResolveContext): ResolvedTool['limits'] {
  const { memory, concurrency, rate } = context.spec.limits ?? {}
  const path = (name: string): Path => ['spec', 'limits', name]
  const memoryBytes = memory === undefined ? undefined : parseSize(memory, MEGABYTE)
  if (memory !== undefined && memoryBytes === undefined) {
    context.findings.error(
      path('memory'),
      `'${memory}' is no size`,
      'write it such as 512Mi; a bare number is in MB',
    )
  } else if (memory !== undefined) {
    const where = context.type === 'cli' ? 'on this machine' : 'elsewhere'
    const why = `the memory of a tool that runs ${where} cannot be bounded`
    context.refuseCalls(path('memory'), why, 'remove it')
  }
  const parsedRate = rate === undefined ? undefined : parseRate(rate)
  if (rate !== undefined && parsedRate === undefined) {
    context.findings.error(
      path('rate'),
      'is no rate',
      'write it such as 10/s, 100/m, 5/30s or {max: 10, per: 1s}',
    )
  }
  return {
    ...(memoryBytes === undefined ? {} : { memoryMb: Math.max(1, Math.floor(memoryBytes / MEGABYTE)) }),
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(parsedRate === undefined ? {} : { rate: parsedRate }),
    inputBytes: resolveBytes(context, 'input_bytes', INPUT_BYTES),
    outputBytes: resolveBytes(context, 'output_bytes', OUTPUT_BYTES),
  }
}

function resolveBytes(
  { spec, findings }: ResolveContext,
  name: 'input_bytes' | 'output_bytes',
  fallback: number,
): number {
  const written = spec.limits?.[name]
  if (written === undefined) return fallback
  const bytes = parseSize(written, 1)
  if (bytes !== undefined && bytes <= MAX_PAYLOAD_BYTES) return bytes
  const message = bytes === undefined ? `'${written}' is no size` : 'is more than 256Mi'
  findings.error(['spec', 'limits', name], message, 'write it such as 64Ki or 4Mi; a bare number is in bytes')
  return fallback
}

/** A field of any operation will do: evidence of the others has nothing to copy there. */
function resolveAuditFields(
  context: ResolveContext,
  operations: Record<string, ResolvedOperation>,
): string[] {
  const all = Object.values(operations)
  const only = all.length === 1 ? all[0]?.inputSchema : undefined
  const fields = (context.spec.audit_fields ?? []).flatMap((field, index) =>
    resolveField(context, field, ['spec', 'audit_fields', index], only),
  )
  return [...new Set(fields)]
}

const UTC_DAY = /^\d{4}-\d{2}-\d{2}$/
const UTC_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?Z$/

function resolveDeprecation(context: ResolveContext): ResolvedTool['deprecation'] {
  const { deprecation } = context.spec
  if (deprecation === undefined) return undefined
  const times = (['introduced', 'deprecated', 'removal'] as const).map((name) => {
    const at = deprecation[name] === undefined ? undefined : parseUtc(deprecation[name])
    if (deprecation[name] !== undefined && at === undefined) {
      const fix = 'write it such as 2026-07-01 or 2026-07-01T12:00:00Z'
      context.findings.error(['spec', 'deprecation', name], `'${deprecation[name]}' is no UTC time`, fix)
    }
    return { name, at }
  })
  const known = times.filter((time) => time.at !== undefined)
  for (const [index, { name, at }] of known.entries()) {
    const before = known[index - 1]
    if (before !== undefined && Number(before.at) > Number(at)) {
      context.findings.error(
        ['spec', 'deprecation', name],
        `is before ${before.name}`,
        'correct one of the two',
      )
    }
  }
  const [, deprecated, removal] = times
  return {
    ...(deprecated?.at === undefined ? {} : { deprecatedAt: deprecated.at }),
    ...(removal?.at === undefined ? {} : { removedAt: removal.at }),
    ...(deprecation.replacement === undefined ? {} : { replacement: deprecation.replacement }),
  }
}

function parseUtc(text: string): number | undefined {
  if (!UTC_DAY.test(text) && !UTC_TIME.test(text)) return undefined
  const ms = Date.parse(text)
  // 30 February would quietly be 2 March.
  return Number.isNaN(ms) || new Date(ms).toISOString().slice(0, 10) !== text.slice(0, 10) ? undefined : ms
}

/** S49: the artifact is part of what a version is. */
function checkArtifact({ spec, options, findings }: ResolveContext): string | undefined {
  const { digest } = spec
  if (digest !== undefined && !DIGEST.test(digest)) {
    findings.error(['spec', 'digest'], 'is no digest', 'write sha256: and 64 hexadecimal digits')
  } else if (
    digest !== undefined &&
    options.artifactDigest !== undefined &&
    digest !== options.artifactDigest
  ) {
    findings.error(
      ['spec', 'digest'],
      `is not that of the artifact, ${options.artifactDigest}`,
      'correct one of the two',
    )
  }
  return options.artifactDigest ?? digest
}

/** Not controls: nothing is less safe without them, but nobody shall believe that they are acted on. */
function warnOfUnused({ spec, findings, type }: ResolveContext): void {
  if (spec.health !== undefined) findings.warn(['spec', 'health'], 'is kept, but not polled by this build')
  if (spec.slo !== undefined) findings.warn(['spec', 'slo'], 'is kept, but not measured by this build')
  for (const name of type === 'cli' ? [] : (['fs', 'env'] as const)) {
    if ((spec.grants?.[name]?.length ?? 0) > 0) {
      findings.warn(
        ['spec', 'grants', name],
        `gives nothing: no local code runs for type ${type}`,
        'remove it',
      )
    }
  }
}
