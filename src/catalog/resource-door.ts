// Declared state comes in here: read, planned, written all or nothing, and only then live.
import type { Events } from '../event/event.ts'
import { type CheckSet, roleNames } from '../resource/check-set.ts'
import { KINDS } from '../resource/kinds.ts'
import { type ManifestDocument, type Problem, readManifests } from '../resource/manifest.ts'
import { type DiffEntry, namespaceOf, planApply } from '../resource/plan-apply.ts'
import { toProblem } from '../resource/problem.ts'
import type { ResolveOptions } from '../resource/resolve-tool.ts'
import type { ResolvedTool } from '../resource/resolved-tool.ts'
import type { ApplyResult, NewEvidence, ResourceChange, ResourceRow, Store } from '../store/store.ts'
import type { World } from '../util/world.ts'
import type { Catalog } from './catalog.ts'
import type { Governance, GovernanceListener } from './live-governance.ts'
import { buildOf, createLiveRows, type KeptKind } from './live-rows.ts'

export type { Governance, GovernanceListener } from './live-governance.ts'

export interface ApplyOutcome {
  readonly ok: boolean
  readonly diff: readonly DiffEntry[]
  readonly problems: readonly Problem[]
  /** What is kept now, or would be. */
  readonly rows: readonly ResourceRow[]
}

export interface ManifestSource {
  readonly text: string | Uint8Array
  /** For messages. */
  readonly file: string
}

export interface ApplyOptions {
  /** For documents that name none. @default 'default' */
  readonly namespace?: string
  /** Stops before anything is written. */
  readonly dryRun?: boolean
}

export interface DeleteOptions {
  readonly namespace: string
  readonly kind: string
  readonly name: string
  /** Every version when absent. */
  readonly version?: string
  /** The resourceVersion that must be there. */
  readonly expect?: number
}

export interface ResourceDoor {
  /** All or nothing. */
  apply(sources: readonly ManifestSource[], options?: ApplyOptions): Promise<ApplyOutcome>
  list(filter: {
    readonly namespace?: string
    readonly kind?: string
    readonly name?: string
  }): Promise<readonly ResourceRow[]>
  delete(options: DeleteOptions): Promise<DeleteOutcome>
}

/** `refused`: why it has to stay, and what to do about it. */
export type DeleteOutcome =
  | 'deleted'
  | 'not-found'
  | 'conflict'
  | { readonly refused: string; readonly fix: string }

/** What the runtime itself needs beside what callers of the door do. */
export interface LiveResources extends ResourceDoor {
  /** Makes live what earlier lives or other processes have applied. True when something changed. */
  refresh(): Promise<boolean>
  /** What governs a namespace by now. */
  governance(namespace: string): Governance
  /** Rows that the runtime keeps itself, such as stops and grants: those of the namespace and of `*`. */
  rowsOf(kind: KeptKind, namespace: string): readonly ResourceRow[]
  /** Writes such rows, and makes them live here at once. */
  keep(
    namespace: string,
    changes: readonly (ResourceChange & { readonly kind: KeptKind })[],
    evidence: readonly NewEvidence[],
  ): Promise<ApplyResult>
  /** Told after a change of what governs a namespace, or of the rows that are kept for it; `*` is every namespace. */
  onGovernance(listener: GovernanceListener): () => void
}

export interface ResourceDoorOptions {
  readonly world: World
  readonly store: Store
  readonly catalog: Catalog
  readonly events: Events
  readonly resolve: ResolveOptions
  /** Looks at all that would govern a namespace before it is written: Cedar is checked there. */
  readonly check?: CheckSet
}

export function createResourceDoor(options: ResourceDoorOptions): LiveResources {
  const { world, store, catalog, events } = options
  const live = createLiveRows(store, catalog, options.resolve)
  const { governance } = live

  function tellApplied({ namespace, name, version, digest }: ResourceRow): void {
    events.emit('tool:applied', { namespace, tool_id: name, version, digest })
  }

  /** Those who name a role that is to go. */
  function namersOf(namespace: string, role: string): readonly string[] {
    const now = governance.of(namespace)
    if (now.kind === 'unavailable') return []
    const namers = roleNames(now.set, catalog.list(namespace))
      .filter((one) => one.role === role && (one.kind !== 'AgentRole' || one.name !== role))
      .map(({ kind, name }) => `${kind} ${name}`)
    return [...new Set(namers)]
  }

  return {
    refresh: () => live.refresh(),

    async apply(sources, { namespace, dryRun = false } = {}) {
      const read = sources.map(({ text, file }) => readManifests(text, file))
      const documents = read.flatMap((one) => one.documents)
      const unread = read.flatMap((one) => one.problems)
      const own = namespaceOf(documents, namespace)
      const existing = (await store.resources.list({ namespace: own })).filter((row) => isManifest(row.kind))
      const plan = planApply(existing, documents, {
        ...options.resolve,
        ...(namespace === undefined ? {} : { namespace }),
        ...(options.check === undefined ? {} : { check: options.check }),
        natives: catalog.list(own).filter((tool) => tool.type === 'native'),
      })
      const problems = [...unread, ...plan.problems, ...taken(plan.tools, catalog, documents)]
      const refused = { ok: false, diff: plan.diff, problems, rows: [] }
      if (documents.length === 0 && unread.length === 0)
        return { ...refused, problems: [nothingIn(sources[0]?.file)] }
      if (problems.some((problem) => problem.severity === 'error')) return refused
      if (dryRun) return { ...refused, ok: true }

      const time = world.clock.now()
      const evidence = plan.diff
        .filter(({ action }) => action !== 'unchanged')
        .map(({ kind, name, version, action }) => ({
          namespace: plan.namespace,
          callId: '',
          type: 'resource.applied' as const,
          at: time,
          body: { kind, name, version, action },
        }))
      const replaced = existing.filter((row) =>
        plan.changes.some((change) => replaces(change, row, plan.namespace)),
      )
      const changes = [...plan.changes, ...replaced.map(buildOf)]
      const applied = await store.resources.apply(plan.namespace, changes, time, evidence)
      if (applied.kind === 'conflict') {
        const { name, version } = applied.change
        const fix = 'read it again and repeat the change'
        const message = `${name} ${version} was changed by somebody else meanwhile`
        const conflict = toProblem(
          { path: ['metadata'], message, fix, severity: 'error' },
          sources[0]?.file ?? '',
          { line: 1, column: 1 },
        )
        return { ...refused, problems: [...problems, conflict] }
      }
      const rows = applied.rows.filter((row) => isManifest(row.kind))
      for (const row of rows) live.take(row)
      governance.tell()
      for (const row of rows) if (row.kind === 'Tool') tellApplied(row)
      return { ok: true, diff: plan.diff, problems, rows }
    },

    list: (filter) => store.resources.list(filter),

    async delete({ namespace, kind, name, version, expect }) {
      if (!isManifest(kind)) return 'not-found'
      const found = (await store.resources.list({ namespace, kind, name })).filter(
        (row) => version === undefined || row.version === version,
      )
      if (found.length === 0) return 'not-found'
      // Another process may have applied something that names it.
      if (kind === 'AgentRole') await live.refresh()
      const namers = kind === 'AgentRole' ? namersOf(namespace, name) : []
      if (namers.length > 0) {
        const refused = `the role ${name} is named by ${namers.join(', ')}`
        return { refused, fix: 'take the role out of these first, or delete them' }
      }
      const changes = found.map((row) => ({
        kind,
        name,
        version: row.version,
        expect: expect ?? row.resourceVersion,
      }))
      const time = world.clock.now()
      const evidence = found.map((row) => ({
        namespace,
        callId: '',
        type: 'resource.deleted' as const,
        at: time,
        body: { kind, name, version: row.version },
      }))
      const kept = found.filter((row) => row.kind === 'Tool').map(buildOf)
      const applied = await store.resources.apply(namespace, [...changes, ...kept], time, evidence)
      if (applied.kind === 'conflict') return 'conflict'
      for (const row of found) live.drop(row)
      governance.tell()
      return 'deleted'
    },

    governance: (namespace) => governance.of(namespace),
    rowsOf: (kind, namespace) => governance.rowsOf(kind, namespace),
    onGovernance: (listener) => governance.onChange(listener),

    async keep(namespace, changes, evidence) {
      const applied = await store.resources.apply(namespace, changes, world.clock.now(), evidence)
      if (applied.kind === 'conflict') return applied
      for (const row of applied.rows) live.take(row)
      for (const { put, ...id } of changes) if (put === undefined) live.drop({ namespace, ...id })
      governance.tell()
      return applied
    },
  }
}

function isManifest(kind: string): boolean {
  return KINDS.some((one) => one.name === kind)
}

function replaces(change: ResourceChange, row: ResourceRow, namespace: string): boolean {
  return (
    row.namespace === namespace &&
    row.kind === 'Tool' &&
    change.kind === 'Tool' &&
    row.name === change.name &&
    row.version === change.version &&
    row.digest !== change.put?.digest
  )
}

function nothingIn(file = ''): Problem {
  return {
    file,
    line: 1,
    column: 1,
    path: '',
    message: 'there is no document in it',
    fix: 'write at least one manifest',
    severity: 'error',
  }
}

/** S55: a name that a function of this program has is not for manifests. */
function taken(
  tools: readonly ResolvedTool[],
  catalog: Catalog,
  documents: readonly ManifestDocument[],
): Problem[] {
  return tools
    .filter((tool) =>
      catalog.list(tool.namespace).some((one) => one.type === 'native' && one.name === tool.name),
    )
    .map((tool) => {
      const document = documents.find(
        (one) => one.kind === 'Tool' && one.manifest.metadata.name === tool.name,
      )
      const path = ['metadata', 'name']
      const message = `'${tool.name}' is a tool of this program itself`
      const finding = { path, message, fix: 'use another name', severity: 'error' as const }
      return toProblem(finding, document?.file ?? '', document?.at(path) ?? { line: 1, column: 1 })
    })
}
