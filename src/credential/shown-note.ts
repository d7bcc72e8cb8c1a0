// What was shown to a tool that took its work on, sealed, to be kept with the work: a report that comes after a restart, or
// to another replica, may repeat an access token that nobody there has ever seen.
import type { World } from '../util/world.ts'
import type { MasterKeyRing } from './key-ring.ts'
import { type MasterKey, MasterKeyUnavailable } from './master-key.ts'
import { type Binding, derivedKey, seal, unseal } from './seal.ts'

export interface ShownNotes {
  /** Undefined where there is no master key at hand: then nothing is kept. */
  write(values: readonly string[], of: ShownOf): Promise<string | undefined>
  /** Empty where it is not of this work. Throws `MasterKeyUnavailable` where the key that sealed it is not at hand. */
  read(note: string, of: ShownOf): Promise<readonly string[]>
}

/** The work that a note belongs to: moved to another one, it does not open. */
export interface ShownOf {
  readonly namespace: string
  /** What the tool knows the work by (S19). */
  readonly key: string
}

const PURPOSE = 'writ shown v1'

export function createShownNotes(world: Pick<World, 'secret'>, keys: MasterKeyRing): ShownNotes {
  return {
    async write(values, of) {
      try {
        const [newest] = await keys.fresh()
        return `${newest.id}.${seal(world, keyOf(newest, of), bindingOf(of), Buffer.from(JSON.stringify(values)))}`
      } catch (error) {
        if (!(error instanceof MasterKeyUnavailable)) throw error
        return undefined
      }
    },

    async read(note, of) {
      const dot = note.indexOf('.')
      if (dot < 0) return []
      const master = await keys.find(note.slice(0, dot))
      if (master === undefined)
        throw new MasterKeyUnavailable('the master key that it was sealed with is gone')
      const plain = unseal(keyOf(master, of), bindingOf(of), note.slice(dot + 1))
      if (plain === undefined) return []
      const values: unknown = JSON.parse(plain.toString('utf8'))
      return Array.isArray(values) ? values.filter((one) => typeof one === 'string') : []
    },
  }
}

/** A key for each work, so that none is used for more than a few seals. */
function keyOf({ wrapping }: MasterKey, of: ShownOf): Buffer {
  return derivedKey(wrapping, bindingOf(of).join('\n'))
}

function bindingOf({ namespace, key }: ShownOf): Binding {
  return [PURPOSE, namespace, key]
}
