// Flushes on the caller's thread: for a database in memory, and for whoever puts something of their own around it.
import type { DatabaseSync } from 'node:sqlite'
import { createEngine } from './engine.ts'
import type { Flusher } from './flusher.ts'

/** The database stays open on `close`: it belongs to whoever made it. */
export function createInlineFlusher(db: DatabaseSync): Flusher {
  const engine = createEngine(db)
  return {
    flush: async (batch) => engine.apply(batch),
    close: async () => undefined,
  }
}
