// What applying a set of documents would do, decided without doing it. All or nothing: one error, and nothing changes.
import type { JsonObject } from '../util/json.ts'
import type { CedarAsks } from './approval-cover.ts'
import { type CheckSet, checkSet } from './check-set.ts'
import { type DiffEntry, diffBodies } from './diff.ts'
import { API_VERSION, type ManifestHead } from './document.ts'
import { createGovernanceSet } from './governance-set.ts'
import { type Declared, type Manifest, resolveManifest } from './kinds.ts'
import { type ManifestDocument, readManifestValue } from './manifest.ts'
import { madeFrom } from './mcp-tool.ts'
import { type Finding, type Path, type Problem, toProblem } from './problem.ts'
import type { ResolveOptions } from './resolve-tool.ts'
import type { ResolvedTool } from './resolved-tool.ts'
import { checkSameMeaning } from './same-meaning.ts'

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
  /** Tools of the program itself, which are no documents. */
  readonly natives?: readonly ResolvedTool[]
  /** Looks at all that would govern the namespace: Cedar is checked there. */
  readonly check?: CheckSet
  /** Which Cedar texts can ask for approval of an operation. Without it none is taken to. */
  readonly asks?: CedarAsks
  /** What else the namespace has is not known: what is not among the documents may be there. */
  readonly partial?: boolean
}

export interface ApplyPlan {
  /** The one namespace of the set. */
  readonly namespace: string
  /** Empty when there is an error. Unchanged documents are not in it. */
  readonly changes: readonly PlannedChange[]
  /** One entry per document that could be resolved, in their order. */
  readonly diff: readonly DiffEntry[]
  /** The tools of the set, resolved. */
  readonly tools: readonly ResolvedTool[]
  readonly problems: readonly Problem[]
}

/** The one namespace that a set of documents is for. */
export function namespaceOf(documents: readonly ManifestDocument[], asked?: string): string {
  return asked ?? documents[0]?.manifest.metadata.namespace ?? 'default'
}

export function planApply(
  existing: readonly AppliedResource[],
  documents: readonly ManifestDocument[],
  options: PlanApplyOptions,
): ApplyPlan {
  const problems: Problem[] = []
  const changes: PlannedChange[] = []
  const diff: DiffEntry[] = []
  const planned: { readonly document: ManifestDocument; readonly declared: Declared }[] = []
  const seen = new Map<string, ManifestDocument>()
  const namespace = namespaceOf(documents, options.namespace)

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
    const { declared, version, digest, warnings, errors } = resolveManifest(manifest, options)
    for (const finding of [...errors, ...warnings]) report(finding)
    if (declared === undefined) continue

    const { kind } = document
    const { name } = declared.resolved
    const id = `${kind}/${name}/${version}`
    const twin = seen.get(id)
    if (twin !== undefined) {
      const where = `${twin.file}:${twin.at(['metadata', 'name']).line}`
      const what = declared.kind === 'Tool' ? `${kind} ${name} ${version}` : `${kind} ${name}`
      refuse(['metadata', 'name'], `${what} is declared twice, first at ${where}`, 'keep one')
      continue
    }
    seen.set(id, document)

    const row = existing.find(
      (one) => one.namespace === own && one.kind === kind && one.name === name && one.version === version,
    )
    const maker = kind === 'Tool' ? makerOf(existing, own, name) : undefined
    if (maker !== undefined) {
      const fix = `use another name, or label the tool on that server`
      refuse(['metadata', 'name'], `${name} was made from the McpServer ${maker}`, fix)
    }
    checkExpectation(document.manifest, row, refuse)
    if (maker === undefined && row !== undefined && declared.kind === 'Tool' && manifest.kind === 'Tool')
      checkSameMeaning(row, declared.resolved, manifest, options, refuse)
    const body = manifest as unknown as JsonObject
    const fields = diffBodies(row?.body, body)
    // A build that reads a manifest differently than the one that kept it gives it another digest.
    const stale = row !== undefined && row.digest !== digest
    const action = row === undefined ? 'create' : fields.length > 0 || stale ? 'update' : 'unchanged'
    planned.push({ document, declared })
    diff.push({ kind, namespace: own, name, version, action, changes: fields })
    if (action !== 'unchanged') {
      changes.push({ kind, name, version, put: { digest, body }, expect: row?.resourceVersion ?? 0 })
    }
  }
  const declared = planned.map((one) => one.declared)
  problems.push(...checkWhole(planned, rest(existing, declared, namespace, options), options))
  const failed = problems.some((problem) => problem.severity === 'error')
  const tools = declared.flatMap((one) => (one.kind === 'Tool' ? [one.resolved] : []))
  return { namespace, changes: failed ? [] : changes, diff, tools, problems }
}

/** The MCP server that a name belongs to, whatever the version. */
function makerOf(existing: readonly AppliedResource[], namespace: string, name: string): string | undefined {
  return existing
    .filter((row) => row.namespace === namespace && row.kind === 'Tool' && row.name === name)
    .flatMap((row) => madeFrom(row.body)?.server ?? [])[0]
}

/** What the set leaves as it is. By the rules of a laptop: what was accepted once is not judged again. */
function rest(
  existing: readonly AppliedResource[],
  declared: readonly Declared[],
  namespace: string,
  options: PlanApplyOptions,
): Declared[] {
  const replaced = (row: AppliedResource) =>
    declared.some(
      ({ kind, resolved }) =>
        kind === row.kind &&
        resolved.name === row.name &&
        (kind !== 'Tool' || resolved.version === row.version),
    )
  return existing
    .filter((row) => row.namespace === namespace && !replaced(row))
    .flatMap((row) => {
      const [kept] = readManifestValue(row.body, row.name).documents
      const one =
        kept && resolveManifest(kept.manifest, { ...options, profile: 'local', generated: true }).declared
      return one === undefined ? [] : [one]
    })
}

/** What only shows when all that the namespace has is looked at. Only what the set itself brings is told. */
function checkWhole(
  planned: readonly { readonly document: ManifestDocument; readonly declared: Declared }[],
  others: readonly Declared[],
  options: PlanApplyOptions,
): Problem[] {
  const all = [...planned.map((one) => one.declared), ...others]
  const set = createGovernanceSet(all)
  const tools = all.flatMap((one) => (one.kind === 'Tool' ? [one.resolved] : []))
  const everything = [...tools, ...(options.natives ?? [])]
  const findings = [...checkSet(set, everything, options), ...(options.check?.(set, everything) ?? [])]
  return findings.flatMap(({ kind, name, inside, ...finding }) =>
    planned
      .filter(({ declared }) => declared.kind === kind && declared.resolved.name === name)
      .map(({ document }) => ({
        ...toProblem(finding, document.file, document.at(finding.path, inside)),
        ...(inside === undefined ? {} : { inside }),
      })),
  )
}

/** What is kept: no status, and nothing of what the store itself counts. */
function canonicalManifest<M extends Manifest>(manifest: M, namespace: string): M {
  const { name, labels, annotations } = manifest.metadata
  const { status: _status, ...declared } = manifest
  return {
    ...declared,
    apiVersion: API_VERSION,
    metadata: {
      name,
      namespace,
      ...(labels === undefined ? {} : { labels }),
      ...(annotations === undefined ? {} : { annotations }),
    },
  } as M
}

type Refuse = (path: Path, message: string, fix: string) => void

/** A manifest that was read back, edited and applied must not undo what others did meanwhile. */
function checkExpectation(manifest: ManifestHead, row: AppliedResource | undefined, refuse: Refuse): void {
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
