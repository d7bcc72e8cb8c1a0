// Calls that stopped waiting for another one with the same key (S10). Where that one leaves no entry behind, nothing
// happened on their behalf; they are closed on record, so that every process tells the same of them.
import type { CallRecord } from '../contract/call.ts'
import { createFailure } from '../contract/projection.ts'
import type { Flight, Flights } from '../ledger/flight.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { onlyUnavailable } from '../store/unavailable.ts'
import type { World } from '../util/world.ts'
import { recordWith } from './closed-record.ts'
import { within } from './pause.ts'
import type { CallResult } from './stages.ts'

/** Whoever asks is not held by a database that goes away meanwhile. */
const LONGEST_LOOK_MS = 5_000

export interface Orphans {
  /** This call has stopped waiting for this flight: when that is over, it may have to be closed. */
  watch(namespace: string, callId: string, flight: Flight<CallResult>): void
  /** Closes those whose flight is over. What the store cannot be asked about now is left to the next time. */
  sweep(): Promise<void>
  /** The record as it is, or closed where nothing can come of it any more. Of a call that is not under way here. */
  closed(record: CallRecord): Promise<CallRecord>
}

/** What a call came to of which nothing is on record but itself. */
export const NOTHING_HAPPENED: CallResult = {
  state: 'failed',
  effect: 'none',
  failure: createFailure('interrupted', {
    harmless: true,
    message: 'the call that this one waited for ended without an outcome',
    said: { retryable: true, counts: true },
  }),
  attempt: 0,
  replayed: true,
  warnings: [],
  sideEffects: [],
}

export function createOrphans(world: World, ledger: Ledger, flights: Flights<CallResult>): Orphans {
  /** By call: the namespace of each. */
  const left = new Map<string, string>()
  let sweeping: Promise<void> | undefined

  async function close(record: CallRecord): Promise<CallRecord> {
    const { namespace, id, entryId = '', state, epoch } = record
    if (state !== 'running' || epoch !== world.epoch || flights.isWorking(entryId)) return record
    if ((await ledger.get(namespace, entryId)) !== undefined) return record
    // An intent that came too late for its call may still be on its way: then the entry ends the call.
    await ledger.flush()
    if ((await ledger.get(namespace, entryId)) !== undefined) return record
    // It may have ended meanwhile, and an outcome never changes.
    const now = await ledger.call(namespace, id)
    if (now?.state !== 'running') return now ?? record
    const ended = recordWith(now, NOTHING_HAPPENED, world.clock.now())
    await ledger.close(ended, [{ type: 'request.interrupted', body: { effect: 'none', entry_id: entryId } }])
    return ended
  }

  async function closeAll(): Promise<void> {
    for (const [id, namespace] of [...left]) {
      const record = await ledger.call(namespace, id)
      if (record !== undefined) await close(record)
      left.delete(id)
    }
  }

  function sweep(): Promise<void> {
    sweeping ??= closeAll().finally(() => {
      sweeping = undefined
    })
    return sweeping
  }

  return {
    watch(namespace, callId, flight) {
      flight.whenOver(() => {
        left.set(callId, namespace)
        // The call that has just stopped waiting is noted first.
        world.soon(() => sweep().catch(onlyUnavailable))
      })
    },
    sweep,
    closed: async (record) => (await within(LONGEST_LOOK_MS, close(record), world)) ?? record,
  }
}
