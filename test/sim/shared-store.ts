// The store as one of several replicas has it: a database elsewhere, with reads that take time and may fail, and leases.
import type { DatabaseSync } from 'node:sqlite'
import { assembleStore, type StoreReads } from '../../src/store/assemble-store.ts'
import { decodeResult, encodeOp } from '../../src/store/sqlite/codec.ts'
import type { Flusher } from '../../src/store/sqlite/flusher.ts'
import { createReader } from '../../src/store/sqlite/reader.ts'
import { type Store, StoreUnavailable } from '../../src/store/store.ts'
import type { Agenda } from './agenda.ts'
import type { Disk } from './disk.ts'
import type { Life } from './life.ts'
import { LEASE_MS } from './plan.ts'
import type { Random } from './random.ts'

export interface SharedStoreOptions {
  readonly agenda: Agenda
  readonly database: DatabaseSync
  readonly disk: Disk
  readonly random: Random
  readonly readMs: number
}

export async function createSharedStore(life: Life, options: SharedStoreOptions): Promise<Store> {
  const { agenda, database, disk } = options
  const { world } = life
  const flusher: Flusher = disk.flusherOf(life)
  const gone = () => (life.awayUntil > agenda.now ? new Error('no connection') : undefined)
  const reads = createReader(database, { epoch: world.epoch, now: () => disk.now })
  const { store } = await assembleStore({
    world,
    durable: true,
    reads: slowly(reads, life, options),
    encode: encodeOp,
    flush: async (ops) =>
      (await flusher.flush({ epoch: world.epoch, at: disk.now, leaseMs: LEASE_MS, ops })).map(decodeResult),
    release: () => flusher.close(),
    leaseMs: LEASE_MS,
    away: gone,
  })
  return store
}

/** What is read is what was committed when the question arrived; meanwhile everything else goes on. */
function slowly(reads: StoreReads, life: Life, { agenda, random, readMs }: SharedStoreOptions): StoreReads {
  const dice = random.fork('reads', life.name)
  const later =
    (name: string, run: (...args: never[]) => unknown) =>
    (...args: never[]) => {
      if (life.dead) return new Promise(() => {})
      if (life.awayUntil > agenda.now) throw new StoreUnavailable('the database cannot be reached')
      const found = run(...args)
      if (readMs === 0) return found
      return new Promise((resolve, reject) => {
        agenda.after(dice.int(0, readMs), life, `${life.name} has read ${name}`, () => {
          if (life.awayUntil > agenda.now) reject(new StoreUnavailable('the connection was lost'))
          else resolve(found)
        })
      })
    }
  const wrapped = Object.entries(reads).map(([port, verbs]) => [
    port,
    Object.fromEntries(
      Object.entries(verbs as Record<string, (...args: never[]) => unknown>).map(([verb, run]) => [
        verb,
        later(`${port}.${verb}`, run),
      ]),
    ),
  ])
  return Object.fromEntries(wrapped) as StoreReads
}
