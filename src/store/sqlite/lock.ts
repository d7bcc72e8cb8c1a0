// The lock on a database: held by the operating system for this process, so that no death of it leaves one behind (S52).
import { closeSync, openSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

export interface DataLock {
  release(): void
}

/**
 * Throws when another process, or another holder in this one, has the database. It is an exclusive transaction on a small
 * file beside it that never commits: SQLite turns it into a file lock of the system, on every platform.
 */
export function lockFile(path: string): DataLock {
  const file = `${path}.lock`
  const what = `the database ${path}`
  let db: DatabaseSync
  try {
    makePrivate(file)
    db = new DatabaseSync(file, { timeout: 0 })
  } catch (error) {
    throw new Error(`cannot lock ${what}: ${reasonOf(error)}. Its folder must exist and be writable`, {
      cause: error,
    })
  }
  try {
    db.exec('begin exclusive')
  } catch (error) {
    db.close()
    if (isBusy(error)) {
      throw new Error(
        `${what} is in use by another Writ: stop that one, or start this one with another folder (--data)`,
        { cause: error },
      )
    }
    throw new Error(`cannot lock ${what}: ${reasonOf(error)}`, { cause: error })
  }
  const release = () => {
    if (!db.isOpen) return
    process.off('exit', release)
    db.exec('rollback')
    db.close()
  }
  // Also what keeps the connection from being collected, and the lock from being lost, when nobody keeps `release`.
  process.on('exit', release)
  return { release }
}

/**
 * Whoever can open the file can hold the lock: only its owner may. One that is there is left alone, and not even opened:
 * closing it again would drop every lock that this process has on it.
 */
function makePrivate(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

/** SQLITE_BUSY, with whatever extension. */
function isBusy(error: unknown): boolean {
  const code = (error as { errcode?: unknown }).errcode
  return typeof code === 'number' && (code & 0xff) === 5
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
