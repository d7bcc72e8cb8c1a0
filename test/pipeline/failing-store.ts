// A real store that fails when told to.
import { createMemoryStore } from '../../src/store/memory/memory-store.ts'
import { type LedgerStore, type LedgerWrite, type Store, StoreUnavailable } from '../../src/store/store.ts'
import type { World } from '../../src/util/world.ts'

export interface FailingStore {
  readonly store: Store
  /**
   * Verbs that fail: `intend`, `settle`, `note`, `find`. With `unheard`, an intent is on disk and nobody hears of it;
   * with `all`, the store says that it has failed.
   */
  readonly failing: Set<keyof LedgerStore | 'find' | 'unheard' | 'all'>
  /** Hears of each write once it is taken. */
  onWritten(listener: (write: LedgerWrite) => void): void
}

/** `message` is what it says when it fails: its own words, such as a host or a file name. */
export async function failingStore(world: World, message = 'the store fails'): Promise<FailingStore> {
  const real = await createMemoryStore({ world })
  const failing: FailingStore['failing'] = new Set()
  let written = (_: LedgerWrite) => {}
  const watch =
    (verb: keyof LedgerStore): LedgerStore[typeof verb] =>
    (write) => {
      if (failing.has(verb)) {
        const error = new StoreUnavailable(message)
        if (verb === 'note') throw error
        return Promise.reject(error)
      }
      const taken = real.ledger[verb](write)
      if (verb === 'intend' && failing.has('unheard')) {
        return taken.then(() => Promise.reject(new StoreUnavailable(message, { maybeWritten: true })))
      }
      taken.then(
        () => written(write),
        () => {},
      )
      return taken
    }
  const find: Store['entries']['find'] = async (scope, key) => {
    if (failing.has('find')) throw new StoreUnavailable(message)
    return real.entries.find(scope, key)
  }
  const store: Store = Object.create(real, {
    failed: { get: () => (failing.has('all') ? new StoreUnavailable(message) : real.failed) },
    ledger: { value: { intend: watch('intend'), settle: watch('settle'), note: watch('note') } },
    entries: { value: { ...real.entries, find } },
  })
  return {
    store,
    failing,
    onWritten(listener) {
      written = listener
    },
  }
}
