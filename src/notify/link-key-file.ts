// The file of the key that signs links: for its owner alone, made at the first start.
import { makeSecretFile, readSecretFile } from '../util/secret-file.ts'
import type { World } from '../util/world.ts'

const KEY = /^[A-Za-z0-9_-]{43,512}$/

/** The key in the file. Where there is none, one is made with `make`; without it, that is an error. */
export function openLinkKey(
  path: string,
  world: Pick<World, 'secret'>,
  { make }: { readonly make: boolean },
): string {
  const text = readSecretFile(path, 'the key of approval links')
  if (text === undefined) {
    if (!make) {
      throw new Error(
        `the key of approval links ${path} is not there; make one with: (umask 077; openssl rand -hex 32 > '${path}')`,
      )
    }
    makeSecretFile(path, `${world.secret(32)}\n`)
    // Where another start was faster, its key is the one.
    return openLinkKey(path, world, { make: false })
  }
  const key = text.trim()
  if (KEY.test(key)) return key
  throw new Error(
    `${path} holds no key of approval links; put the right file back, or move it away to begin with a new key`,
  )
}
