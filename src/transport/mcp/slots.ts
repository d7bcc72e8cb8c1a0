// So many at a time; the others wait in line, each for as long as its own deadline lets it.
import type { Abort } from '../../util/abort.ts'

export interface Slots {
  /** How to give it back; undefined when the abort came first. */
  take(abort: Abort): Promise<(() => void) | undefined>
  /** Runs once none is taken by whoever has one now; at once where that is so. */
  whenFree(run: () => void): void
}

export function createSlots(max: number): Slots {
  const line: (() => void)[] = []
  const held = new Set<object>()
  const watches = new Set<{ readonly of: Set<object>; readonly run: () => void }>()

  function hold(): () => void {
    const slot = {}
    held.add(slot)
    return () => {
      if (!held.delete(slot)) return
      for (const watch of watches) {
        watch.of.delete(slot)
        if (watch.of.size > 0) continue
        watches.delete(watch)
        watch.run()
      }
      line.shift()?.()
    }
  }

  return {
    take(abort) {
      if (abort.aborted) return Promise.resolve(undefined)
      if (held.size < max) return Promise.resolve(hold())
      return new Promise((resolve) => {
        const next = () => {
          unlisten()
          resolve(hold())
        }
        const unlisten = abort.listen(() => {
          const at = line.indexOf(next)
          if (at !== -1) line.splice(at, 1)
          resolve(undefined)
        })
        line.push(next)
      })
    },
    whenFree(run) {
      const of = new Set(held)
      if (of.size === 0) run()
      else watches.add({ of, run })
    },
  }
}
