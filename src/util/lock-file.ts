// A file that says: somebody is changing the one beside it. For changes of moments, between processes.
import { closeSync, openSync, rmSync, statSync } from 'node:fs'
import { codeOf } from './error-code.ts'

/** One that is older was left behind by a process that ended. */
const STALE_MS = 10_000

/** Somebody else has it. */
export class Locked extends Error {
  override readonly name = 'Locked'
}

/** Does the work while it holds `PATH.lock`; throws `Locked` where another one does. */
export function withLockFile<T>(path: string, now: number, work: () => T): T {
  const release = takeLockFile(path, now, 'change')
  try {
    return work()
  } finally {
    release()
  }
}

/** Takes `PATH.lock`, and gives the way to let go of it. `what` is what is done meanwhile, in what is thrown. */
export function takeLockFile(path: string, now: number, what: string): () => void {
  const lock = `${path}.lock`
  const found = statSync(lock, { throwIfNoEntry: false })
  if (found !== undefined && now - found.mtimeMs > STALE_MS) rmSync(lock, { force: true })
  try {
    closeSync(openSync(lock, 'wx', 0o600))
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
    throw new Locked(`another ${what} of ${path} is under way. Fix: wait a moment and try again`)
  }
  return () => rmSync(lock, { force: true })
}
