// Pauses between tries: each twice as long as the one before, a random part of it, and over at once when it all ends.
import type { Abort } from '../../util/abort.ts'
import type { World } from '../../util/world.ts'

const MAX_PAUSE_MS = 30_000

/** After so many failures in a row. */
export function pauseAfter(failures: number, baseMs: number, world: Pick<World, 'random'>): number {
  const whole = Math.min(baseMs * 2 ** (failures - 1), MAX_PAUSE_MS)
  return whole / 2 + (whole / 2) * world.random()
}

export function pause(ms: number, ending: Abort, world: Pick<World, 'after'>): Promise<void> {
  return new Promise((resolve) => {
    const timer = world.after(ms, () => {
      unlisten()
      resolve()
    })
    const unlisten = ending.listen(() => {
      timer.cancel()
      resolve()
    })
  })
}
