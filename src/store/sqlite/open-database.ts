// Opens a database file for writing or reading, with the settings its promises rest on.
import { closeSync, openSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { migrate } from './migrations.ts'

/** How long an open waits for another one of the same file, such as a backup that reads it. */
const BUSY_MS = 5_000

/** The writer's connection. There is one for each file; the data lock sees to that across processes (S52). */
export function openForWriting(path: string): DatabaseSync {
  return explained(path, () => {
    // Made here so that nobody else may read what callers send; SQLite gives the files beside it the same mode.
    closeSync(openSync(path, 'a', 0o600))
    const db = new DatabaseSync(path, { timeout: BUSY_MS })
    try {
      // With secure_delete, what is erased is overwritten, wherever on a page it ever was (S18).
      db.exec(`
        pragma journal_mode = wal;
        pragma synchronous = full;
        pragma secure_delete = on;
        pragma temp_store = memory;
        pragma cache_size = -16000;
        pragma wal_autocheckpoint = 4000;
        pragma journal_size_limit = 67108864;
      `)
      migrate(db)
      return db
    } catch (error) {
      db.close()
      throw error
    }
  })
}

/** Reads on the caller's thread never wait for the writer: in WAL mode each sees the last commit before it began. */
export function openForReading(path: string): DatabaseSync {
  return explained(path, () => new DatabaseSync(path, { readOnly: true, timeout: BUSY_MS }))
}

function explained<T>(path: string, open: () => T): T {
  try {
    return open()
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`cannot open the store ${path}: ${reason}`, { cause: error })
  }
}
