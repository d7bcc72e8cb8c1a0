// The embedded durable store: one SQLite file, written by a thread of its own, read on the caller's.
import type { DatabaseSync } from 'node:sqlite'
import type { World } from '../../util/world.ts'
import { type AssembledStore, assembleStore, type StoreReads } from '../assemble-store.ts'
import { type Store, StoreUnavailable } from '../store.ts'
import { decodeResult, encodeOp } from './codec.ts'
import type { Flusher } from './flusher.ts'
import { openForReading } from './open-database.ts'
import { createReader } from './reader.ts'
import { createWorkerFlusher } from './worker-flusher.ts'

interface CommonOptions {
  readonly world: World
  readonly onFailed?: (error: StoreUnavailable) => void
  /** Writes that may wait for the disk. */
  readonly maxBuffered?: number
}

/** A flusher of one's own, with the migrated database that it writes to, to read from. */
interface FlusherOptions {
  readonly flusher: Flusher
  readonly database: DatabaseSync
  /** How long a life lasts after its last write, where several share the database. @default Infinity: one alone */
  readonly leaseMs?: number
  /** The store's clock. @default the wall clock of the world */
  readonly now?: () => number
}

/** A database file, which one process owns alone; or a flusher. */
export type SqliteStoreOptions = CommonOptions & ({ readonly path: string } | FlusherOptions)

export async function createSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  if ('flusher' in options) return (await assemble(options, options)).store
  const { path } = options
  let fail: ((cause: unknown) => void) | undefined
  const writer = await createWorkerFlusher({ path, onDied: (error) => fail?.(error) }).catch((error) => {
    throw withFix(path, error) ?? error
  })
  let database: DatabaseSync
  try {
    database = openForReading(path)
  } catch (error) {
    await writer.close()
    throw withFix(path, error) ?? error
  }
  const flusher: Flusher = {
    flush: (batch) =>
      writer.flush(batch).catch((error: unknown) => {
        throw withFix(path, error) ?? error
      }),
    close() {
      // The writer is the last to close: only then is the log moved into the database file.
      database.close()
      return writer.close()
    },
  }
  const onFault = (error: unknown) => {
    const fault = withFix(path, error)
    if (fault !== undefined) fail?.(fault)
    return fault
  }
  const assembled = await assemble(options, { flusher, database }, (reads) => watchReads(reads, onFault))
  fail = assembled.fail
  return assembled.store
}

function assemble(
  options: CommonOptions,
  over: FlusherOptions,
  watch: (reads: StoreReads) => StoreReads = (reads) => reads,
): Promise<AssembledStore> {
  const { world, onFailed, maxBuffered } = options
  const { flusher, database, leaseMs = Number.POSITIVE_INFINITY, now = () => world.clock.now() } = over
  const { epoch } = world
  // Infinity is no JSON, and no value of a column.
  const lease = leaseMs === Number.POSITIVE_INFINITY ? null : leaseMs
  return assembleStore({
    world,
    durable: true,
    leaseMs,
    reads: watch(createReader(database, { epoch, now })),
    encode: encodeOp,
    flush: async (ops) => (await flusher.flush({ epoch, at: now(), leaseMs: lease, ops })).map(decodeResult),
    release: () => flusher.close(),
    ...(onFailed === undefined ? {} : { onFailed }),
    ...(maxBuffered === undefined ? {} : { maxBuffered }),
  })
}

/** What SQLite says when the file or the disk under it is at fault, and what is to be done. `%` is the file. */
const FAULTS: readonly (readonly [said: RegExp, fix: string])[] = [
  [
    /malformed|not a database/,
    "% is damaged: leave it as it is, restore the newest copy of its folder, and start on that; then 'writ audit verify' with a head that was kept says what is missing",
  ],
  [/disk is full/, 'make room on the disk of %, then start again'],
  [/readonly database/, 'make the disk of % writable, then start again'],
  [/disk I\/O error/, 'look into the disk of %: it may have become read-only, or fail; then start again'],
]

/** An error of the file itself, with its name and a fix; undefined for any other. By its text: codes stay in their thread. */
function withFix(path: string, error: unknown): Error | undefined {
  const message = error instanceof Error ? error.message : String(error)
  const fix = FAULTS.find(([said]) => said.test(message))?.[1]
  return fix === undefined ? undefined : new Error(`${message}; ${fix.replace('%', path)}`, { cause: error })
}

/** A file that cannot be read is not written to either (S37): what it has lost could be sent again. */
function watchReads(reads: StoreReads, onFault: (error: unknown) => Error | undefined): StoreReads {
  type Read = (...args: readonly unknown[]) => unknown
  const watched =
    (read: Read): Read =>
    (...args) => {
      try {
        return read(...args)
      } catch (error) {
        const fault = onFault(error)
        if (fault === undefined) throw error
        throw new StoreUnavailable(`the store cannot be read: ${fault.message}`, { cause: fault })
      }
    }
  const groups = Object.entries(reads as unknown as Record<string, Record<string, Read>>)
  return Object.fromEntries(
    groups.map(([name, group]) => [
      name,
      Object.fromEntries(Object.entries(group).map(([verb, read]) => [verb, watched(read)])),
    ]),
  ) as unknown as StoreReads
}
