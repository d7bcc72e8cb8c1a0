// Lives of a process over one memory store, with everything that undoing needs, and tools whose every send is on record.
import type { TestContext } from 'node:test'
import { createCatalog } from '../../src/catalog/catalog.ts'
import type { Answer } from '../../src/contract/answer.ts'
import { type CallOptions, createCall } from '../../src/contract/call-options.ts'
import { type Caller, createCaller } from '../../src/contract/caller.ts'
import type { Entry } from '../../src/contract/entry.ts'
import { defineTool } from '../../src/define-tool.ts'
import { driveCompensation } from '../../src/driver/compensation.ts'
import { reconcile } from '../../src/driver/reconcile.ts'
import { createRecovery } from '../../src/driver/recover.ts'
import { driveSaga } from '../../src/driver/saga.ts'
import { type DriverKit, startTimers } from '../../src/driver/timers.ts'
import { createNetwork } from '../../src/egress/network.ts'
import { createEvents } from '../../src/event/event.ts'
import { createFlights } from '../../src/ledger/flight.ts'
import { createLedger } from '../../src/ledger/ledger.ts'
import { createAdmission } from '../../src/pipeline/admission.ts'
import { createOrphans } from '../../src/pipeline/orphans.ts'
import { receive } from '../../src/pipeline/receive.ts'
import { createRefusals } from '../../src/pipeline/refusals.ts'
import { callOfEntry } from '../../src/pipeline/resume.ts'
import { runCall } from '../../src/pipeline/run-call.ts'
import type { CallResult } from '../../src/pipeline/stages.ts'
import { API_VERSION } from '../../src/resource/document.ts'
import { isOfKind, readManifestValue } from '../../src/resource/manifest.ts'
import { resolveTool } from '../../src/resource/resolve-tool.ts'
import { createSagaDoor, type SagaDoor } from '../../src/saga-door.ts'
import { createMemoryData } from '../../src/store/memory/memory-data.ts'
import { createMemoryStore } from '../../src/store/memory/memory-store.ts'
import type { Store } from '../../src/store/store.ts'
import { createNativeTransport } from '../../src/transport/native.ts'
import { Abort } from '../../src/util/abort.ts'
import { createSystemWorld } from '../../src/util/clock.ts'
import type { Json, JsonObject } from '../../src/util/json.ts'
import type { Timer, World } from '../../src/util/world.ts'
import { ungoverned } from '../pipeline/ungoverned.ts'

export const OWNER = createCaller({ actor: 'agent-a', permissions: ['tool:*:invoke', 'capability:*'] })

type Behaviour = (input: Json | undefined) => unknown

/** A function of the program; `log` is its own memory of what it did. */
export interface UndoTool {
  readonly name: string
  readonly effect: JsonObject
  readonly spec: JsonObject
  readonly log: Json[]
  behave(next: Behaviour): void
  readonly handler: Behaviour
}

export function undoTool(name: string, effect: JsonObject, spec: JsonObject = {}): UndoTool {
  const log: Json[] = []
  let behaviour: Behaviour = () => ({ id: `${name}-${log.length}` })
  return {
    name,
    effect,
    spec,
    log,
    behave(next) {
      behaviour = next
    },
    handler(input) {
      log.push(input ?? null)
      return behaviour(input)
    },
  }
}

/** `book` is undone by `cancel`, which is told what was booked. */
export const book = (): UndoTool =>
  undoTool('book', {
    class: 'external-communication',
    compensation: { tool: 'cancel', input_map: { what: '/input/what', ref: '/output/id', why: 'undone' } },
  })
export const cancel = (): UndoTool => undoTool('cancel', { class: 'external-communication' })

export interface Life {
  readonly kit: DriverKit
  readonly store: Store
  as(caller: Caller): SagaDoor
  call(options: CallOptions, caller?: Caller): Promise<Answer>
  entry(id: string): Promise<Entry>
  /** Runs what is due, and what becomes due by that, until nothing is. */
  drive(): Promise<void>
  /** Its loop takes no more timers. */
  stop(): Promise<void>
}

interface LifeOptions {
  readonly leaseMs?: number
  readonly through?: (store: Store) => Store
  readonly having?: readonly UndoTool[]
}

export interface Shared {
  /** A new life over the same data. `through` stands between it and its store; `having` are its tools, where others. */
  life(options?: LifeOptions): Promise<Life>
  /** Moves the clock of the store on. */
  advance(ms: number): void
}

export async function sharedStore(t: TestContext, tools: readonly UndoTool[]): Promise<Shared> {
  const data = createMemoryData()
  let skew = 0
  const now = () => Date.now() + skew
  const loops: (() => Promise<void>)[] = []
  t.after(() => Promise.all(loops.map((stop) => stop())))

  return {
    advance(ms) {
      skew += ms
    },
    async life({ leaseMs, through = (store: Store) => store, having = tools } = {}) {
      const timers = new Set<Timer>()
      const system = createSystemWorld({ network: createNetwork() })
      // A life that is over must not hold the test up with what it still meant to wait for.
      const world: World = {
        ...system,
        after(ms, run) {
          const timer = system.after(ms, () => {
            timers.delete(timer)
            run()
          })
          timers.add(timer)
          return timer
        },
      }
      const opened = await createMemoryStore({
        world,
        data,
        now,
        ...(leaseMs === undefined ? {} : { leaseMs }),
      })
      const store = through(opened)
      const catalog = createCatalog()
      const native = createNativeTransport({ world })
      for (const tool of having) {
        const definition = defineTool({
          name: tool.name,
          effect: tool.effect as never,
          spec: tool.spec as never,
          handler: tool.handler as never,
        })
        const read = readManifestValue(
          { apiVersion: API_VERSION, kind: 'Tool', ...definition.manifest },
          tool.name,
        )
        const [document] = read.documents
        const resolved = isOfKind(document, 'Tool')
          ? resolveTool(document.manifest, { profile: 'local', effectDefault: 'declared', native: true })
          : undefined
        if (resolved?.tool === undefined) throw new Error(JSON.stringify(resolved?.errors ?? read.problems))
        native.register(resolved.tool, definition.handlers)
        catalog.put(resolved.tool)
      }
      const ledger = createLedger(world, store)
      const flights = createFlights<CallResult>(world)
      const kit: DriverKit = {
        world,
        catalog,
        events: createEvents(),
        ledger,
        refusals: createRefusals(world, ledger),
        authority: ungoverned(),
        notify: () => [],
        stopping: new Abort(),
        steadyNow: () => world.clock.now(),
        flights,
        orphans: createOrphans(world, ledger, flights),
        admission: createAdmission(world),
        transport: (type) => (type === 'native' ? native : undefined),
        store,
        run: (make) => runCall(make(ignore), kit),
        resume: (entry) => runCall(receive(callOfEntry(entry), entry.caller, world, ignore, entry), kit),
      }
      let busy = 0
      const counted =
        <A extends unknown[], R>(run: (...args: A) => Promise<R>) =>
        async (...args: A): Promise<R> => {
          busy++
          try {
            return await run(...args)
          } finally {
            busy--
          }
        }
      const loop = startTimers(
        kit,
        {
          saga: counted((timer) => driveSaga(timer, kit)),
          compensation: counted((timer) => driveCompensation(timer, kit)),
          reconcile: counted((timer) => reconcile(timer, kit)),
        },
        { idleMs: 2 },
      )
      let stopped: Promise<void> | undefined
      const stop = () => {
        stopped ??= Promise.race([loop.stop(), pause(20)]).then(() => {
          for (const timer of timers) timer.cancel()
          return world.network.destroy()
        })
        return stopped
      }
      loops.push(stop)
      return {
        kit,
        store,
        as: (caller) => createSagaDoor(caller, kit),
        async call(options, caller = OWNER) {
          const decoded = createCall(options, world.id)
          if (!decoded.ok) throw new Error(decoded.failure.message)
          return runCall(receive(decoded.call, caller, world, ignore), kit)
        },
        async entry(id) {
          const record = await kit.ledger.call(OWNER.namespace, id)
          const found = await store.entries.get(OWNER.namespace, record?.entryId ?? '')
          if (found === undefined) throw new Error(`call ${id} has no entry`)
          return found
        },
        async drive() {
          for (let calm = 0; calm < 5; ) {
            loop.wake()
            await pause(2)
            const due = (await opened.timers.nextIn()) === 0
            calm = busy === 0 && !due ? calm + 1 : 0
          }
        },
        stop,
      }
    },
  }
}

/** Takes over what the lives before left. */
export async function takeOver(shared: Shared, options: LifeOptions = {}): Promise<Life> {
  const life = await shared.life(options)
  await createRecovery(life.kit)()
  return life
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

function ignore(): void {}
