// One life of the process: a World whose time, chance and network are the simulator's. A crash drops it whole: what it
// waits for never comes, nothing of it runs again, not even a `finally`. A pause holds it; then it goes on.
import type { Dispatcher } from 'undici'
import { createUuid7 } from '../../src/util/uuid.ts'
import type { World } from '../../src/util/world.ts'
import type { Agenda, Due, Owner } from './agenda.ts'
import type { Random } from './random.ts'

export interface Life extends Owner {
  readonly world: World
  /** Which machine it runs on. */
  readonly replica: number
  readonly bornAt: number
  /** When its store was told that a flush failed. */
  failedAt: number | undefined
  /** When it goes on, or went on last, after a pause or a disk that stood still. */
  disturbedAt: number
  /** Until when its disk stands still. */
  stalledUntil: number
  /** Until when it does not reach the database. */
  awayUntil: number
  /** It takes no new calls and is about to end by itself. */
  closing: boolean
}

/** The wall clock of the machine: it may be set while everything else goes on. */
export interface Wall {
  offsetMs: number
}

/** 2026-01-01T00:00:00Z: when every run begins. The clock of the database is never set. */
export const BEGIN = 1_767_225_600_000

export function wallTime(agenda: Agenda, wall: Wall): number {
  return Math.floor(BEGIN + agenda.now + wall.offsetMs)
}

export interface LifeOptions {
  readonly name: string
  readonly replica?: number
  readonly agenda: Agenda
  readonly wall: Wall
  readonly random: Random
  readonly network: (life: Life) => Dispatcher
}

export function createLife(options: LifeOptions): Life {
  const { name, agenda, wall, random } = options
  const now = () => wallTime(agenda, wall)
  const bytes = random.fork('bytes')
  const chance = random.fork('chance')
  // Another start for every life: a monotonic time that was kept from an earlier one is worth nothing.
  const start = random.int(0, 10_000_000) / 8 - agenda.now
  const id = createUuid7(now, (size) => bytes.bytes(size))
  const life: Life = {
    name,
    dead: false,
    held: undefined,
    bornAt: agenda.now,
    failedAt: undefined,
    disturbedAt: agenda.now,
    replica: options.replica ?? 0,
    stalledUntil: 0,
    awayUntil: 0,
    closing: false,
    world: {
      clock: { now, monotonic: () => agenda.now + start },
      after(ms, run) {
        if (life.dead) return GONE
        const due = agenda.after(ms, life, `${name} timer`, run)
        return { cancel: () => cancel(due) }
      },
      soon(run) {
        if (!life.dead) agenda.soon(life, `${name} soon`, run)
      },
      random: () => chance.next(),
      id,
      secret: (size) => Buffer.from(bytes.bytes(size)).toString('base64url'),
      // Made on first use: the network needs the life that it belongs to.
      get network() {
        network ??= options.network(life)
        return network
      },
      epoch: id(),
    },
  }
  let network: Dispatcher | undefined
  return life
}

const GONE = Object.freeze({ cancel() {} })

function cancel(due: Due): void {
  due.canceled = true
}
