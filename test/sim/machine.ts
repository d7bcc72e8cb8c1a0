// The machine the process runs on: its database outlives every life; the process starts, dies, is held, and starts again.
import type { DatabaseSync } from 'node:sqlite'
import { createRuntime } from '../../src/runtime.ts'
import type { CallerDoor, Runtime } from '../../src/runtime-api.ts'
import { createSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import type { Agenda } from './agenda.ts'
import type { Disk } from './disk.ts'
import type { Fail } from './invariant.ts'
import { createLife, type Life, type LifeOptions, type Wall } from './life.ts'
import { KEEP_MS } from './memory-rules.ts'
import { ACTORS } from './plan.ts'
import type { Random } from './random.ts'
import { SIM_TOOLS } from './sim-tool.ts'

/** A life that has recovered and takes calls. */
export interface Running {
  readonly life: Life
  readonly runtime: Runtime
  readonly doors: ReadonlyMap<string, CallerDoor>
}

export interface MachineOptions {
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
}

const PERMISSIONS = SIM_TOOLS.map((tool) => `tool:${tool.name}:invoke`)

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
    const { agenda, wall, random, network, log, fail, onReady } = this.#options
    this.#lives++
    const name = `life ${this.#lives}`
    const life = createLife({ name, agenda, wall, random: random.fork(name), network })
    this.#life = life
    log(`${name} starts`)
    this.#open(life).then(
      (runtime) => {
        if (life.dead) return
        const doors = new Map(
          ACTORS.map((actor) => [actor, runtime.as({ actor, permissions: PERMISSIONS })] as const),
        )
        this.#running = { life, runtime, doors }
        log(`${name} is ready`)
        onReady(this.#running)
      },
      (error: unknown) => {
        // Only a disk that failed keeps it from starting; it is started again when that process has ended.
        if (life.failedAt === undefined && !life.dead)
          fail('no-bug', `${name} did not start: ${String(error)}`)
      },
    )
  }

  async #open(life: Life): Promise<Runtime> {
    const { disk, database } = this.#options
    const { world } = life
    const store = await createSqliteStore({ world, database, flusher: disk.flusherOf(life) })
    return createRuntime({ world, store: { kind: 'given', store }, retention: { keepMs: KEEP_MS } })
  }

  /** Drops the life whole, and starts the next one a while later. */
  crash(why: string, life: Life | undefined = this.#life): void {
    if (life === undefined || life.dead) return
    this.#options.log(`${life.name} dies: ${why}`)
    this.#end(life)
  }

  /** The process stands still; its clock does not. */
  pause(ms: number): void {
    const { agenda, log, onResume } = this.#options
    const life = this.#life
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
