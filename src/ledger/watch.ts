// Waits for an entry that another process works on: woken by that process where it can, else by looking again (S38).
import type { Entry } from '../contract/entry.ts'
import type { Peers } from '../store/store.ts'
import type { Abort } from '../util/abort.ts'
import type { World } from '../util/world.ts'

export interface Watch {
  /** Resolves when the entry may have changed, after `ms`, or on abort. */
  changed(ms: number, abort: Abort): Promise<void>
  end(): void
}

export function watchEntry(entry: Entry, world: World, peers: Peers | undefined): Watch {
  let wake: (() => void) | undefined
  /** It changed before anybody waited. */
  let missed = false
  const unlisten = peers?.onChanged((id) => {
    if (id !== entry.id) return
    missed = wake === undefined
    wake?.()
  })
  // Only a hint: whoever waits looks again by itself, so a store that is away costs no more than time.
  peers?.await(entry.namespace, entry.id).catch(() => undefined)

  return {
    changed(ms, abort) {
      if (missed || abort.aborted) {
        missed = false
        return Promise.resolve()
      }
      return new Promise((resolve) => {
        const done = () => {
          wake = undefined
          timer.cancel()
          unhear()
          resolve()
        }
        const timer = world.after(ms, done)
        const unhear = abort.listen(() => world.soon(done))
        wake = done
      })
    },
    end: () => unlisten?.(),
  }
}
