// The file of the token keys: for its owner alone, shared by replicas, read again when somebody changed it.
import { type Stats, statSync } from 'node:fs'
import { Locked, takeLockFile } from '../util/lock-file.ts'
import { makeSecretFile, readSecretFile, replaceSecretFile } from '../util/secret-file.ts'
import type { World } from '../util/world.ts'
import { type KeyRing, readKeyRing, rotateKeyText } from './key-ring.ts'

/** How often a file is looked at for a key that was taken out. One that was added is found at once. */
const LOOK_MS = 1000

export interface KeyFile {
  /** The keys by now. `kid` is the one that is looked for: where it is not known, the file is looked at again. */
  ring(kid?: string): KeyRing
  /** The keys with the one that signs, looked at anew: a rotation elsewhere counts from its moment on. */
  fresh(): KeyRing
  /** Adds a key that signs from now on. Throws where the file cannot be written. */
  rotate(): { readonly kid: string; readonly dropped: readonly string[] }
}

export interface KeyFileOptions {
  readonly path: string
  /** Makes the file where there is none; else that is an error. */
  readonly make: boolean
  readonly world: Pick<World, 'clock'>
  /** Hears why a changed file is not taken; what was read before holds on. */
  readonly onTrouble?: (message: string) => void
}

export function openTokenKeys({ path, make, world, onTrouble }: KeyFileOptions): KeyFile {
  // Where another start is faster, its keys are the ones.
  if (make && statSync(path, { throwIfNoEntry: false }) === undefined) {
    writing(path, () => makeSecretFile(path, rotateKeyText(undefined, world.clock.now()).text))
  }
  let stamp = stampOf(path)
  let ring = readKeyFile(path)
  let lookedAt = world.clock.monotonic()
  let trouble: string | undefined

  function look(): void {
    lookedAt = world.clock.monotonic()
    try {
      const now = stampOf(path)
      if (now === stamp && trouble === undefined) return
      ring = readKeyFile(path)
      stamp = now
      trouble = undefined
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      if (message !== trouble) onTrouble?.(message)
      trouble = message
    }
  }

  return {
    ring(kid) {
      const unknown = kid !== undefined && !ring.kids.includes(kid)
      if (unknown || world.clock.monotonic() - lookedAt >= LOOK_MS) look()
      return ring
    },
    fresh() {
      look()
      return ring
    },
    rotate() {
      const rotated = rotateKeyFile(path, world.clock.now())
      look()
      return rotated
    },
  }
}

/** Keys that end with the process. */
export function createTokenKeys(world: Pick<World, 'clock'>): KeyFile {
  let text = rotateKeyText(undefined, world.clock.now()).text
  let ring = readKeyRing(text)
  return {
    ring: () => ring,
    fresh: () => ring,
    rotate() {
      const rotated = rotateKeyText(text, world.clock.now())
      text = rotated.text
      ring = readKeyRing(text)
      return { kid: rotated.kid, dropped: rotated.dropped }
    },
  }
}

/** Makes the file where there is none. */
export function rotateKeyFile(
  path: string,
  now: number,
): { readonly kid: string; readonly dropped: readonly string[]; readonly made: boolean } {
  // Two rotations at once would lose a key that has signed already.
  const release = writing(path, () => takeLockFile(path, now, 'rotation'))
  try {
    const found = readSecretFile(path, WHAT)
    if (found !== undefined) ringIn(path, found)
    const { text, kid, dropped } = rotateKeyText(found, now)
    writing(path, () => replaceSecretFile(path, text))
    return { kid, dropped, made: found === undefined }
  } finally {
    release()
  }
}

const WHAT = 'the token keys'

function readKeyFile(path: string): KeyRing {
  const text = readSecretFile(path, WHAT)
  if (text !== undefined) return ringIn(path, text)
  throw new Error(`the token keys ${path} are not there. Fix: writ token rotate --file '${path}' makes them`)
}

function ringIn(path: string, text: string): KeyRing {
  try {
    return readKeyRing(text)
  } catch (error) {
    // A parser repeats what it could not read: that may be a private key.
    const why =
      error instanceof SyntaxError ? 'it is not JSON' : error instanceof Error ? error.message : String(error)
    throw new Error(
      `the token keys ${path} cannot be used: ${why}. Fix: put the right file back, or move it away to begin with a new key`,
    )
  }
}

function stampOf(path: string): string {
  const found: Stats | undefined = statSync(path, { throwIfNoEntry: false })
  return found === undefined ? '' : `${found.ino}:${found.size}:${found.mtimeMs}:${found.mode}`
}

function writing<T>(path: string, write: () => T): T {
  try {
    return write()
  } catch (error) {
    if (error instanceof Locked) throw error
    const why = error instanceof Error ? error.message : String(error)
    throw new KeysUnwritable(`${path} cannot be written: ${why}. Fix: change the keys where the file is kept`)
  }
}

/** The file is there to be read only, as one that something else puts into place. */
export class KeysUnwritable extends Error {
  override readonly name = 'KeysUnwritable'
}
