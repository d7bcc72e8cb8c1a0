// A clock that a test moves, a tool that never answers, and what a noisy machine may add to a time.
import type { TestContext } from 'node:test'
import { createWorld } from '../../src/runtime.ts'
import type { World } from '../../src/util/world.ts'

export const never = () => new Promise<never>(() => {})

/** What a noisy machine may add. */
export const SLACK_MS = 1_500

/** A world whose time stands still until the test moves it. Timers are real. */
export function standingWorld(t: TestContext): { readonly world: World; time: number } {
  const real = createWorld()
  t.after(() => real.network.destroy())
  const began = Date.now()
  const at = {
    time: 0,
    world: { ...real, clock: { now: () => began + at.time, monotonic: () => 10_000 + at.time } },
  }
  return at
}
