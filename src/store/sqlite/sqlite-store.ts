// The embedded durable store: one SQLite file, written by a thread of its own, read on the caller's.
import type { DatabaseSync } from 'node:sqlite'
import type { World } from '../../util/world.ts'
import { type AssembledStore, assembleStore } from '../assemble-store.ts'
import type { Store, StoreUnavailable } from '../store.ts'
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

/** A database file; or a flusher of one's own, with the migrated database that it writes to, to read from. */
export type SqliteStoreOptions = CommonOptions &
  ({ readonly path: string } | { readonly flusher: Flusher; readonly database: DatabaseSync })

export async function createSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  if ('flusher' in options) return (await assemble(options, options.flusher, options.database)).store
  let fail: ((cause: unknown) => void) | undefined
  const writer = await createWorkerFlusher({ path: options.path, onDied: (error) => fail?.(error) })
  let database: DatabaseSync
  try {
    database = openForReading(options.path)
  } catch (error) {
    await writer.close()
    throw error
  }
  const flusher: Flusher = {
    flush: writer.flush,
    close() {
      // The writer is the last to close: only then is the log moved into the database file.
      database.close()
      return writer.close()
    },
  }
  const assembled = await assemble(options, flusher, database)
  fail = assembled.fail
  return assembled.store
}

function assemble(options: CommonOptions, flusher: Flusher, database: DatabaseSync): Promise<AssembledStore> {
  const { world, onFailed, maxBuffered } = options
  return assembleStore({
    world,
    durable: true,
    reads: createReader(database),
    encode: encodeOp,
    flush: async (ops) => (await flusher.flush({ epoch: world.epoch, ops })).map(decodeResult),
    release: () => flusher.close(),
    ...(onFailed === undefined ? {} : { onFailed }),
    ...(maxBuffered === undefined ? {} : { maxBuffered }),
  })
}
