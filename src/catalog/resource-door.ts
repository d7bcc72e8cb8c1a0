// Declared state comes in here: read, planned, written all or nothing, and only then live.
import type { Events } from '../event/event.ts'
import type { CedarAsks } from '../resource/approval-cover.ts'
import { type CheckSet, roleNames } from '../resource/check-set.ts'
import { UNVERSIONED } from '../resource/kind.ts'
import { KINDS, shownBody } from '../resource/kinds.ts'
import { type ManifestDocument, type Problem, readManifests } from '../resource/manifest.ts'
import { madeFrom } from '../resource/mcp-tool.ts'
import { type DiffEntry, namespaceOf, planApply } from '../resource/plan-apply.ts'
import { toProblem } from '../resource/problem.ts'
import type { ResolveOptions } from '../resource/resolve-tool.ts'
import type { ResolvedTool } from '../resource/resolved-tool.ts'
import type { ApplyResult, NewEvidence, ResourceChange, ResourceRow, Store } from '../store/store.ts'
import type { World } from '../util/world.ts'
import type { Catalog } from './catalog.ts'
import { createFollower } from './follower.ts'
import type { Governance, GovernanceListener } from './live-governance.ts'
import { BUILD, buildOf, createLiveRows, type KeptKind } from './live-rows.ts'
import { type LiveServers, MCP_SERVER_KIND } from './live-servers.ts'
import { MCP_STATUS_KIND, pendingStatus } from './mcp-status.ts'

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
  /** Makes live what earlier lives or other processes have written until now. True when something changed meanwhile. */
  refresh(): Promise<boolean>
  /** From here on other processes write, too: what they do is live here within a second. */
  follow(): void
  /** False where they are followed, and the store could not be asked for so long that something may have been missed. */
  readonly current: boolean
  /** Ends the following. */
  close(): void
  /** What governs a namespace by now. */
  governance(namespace: string): Governance
  /** Rows that the runtime keeps itself, such as stops, of this very namespace; `*` has those that hold in all of them. */
  rowsOf(kind: KeptKind, namespace: string): readonly ResourceRow[]
  /** Writes such rows, and makes them live here at once. */
  keep(
    namespace: string,
    changes: readonly (ResourceChange & { readonly kind: KeptKind | 'Secret' })[],
    evidence: readonly NewEvidence[],
  ): Promise<ApplyResult>
  /** The MCP servers that are live. */
  readonly servers: Pick<LiveServers, 'get' | 'all' | 'onChange'>
  /** The rows that are live, of one kind in one namespace. */
  liveRows(kind: 'Tool' | typeof MCP_STATUS_KIND, namespace: string): readonly ResourceRow[]
  /** Writes tools that were made from an MCP server, with the status of that; a build that is replaced is kept. */
  keepTools(
    namespace: string,
    changes: readonly ResourceChange[],
    evidence: readonly NewEvidence[],
  ): Promise<ApplyResult>
  /** A secret as it is kept, sealed. */
  keptSecret(namespace: string, name: string): ResourceRow | undefined
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
  /** Which Cedar texts can ask for approval of an operation. */
  readonly asks?: CedarAsks
  /** Takes out of documents what must not be kept in clear; nothing is planned before. @default secrets are refused */
  readonly seal?: SealDocuments
}

export type SealDocuments = (
  documents: readonly ManifestDocument[],
  existing: readonly ResourceRow[],
  namespace: string,
) => Promise<{ readonly documents: readonly ManifestDocument[]; readonly problems: readonly Problem[] }>

export function createResourceDoor(options: ResourceDoorOptions): LiveResources {
  const { world, store, catalog, events } = options
  const seal = options.seal ?? refuseSecrets
  const live = createLiveRows(store, catalog, options.resolve)
  const { governance } = live
  const follower = createFollower({ world, events, look: live.look })

  function tellApplied({ namespace, name, version, digest }: ResourceRow): void {
    events.emit('tool:applied', { namespace, tool_id: name, version, digest })
  }

  function tell(): void {
    governance.tell()
    live.servers.tell()
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

  /** What goes with an MCP server: its tools, and its status. */
  async function madeOf(namespace: string, server: string): Promise<readonly ResourceRow[]> {
    const tools = await store.resources.list({ namespace, kind: 'Tool' })
    const statuses = await store.resources.list({ namespace, kind: MCP_STATUS_KIND, name: server })
    return [...tools.filter((row) => madeFrom(row.body)?.server === server), ...statuses]
  }

  async function keep(
    namespace: string,
    changes: readonly ResourceChange[],
    evidence: readonly NewEvidence[],
  ): Promise<ApplyResult> {
    const removed = changes
      .filter(({ put }) => put === undefined)
      .map(({ kind, name, version }) => ({ namespace, kind, name, version }))
      .map((key) => ({ key, upTo: live.versionOf(key) }))
    const applied = await store.resources.apply(namespace, changes, world.clock.now(), evidence)
    if (applied.kind === 'conflict') return applied
    for (const row of applied.rows) if (row.kind !== BUILD) live.take(row)
    for (const { key, upTo } of removed) live.drop(key, upTo)
    tell()
    return applied
  }

  return {
    refresh: follower.refresh,
    follow: follower.follow,
    get current() {
      return follower.current
    },
    close: follower.close,

    async apply(sources, { namespace, dryRun = false } = {}) {
      const read = sources.map(({ text, file }) => readManifests(text, file))
      const plain = read.flatMap((one) => one.documents)
      const own = namespaceOf(plain, namespace)
      const all = await store.resources.list({ namespace: own })
      const existing = all.filter((row) => isManifest(row.kind))
      const { documents, problems: unsealed } = await seal(plain, existing, namespace ?? 'default')
      const unread = [...read.flatMap((one) => one.problems), ...unsealed]
      const plan = planApply(existing, documents, {
        ...options.resolve,
        ...(namespace === undefined ? {} : { namespace }),
        ...(options.check === undefined ? {} : { check: options.check }),
        ...(options.asks === undefined ? {} : { asks: options.asks }),
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
      const pending = plan.changes
        .filter(({ kind }) => kind === MCP_SERVER_KIND)
        .map(({ name }) => pendingStatus(name, all.find(isStatusOf(name))))
      const changes = [...plan.changes, ...replaced.map(buildOf), ...pending]
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
      for (const row of applied.rows) if (row.kind !== BUILD) live.take(row)
      tell()
      for (const row of rows) if (row.kind === 'Tool') tellApplied(row)
      return { ok: true, diff: plan.diff, problems, rows: rows.map(shown) }
    },

    list: async (filter) => (await store.resources.list(filter)).map(shown),
    keptSecret: (namespace, name) => live.rowOf({ namespace, kind: 'Secret', name, version: UNVERSIONED }),

    async delete({ namespace, kind, name, version, expect }) {
      if (!isManifest(kind)) return 'not-found'
      const found = (await store.resources.list({ namespace, kind, name })).filter(
        (row) => version === undefined || row.version === version,
      )
      if (found.length === 0) return 'not-found'
      const maker = found.flatMap((row) => madeFrom(row.body)?.server ?? [])[0]
      if (kind === 'Tool' && maker !== undefined) {
        const refused = `the tool ${name} was made from the McpServer ${maker}`
        return { refused, fix: 'delete that, or leave the tool out by its tool_filter' }
      }
      // Another process may have applied something that names it.
      if (kind === 'AgentRole') await follower.refresh()
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
      const made = kind === MCP_SERVER_KIND ? await madeOf(namespace, name) : []
      const kept = [...found, ...made].filter((row) => row.kind === 'Tool').map(buildOf)
      const gone = made.map((row) => ({ kind: row.kind, name: row.name, version: row.version }))
      const applied = await store.resources.apply(namespace, [...changes, ...gone, ...kept], time, evidence)
      if (applied.kind === 'conflict') return 'conflict'
      for (const row of [...found, ...made]) live.drop(row, live.versionOf(row))
      tell()
      return 'deleted'
    },

    governance: (namespace) => governance.of(namespace),
    rowsOf: (kind, namespace) => governance.rowsOf(kind, namespace),
    onGovernance: (listener) => governance.onChange(listener),

    keep,
    servers: live.servers,
    liveRows: live.rowsOf,

    async keepTools(namespace, changes, evidence) {
      const builds = changes.flatMap(({ kind, name, version, put }) => {
        const before = live.rowOf({ namespace, kind, name, version })
        return kind === 'Tool' && before !== undefined && before.digest !== put?.digest
          ? [buildOf(before)]
          : []
      })
      const applied = await keep(namespace, [...changes, ...builds], evidence)
      if (applied.kind === 'applied')
        for (const row of applied.rows) if (row.kind === 'Tool') tellApplied(row)
      return applied
    },
  }
}

function isStatusOf(server: string) {
  return ({ kind, name }: ResourceRow) => kind === MCP_STATUS_KIND && name === server
}

function isManifest(kind: string): boolean {
  return KINDS.some((one) => one.name === kind)
}

/** As everybody but the runtime itself sees it. */
function shown(row: ResourceRow): ResourceRow {
  const body = shownBody(row.kind, row.body)
  return body === row.body ? row : { ...row, body }
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

/** Nothing here can seal: what is in clear goes no further. */
const refuseSecrets: SealDocuments = async (documents) => {
  const problems = documents
    .filter(({ kind }) => kind === 'Secret')
    .map(({ file, at }) => {
      const message = 'cannot be kept: nothing here seals secrets'
      const fix = 'apply it to a runtime that has a master key'
      return toProblem({ path: ['spec'], message, fix, severity: 'error' }, file, at(['spec']))
    })
  return { documents: documents.filter(({ kind }) => kind !== 'Secret'), problems }
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
