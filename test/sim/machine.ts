// A machine that the process runs on: the database outlives every life; the process starts, dies, is held, and starts
// again. Where there are two, they share the database, and each has a wall clock of its own.
import type { DatabaseSync } from 'node:sqlite'
import { createLocalAdmin } from '../../src/contract/caller.ts'
import { createRuntime } from '../../src/runtime.ts'
import type { CallerDoor, Runtime } from '../../src/runtime-api.ts'
import { createSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { StoreUnavailable } from '../../src/store/store.ts'
import type { Agenda } from './agenda.ts'
import type { Disk } from './disk.ts'
import type { Fail } from './invariant.ts'
import { createLife, type Life, type LifeOptions, type Wall } from './life.ts'
import { KEEP_MS } from './memory-rules.ts'
import { ACTORS } from './plan.ts'
import type { Random } from './random.ts'
import { createSharedStore } from './shared-store.ts'
import { ALL_TOOLS } from './sim-tool.ts'

/** A life that has recovered and takes calls. */
export interface Running {
  readonly life: Life
  readonly wall: Wall
  readonly runtime: Runtime
  readonly doors: ReadonlyMap<string, CallerDoor>
  /** Of somebody who may settle by hand. */
  readonly admin: CallerDoor
}

export interface MachineOptions {
  /** Its number among those that share the database. */
  readonly replica: number
  readonly shared: boolean
  readonly readMs: number
  /** Signs checkpoints. */
  readonly auditKey: string
  readonly agenda: Agenda
  readonly wall: Wall
  readonly random: Random
  readonly disk: Disk
  readonly database: DatabaseSync
  readonly network: LifeOptions['network']
  readonly log: (line: string) => void
  readonly fail: Fail
  readonly onReady: (running: Running) => void
  /** Everything of this life is over; what was asked of it has to be asked again. */
  readonly onDeath: (life: Life) => void
  readonly onResume: (life: Life) => void
  readonly onAway: (life: Life) => void
}

const PERMISSIONS = ALL_TOOLS.map((tool) => `tool:${tool.name}:invoke`)

export class Machine {
  readonly #options: MachineOptions
  #lives = 0
  #life: Life | undefined
  #running: Running | undefined

  constructor(options: MachineOptions) {
    this.#options = options
  }

  /** Undefined while it is down or still starts. */
  get running(): Running | undefined {
    return this.#running
  }

  get lives(): number {
    return this.#lives
  }

  start(): void {
    const { agenda, wall, random, network, log, fail, onReady, replica, shared } = this.#options
    this.#lives++
    const name = shared ? `life ${'AB'[replica]}${this.#lives}` : `life ${this.#lives}`
    const life = createLife({ name, replica, agenda, wall, random: random.fork(name), network })
    this.#life = life
    log(`${name} starts`)
    this.#open(life).then(
      (runtime) => {
        if (life.dead) return
        const doors = new Map(
          ACTORS.map((actor) => [actor, runtime.as({ actor, permissions: PERMISSIONS })] as const),
        )
        this.#running = { life, wall, runtime, doors, admin: runtime.as(createLocalAdmin()) }
        log(`${name} is ready`)
        onReady(this.#running)
      },
      (error: unknown) => {
        if (life.dead) return
        // Only a disk that failed keeps it from starting; it is started again when that process has ended. One that does
        // not reach the database gives up, and is started again, too.
        if (life.failedAt === undefined && error instanceof StoreUnavailable && shared) {
          this.crash(`it did not start: ${error.message}`, life)
        } else if (life.failedAt === undefined) {
          fail('no-bug', `${name} did not start: ${error instanceof Error ? error.stack : String(error)}`)
        }
      },
    )
  }

  async #open(life: Life): Promise<Runtime> {
    const { disk, database, shared, agenda, random, readMs, auditKey } = this.#options
    const { world } = life
    const store = shared
      ? await createSharedStore(life, { agenda, database, disk, random, readMs })
      : await createSqliteStore({ world, database, flusher: disk.flusherOf(life), now: () => disk.now })
    return createRuntime({
      world,
      store: { kind: 'given', store },
      retention: { keepMs: KEEP_MS },
      audit: { key: { pem: auditKey } },
    })
  }

  /** Drops the life whole, and starts the next one a while later. */
  crash(why: string, life: Life | undefined = this.#life): void {
    if (life === undefined || life.dead) return
    this.#options.log(`${life.name} dies: ${why}`)
    this.#end(life)
  }

  /** The process stands still; its clock does not. */
  pause(ms: number, life: Life | undefined = this.#life): void {
    const { agenda, log, onResume } = this.#options
    if (life === undefined || life.dead || life.held !== undefined) return
    life.held = []
    life.disturbedAt = Math.max(life.disturbedAt, agenda.now + ms)
    log(`${life.name} is held for ${ms} ms`)
    agenda.after(ms, undefined, `${life.name} goes on`, () => {
      if (life.dead) return
      agenda.resume(life)
      onResume(life)
    })
  }

  /** The database is out of reach for a while. */
  partition(ms: number): void {
    const { agenda, log } = this.#options
    const life = this.#life
    if (life === undefined || life.dead) return
    log(`${life.name} does not reach the database for ${ms} ms`)
    life.awayUntil = Math.max(life.awayUntil, agenda.now + ms)
    life.disturbedAt = Math.max(life.disturbedAt, life.awayUntil)
    this.#options.onAway(life)
  }

  /** A proper end: no new calls, a time to drain, then the next life. */
  restart(drainMs: number): void {
    const { agenda, log, fail } = this.#options
    const running = this.#running
    if (running === undefined || running.life.dead || running.life.closing) return
    const { life, runtime } = running
    agenda.after(0, life, `${life.name} closes`, () => {
      life.closing = true
      log(`${life.name} closes, draining for ${drainMs} ms`)
      runtime.close({ drainMs }).then(
        () => {
          if (life.dead) return
          log(`${life.name} has closed`)
          this.#end(life)
        },
        (error: unknown) => {
          if (!life.dead) fail('no-bug', `${life.name} did not close: ${String(error)}`)
        },
      )
    })
  }

  #end(life: Life): void {
    const { agenda, random, onDeath } = this.#options
    life.dead = true
    life.held = undefined
    if (this.#running?.life === life) this.#running = undefined
    onDeath(life)
    agenda.after(
      random.fork('down', life.name).int(0, 300),
      undefined,
      'the machine starts the process',
      () => this.start(),
    )
  }
}
