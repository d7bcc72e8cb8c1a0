// Follows work that tools have taken on, for hours if need be: of each it keeps the name and one timer, and nothing else.
//
// What is known is in the ledger, and is read anew at each look: another replica may have ended it, or the tool itself.
// The work of a life that has ended is followed by whoever takes its entries over (S36).
import type { Entry } from '../contract/entry.ts'
import { EVERYWHERE, guardsOf, type Stop, stopsGuard } from '../contract/stop.ts'
import { permit } from '../governance/permit.ts'
import type { Slot } from '../pipeline/admission.ts'
import { attach, canAttach } from '../pipeline/handle.ts'
import type { AcceptedWork } from '../pipeline/kit.ts'
import { settleAccepted, type WorkEnd } from '../pipeline/settle-accepted.ts'
import { standingOf } from '../pipeline/standing.ts'
import { StoreUnavailable } from '../store/store.ts'
import { spacedPoll } from '../transport/spaced-poll.ts'
import { errorPlace } from '../util/error-place.ts'
import type { Timer } from '../util/world.ts'
import type { DriverKit } from './timers.ts'

/** Questions at a time: the rest waits for its turn. */
const MOST_AT_ONCE = 64
/** How soon it is looked at again where nothing could be asked. */
const AGAIN_MS = 1_000
const FAULT_MS = 5_000

export interface AcceptedFollower extends AcceptedWork {
  /** Takes up what a life that has ended had followed. False where that is not for this build to do. */
  takeUp(entry: Entry): boolean
  /** Somebody has settled it, as its tool has reported the end: looks now. */
  look(entryId: string): void
  /** Ends what a stop is about. */
  endStopped(stop: Stop): Promise<void>
  /** How many are followed. */
  readonly size: number
  /** Follows nothing more. What is left goes on at its tools, and is taken up by the next life. */
  stop(): Promise<void>
}

interface Followed {
  readonly namespace: string
  readonly id: string
  /** Monotonic. */
  readonly until: number
  readonly slot: Slot | undefined
  misses: number
  canceled: boolean
  /** Its turn has come, or it is being looked at. */
  busy: boolean
  timer: Timer | undefined
}

/** `again`: in so many milliseconds; otherwise there is nothing left to follow. */
type Look = { readonly kind: 'again'; readonly inMs: number } | { readonly kind: 'over' }

const OVER: Look = { kind: 'over' }

export function createAcceptedFollower(kit: () => DriverKit): AcceptedFollower {
  const followed = new Map<string, Followed>()
  const waiting: Followed[] = []
  const inHand = new Set<Promise<void>>()
  let stopped = false

  function arm(one: Followed, inMs: number): void {
    if (stopped || followed.get(one.id) !== one) return
    const { world } = kit()
    one.busy = false
    const left = one.until - world.clock.monotonic()
    // Past its time it waits for what stands in the way of its end, such as a store that is away.
    one.timer = world.after(left > 0 ? Math.min(inMs, left) : inMs, () => due(one))
  }

  function due(one: Followed): void {
    one.timer?.cancel()
    one.timer = undefined
    one.busy = true
    waiting.push(one)
    next()
  }

  function next(): void {
    while (!stopped && inHand.size < MOST_AT_ONCE) {
      const one = waiting.shift()
      if (one === undefined) return
      const run = turn(one).finally(() => {
        inHand.delete(run)
        next()
      })
      inHand.add(run)
    }
  }

  async function turn(one: Followed): Promise<void> {
    const seen = await safely(one)
    if (seen.kind === 'again') return arm(one, one.canceled ? Math.min(seen.inMs, AGAIN_MS) : seen.inMs)
    followed.delete(one.id)
    one.slot?.leave()
  }

  async function safely(one: Followed): Promise<Look> {
    try {
      return await look(one)
    } catch (error) {
      if (error instanceof StoreUnavailable) return { kind: 'again', inMs: AGAIN_MS }
      const { namespace, id: subject } = one
      kit().events.emit('timer:failed', { namespace, kind: 'accepted', subject, error: errorPlace(error) })
      return { kind: 'again', inMs: FAULT_MS }
    }
  }

  async function look(one: Followed): Promise<Look> {
    const { world, ledger, catalog } = kit()
    const entry = await ledger.get(one.namespace, one.id)
    // The tool has reported it, a person or another replica has settled it, or that one follows it now.
    if (entry?.state !== 'sent' || entry.epoch !== world.epoch) return OVER
    const target = catalog.kept(entry.namespace, entry.tool, entry.digest)
    if (target === undefined) return { kind: 'again', inMs: FAULT_MS }
    const settle = async (end: WorkEnd): Promise<Look> => {
      const moved = await settleAccepted(entry, target, end, kit())
      return moved.kind === 'moved' ? OVER : { kind: 'again', inMs: 0 }
    }
    if (one.canceled || entry.cancelRequested) return settle({ kind: 'canceled' })
    const overdue = one.until - world.clock.monotonic() <= 0
    // S36: nothing is asked for a caller who may no longer; the tool can still report by itself.
    const denied = permit(entry.caller, target.tool, standingOf(entry.caller, kit()).held).kind === 'denied'
    const mayAsk = !denied && ledger.maySend
    // It may have ended since it was asked the last time; who could not be asked then is not waited for.
    if (overdue && (!mayAsk || one.misses > 0)) return settle({ kind: 'overdue' })
    if (!mayAsk) return { kind: 'again', inMs: AGAIN_MS }
    const { reply, accepted } = await attach(entry, target, kit())
    if (reply !== undefined) return settle(reply)
    if (overdue && !kit().stopping.aborted) return settle({ kind: 'overdue' })
    one.misses = accepted?.missed === undefined ? 0 : one.misses + 1
    return { kind: 'again', inMs: accepted === undefined ? AGAIN_MS : spacedPoll(accepted, one.misses) }
  }

  function follow(entry: Entry, pollInMs: number, slot?: Slot): void {
    const { world, steadyNow } = kit()
    const until = world.clock.monotonic() + (entry.outcome?.accepted?.until ?? 0) - steadyNow()
    const one: Followed = {
      namespace: entry.namespace,
      id: entry.id,
      until,
      slot,
      misses: 0,
      canceled: entry.cancelRequested,
      busy: false,
      timer: undefined,
    }
    followed.set(one.id, one)
    arm(one, one.canceled ? 0 : pollInMs)
  }

  function lookNow(entryId: string): void {
    const one = followed.get(entryId)
    if (one !== undefined && !one.busy) due(one)
  }

  function cancel(entryId: string): boolean {
    const one = followed.get(entryId)
    if (one === undefined) return false
    one.canceled = true
    lookNow(entryId)
    return true
  }

  return {
    follow,
    cancel,
    look: lookNow,
    get size() {
      return followed.size
    },

    takeUp(entry) {
      if (entry.state !== 'sent' || entry.outcome?.accepted === undefined) return false
      const target = kit().catalog.kept(entry.namespace, entry.tool, entry.digest)
      if (target === undefined || !canAttach(entry, target, kit())) return false
      follow(entry, 0, kit().admission.occupy(target.tool))
      return true
    },

    async endStopped(stop) {
      if (stop.inFlight !== 'end') return
      const now = kit().world.clock.now()
      for (const { namespace, id } of [...followed.values()]) {
        if (stop.namespace !== EVERYWHERE && stop.namespace !== namespace) continue
        const entry = await kit().ledger.get(namespace, id)
        if (entry === undefined) continue
        const guards = guardsOf(entry.caller, entry.tool, entry.request?.agent)
        if (guards.some((guard) => stopsGuard(stop, guard, now))) cancel(id)
      }
    },

    async stop() {
      stopped = true
      for (const one of followed.values()) {
        one.timer?.cancel()
        one.slot?.leave()
      }
      followed.clear()
      waiting.length = 0
      await Promise.allSettled(inHand)
    },
  }
}
