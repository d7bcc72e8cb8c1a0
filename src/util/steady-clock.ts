// A wall clock that never goes back: for how long ago something was (S12).
import type { Clock } from './world.ts'

/** At least as much time passes as on the monotonic clock, whatever is done to the wall clock; from `base` on. */
export function createSteadyClock(clock: Clock, base: number): () => number {
  const from = clock.monotonic()
  const start = Math.max(base, clock.now())
  return () => Math.max(clock.now(), start + clock.monotonic() - from)
}
