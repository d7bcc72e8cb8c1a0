// Waits that something else may end.
import type { Abort } from '../util/abort.ts'
import type { World } from '../util/world.ts'

/** False when it was aborted meanwhile. */
export function pause(ms: number, abort: Abort, world: World): Promise<boolean> {
  if (abort.aborted) return Promise.resolve(false)
  if (ms <= 0) return Promise.resolve(true)
  return new Promise((resolve) => {
    const timer = world.after(ms, () => {
      unlisten()
      resolve(true)
    })
    const unlisten = abort.listen(() => {
      timer.cancel()
      resolve(false)
    })
  })
}

/** What `work` gives, or undefined when it takes longer. It goes on all the same. */
export function within<T>(ms: number, work: Promise<T>, world: World): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const timer = world.after(Math.max(0, ms), () => resolve(undefined))
    work.then(
      (value) => {
        timer.cancel()
        resolve(value)
      },
      (error: unknown) => {
        timer.cancel()
        reject(error)
      },
    )
  })
}
