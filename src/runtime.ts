// createRuntime(): the only composition root. Everything is made here and handed down.

import { createApprovalDecider } from './approval-door.ts'
import { begin, createCallerDoor, endStopped, type LiveCalls } from './caller-door.ts'
import { createAuthority } from './catalog/authority.ts'
import { createCatalog } from './catalog/catalog.ts'
import { createResourceDoor } from './catalog/resource-door.ts'
import { createStopDoor } from './catalog/stop-door.ts'
import type { Answer } from './contract/answer.ts'
import { type Caller, createCaller } from './contract/caller.ts'
import { createDialects } from './contract/dialect/registry.ts'
import { CONTRACT_REVISION } from './contract/version.ts'
import type { NativeToolDefinition } from './define-tool.ts'
import { createApprovalHandler } from './driver/approval.ts'
import { type CallbackOptions, createCallbackHandler } from './driver/callback.ts'
import { expireCommit } from './driver/commit-deadline.ts'
import { driveCompensation } from './driver/compensation.ts'
import { startLives } from './driver/lives.ts'
import { createNotifyHandler } from './driver/notify.ts'
import { type Audit, type AuditOptions, openAudit } from './driver/open-audit.ts'
import { reconcile } from './driver/reconcile.ts'
import { createRecovery } from './driver/recover.ts'
import {
  createRetention,
  ensureRetention,
  type RetentionOptions,
  retentionPolicy,
} from './driver/retention.ts'
import { driveRollback } from './driver/rollback.ts'
import { driveSaga } from './driver/saga.ts'
import { type DriverKit, startTimers, type TimerHandlers } from './driver/timers.ts'
import { createEgress } from './egress/egress.ts'
import { createEvents, type Events } from './event/event.ts'
import { createCedarEngine } from './governance/cedar/cedar-engine.ts'
import { checkCedar } from './governance/cedar/check-cedar.ts'
import { createFlights } from './ledger/flight.ts'
import { createLedger } from './ledger/ledger.ts'
import { createNotifier, type NotifierOptions } from './notify/notifier.ts'
import { notifyTimers } from './notify/notify-timers.ts'
import { openStore, type StoreChoice } from './open-store.ts'
import { createAdmission } from './pipeline/admission.ts'
import type { Kit } from './pipeline/kit.ts'
import { receive } from './pipeline/receive.ts'
import { createRefusals } from './pipeline/refusals.ts'
import { callOfEntry } from './pipeline/resume.ts'
import { ALONE, createShare } from './pipeline/share.ts'
import type { CallResult, FactSink, Received } from './pipeline/stages.ts'
import type { CheckSet } from './resource/check-set.ts'
import { API_VERSION } from './resource/document.ts'
import { formatProblem, isOfKind, readManifestValue } from './resource/manifest.ts'
import { type Finding, toProblem } from './resource/problem.ts'
import { type ResolveOptions, resolveTool } from './resource/resolve-tool.ts'
import type { ResolvedTool } from './resource/resolved-tool.ts'
import type { CallerIdentity, Runtime } from './runtime-api.ts'
import { onlyUnavailable } from './store/unavailable.ts'
import { createNativeTransport } from './transport/native.ts'
import { createNetwork } from './transport/network.ts'
import { builtTypes, loadTransport } from './transport/registry.ts'
import type { Transport } from './transport/transport.ts'
import { Abort } from './util/abort.ts'
import { createSystemWorld } from './util/clock.ts'
import { errorPlace } from './util/error-place.ts'
import { createSteadyClock } from './util/steady-clock.ts'
import { type KnownOptions, refuseUnknownOptions } from './util/unknown-option.ts'
import type { World } from './util/world.ts'

export type { StoreChoice } from './open-store.ts'
/** What a server answers with while the store cannot be reached. */
export { StoreUnavailable } from './store/store.ts'

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
  /** Who signs checkpoints of the evidence, and where they are kept (S39). */
  readonly audit?: AuditOptions
  /** Who is told of approvals. @default nobody */
  readonly notify?: Pick<NotifierOptions, 'channels' | 'links'>
  /** Where callers may have themselves called back, and what the calls are signed with. @default nowhere */
  readonly callback?: CallbackOptions
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

/** Every option by name: a slip in one would otherwise silently not be set. */
const OPTIONS: KnownOptions<RuntimeOptions> = {
  store: true,
  tools: true,
  profile: true,
  effectDefault: true,
  retention: true,
  audit: true,
  notify: true,
  callback: true,
  onWarning: true,
  events: true,
  world: true,
}

export async function createRuntime(options: RuntimeOptions = {}): Promise<Runtime> {
  refuseUnknownOptions<RuntimeOptions>('createRuntime', options, OPTIONS)
  const world = options.world ?? createWorld()
  const resolve: ResolveOptions = {
    profile: options.profile ?? 'local',
    effectDefault: options.effectDefault ?? 'declared',
  }
  const events = options.events ?? createEvents()
  const onWarning = options.onWarning ?? ((message) => process.emitWarning(message, 'WritWarning'))
  const dialects = createDialects()
  const store = await openStore(options.store ?? { kind: 'memory' }, world, events)
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
  const engine = createCedarEngine()
  const check: CheckSet = (set, tools) =>
    checkCedar(set, tools, engine).map(({ policy, at, ...finding }) => ({
      ...finding,
      kind: 'AgentPolicy',
      name: policy,
      inside: at,
    }))
  const resources = createResourceDoor({ world, store, catalog, events, resolve, check })
  const share = Number.isFinite(store.lives.leaseMs) ? createShare(world.epoch) : undefined
  const live: LiveCalls = { byId: new Map(), closing: false }
  const stops = createStopDoor({
    world,
    store,
    shared: share !== undefined,
    onStop: (stop) => endStopped(live, stop),
  })
  const authority = createAuthority({ profile: resolve.profile, resources, stops, engine })
  const ledger = createLedger(world, store)
  const notifier = createNotifier({
    world,
    egress: createEgress({ world }),
    ...(options.notify ?? { channels: [] }),
  })
  const kit: Kit = {
    callbackOrigins: new Set(options.callback?.allow),
    notify: (approval, event) => notifyTimers(approval, event, world.clock.now(), notifier.channels),
    world,
    catalog,
    events,
    ledger,
    flights: createFlights<CallResult>(world),
    admission: createAdmission(world, share ?? ALONE),
    refusals: createRefusals(world, ledger),
    authority,
    stopping: new Abort(),
    steadyNow: createSteadyClock(world.clock, (await store.evidence.lastCheckpoint())?.at ?? 0),
    ...(share === undefined ? {} : { refresh: () => resources.refresh() }),
    transport: (type) => transports.get(type),
  }
  const driver: DriverKit = {
    ...kit,
    store,
    run: driven,
    resume: (entry) => driven((onFact) => receive(callOfEntry(entry), entry.caller, world, onFact, entry)),
  }
  /** A call that nobody waits for: it is not begun while the runtime ends. */
  function driven(make: (onFact: FactSink) => Received): Promise<Answer> {
    const call = begin(live, make, kit)
    if (kit.stopping.aborted) call.abort('shutdown')
    return call.done
  }
  const define = (definition: NativeToolDefinition): void => {
    const tool = resolveNative(definition, resolve, onWarning)
    native.register(tool, definition.handlers)
    catalog.put(tool)
  }
  const recover = createRecovery(driver)
  let audit: Audit | undefined
  try {
    // Before anything is sent: a store that was set back has forgotten what must not be sent again.
    audit = await openAudit(
      world,
      store,
      events,
      { ...besideStore(options.store), ...options.audit },
      { profile: resolve.profile, retention: retentionPolicy(options.retention ?? {}) },
    )
    await resources.refresh()
    await stops.refresh()
    for (const definition of options.tools ?? []) define(definition)
    events.emit('recovery:ended', await recover())
    await ensureRetention(store)
  } catch (error) {
    stops.close()
    await audit?.close()
    await store.close()
    if (options.world === undefined) await world.network.destroy()
    throw error
  }
  const handlers: TimerHandlers = {
    notify: createCallbackHandler(createNotifyHandler(notifier), world, options.callback),
    approval: createApprovalHandler(),
    compensation: driveCompensation,
    saga: driveSaga,
    'commit-deadline': expireCommit,
    reconcile,
    rollback: driveRollback,
    retention: createRetention(options.retention ?? {}, audit.prune),
  }
  const timers = startTimers(driver, handlers)
  const lives =
    share &&
    startLives(driver, {
      share,
      refresh: () => resources.refresh(),
      recover,
      onCancel: (entryId) => {
        for (const call of live.byId.values())
          if (call.owns && call.entryId === entryId) call.abort('canceled')
      },
    })
  await lives?.ready
  let closing: Promise<void> | undefined

  return {
    events,
    dialects,
    resources,
    audit,
    stops,
    approvals: createApprovalDecider(driver),
    held: (caller) => authority.rules(caller.namespace).held(caller),
    async record(namespace, type, body) {
      const at = world.clock.now()
      await store.resources.apply(namespace, [], at, [{ namespace, callId: '', type, at, body }])
    },
    mint: world.id,
    define,
    as: (caller) => createCallerDoor(asCaller(caller), driver, live, stops),
    tools: (namespace) => catalog.list(namespace),

    async health() {
      const openEntries = store.failed ? {} : await store.entries.countOpen()
      const { unknown = 0, reconciling = 0, 'commit-unknown': commitUnknown = 0 } = openEntries
      const joined = share?.joined ?? true
      return {
        ready: store.failed === undefined && !live.closing && joined,
        checks: {
          store: { ok: store.failed === undefined, detail: store.failed?.message ?? 'ok' },
          accepting: { ok: !live.closing, detail: live.closing ? 'shutting down' : 'ok' },
          audit: audit.health,
          joined: { ok: joined, detail: joined ? 'ok' : 'not every other replica knows of this one yet' },
        },
        inFlight: live.byId.size,
        unknownEntries: unknown + reconciling + commitUnknown,
        openEntries,
      }
    },

    close({ drainMs = 10_000 } = {}) {
      closing ??= end(drainMs)
      return closing
    },
  }

  async function end(drainMs: number): Promise<void> {
    live.closing = true
    // Nothing new becomes due from here on; what is in hand has as long as the calls have.
    const idle = timers.stop()
    await drained(live, drainMs, world)
    kit.stopping.abort('shutdown')
    for (const call of live.byId.values()) call.abort('shutdown')
    await Promise.all([...live.byId.values()].map((call) => call.done))
    // The lease is kept until nothing of this life is under way any more.
    await idle
    await lives?.stop()
    stops.close()
    kit.refusals.stop()
    await Promise.all([...transports.values()].map((transport) => transport.close()))
    await audit?.close()
    // What is left goes to others at once, and not only when the lease has ended.
    if (store.failed === undefined) await store.lives.end().catch(onlyUnavailable)
    await store.close()
    // What is left there was aborted above; a connection that hangs must not hold the end up.
    if (options.world === undefined) await world.network.destroy()
  }
}

/** Where the audit of a database file keeps its key and the newest checkpoint, unless it is told otherwise. */
function besideStore(choice: StoreChoice | undefined): AuditOptions {
  if (choice?.kind !== 'sqlite') return {}
  return {
    key: { file: `${choice.path}.audit-key.pem`, make: true },
    headFile: `${choice.path}.audit-head.json`,
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
  if (!isOfKind(document, 'Tool')) throw new Error(read.problems.map(formatProblem).join('\n'))
  const { tool, errors, warnings } = resolveTool(document.manifest, { ...options, native: true })
  const say = (one: Finding) => formatProblem(toProblem(one, name, document.at(one.path)))
  // What apply would warn of (S14, S21).
  for (const warning of warnings) onWarning(say(warning))
  if (tool !== undefined) return tool
  throw new Error(errors.map(say).join('\n'))
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
