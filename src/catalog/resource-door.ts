// Declared state comes in here: read, planned, written all or nothing, and only then live.
import type { Events } from '../event/event.ts'
import {
  type ManifestDocument,
  type Problem,
  readManifests,
  readManifestValue,
} from '../resource/manifest.ts'
import { type DiffEntry, planApply } from '../resource/plan-apply.ts'
import { toProblem } from '../resource/problem.ts'
import { type ResolveOptions, resolveTool } from '../resource/resolve-tool.ts'
import type { ResolvedTool } from '../resource/resolved-tool.ts'
import type { ResourceChange, ResourceRow, ResourceStamp, Store } from '../store/store.ts'
import type { World } from '../util/world.ts'
import type { Catalog } from './catalog.ts'

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
  delete(options: DeleteOptions): Promise<'deleted' | 'not-found' | 'conflict'>
}

export interface ResourceDoorOptions {
  readonly world: World
  readonly store: Store
  readonly catalog: Catalog
  readonly events: Events
  readonly resolve: ResolveOptions
}

/** The door, and `refresh`, which makes live what earlier lives or other processes have applied. */
export function createResourceDoor(
  options: ResourceDoorOptions,
): ResourceDoor & { refresh(): Promise<boolean> } {
  const { world, store, catalog, events } = options
  /** What the catalog was made from: by namespace, name and version, the resource version. */
  const known = new Map<string, ResourceRow>()
  const builds = new Set<string>()
  let stamp: ResourceStamp | undefined
  let refreshing: Promise<boolean> | undefined
  const at = ({ namespace, name, version }: Pick<ResourceRow, 'namespace' | 'name' | 'version'>) =>
    JSON.stringify([namespace, name, version])

  /** True when something changed. Reads the rows only when the store says that there is something new. */
  async function refresh(): Promise<boolean> {
    const now = await store.resources.stamp()
    if (now.last === stamp?.last && now.count === stamp.count) return false
    const rows = await store.resources.list({ kind: 'Tool' })
    const kept = new Set(rows.map(at))
    for (const row of await store.resources.list({ kind: BUILD })) takeBuild(row)
    for (const row of rows) {
      if ((known.get(at(row))?.resourceVersion ?? 0) < row.resourceVersion) take(row)
    }
    for (const [key, row] of known) {
      // One that was applied here since the stamp was read may not be in the list.
      if (kept.has(key) || row.resourceVersion > now.last) continue
      known.delete(key)
      catalog.remove(row.namespace, row.name, row.version)
    }
    stamp = now
    return true
  }

  /** A build that was replaced or deleted; effects that are under way may still need it. */
  function takeBuild(row: ResourceRow): void {
    const key = at(row)
    if (builds.has(key)) return
    builds.add(key)
    const tool = resolveRow(row)?.tool
    if (tool !== undefined) catalog.keep(tool)
  }

  /** A manifest of an earlier build of Writ may be one that this build cannot read. */
  function resolveRow(row: ResourceRow) {
    const [document] = readManifestValue(row.body, row.name).documents
    return document && resolveTool(document.manifest, options.resolve)
  }

  function take(row: ResourceRow): void {
    known.set(at(row), row)
    const resolved = resolveRow(row)
    if (resolved?.tool) catalog.put(resolved.tool)
    else catalog.putBroken(row.namespace, row.name, row.version, whyBroken(resolved?.errors))
  }

  function goLive(tool: ResolvedTool): void {
    catalog.put(tool)
    const { namespace, name, version, digest } = tool
    events.emit('tool:applied', { namespace, tool_id: name, version, digest })
  }

  return {
    refresh() {
      refreshing ??= refresh().finally(() => {
        refreshing = undefined
      })
      return refreshing
    },

    async apply(sources, { namespace, dryRun = false } = {}) {
      const read = sources.map(({ text, file }) => readManifests(text, file))
      const documents = read.flatMap((one) => one.documents)
      const unread = read.flatMap((one) => one.problems)
      const existing = await store.resources.list({ kind: 'Tool' })
      const plan = planApply(existing, documents, {
        ...options.resolve,
        ...(namespace === undefined ? {} : { namespace }),
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
      const rows = applied.rows.filter((row) => row.kind === 'Tool')
      for (const row of rows) known.set(at(row), row)
      for (const [index, tool] of plan.tools.entries())
        if (plan.diff[index]?.action !== 'unchanged') goLive(tool)
      return { ok: true, diff: plan.diff, problems, rows }
    },

    list: (filter) => store.resources.list(filter),

    async delete({ namespace, kind, name, version, expect }) {
      const found = (await store.resources.list({ namespace, kind, name })).filter(
        (row) => version === undefined || row.version === version,
      )
      if (found.length === 0) return 'not-found'
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
      for (const row of found) {
        known.delete(at(row))
        catalog.remove(namespace, name, row.version)
      }
      return 'deleted'
    },
  }
}

/** How builds are kept that are no longer live: by digest. */
const BUILD = 'ToolBuild'

function buildOf({ name, digest, body }: ResourceRow): ResourceChange {
  return { kind: BUILD, name, version: digest, put: { digest, body } }
}

function replaces(change: ResourceChange, row: ResourceRow, namespace: string): boolean {
  return (
    row.namespace === namespace &&
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
      const document = documents.find((one) => one.manifest.metadata.name === tool.name)
      const path = ['metadata', 'name']
      const message = `'${tool.name}' is a tool of this program itself`
      const finding = { path, message, fix: 'use another name', severity: 'error' as const }
      return toProblem(finding, document?.file ?? '', document?.at(path) ?? { line: 1, column: 1 })
    })
}

function whyBroken(errors: readonly { readonly message: string }[] | undefined): string {
  return errors?.map((error) => error.message).join('; ') ?? 'the kept manifest cannot be read by this build'
}
