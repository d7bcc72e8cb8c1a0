// Looks again and again whether other processes have changed what is live here, and knows how old the last look is.
import type { Events } from '../event/event.ts'
import { StoreUnavailable } from '../store/store.ts'
import { errorPlace } from '../util/error-place.ts'
import type { Timer, World } from '../util/world.ts'

export interface Follower {
  /** Sees everything that was written before it was asked for. True when something changed meanwhile. */
  refresh(): Promise<boolean>
  /** Looks from here on until it is closed. */
  follow(): void
  /** False while it follows, and no look of the last seconds succeeded. */
  readonly current: boolean
  close(): void
}

export interface FollowerOptions {
  readonly world: World
  readonly events: Events
  /** True when something changed. Never asked for while one is under way. */
  readonly look: () => Promise<boolean>
}

/** How long it rests between two looks: what a look has just missed is still seen within the second. */
const REST_MS = 300
const MAX_AGE_MS = 5_000

export function createFollower({ world, events, look }: FollowerOptions): Follower {
  let state: 'still' | 'following' | 'closed' = 'still'
  let lookedAt = Number.NEGATIVE_INFINITY
  let running: Promise<boolean> | undefined
  let next: Promise<boolean> | undefined
  let timer: Timer | undefined

  async function timed(): Promise<boolean> {
    const began = world.clock.monotonic()
    const changed = await look()
    lookedAt = began
    return changed
  }

  function begin(): Promise<boolean> {
    running = timed().finally(() => {
      running = undefined
    })
    return running
  }

  async function beginAfter(earlier: Promise<boolean>): Promise<boolean> {
    // Whoever waits for it hears of its failure; this one is for those who came later.
    const changed = await earlier.catch(() => false)
    next = undefined
    return (await begin()) || changed
  }

  function refresh(): Promise<boolean> {
    if (next !== undefined) return next
    if (running === undefined) return begin()
    // That one may have asked the store before it was written what the next is asked for.
    next = beginAfter(running)
    return next
  }

  function onFault(error: unknown): void {
    if (error instanceof StoreUnavailable) return
    events.emit('timer:failed', { namespace: '', kind: 'resources', subject: '', error: errorPlace(error) })
  }

  function rest(): void {
    if (state === 'closed') return
    timer = world.after(REST_MS, () => {
      refresh().catch(onFault).finally(rest)
    })
  }

  return {
    refresh,
    follow() {
      if (state !== 'still') return
      state = 'following'
      rest()
    },
    get current() {
      return state === 'still' || world.clock.monotonic() - lookedAt <= MAX_AGE_MS
    },
    close() {
      state = 'closed'
      timer?.cancel()
    },
  }
}
