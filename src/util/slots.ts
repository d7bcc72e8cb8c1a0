// So many at a time; the others wait in the order in which they came.
import type { Abort } from './abort.ts'

export interface Slots {
  /** Resolves with how to give the slot back, or with undefined when the wait was aborted. */
  take(abort: Abort): Promise<(() => void) | undefined>
}

export function createSlots(max: number): Slots {
  const waiting = new Set<() => void>()
  let taken = 0

  function giveBack(): void {
    taken--
    const [next] = waiting
    if (next === undefined) return
    waiting.delete(next)
    next()
  }

  /** One slot is given back once, however often it is tried. */
  function slot(): () => void {
    taken++
    let held = true
    return () => {
      if (!held) return
      held = false
      giveBack()
    }
  }

  return {
    take(abort) {
      if (abort.aborted) return Promise.resolve(undefined)
      if (taken < max) return Promise.resolve(slot())
      return new Promise((resolve) => {
        const go = () => {
          unlisten()
          resolve(slot())
        }
        waiting.add(go)
        const unlisten = abort.listen(() => {
          waiting.delete(go)
          resolve(undefined)
        })
      })
    },
  }
}
