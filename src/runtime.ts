// createRuntime(): the only composition root. Everything is made here and handed down.

import { createApprovalDecider } from './approval-door.ts'
import { begin, createCallerDoor, drained, endStopped, type LiveCalls } from './caller-door.ts'
import { createAuthority } from './catalog/authority.ts'
import { createCatalog } from './catalog/catalog.ts'
import { createResourceDoor } from './catalog/resource-door.ts'
import { createStopDoor } from './catalog/stop-door.ts'
import type { Answer } from './contract/answer.ts'
import { type Caller, createCaller } from './contract/caller.ts'
import { createDialects } from './contract/dialect/registry.ts'
import type { Stop } from './contract/stop.ts'
import { createCredentials } from './credential/create-credentials.ts'
import { createSecretProviders, DEFAULT_PROVIDERS } from './credential/create-secret-providers.ts'
import { createShownNotes } from './credential/shown-note.ts'
import { type NativeToolDefinition, resolveNative } from './define-tool.ts'
import { createAcceptedFollower } from './driver/accepted.ts'
import { createApprovalHandler } from './driver/approval.ts'
import { createCallbackHandler } from './driver/callback.ts'
import { expireCommit } from './driver/commit-deadline.ts'
import { driveCompensation } from './driver/compensation.ts'
import { startLives } from './driver/lives.ts'
import { createNotifyHandler } from './driver/notify.ts'
import { type Audit, type AuditOptions, openAudit } from './driver/open-audit.ts'
import { reconcile } from './driver/reconcile.ts'
import { createRecovery } from './driver/recover.ts'
import { createReports } from './driver/report.ts'
import { createRetention, ensureRetention, retentionPolicy } from './driver/retention.ts'
import { driveRollback } from './driver/rollback.ts'
import { driveSaga } from './driver/saga.ts'
import { type DriverKit, startTimers, type TimerHandlers } from './driver/timers.ts'
import { voidApprovals } from './driver/void-approvals.ts'
import { createEgress } from './egress/egress.ts'
import { createNetwork } from './egress/network.ts'
import { createOwnReach } from './egress/own-reach.ts'
import { createEvents } from './event/event.ts'
import { createCedarAsks } from './governance/cedar/cedar-asks.ts'
import { createCedarEngine } from './governance/cedar/cedar-engine.ts'
import { checkCedar } from './governance/cedar/check-cedar.ts'
import { createFlights } from './ledger/flight.ts'
import { createLedger } from './ledger/ledger.ts'
import { createNotifier } from './notify/notifier.ts'
import { notifyTimers } from './notify/notify-timers.ts'
import { openMcp } from './open-mcp.ts'
import { openSealer } from './open-secrets.ts'
import { openStore, type StoreChoice } from './open-store.ts'
import { openTransports } from './open-transports.ts'
import { createAdmission } from './pipeline/admission.ts'
import type { Kit } from './pipeline/kit.ts'
import { createOrphans } from './pipeline/orphans.ts'
import { receive } from './pipeline/receive.ts'
import { createRefusals } from './pipeline/refusals.ts'
import { callOfEntry } from './pipeline/resume.ts'
import { ALONE, createShare } from './pipeline/share.ts'
import type { CallResult, FactSink, Received } from './pipeline/stages.ts'
import type { CheckSet } from './resource/check-set.ts'
import type { ResolveOptions } from './resource/resolve-tool.ts'
import type { CallerIdentity, Runtime } from './runtime-api.ts'
import { RUNTIME_OPTIONS, type RuntimeOptions } from './runtime-options.ts'
import { createSecretDoor } from './secret-door.ts'
import { StoreUnavailable } from './store/store.ts'
import { onlyUnavailable } from './store/unavailable.ts'
import { createCallbackAddress } from './transport/callback-address.ts'
import { checkCommands } from './transport/cli-command.ts'
import { needOf } from './transport/credential-need.ts'
import { Abort } from './util/abort.ts'
import { createSystemWorld } from './util/clock.ts'
import { createSteadyClock } from './util/steady-clock.ts'
import { refuseUnknownOptions } from './util/unknown-option.ts'
import type { World } from './util/world.ts'

export type { StoreChoice } from './open-store.ts'
export type { RuntimeOptions } from './runtime-options.ts'
/** What a server answers with while the store cannot be reached. */
export { StoreUnavailable }

/** Time, chance and network of this machine. Whoever makes one closes its network. */
export function createWorld(): World {
  return createSystemWorld({ network: createNetwork() })
}

export async function createRuntime(options: RuntimeOptions = {}): Promise<Runtime> {
  refuseUnknownOptions<RuntimeOptions>('createRuntime', options, RUNTIME_OPTIONS)
  const opened = new AsyncDisposableStack()
  try {
    return await start(options, opened)
  } catch (error) {
    // What stays open would keep a process from ending that cannot start.
    await opened.disposeAsync().catch((second: unknown) => {
      throw new AggregateError([error, second], error instanceof Error ? error.message : String(error))
    })
    throw error
  }
}

/** Whatever is to be closed again is put onto `opened` as soon as it is there: the last one is closed first. */
async function start(options: RuntimeOptions, opened: AsyncDisposableStack): Promise<Runtime> {
  const cliAllow = checkCommands(options.cliAllow ?? [])
  const resolve: ResolveOptions = {
    profile: options.profile ?? 'local',
    effectDefault: options.effectDefault ?? 'declared',
    hostCommands: cliAllow,
  }
  const reach = createOwnReach({ profile: resolve.profile, private: options.egressPrivate ?? [] })
  const world = options.world ?? createWorld()
  // What is left there was aborted before; a connection that hangs must not hold the end up.
  if (options.world === undefined) opened.defer(() => world.network.destroy())
  const events = options.events ?? createEvents()
  const onWarning = options.onWarning ?? ((message) => process.emitWarning(message, 'WritWarning'))
  const dialects = createDialects()
  const choice = options.store ?? { kind: 'memory' }
  const { env } = process
  const sealer = await openSealer({
    world,
    store: choice,
    profile: resolve.profile,
    masterKey: options.masterKey,
    env,
    folder: process.cwd(),
  })
  const store = await openStore(choice, world, events)
  opened.defer(async () => {
    store.hurry()
    // What is left goes to others at once, and not only when the lease has ended.
    if (store.failed === undefined) await store.lives.end().catch(onlyUnavailable)
    await store.close()
  })
  let audit: Audit | undefined
  opened.defer(() => audit?.close())
  const callbacks = options.toolCallbacks && createCallbackAddress(options.toolCallbacks)
  const catalog = createCatalog()
  const engine = createCedarEngine()
  const check: CheckSet = (set, tools) =>
    checkCedar(set, tools, engine).map(({ policy, at, ...finding }) => ({
      ...finding,
      kind: 'AgentPolicy',
      name: policy,
      inside: at,
    }))
  const resources = createResourceDoor({
    world,
    store,
    catalog,
    events,
    resolve,
    check,
    asks: createCedarAsks(engine),
    seal: sealer.seal,
  })
  opened.defer(() => resources.close())
  const providers = await createSecretProviders(options.secretProviders ?? DEFAULT_PROVIDERS, {
    world,
    reach,
    egress: createEgress({ world, reach }),
    env,
    folder: process.cwd(),
    kept: { find: resources.keptSecret, sealer },
  })
  const credentials = createCredentials({
    world,
    providers,
    notes: createShownNotes(world, sealer.keys),
    onTrouble: ({ name, ...trouble }) => events.emit('secret:failed', { ...trouble, secret: name }),
  })
  opened.defer(() => credentials.close())
  const mcp = await openMcp({
    world,
    events,
    catalog,
    resources,
    resolve,
    credentials,
    path: env.PATH,
    onQuarantined: (namespace, tool) => void voidApprovals(namespace, tool, driver).catch(onlyUnavailable),
  })
  opened.defer(() => mcp.close())
  const transports = await openTransports({
    ...{ world, dialects, events, credentials, callbacks, cliAllow },
    mcp: mcp.transport,
  })
  opened.defer(() => transports.close())
  const share = Number.isFinite(store.lives.leaseMs) ? createShare(world.epoch) : undefined
  const live: LiveCalls = { byId: new Map(), closing: false }
  const stops = createStopDoor({ world, resources, onStop: endCalls })
  const authority = createAuthority({ profile: resolve.profile, resources, stops, engine })
  const ledger = createLedger(world, store)
  const flights = createFlights<CallResult>(world)
  const orphans = createOrphans(world, ledger, flights)
  const notifier = createNotifier({
    world,
    egress: createEgress({ world, reach }),
    ...(options.notify ?? { channels: [] }),
  })
  const accepted = createAcceptedFollower(() => driver)
  const kit: Kit = {
    accepted,
    callbackOrigins: new Set(options.callback?.allow),
    notify: (approval, event) => notifyTimers(approval, event, world.clock.now(), notifier.channels),
    world,
    catalog,
    events,
    ledger,
    flights,
    orphans,
    admission: createAdmission(world, share ?? ALONE),
    refusals: createRefusals(world, ledger),
    authority,
    stopping: new Abort(),
    steadyNow: createSteadyClock(world.clock, (await store.evidence.lastCheckpoint())?.at ?? 0),
    ...(share === undefined ? {} : { refresh: () => resources.refresh() }),
    transport: (type) => transports.get(type),
    credentialVersion: (tool, abort) =>
      credentials.version(needOf(tool) ?? { namespace: tool.namespace }, abort),
    async shownNote(tool, of, scopes, abort) {
      const need = needOf(tool, scopes)
      const shown = need && (await credentials.present(need, abort))
      return shown?.ok ? shown.presented.note?.(of) : undefined
    },
  }
  const driver: DriverKit = {
    ...kit,
    store,
    run: driven,
    resume: (entry) => driven((onFact) => receive(callOfEntry(entry), entry.caller, world, onFact, entry)),
  }
  /** S44: what is under way here, or at its tool, ends where the stop says so. */
  function endCalls(stop: Stop): void {
    endStopped(live, stop)
    accepted.endStopped(stop).catch(onlyUnavailable)
  }
  /** A call that nobody waits for: it is not begun while the runtime ends. */
  function driven(make: (onFact: FactSink) => Received): Promise<Answer> {
    const call = begin(live, make, kit)
    if (kit.stopping.aborted) call.abort('shutdown')
    return call.done
  }
  const define = (definition: NativeToolDefinition): void => {
    const tool = resolveNative(definition, resolve, onWarning)
    transports.native.register(tool, definition.handlers)
    catalog.put(tool)
  }
  const recover = createRecovery(driver, accepted.takeUp)
  opened.defer(() => kit.refusals.stop())
  opened.defer(() => {
    store.hurry()
    return accepted.stop()
  })
  // Before anything is sent: a store that was set back has forgotten what must not be sent again.
  audit = await openAudit(
    world,
    store,
    events,
    { ...besideStore(options.store), ...options.audit, reach },
    { profile: resolve.profile, retention: retentionPolicy(options.retention ?? {}) },
  )
  await resources.refresh()
  if (share !== undefined) resources.follow()
  for (const definition of options.tools ?? []) define(definition)
  events.emit('recovery:ended', await recover())
  await ensureRetention(store)
  const handlers: TimerHandlers = {
    notify: createCallbackHandler(createNotifyHandler(notifier), world, reach, options.callback),
    approval: createApprovalHandler(),
    compensation: driveCompensation,
    saga: driveSaga,
    'commit-deadline': expireCommit,
    reconcile,
    rollback: driveRollback,
    retention: createRetention(options.retention ?? {}, audit.prune),
  }
  const timers = startTimers(driver, handlers)
  opened.defer(() => timers.stop())
  const lives =
    share &&
    startLives(driver, {
      share,
      refresh: () => resources.refresh(),
      recover,
      sweep: orphans.sweep,
      onCancel: (entryId) => {
        for (const call of live.byId.values())
          if (call.owns && call.entryId === entryId) call.abort('canceled')
        accepted.cancel(entryId)
      },
    })
  opened.defer(() => lives?.stop())
  await lives?.ready
  mcp.start()
  let closing: Promise<void> | undefined

  return {
    events,
    dialects,
    resources,
    audit,
    stops,
    mcp: mcp.door,
    secrets: createSecretDoor({ world, store, resources, sealer }),
    approvals: createApprovalDecider(driver),
    report: createReports(driver, callbacks, accepted.look),
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
      let trouble = store.failed
      let openEntries: Readonly<Record<string, number>> = {}
      try {
        if (trouble === undefined) openEntries = await store.entries.countOpen()
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error
        trouble = error
      }
      const { unknown = 0, reconciling = 0, 'commit-unknown': commitUnknown = 0 } = openEntries
      const joined = share?.joined ?? true
      return {
        ready: trouble === undefined && !live.closing && joined,
        checks: {
          store: { ok: trouble === undefined, detail: trouble?.message ?? 'ok' },
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
    const listed = mcp.stop()
    await drained(live, drainMs, world)
    kit.stopping.abort('shutdown')
    store.hurry()
    await listed
    for (const call of live.byId.values()) call.abort('shutdown')
    await Promise.all([...live.byId.values()].map((call) => call.done))
    // The lease is kept until nothing of this life is under way any more.
    await idle
    await accepted.stop()
    await opened.disposeAsync()
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

function asCaller(caller: Caller | CallerIdentity): Caller {
  return 'admin' in caller ? caller : createCaller(caller)
}
