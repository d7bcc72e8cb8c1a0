// The file of the key that signs links: for its owner alone, made at the first start.
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import type { World } from '../util/world.ts'

const KEY = /^[A-Za-z0-9_-]{43,512}$/

/** The key in the file. Where there is none, one is made with `make`; without it, that is an error. */
export function openLinkKey(
  path: string,
  world: Pick<World, 'secret'>,
  { make }: { readonly make: boolean },
): string {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) {
    if (!make) {
      throw new Error(
        `the key of approval links ${path} is not there; make one with: (umask 077; openssl rand -hex 32 > '${path}')`,
      )
    }
    makeKey(path, world.secret(32))
  } else if ((found.mode & 0o077) !== 0) {
    throw new Error(`others can read or change the key of approval links ${path}; run: chmod 600 '${path}'`)
  }
  const key = readFileSync(path, 'utf8').trim()
  if (KEY.test(key)) return key
  throw new Error(
    `${path} holds no key of approval links; put the right file back, or move it away to begin with a new key`,
  )
}

/** The name appears with the whole key behind it. */
function makeKey(path: string, key: string): void {
  const half = `${path}.new`
  rmSync(half, { force: true })
  const file = openSync(half, 'wx', 0o600)
  try {
    writeSync(file, `${key}\n`)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  try {
    // A link never replaces a file.
    linkSync(half, path)
  } catch (error) {
    // Another start was faster: its key is the one.
    if (!existsSync(path)) throw error
  } finally {
    rmSync(half, { force: true })
  }
}
