// Keeps the tools of every MCP server: lists them when the server is declared or changed, when it says that they changed,
// and on an interval. Any replica may do it; the row of the status decides between two that do it at once.
import type { Events } from '../event/event.ts'
import { cleanText } from '../resource/mcp-text.ts'
import { madeFrom } from '../resource/mcp-tool.ts'
import type { ResolveOptions } from '../resource/resolve-tool.ts'
import type { ResolvedMcpServer } from '../resource/resolved-mcp-server.ts'
import type { NewEvidence, ResourceChange, ResourceRow } from '../store/store.ts'
import { StoreUnavailable } from '../store/store.ts'
import {
  McpFailed,
  type McpSession,
  type McpSessions,
  type McpToolDefinition,
} from '../transport/mcp/session.ts'
import { Abort } from '../util/abort.ts'
import { errorPlace } from '../util/error-place.ts'
import type { JsonObject } from '../util/json.ts'
import type { Timer, World } from '../util/world.ts'
import type { Catalog } from './catalog.ts'
import type { LiveServer, ServerKey } from './live-servers.ts'
import { type McpLook, type McpPlan, type PlannedTool, planMcpTools } from './mcp-plan.ts'
import { MCP_STATUS_KIND, type McpServerStatus, readStatus, statusChange } from './mcp-status.ts'
import type { LiveResources } from './resource-door.ts'

/** Takes what is secret out of what a server says. */
export type CleanList = (
  server: ResolvedMcpServer,
  listed: readonly McpToolDefinition[],
  abort: Abort,
) => Promise<readonly McpToolDefinition[]>

export interface McpDiscoveryOptions {
  readonly world: World
  readonly events: Events
  readonly sessions: McpSessions
  readonly catalog: Pick<Catalog, 'list'>
  readonly resources: Pick<LiveResources, 'servers' | 'liveRows' | 'keepTools' | 'keep' | 'refresh'>
  readonly resolve: ResolveOptions
  readonly clean: CleanList
  /** After it is on disk: what waits for approval of that build waits for nothing. */
  readonly onQuarantined: (namespace: string, tool: string) => void
}

export interface McpDiscovery {
  /** From here on every server is kept in step. */
  start(): void
  /** Nothing of it is under way any more when it resolves. */
  close(): Promise<void>
}

/** One look at a server, its handshake and all pages of the list. */
const SYNC_MS = 120_000
const FIRST_RETRY_MS = 2_000
/** Words of the server that its tools changed are gathered: one that says it all the time is not asked all the time. */
const SETTLE_MS = 200
const MAX_ERROR = 500

interface Worker {
  readonly key: ServerKey
  running: Promise<void> | undefined
  again: boolean
  failures: number
  timer: Timer | undefined
  unwatch: () => void
  /** Of the connection that was used last. */
  digest: string | undefined
  /** The session that is listened to. */
  watched: McpSession | undefined
  /** What was found the last time, and which generation of the server that was. */
  look: { readonly found: McpLook; readonly generation: number } | undefined
}

export function createMcpDiscovery(options: McpDiscoveryOptions): McpDiscovery {
  const { world, events, sessions, catalog, resources, resolve, clean } = options
  const workers = new Map<string, Worker>()
  const ending = new Abort()
  let unlisten = () => {}

  function workerOf(key: ServerKey): Worker {
    const id = `${key.namespace}/${key.name}`
    const known = workers.get(id)
    if (known !== undefined) return known
    const worker: Worker = {
      key,
      running: undefined,
      again: false,
      failures: 0,
      timer: undefined,
      unwatch: () => {},
      digest: undefined,
      watched: undefined,
      look: undefined,
    }
    workers.set(id, worker)
    return worker
  }

  /** Now, or once more after what is under way. */
  function poke(worker: Worker): void {
    if (ending.aborted) return
    if (worker.running !== undefined) {
      worker.again = true
      return
    }
    worker.timer?.cancel()
    worker.running = sync(worker)
      .catch((error: unknown) => {
        if (!(error instanceof StoreUnavailable)) {
          const { namespace, name } = worker.key
          events.emit('timer:failed', { namespace, kind: 'mcp', subject: name, error: errorPlace(error) })
        }
        return FIRST_RETRY_MS
      })
      .then((inMs) => {
        worker.running = undefined
        if (inMs === undefined) forget(worker)
        else later(worker, worker.again ? 0 : inMs)
        worker.again = false
      })
  }

  function later(worker: Worker, inMs: number): void {
    worker.timer?.cancel()
    if (!ending.aborted) worker.timer = world.after(inMs, () => poke(worker))
  }

  function forget(worker: Worker): void {
    worker.timer?.cancel()
    worker.unwatch()
    sessions.forget(worker.key)
    workers.delete(`${worker.key.namespace}/${worker.key.name}`)
    // It may have been declared again meanwhile.
    if (resources.servers.get(worker.key) !== undefined) poke(workerOf(worker.key))
  }

  const statusOf = ({ namespace, name }: ServerKey) =>
    resources.liveRows(MCP_STATUS_KIND, namespace).find((row) => row.name === name)

  /** After how long to look again; undefined when the server is no longer there. */
  async function sync(worker: Worker): Promise<number | undefined> {
    const { key } = worker
    const live = resources.servers.get(key)
    if (live === undefined) return undefined
    const row = statusOf(key)
    const before = readStatus(row?.body)
    if (live.server === undefined || live.server.unavailable !== undefined) {
      const why = live.server?.unavailable ?? live.why ?? ''
      await write(live, row, { ...before, phase: 'Error', lastError: why })
      return live.server?.resyncMs ?? SYNC_MS
    }
    const { server } = live
    if (worker.digest !== undefined && worker.digest !== server.digest) sessions.forget(key)
    worker.digest = server.digest
    const isNew = before.observedGeneration !== live.row.generation || before.phase === 'Pending'
    const begun = isNew ? await write(live, row, { ...before, phase: 'Connecting' }) : row
    if (begun === 'conflict') return settle()
    let listed: readonly McpToolDefinition[]
    try {
      listed = await list(worker, server)
    } catch (error) {
      if (ending.aborted) return 0
      if (!(error instanceof McpFailed)) throw error
      worker.failures++
      const failed: McpServerStatus = { ...before, phase: 'Error', lastError: wordsOf(error) }
      const { observedGeneration } = before
      await write(live, begun, { ...failed, observedGeneration })
      return Math.min(server.resyncMs, FIRST_RETRY_MS * 2 ** Math.min(worker.failures - 1, 16))
    }
    worker.failures = 0
    const rows = resources.liveRows('Tool', key.namespace)
    const plan = planMcpTools({
      server,
      listed,
      last: worker.look?.generation === live.row.generation ? worker.look.found : undefined,
      rows: rows.filter((one) => madeFrom(one.body)?.server === server.name),
      taken: (name) => holderOf(name, rows, server),
      resolve,
    })
    const { changes, look, ...told } = plan
    const status: McpServerStatus = {
      phase: 'Ready',
      ...told,
      lastSyncedAt: world.clock.now(),
      observedGeneration: live.row.generation,
    }
    const written = await write(live, begun, status, plan)
    if (written === 'conflict') return settle()
    worker.look = { found: look, generation: live.row.generation }
    for (const { name, quarantined } of changes) {
      if (quarantined === undefined) continue
      events.emit('tool:quarantined', { namespace: key.namespace, tool_id: name, server: key.name })
      options.onQuarantined(key.namespace, name)
    }
    return server.resyncMs
  }

  /** Somebody else has written meanwhile: theirs is seen first. */
  async function settle(): Promise<number> {
    await resources.refresh()
    return SETTLE_MS
  }

  /** Who has a name that a tool would get; this server itself is nobody else. */
  function holderOf(
    name: string,
    rows: readonly ResourceRow[],
    server: ResolvedMcpServer,
  ): string | undefined {
    const row = rows.find((one) => one.name === name)
    if (row !== undefined) {
      const other = madeFrom(row.body)?.server
      return other === undefined ? 'another tool' : `a tool of the McpServer ${other}`
    }
    const native = catalog.list(server.namespace).some((one) => one.type === 'native' && one.name === name)
    return native ? 'a tool of this program' : undefined
  }

  async function list(worker: Worker, server: ResolvedMcpServer): Promise<readonly McpToolDefinition[]> {
    const abort = new Abort()
    const stop = ending.listen((reason) => abort.abort(reason))
    const timer = world.after(SYNC_MS, () => abort.abort('timeout'))
    try {
      const look = (session: McpSession) => {
        watch(worker, session)
        return session.listTools(abort)
      }
      // It comes again and again: a server that nobody calls would never be idle.
      const listed = await sessions.use(server, abort, look, { aside: true })
      return await clean(server, listed, abort)
    } finally {
      timer.cancel()
      stop()
    }
  }

  function watch(worker: Worker, session: McpSession): void {
    if (worker.watched === session) return
    worker.unwatch()
    const changes = session.onToolsChanged(() => {
      if (worker.running === undefined) later(worker, SETTLE_MS)
      else worker.again = true
    })
    const end = session.onClosed(() => {
      if (worker.watched === session) worker.watched = undefined
    })
    worker.watched = session
    worker.unwatch = () => {
      changes()
      end()
      worker.watched = undefined
    }
  }

  /** The row of the status from now on. */
  async function write(
    { row: { namespace, name } }: LiveServer,
    before: ResourceRow | undefined,
    status: McpServerStatus,
    plan?: McpPlan,
  ): Promise<ResourceRow | undefined | 'conflict'> {
    // Without one the server was deleted, or kept by a build that knew of none: then nobody else writes either.
    const change = statusChange(name, status, before?.resourceVersion ?? 0)
    const changes = [change, ...(plan?.changes ?? []).map(changeOf)]
    const evidence = (plan?.changes ?? []).map((one) => evidenceOf(namespace, name, one, world.clock.now()))
    const applied = await resources.keepTools(namespace, changes, evidence)
    if (applied.kind === 'conflict') return 'conflict'
    const { phase, generatedTools, quarantinedTools } = status
    if (phase !== 'Connecting') {
      events.emit('mcp:synced', {
        namespace,
        server: name,
        phase,
        tools: generatedTools.length,
        quarantined: quarantinedTools.length,
      })
    }
    return applied.rows.find((row) => row.kind === MCP_STATUS_KIND)
  }

  return {
    start() {
      unlisten = resources.servers.onChange((key) => poke(workerOf(key)))
      for (const { row } of resources.servers.all()) poke(workerOf(row))
    },
    async close() {
      unlisten()
      ending.abort('shutdown')
      const all = [...workers.values()]
      for (const worker of all) {
        worker.timer?.cancel()
        worker.unwatch()
      }
      await Promise.all(all.map((worker) => worker.running))
    },
  }
}

function changeOf({ name, body, digest, before }: PlannedTool): ResourceChange {
  return {
    kind: 'Tool',
    name,
    version: '0.0.0',
    put: { digest, body },
    expect: before?.resourceVersion ?? 0,
  }
}

function evidenceOf(namespace: string, server: string, tool: PlannedTool, at: number): NewEvidence {
  const { name, quarantined, before } = tool
  if (quarantined !== undefined) {
    const body: JsonObject = { tool: name, server, ...quarantined }
    return { namespace, callId: '', type: 'definition.quarantined', at, body }
  }
  const action = before === undefined ? 'create' : 'update'
  const body: JsonObject = { kind: 'Tool', name, version: '0.0.0', action, mcp_server: server }
  return { namespace, callId: '', type: 'resource.applied', at, body }
}

/** For operators. What the program itself said last is for them too. */
function wordsOf({ message, stderr }: McpFailed): string {
  return cleanText(stderr === undefined ? message : `${message}: ${stderr}`, MAX_ERROR)
}
