// Runs what is due. Timers are rows with a due time by the store's clock; each is claimed by one process (S12, S35).
//
// A handler moves its entry on and sets or drops its timer in the same write, so that neither can be lost without the
// other. One that did not write says what becomes of the timer, and the loop writes that.
import type { Answer } from '../contract/answer.ts'
import type { Entry } from '../contract/entry.ts'
import type { Events } from '../event/event.ts'
import type { Kit } from '../pipeline/kit.ts'
import type { FactSink, Received } from '../pipeline/stages.ts'
import { type DueTimer, type Store, StoreUnavailable, type TimerKind } from '../store/store.ts'
import { onlyUnavailable } from '../store/unavailable.ts'
import { errorPlace } from '../util/error-place.ts'
import type { JsonObject } from '../util/json.ts'
import type { Timer } from '../util/world.ts'

export type TimerEnd =
  /** The handler's own write has set or dropped the timer. */
  | { readonly kind: 'written' }
  | { readonly kind: 'done' }
  | { readonly kind: 'again'; readonly inMs: number; readonly data?: JsonObject }

export interface DriverKit extends Kit {
  readonly store: Store
  /** Runs a call where it can be seen and stopped. */
  readonly run: (make: (onFact: FactSink) => Received) => Promise<Answer>
  /** Runs the entry of a life that has ended through the pipeline again, from permit on (S36). */
  readonly resume: (entry: Entry) => Promise<Answer>
}

export type TimerHandler = (timer: DueTimer, kit: DriverKit) => Promise<TimerEnd>

export type TimerHandlers = Readonly<Partial<Record<TimerKind, TimerHandler>>>

export interface TimerLoop {
  /** Looks now. */
  wake(): void
  /** Takes no more timers, and waits for those in hand. */
  stop(): Promise<void>
}

/** Timers in hand at a time: what becomes due together, as after an outage, is done by and by. */
const MOST_IN_HAND = 32
/** The longest time without a look: others may have set timers, and only the store knows. */
const IDLE_MS = 1_000
/** How long a timer that this build knows nothing of is left to others. */
const NOT_OURS_MS = 60_000
/** How soon a handler that failed is tried again. */
const RETRY_MS = 5_000

export function startTimers(
  kit: DriverKit,
  handlers: TimerHandlers,
  options: { readonly idleMs?: number } = {},
): TimerLoop {
  const { world, store, events } = kit
  const idleMs = options.idleMs ?? IDLE_MS
  const inHand = new Set<Promise<void>>()
  let stopped = false
  let looking = false
  /** The look that is under way: what it claims is in hand, also when the end began meanwhile. */
  let underWay: Promise<void> = Promise.resolve()
  /** Monotonic time of the next look; earlier ones that were asked for while looking come right after it. */
  let next = Number.POSITIVE_INFINITY
  let timer: Timer | undefined

  /** Looks in so many milliseconds, unless it does so sooner anyway. */
  function lookIn(ms: number): void {
    const at = world.clock.monotonic() + ms
    if (stopped || at >= next) return
    next = at
    if (looking) return
    timer?.cancel()
    timer = world.after(ms, wake)
  }

  function wake(): void {
    if (stopped) return
    looking = true
    next = Number.POSITIVE_INFINITY
    underWay = look().then(rest, (error: unknown) => {
      onlyUnavailable(error)
      rest(idleMs)
    })
  }

  function rest(ms: number): void {
    looking = false
    const asked = next - world.clock.monotonic()
    next = Number.POSITIVE_INFINITY
    lookIn(Math.max(0, Math.min(ms, asked)))
  }

  /** How long to rest until the next look. */
  async function look(): Promise<number> {
    if (store.failed !== undefined) return idleMs
    const soonest = await store.timers.nextIn()
    if (soonest === undefined || soonest > 0) return Math.min(soonest ?? idleMs, idleMs)
    const room = MOST_IN_HAND - inHand.size
    if (room === 0) return idleMs
    const due = await store.timers.claim(room)
    for (const one of due) {
      const run = handle(one).finally(() => {
        inHand.delete(run)
        lookIn(0)
      })
      inHand.add(run)
    }
    return due.length === room ? idleMs : Math.min((await store.timers.nextIn()) ?? idleMs, idleMs)
  }

  async function handle(due: DueTimer): Promise<void> {
    const { namespace, kind, subject, dueAt: ifDueAt } = due
    try {
      // One that this build has no handler for is another's: it must not be lost here.
      const end = await (handlers[kind] ?? notOurs)(due, kit)
      if (end.kind === 'written') return
      // Only where it is still this timer: somebody may have set it anew, with other data, since it was claimed.
      const change =
        end.kind === 'done'
          ? { kind, subject, ifDueAt }
          : { kind, subject, ifDueAt, inMs: end.inMs, data: end.data ?? due.data }
      await store.ledger.settle({ namespace, timers: [change] })
    } catch (error) {
      await failed(due, error, events, store)
    }
  }

  const unlisten = store.timers.onSet(lookIn)
  wake()
  return {
    wake: () => lookIn(0),
    async stop() {
      stopped = true
      unlisten()
      timer?.cancel()
      await underWay
      await Promise.allSettled(inHand)
    },
  }
}

async function notOurs(): Promise<TimerEnd> {
  return { kind: 'again', inMs: NOT_OURS_MS }
}

/** A bug in a handler, or a store that is away: the timer is due again later, or is claimed again after this life. */
async function failed(
  { namespace, kind, subject, dueAt: ifDueAt, data }: DueTimer,
  error: unknown,
  events: Events,
  store: Store,
): Promise<void> {
  if (!(error instanceof StoreUnavailable)) {
    events.emit('timer:failed', { namespace, kind, subject, error: errorPlace(error) })
  }
  const change = { kind, subject, ifDueAt, inMs: RETRY_MS, data }
  await store.ledger.settle({ namespace, timers: [change] }).catch(onlyUnavailable)
}
