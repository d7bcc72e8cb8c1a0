// This process's part of limits that hold over all processes that share a store (S38).
//
// The parts of all lives add up to the limit. They change when lives come and go, and a newcomer takes its part only
// once every other life has renewed its lease knowing of it, and so keeps to a smaller one. What others still have under
// way beyond their smaller part is left out of the newcomer's.
import type { Life } from '../store/store.ts'

export interface Share {
  /**
   * How many of `max` places of this name are this process's, at this monotonic time. `heldMs`: what a life that has
   * ended since may have used counts for so long.
   */
  of(name: string, max: number, heldMs?: number, now?: number): number
  /** Monotonic time since when this process has a part at all. */
  readonly since: number
}

export const ALONE: Share = Object.freeze({
  of: (_name: string, max: number) => max,
  since: Number.NEGATIVE_INFINITY,
})

export interface SharedShare extends Share {
  /** What the store said about all lives that are not ended, at this monotonic time. */
  update(lives: readonly Life[], now: number): void
  /** Every other life knows of this one. */
  readonly joined: boolean
}

/** For how long a larger number of lives is remembered when several end one after the other. */
const LONGEST_MEMORY_MS = 86_400_000

export function createShare(epoch: string): SharedShare {
  let lives: readonly Life[] = []
  let place = -1
  let joined = false
  let since = Number.POSITIVE_INFINITY
  /** How many there were before the last one ended, and when that was seen. */
  let before = 1
  let shrunkAt = Number.NEGATIVE_INFINITY

  /** Each name begins with another life, so that small limits are spread over the processes. */
  function partOf(name: string, max: number, count: number): number {
    const rank = (place + startOf(name, count)) % count
    return Math.floor(max / count) + (rank < max % count ? 1 : 0)
  }

  return {
    of(name, max, heldMs = 0, now = Number.POSITIVE_INFINITY) {
      if (!joined || !Number.isFinite(max)) return joined ? max : 0
      const count = lives.length
      const held = before > count && now < shrunkAt + heldMs
      const part = held ? Math.floor(max / before) : partOf(name, max, count)
      let taken = 0
      for (const life of lives) if (life.epoch !== epoch) taken += life.over[name] ?? 0
      return Math.max(0, part - taken)
    },
    get since() {
      return since
    },
    get joined() {
      return joined
    },
    update(now, at) {
      if (now.length < lives.length) {
        before = at < shrunkAt + LONGEST_MEMORY_MS ? Math.max(before, lives.length) : lives.length
        shrunkAt = at
      }
      lives = now
      place = lives.findIndex((life) => life.epoch === epoch)
      const own = lives[place]
      if (own === undefined) {
        joined = false
        return
      }
      const alone = lives.length === 1
      const known = lives.every((life) => life.epoch === epoch || life.seen >= own.ordinal)
      if (known && !joined) since = alone ? Number.NEGATIVE_INFINITY : at
      joined = known
    },
  }
}

function startOf(name: string, count: number): number {
  let hash = 2_166_136_261
  for (let index = 0; index < name.length; index++) {
    hash = Math.imul(hash ^ name.charCodeAt(index), 16_777_619) >>> 0
  }
  return hash % count
}
