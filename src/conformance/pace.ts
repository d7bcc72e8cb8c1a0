// Waiting, with an end to it.
import type { Abort } from '../util/abort.ts'
import type { World } from '../util/world.ts'

type Clocked = Pick<World, 'clock' | 'after'>

const LOOK_MS = 5

export function pause(world: Clocked, ms: number): Promise<void> {
  return new Promise((resolve) => {
    world.after(ms, resolve)
  })
}

/** Resolves with whether it became true in time. */
export async function until(world: Clocked, ms: number, holds: () => boolean): Promise<boolean> {
  const end = world.clock.monotonic() + ms
  while (!holds()) {
    if (world.clock.monotonic() >= end) return false
    await pause(world, LOOK_MS)
  }
  return true
}

export const LATE = Symbol('late')

/** Somebody said stop. */
export class RunStopped extends Error {
  override readonly name = 'RunStopped'
}

/** What came of it, or LATE; throws RunStopped on `stop`. Whatever it comes to after that is nobody's business. */
export async function within<T>(
  world: Clocked,
  ms: number,
  work: Promise<T>,
  stop?: Abort,
): Promise<T | typeof LATE> {
  return new Promise((resolve, reject) => {
    const timer = world.after(ms, () => resolve(LATE))
    const unlisten = stop?.listen(() => {
      timer.cancel()
      reject(new RunStopped('the run was stopped'))
    })
    work.then(resolve, reject).finally(() => {
      timer.cancel()
      unlisten?.()
    })
  })
}
