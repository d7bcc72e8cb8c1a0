// What applying a set of documents would do, decided without doing it. All or nothing: one error, and nothing changes.
import { isDeepStrictEqual } from 'node:util'
import type { JsonObject } from '../util/json.ts'
import { type DiffEntry, diffBodies } from './diff.ts'
import { type ManifestDocument, readManifestValue } from './manifest.ts'
import { type Finding, type Path, type Problem, toProblem } from './problem.ts'
import { type ResolveOptions, resolveTool } from './resolve-tool.ts'
import type { ResolvedTool } from './resolved-tool.ts'
import { API_VERSION, type ToolManifest } from './tool.ts'

export { type DiffEntry, formatDiff } from './diff.ts'

/** A declared resource as the store keeps it; what planning needs of it. */
export interface AppliedResource {
  readonly namespace: string
  readonly kind: string
  readonly name: string
  readonly version: string
  readonly resourceVersion: number
  readonly digest: string
  readonly body: JsonObject
}

/** A write for the store. */
export interface PlannedChange {
  readonly kind: string
  readonly name: string
  readonly version: string
  readonly put: { readonly digest: string; readonly body: JsonObject }
  /** The version that was planned against; 0 when there was none. Anything else there by now is a conflict. */
  readonly expect: number
}

export interface PlanApplyOptions extends ResolveOptions {
  /** For documents that name none. One that names another is refused. @default 'default' */
  readonly namespace?: string
}

export interface ApplyPlan {
  /** The one namespace of the set. */
  readonly namespace: string
  /** Empty when there is an error. Unchanged documents are not in it. */
  readonly changes: readonly PlannedChange[]
  /** One entry per document that could be resolved, in their order. */
  readonly diff: readonly DiffEntry[]
  /** The tools of the set, resolved, in the order of `diff`. */
  readonly tools: readonly ResolvedTool[]
  readonly problems: readonly Problem[]
}

export function planApply(
  existing: readonly AppliedResource[],
  documents: readonly ManifestDocument[],
  options: PlanApplyOptions,
): ApplyPlan {
  const problems: Problem[] = []
  const changes: PlannedChange[] = []
  const diff: DiffEntry[] = []
  const tools: ResolvedTool[] = []
  const seen = new Map<string, ManifestDocument>()
  const namespace = options.namespace ?? documents[0]?.manifest.metadata.namespace ?? 'default'

  for (const document of documents) {
    const report = (finding: Finding) =>
      problems.push(toProblem(finding, document.file, document.at(finding.path)))
    const refuse = (path: Path, message: string, fix: string) =>
      report({ path, message, fix, severity: 'error' })

    const own = document.manifest.metadata.namespace ?? options.namespace ?? 'default'
    if (own !== namespace) {
      const why =
        options.namespace === undefined ? 'and one apply changes one namespace' : 'which was asked for'
      refuse(
        ['metadata', 'namespace'],
        `'${own}' is not '${namespace}', ${why}`,
        'apply each namespace by itself',
      )
    }
    const manifest = canonicalManifest(document.manifest, own)
    const { tool, warnings, errors } = resolveTool(manifest, options)
    for (const finding of [...errors, ...warnings]) report(finding)
    if (tool === undefined) continue

    const { name, version } = tool
    const id = `${document.kind}/${name}/${version}`
    const twin = seen.get(id)
    if (twin !== undefined) {
      const where = `${twin.file}:${twin.at(['metadata', 'name']).line}`
      refuse(
        ['metadata', 'name'],
        `${document.kind} ${name} ${version} is declared twice, first at ${where}`,
        'keep one',
      )
      continue
    }
    seen.set(id, document)

    const row = existing.find(
      (one) =>
        one.namespace === own && one.kind === document.kind && one.name === name && one.version === version,
    )
    checkExpectation(document.manifest, row, refuse)
    if (row !== undefined) checkSameMeaning(row, tool, manifest, options, refuse)
    const body = manifest as unknown as JsonObject
    const fields = diffBodies(row?.body, body)
    // A build that reads a manifest differently than the one that kept it gives it another digest.
    const stale = row !== undefined && row.digest !== tool.digest
    const action = row === undefined ? 'create' : fields.length > 0 || stale ? 'update' : 'unchanged'
    tools.push(tool)
    diff.push({ kind: document.kind, namespace: own, name, version, action, changes: fields })
    if (action !== 'unchanged') {
      const put = { digest: tool.digest, body }
      changes.push({ kind: document.kind, name, version, put, expect: row?.resourceVersion ?? 0 })
    }
  }
  const failed = problems.some((problem) => problem.severity === 'error')
  return { namespace, changes: failed ? [] : changes, diff, tools, problems }
}

/** What is kept: no status, and nothing of what the store itself counts. */
function canonicalManifest(manifest: ToolManifest, namespace: string): ToolManifest {
  const { name, labels, annotations } = manifest.metadata
  return {
    apiVersion: API_VERSION,
    kind: 'Tool',
    metadata: {
      name,
      namespace,
      ...(labels === undefined ? {} : { labels }),
      ...(annotations === undefined ? {} : { annotations }),
    },
    spec: manifest.spec,
  }
}

type Refuse = (path: Path, message: string, fix: string) => void

/** A manifest that was read back, edited and applied must not undo what others did meanwhile. */
function checkExpectation(manifest: ToolManifest, row: AppliedResource | undefined, refuse: Refuse): void {
  const { resourceVersion } = manifest.metadata
  if (resourceVersion === undefined) return
  const expected = Number(resourceVersion)
  const found = row?.resourceVersion ?? 0
  if (expected === found) return
  const now = found === 0 ? 'it does not exist' : `it is ${found}`
  refuse(
    ['metadata', 'resourceVersion'],
    `is ${expected}, but ${now} by now`,
    'read it again and repeat the change',
  )
}

/** S49: one version means one thing. A caller that pinned it must not get another effect, or another place. */
function checkSameMeaning(
  row: AppliedResource,
  tool: ResolvedTool,
  { spec }: ToolManifest,
  options: ResolveOptions,
  refuse: Refuse,
): void {
  const [kept] = readManifestValue(row.body, row.name).documents
  // By the rules of a laptop: what was accepted once is compared, not judged again.
  const before = kept && resolveTool(kept.manifest, { ...options, profile: 'local' }).tool
  if (before === undefined) {
    if (row.digest !== tool.digest) {
      refuse(['spec'], 'what is applied under this version cannot be read by this build', bump(tool.version))
    }
    return
  }
  for (const [name, operation] of Object.entries(before.operations)) {
    const now = tool.operations[name]?.effect
    if (now === undefined) continue
    if (operation.internal) {
      // What it means is in the effect that names it; where it goes is a place like the endpoint.
      const [owner = ''] = name.split('$', 1)
      const at = owner === '' ? ['spec', 'effect'] : ['spec', 'operations', owner, 'effect']
      if (originOf(operation.request?.url) !== originOf(tool.operations[name]?.request?.url))
        refuse(at, `names another place than ${tool.name} ${tool.version} does`, bump(tool.version))
      continue
    }
    const { identity: oldIdentity, ...oldEffect } = operation.effect
    const { identity, ...effect } = now
    const path = spec.operations === undefined ? ['spec', 'effect'] : ['spec', 'operations', name, 'effect']
    if (!isDeepStrictEqual(effect, oldEffect)) {
      refuse(path, `is another effect than ${tool.name} ${tool.version} has`, bump(tool.version))
    }
    if (!isDeepStrictEqual(identity, oldIdentity)) {
      refuse(
        [...path, 'identity'],
        `is another identity than ${tool.name} ${tool.version} has`,
        bump(tool.version),
      )
    }
  }
  if (originOf(before.endpoint) !== originOf(tool.endpoint)) {
    refuse(['spec', 'endpoint'], `is another place than ${tool.name} ${tool.version} has`, bump(tool.version))
  }
}

/** `host:port` of gRPC has no origin of its own. */
function originOf(endpoint: string | undefined): string | undefined {
  if (endpoint === undefined) return undefined
  const url = URL.parse(endpoint)
  return url === null || url.origin === 'null' ? endpoint : url.origin
}

function bump(version: string): string {
  const [major = '0'] = version.split('.')
  return `write version: ${Number(major) + 1}.0.0`
}
