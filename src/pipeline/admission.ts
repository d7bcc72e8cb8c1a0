// Who is running and who came lately, per tool: concurrency and rate.
import type { ResolvedTool } from '../resource/resolved-tool.ts'
import type { World } from '../util/world.ts'
import { ALONE, type Share } from './share.ts'

/** A place taken by one call; leaving twice is leaving once. */
export interface Slot {
  leave(): void
}

export type Entrance =
  | { readonly kind: 'entered'; readonly slot: Slot }
  | {
      readonly kind: 'full'
      readonly limit: 'rate' | 'concurrency'
      readonly max: number
      readonly retryAfterMs: number
    }

export interface Admission {
  /** Tools of which more runs here than this process's share allows, since that became smaller (S38). */
  over(): Readonly<Record<string, number>>
  /** Takes a place, or says what is full. */
  enter(tool: ResolvedTool): Entrance
  /** Takes a place for what runs already, whether or not one is free. */
  occupy(tool: ResolvedTool): Slot
  /** The same question without taking a place (S17). */
  peek(tool: ResolvedTool): Entrance
  readonly inFlight: number
}

/** How long a caller is told to wait when every place is taken: no one knows when one becomes free. */
const BUSY_RETRY_MS = 250

/** The times of the last admissions, as a ring: exact for "at most max in any window", for every version's own max. */
class Recent {
  #times = new Float64Array(16).fill(Number.NEGATIVE_INFINITY)
  #next = 0

  /** When the `count`-th last one came in. */
  ago(count: number): number {
    if (count > this.#times.length) return Number.NEGATIVE_INFINITY
    return (
      this.#times[(this.#next - count + this.#times.length) % this.#times.length] ?? Number.NEGATIVE_INFINITY
    )
  }

  add(time: number, max: number): void {
    if (max > this.#times.length) this.#grow(max)
    this.#times[this.#next] = time
    this.#next = (this.#next + 1) % this.#times.length
  }

  #grow(max: number): void {
    const grown = new Float64Array(Math.max(max, this.#times.length * 2)).fill(Number.NEGATIVE_INFINITY)
    const kept = [...this.#times.subarray(this.#next), ...this.#times.subarray(0, this.#next)]
    grown.set(kept, grown.length - kept.length)
    this.#times = grown
    this.#next = 0
  }
}

export function createAdmission(world: World, share: Share = ALONE): Admission {
  const running = new Map<string, number>()
  /** The limit that applied when somebody last came in. */
  const limits = new Map<string, number>()
  const recent = new Map<string, Recent>()
  let inFlight = 0

  function look(tool: ResolvedTool, key: string, now: number): Entrance | undefined {
    const { concurrency, rate } = tool.limits
    if (concurrency !== undefined) {
      limits.set(key, concurrency)
      if ((running.get(key) ?? 0) >= share.of(key, concurrency)) {
        return { kind: 'full', limit: 'concurrency', max: concurrency, retryAfterMs: BUSY_RETRY_MS }
      }
    }
    if (rate === undefined) return undefined
    const wait = rateWait(rate, key, now)
    return wait > 0
      ? { kind: 'full', limit: 'rate', max: rate.max, retryAfterMs: Math.ceil(wait) }
      : undefined
  }

  function rateWait(
    rate: { readonly max: number; readonly perMs: number },
    key: string,
    now: number,
  ): number {
    const part = share.of(key, rate.max, rate.perMs, now)
    if (part === 0) return BUSY_RETRY_MS
    // A newcomer lets one window pass before it takes its part: until then others may have used it all.
    const held = share.since + rate.perMs - now
    const last = recent.get(key)?.ago(part) ?? Number.NEGATIVE_INFINITY
    return Math.max(held, last + rate.perMs - now)
  }

  function take(key: string): Slot {
    running.set(key, (running.get(key) ?? 0) + 1)
    inFlight++
    let inside = true
    return {
      leave() {
        if (!inside) return
        inside = false
        inFlight--
        const left = (running.get(key) ?? 1) - 1
        if (left > 0) running.set(key, left)
        else running.delete(key)
      },
    }
  }

  return {
    over() {
      const over: Record<string, number> = {}
      for (const [key, count] of running) {
        const excess = count - share.of(key, limits.get(key) ?? Number.POSITIVE_INFINITY)
        if (excess > 0) over[key] = excess
      }
      return over
    },
    enter(tool) {
      const key = `${tool.namespace}/${tool.name}`
      const now = world.clock.monotonic()
      const full = look(tool, key, now)
      if (full) return full
      const { rate } = tool.limits
      if (rate) {
        const ring = recent.get(key) ?? new Recent()
        recent.set(key, ring)
        ring.add(now, rate.max)
      }
      return { kind: 'entered', slot: take(key) }
    },
    occupy(tool) {
      const key = `${tool.namespace}/${tool.name}`
      // How many may run is looked at when the share of this process becomes smaller.
      if (tool.limits.concurrency !== undefined) limits.set(key, tool.limits.concurrency)
      return take(key)
    },
    peek: (tool) =>
      look(tool, `${tool.namespace}/${tool.name}`, world.clock.monotonic()) ?? {
        kind: 'entered',
        slot: { leave() {} },
      },
    get inFlight() {
      return inFlight
    },
  }
}
