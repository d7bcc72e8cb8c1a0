// Waiting, with an end to it.
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

/** What came of it, or LATE. Whatever it comes to after that is nobody's business. */
export async function within<T>(world: Clocked, ms: number, work: Promise<T>): Promise<T | typeof LATE> {
  return new Promise((resolve, reject) => {
    const timer = world.after(ms, () => resolve(LATE))
    work.then(resolve, reject).finally(() => timer.cancel())
  })
}
