// The master keys in hand: read once, and looked at again when the source has changed or a key is not known.
import type { World } from '../util/world.ts'
import type { MasterKey, MasterKeySource, MasterKeys } from './master-key.ts'

export interface MasterKeyRing {
  readonly where: string
  /** The keys by now. Throws `MasterKeyUnavailable` where the source cannot be read. */
  fresh(): Promise<MasterKeys>
  /** By its id; a source that may have another one by now is asked again. */
  find(id: string): Promise<MasterKey | undefined>
  /** Adds a newest key where the source takes one, and gives all that it has by now. */
  renew(): Promise<{ readonly added: boolean; readonly keys: MasterKeys }>
}

/** How often a key that is not known makes the source be read again: what is sealed by a lost key is asked for often. */
const AGAIN_MS = 1_000

export function createMasterKeyRing(source: MasterKeySource, world: Pick<World, 'clock'>): MasterKeyRing {
  let known: MasterKeys | undefined
  let stamp: string | undefined
  let readAt = Number.NEGATIVE_INFINITY
  let reading: Promise<MasterKeys> | undefined

  function read(): Promise<MasterKeys> {
    reading ??= (async () => {
      const now = source.stamp?.()
      const keys = await source.read()
      readAt = world.clock.monotonic()
      known = keys
      stamp = now
      return keys
    })().finally(() => {
      reading = undefined
    })
    return reading
  }

  async function fresh(): Promise<MasterKeys> {
    if (known !== undefined && source.stamp !== undefined && source.stamp() === stamp) return known
    if (known !== undefined && source.stamp === undefined && world.clock.monotonic() - readAt < AGAIN_MS)
      return known
    return read()
  }

  return {
    where: source.where,
    fresh,
    async find(id) {
      const held = (known ?? (await read())).find((key) => key.id === id)
      if (held !== undefined) return held
      if (world.clock.monotonic() - readAt < AGAIN_MS && source.stamp?.() === stamp) return undefined
      return (await read()).find((key) => key.id === id)
    },
    async renew() {
      const added = await source.add()
      // One that is under way may have begun before.
      await reading?.catch(() => {})
      return { added, keys: await read() }
    },
  }
}
