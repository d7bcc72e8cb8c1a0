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
import type { ResourceRow, Store } from '../store/store.ts'
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

/** The door, and `load`, which makes what was applied in earlier lives live again. */
export function createResourceDoor(options: ResourceDoorOptions): ResourceDoor & { load(): Promise<void> } {
  const { world, store, catalog, events } = options

  function goLive(tool: ResolvedTool): void {
    catalog.put(tool)
    const { namespace, name, version, digest } = tool
    events.emit('tool:applied', { namespace, tool_id: name, version, digest })
  }

  return {
    async load() {
      for (const row of await store.resources.list({ kind: 'Tool' })) {
        const [document] = readManifestValue(row.body, row.name).documents
        const resolved = document && resolveTool(document.manifest, options.resolve)
        if (resolved?.tool) catalog.put(resolved.tool)
        else catalog.putBroken(row.namespace, row.name, row.version, whyBroken(resolved?.errors))
      }
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

      const at = world.clock.now()
      const evidence = plan.diff
        .filter(({ action }) => action !== 'unchanged')
        .map(({ kind, name, version, action }) => ({
          namespace: plan.namespace,
          callId: '',
          type: 'resource.applied',
          at,
          body: { kind, name, version, action },
        }))
      const applied = await store.resources.apply(plan.namespace, plan.changes, at, evidence)
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
      for (const [index, tool] of plan.tools.entries())
        if (plan.diff[index]?.action !== 'unchanged') goLive(tool)
      return { ok: true, diff: plan.diff, problems, rows: applied.rows }
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
      const at = world.clock.now()
      const evidence = found.map((row) => ({
        namespace,
        callId: '',
        type: 'resource.deleted',
        at,
        body: { kind, name, version: row.version },
      }))
      const applied = await store.resources.apply(namespace, changes, at, evidence)
      if (applied.kind === 'conflict') return 'conflict'
      for (const row of found) catalog.remove(namespace, name, row.version)
      return 'deleted'
    },
  }
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
