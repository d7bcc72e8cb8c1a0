// A file that holds a secret: for its owner alone, made once, on disk before it is used.
import {
  closeSync,
  fstatSync,
  fsyncSync,
  linkSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { codeOf } from './error-code.ts'

/** Others have rights on a file that is to be a secret. */
export class SecretExposed extends Error {
  override readonly name = 'SecretExposed'
}

/** The text of the file, or undefined where there is none. `what` names the secret in what is thrown: "the audit key". */
export function readSecretFile(path: string, what: string): string | undefined {
  const file = openFound(path)
  if (file === undefined) return undefined
  try {
    // Asked of the open file: a name could stand for another one by the time it is read.
    if ((fstatSync(file).mode & 0o077) !== 0) {
      throw new SecretExposed(`others can read or change ${what} ${path}. Fix: chmod 600 '${path}'`)
    }
    return readFileSync(file, 'utf8')
  } finally {
    closeSync(file)
  }
}

/** Makes the file. False where there is one already: then that one holds, and two processes agree on it. */
export function makeSecretFile(path: string, text: string): boolean {
  return withWritten(path, text, (half) => {
    try {
      // A link never replaces a file.
      linkSync(half, path)
      return true
    } catch (error) {
      if (codeOf(error) === 'EEXIST') return false
      throw error
    }
  })
}

/** Makes the file, or replaces the one that is there. */
export function replaceSecretFile(path: string, text: string): void {
  withWritten(path, text, (half) => renameSync(half, path))
}

/** The name appears with the whole text behind it: half a secret would stop every later start. */
function withWritten<T>(path: string, text: string, publish: (half: string) => T): T {
  // A folder of its own: two processes that write at once do not take each other's half away.
  const folder = mkdtempSync(`${path}.`)
  try {
    const half = join(folder, 'new')
    const file = openSync(half, 'wx', 0o600)
    try {
      writeSync(file, text)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    const published = publish(half)
    syncFolder(dirname(path))
    return published
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Not every file system can do this, and not everyone who writes in a folder may read it. */
function syncFolder(path: string): void {
  try {
    const folder = openSync(path, 'r')
    try {
      fsyncSync(folder)
    } finally {
      closeSync(folder)
    }
  } catch (error) {
    if (codeOf(error) === 'EIO') throw error
  }
}

function openFound(path: string): number | undefined {
  try {
    return openSync(path, 'r')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}
