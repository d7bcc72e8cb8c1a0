// createRuntime(): the only composition root. Everything is made here and handed down.

import { createCallerDoor, type LiveCalls } from './caller-door.ts'
import { createCatalog } from './catalog/catalog.ts'
import { createResourceDoor } from './catalog/resource-door.ts'
import { type Caller, createCaller } from './contract/caller.ts'
import { createDialects } from './contract/dialect/registry.ts'
import { CONTRACT_REVISION } from './contract/version.ts'
import type { NativeToolDefinition } from './define-tool.ts'
import { recover } from './driver/recover.ts'
import { type RetentionOptions, startRetention } from './driver/retention.ts'
import { createEvents, type Events } from './event/event.ts'
import { createFlights } from './ledger/flight.ts'
import { createLedger } from './ledger/ledger.ts'
import { createAdmission } from './pipeline/admission.ts'
import type { Kit } from './pipeline/kit.ts'
import type { CallResult } from './pipeline/stages.ts'
import { formatProblem, readManifestValue } from './resource/manifest.ts'
import { type Finding, toProblem } from './resource/problem.ts'
import { type ResolveOptions, resolveTool } from './resource/resolve-tool.ts'
import type { ResolvedTool } from './resource/resolved-tool.ts'
import { API_VERSION } from './resource/tool.ts'
import type { CallerIdentity, Runtime } from './runtime-api.ts'
import { stores } from './store/registry.ts'
import { type DataLock, lockFile } from './store/sqlite/lock.ts'
import type { Store } from './store/store.ts'
import { createNativeTransport } from './transport/native.ts'
import { createNetwork } from './transport/network.ts'
import { builtTypes, loadTransport } from './transport/registry.ts'
import type { Transport } from './transport/transport.ts'
import { createSystemWorld } from './util/clock.ts'
import { errorPlace } from './util/error-place.ts'
import type { World } from './util/world.ts'

export type StoreChoice =
  | { readonly kind: 'memory' }
  | { readonly kind: 'sqlite'; readonly path: string }
  /** A store that somebody else opened; it is closed with the runtime all the same. */
  | { readonly kind: 'given'; readonly store: Store }

export interface RuntimeOptions {
  /** Where calls, entries and evidence are kept. @default {kind: 'memory'}, which ends with the process */
  readonly store?: StoreChoice
  /** Tools that are functions of this program. */
  readonly tools?: readonly NativeToolDefinition[]
  /** `production` refuses what is only fit for a laptop. @default 'local' */
  readonly profile?: 'local' | 'production'
  /** What an undeclared effect counts as (S21). @default 'declared' */
  readonly effectDefault?: 'declared' | 'from-risk'
  readonly retention?: RetentionOptions
  /** Hears what apply would warn of in the tools of the program. @default a process warning */
  readonly onWarning?: (message: string) => void
  /** Made beforehand by whoever wants to hear of the start as well. */
  readonly events?: Events
  /** Time, chance and network. @default those of the system */
  readonly world?: World
}

/** Time, chance and network of this machine. Whoever makes one closes its network. */
export function createWorld(): World {
  return createSystemWorld({ network: createNetwork() })
}

/** What tools see as the User-Agent. */
const USER_AGENT = `writ/${CONTRACT_REVISION}`

export async function createRuntime(options: RuntimeOptions = {}): Promise<Runtime> {
  const world = options.world ?? createWorld()
  const resolve: ResolveOptions = {
    profile: options.profile ?? 'local',
    effectDefault: options.effectDefault ?? 'declared',
  }
  const events = options.events ?? createEvents()
  const onWarning = options.onWarning ?? ((message) => process.emitWarning(message, 'WritWarning'))
  const dialects = createDialects()
  const store = await openStore(options.store ?? { kind: 'memory' }, world, (error) =>
    events.emit('store:failed', { message: error.message }),
  )
  const native = createNativeTransport({
    world,
    onCrash: (error, send) =>
      events.emit('tool:crashed', {
        call_id: send.callId,
        tool_id: send.tool.name,
        error: errorPlace(error),
      }),
  })
  const transports = new Map<string, Transport>([['native', native]])
  for (const type of builtTypes) {
    const transport =
      type === 'native' ? undefined : await loadTransport(type, { world, dialects, userAgent: USER_AGENT })
    if (transport) transports.set(type, transport)
  }
  const catalog = createCatalog()
  const kit: Kit = {
    world,
    catalog,
    events,
    ledger: createLedger(world, store),
    flights: createFlights<CallResult>(world),
    admission: createAdmission(world),
    transport: (type) => transports.get(type),
  }
  const resources = createResourceDoor({ world, store, catalog, events, resolve })
  const define = (definition: NativeToolDefinition): void => {
    const tool = resolveNative(definition, resolve, onWarning)
    native.register(tool, definition.handlers)
    catalog.put(tool)
  }
  try {
    await resources.load()
    for (const definition of options.tools ?? []) define(definition)
    await recover(world, store, events)
  } catch (error) {
    await store.close()
    if (options.world === undefined) await world.network.destroy()
    throw error
  }
  const retention = startRetention(world, store, options.retention ?? {}, () => {
    // The store has failed: it says so itself through store:failed, and every call is refused from now on.
  })
  const live: LiveCalls = { byId: new Map(), closing: false }
  let closing: Promise<void> | undefined

  return {
    events,
    dialects,
    resources,
    mint: world.id,
    define,
    as: (caller) => createCallerDoor(asCaller(caller), kit, store, live),
    tools: (namespace) => catalog.list(namespace),

    async health() {
      const unknownEntries = store.failed ? 0 : await store.entries.countByState('unknown')
      return {
        ready: store.failed === undefined && !live.closing,
        checks: {
          store: { ok: store.failed === undefined, detail: store.failed?.message ?? 'ok' },
          accepting: { ok: !live.closing, detail: live.closing ? 'shutting down' : 'ok' },
        },
        inFlight: live.byId.size,
        unknownEntries,
      }
    },

    close({ drainMs = 10_000 } = {}) {
      closing ??= end(drainMs)
      return closing
    },
  }

  async function end(drainMs: number): Promise<void> {
    live.closing = true
    await drained(live, drainMs, world)
    for (const call of live.byId.values()) call.abort('shutdown')
    await Promise.all([...live.byId.values()].map((call) => call.done))
    await retention.stop()
    await Promise.all([...transports.values()].map((transport) => transport.close()))
    await store.close()
    // What is left there was aborted above; a connection that hangs must not hold the end up.
    if (options.world === undefined) await world.network.destroy()
  }
}

async function openStore(
  choice: StoreChoice,
  world: World,
  onFailed: (error: Error) => void,
): Promise<Store> {
  if (choice.kind === 'given') return choice.store
  if (choice.kind === 'memory') return (await stores.memory())({ world, onFailed })
  // A second owner would take what this one has under way for left behind (S52).
  const lock = lockFile(choice.path)
  try {
    const store = await (await stores.sqlite())({ world, path: choice.path, onFailed })
    return withRelease(store, lock)
  } catch (error) {
    lock.release()
    throw error
  }
}

/** A program's own tool that cannot be resolved is a mistake in that program: it is thrown. */
function resolveNative(
  definition: NativeToolDefinition,
  options: ResolveOptions,
  onWarning: (message: string) => void,
): ResolvedTool {
  const { name } = definition.manifest.metadata
  const read = readManifestValue({ apiVersion: API_VERSION, kind: 'Tool', ...definition.manifest }, name)
  const [document] = read.documents
  if (document === undefined) throw new Error(read.problems.map(formatProblem).join('\n'))
  const { tool, errors, warnings } = resolveTool(document.manifest, { ...options, native: true })
  const say = (one: Finding) => formatProblem(toProblem(one, name, document.at(one.path)))
  // What apply would warn of (S14, S21).
  for (const warning of warnings) onWarning(say(warning))
  if (tool !== undefined) return tool
  throw new Error(errors.map(say).join('\n'))
}

/** The store, which gives its lock back once it is closed. */
function withRelease(store: Store, lock: DataLock): Store {
  const close = async () => {
    await store.close()
    lock.release()
  }
  return Object.create(store, { close: { value: close } }) as Store
}

function asCaller(caller: Caller | CallerIdentity): Caller {
  return 'admin' in caller ? caller : createCaller(caller)
}

/** Resolves when every call under way has ended, or the time is up. */
async function drained(live: LiveCalls, ms: number, world: World): Promise<void> {
  const all = Promise.allSettled([...live.byId.values()].map((call) => call.done))
  await new Promise<void>((resolve) => {
    const timer = world.after(ms, resolve)
    all.then(() => {
      timer.cancel()
      resolve()
    })
  })
}
