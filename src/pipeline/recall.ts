// Stage 1: what does the key remember? Asked before anything that can have changed since.
import type { Approval } from '../contract/approval.ts'
import type { Entry } from '../contract/entry.ts'
import type { Failure } from '../contract/failure.ts'
import type { FailureId } from '../contract/failures.ts'
import { createFailure } from '../contract/projection.ts'
import { compareWithEntry } from '../ledger/fingerprint.ts'
import type { Flight } from '../ledger/flight.ts'
import { isTombstone } from '../store/store.ts'
import type { Kit } from './kit.ts'
import { refuse, resultOfEntry } from './result.ts'
import { advance, type CallResult, type Recalled, type Received, type StageResult } from './stages.ts'

export function recall(state: Received, kit: Kit): StageResult<Recalled> | Promise<StageResult<Recalled>> {
  // An id that was minted here can be in no ledger and in nobody else's request.
  if (isUnknownToOthers(state)) return advance(state, { continued: undefined })
  const flight = kit.flights.find(state.scope, state.key)
  return flight === undefined ? fromLedger(state, kit) : joinFlight(state, flight, kit)
}

/** Whether nobody but this very call can know its key. */
export function isUnknownToOthers(state: Received): boolean {
  return state.call.freshId && state.call.key === undefined
}

/** From here on it is known which entry the call works on or waits for. */
export function knowEntry(state: Received, entryId: string): void {
  state.held.entryId = entryId
  state.held.onEntry?.()
}

/** A run that takes up what an earlier life left behind, as long as nobody else has (S36). */
export async function takeUp(state: Received, kit: Kit): Promise<StageResult<Recalled>> {
  const entry = await kit.ledger.find(state.scope, state.key)
  if (entry === undefined) throw new Error(`entry ${state.resumed?.id} is gone`)
  knowEntry(state, entry.id)
  if (entry.id !== state.resumed?.id) return { kind: 'end', result: resultOfEntry(entry) }
  if (entry.state === 'unknown') return advance(state, { continued: entry })
  const agreed = entry.state === 'awaiting-approval' ? await approvalOf(entry, kit) : undefined
  if (agreed?.state !== 'approved') return { kind: 'end', result: resultOfEntry(entry) }
  return advance(state, { continued: entry, agreed, ...undoAsAsked(state, agreed) })
}

export async function approvalOf(
  { namespace, approvalId }: Pick<Entry, 'namespace' | 'approvalId'>,
  kit: Pick<Kit, 'ledger'>,
): Promise<Approval | undefined> {
  return approvalId === undefined ? undefined : kit.ledger.approvals.get(namespace, approvalId)
}

/** An undo that people were asked about is decided about as it was then: the rule that had it approved still holds. */
function undoAsAsked({ undoes }: Received, { rules }: Approval): Pick<Received, 'undoes'> {
  if (undoes === undefined) return {}
  return { undoes: { ...undoes, needsApproval: rules.some(({ policyId }) => policyId === COMPENSATION) } }
}

/** What the rule is called by which an undo needs approval. */
export const COMPENSATION = 'compensation'

async function fromLedger(state: Received, kit: Kit): Promise<StageResult<Recalled>> {
  const entry = await kit.ledger.find(state.scope, state.key)
  if (entry === undefined) return advance(state, { continued: undefined })
  // In this process, without a flight, it is about to be closed: its intent came too late, or it was taken over.
  return isUnderWay(entry) && !state.call.dryRun ? joinElsewhere(state, entry, kit) : fromEntry(state, entry)
}

function isUnderWay(entry: Entry): boolean {
  return entry.state === 'reserved' || entry.state === 'intended' || entry.state === 'sent'
}

const FIRST_LOOK_MS = 25
const LONGEST_LOOK_MS = 500

/** Somebody without a flight here works on this key: wait until it has settled it, or its lease has ended and somebody else has (S10). */
async function joinElsewhere(state: Received, entry: Entry, kit: Kit): Promise<StageResult<Recalled>> {
  if (differs(state, entry)) return conflict(state, entry)
  knowEntry(state, entry.id)
  const watch = kit.ledger.watch(entry)
  try {
    for (let look = FIRST_LOOK_MS; ; look = Math.min(look * 2, LONGEST_LOOK_MS)) {
      const left = state.listensUntil - kit.world.clock.monotonic()
      if (left <= 0 || state.abort.aborted) break
      await watch.changed(Math.min(look, left), state.abort)
      const now = await kit.ledger.find(state.scope, state.key)
      if (now === undefined) return advance(state, { continued: undefined })
      if (!isUnderWay(now)) return fromEntry(state, now)
    }
  } finally {
    watch.end()
  }
  if (state.abort.reason === 'canceled') {
    return { kind: 'end', result: { ...underWay(entry.id, 'canceled'), failure: detached(entry.id) } }
  }
  return { kind: 'end', result: underWay(entry.id, 'running') }
}

/** Waits for the call that is already under way with this key (S10). */
export async function joinFlight(
  state: Received,
  flight: Flight<CallResult>,
  kit: Kit,
): Promise<StageResult<Recalled>> {
  if (differs(state, flight.entry)) {
    // A flight that is not on disk may be about to learn that the key is another payload's: the disk decides.
    const known = flight.entry.revision > 0 ? undefined : await kit.ledger.find(state.scope, state.key)
    if (known === undefined || differs(state, known)) return conflict(state, known ?? flight.entry)
    return fromLedger(state, kit)
  }
  if (state.call.dryRun) return { kind: 'end', result: underWay(flight.entry.id, 'running') }
  knowEntry(state, flight.entry.id)
  const joined = await flight.join({ callId: state.call.id, until: state.listensUntil, abort: state.abort })
  if (joined.kind === 'owner') {
    state.held.flight = flight
    return fromLedger(state, kit)
  }
  if (joined.kind === 'landed') return { kind: 'end', result: { ...joined.result, replayed: true } }
  // Only somebody who cancels is canceled; who is sent away by a shutdown is told where the call stands.
  if (joined.why === 'time' || state.abort.reason === 'shutdown') {
    kit.orphans.watch(state.caller.namespace, state.call.id, flight)
    return { kind: 'end', result: underWay(flight.entry.id, 'running') }
  }
  return {
    kind: 'end',
    result: { ...underWay(flight.entry.id, 'canceled'), failure: detached(flight.entry.id) },
  }
}

/** S16: what each state of an entry answers to the same key. */
export function fromEntry(state: Received, entry: Entry): StageResult<Recalled> {
  if (isTombstone(entry)) {
    return refuse(state, 'key-expired', { details: { call_id: entry.callId } })
  }
  if (differs(state, entry)) return conflict(state, entry)
  switch (entry.state) {
    case 'awaiting-approval':
      if (state.call.callback !== undefined) state.warnings.push(CALLBACK_OF_FIRST)
      knowEntry(state, entry.id)
      return { kind: 'suspend', result: { ...resultOfEntry(entry), state: 'awaiting-approval' } }
    case 'not-done':
    case 'unknown':
      if (isReleased(entry)) return advance(state, { continued: entry })
      return entry.state === 'not-done'
        ? { kind: 'end', result: resultOfEntry(entry) }
        : blocked(state, entry)
    case 'reconciling':
    case 'commit-unknown':
      return blocked(state, entry)
    case 'reserved':
    case 'intended':
    case 'sent':
      return { kind: 'end', result: underWay(entry.id, 'running') }
    default:
      return { kind: 'end', result: resultOfEntry(entry) }
  }
}

/**
 * S16: a retryable end, or an approval that expired or went stale, leaves the key to the next attempt. So does whatever
 * else stood in the way of what had waited: nothing was sent, and nobody has refused it.
 */
function isReleased({ outcome, approvalId, attempts }: Entry): boolean {
  const failure = outcome?.failure
  if (failure === undefined) return false
  if (leavesKeyFree(failure) || failure.id === 'approval-expired' || failure.id === 'approval-stale')
    return true
  return approvalId !== undefined && attempts === 0 && failure.id !== 'approval-denied'
}

/**
 * S16: the next call with the key is the next attempt. A credential that could not be shown, or an address that could not
 * be reached by the rules, is no word about the call.
 */
export function leavesKeyFree({ id, retryable }: Failure): boolean {
  return retryable || STOOD_IN_THE_WAY.has(id)
}

const STOOD_IN_THE_WAY: ReadonlySet<FailureId> = new Set<FailureId>([
  'egress-denied',
  'secret-missing',
  'secret-out-of-scope',
  'token-exchange-failed',
])

/** Nobody knows whether the effect happened: the key is held until that is settled. */
export function blocked(state: Received, entry: Entry, message?: string): StageResult<never> {
  const facts = {
    ...(message === undefined ? {} : { message }),
    asking: entry.state === 'reconciling' || entry.outcome?.failure?.asking === true,
    details: { call_id: entry.callId, first_failure: entry.outcome?.failure?.id ?? 'interrupted' },
  }
  const ended = refuse(state, 'outcome-unknown', facts)
  if (ended.kind !== 'end') return ended
  const { attempt, entryId, tool } = { ...resultOfEntry(entry), entryId: entry.id }
  return {
    kind: 'end',
    result: {
      ...ended.result,
      state: entry.state === 'reconciling' ? 'reconciling' : 'unknown',
      effect: 'unknown',
      attempt,
      replayed: true,
      entryId,
      ...(tool ? { tool } : {}),
    },
  }
}

function differs(state: Received, entry: Entry): boolean {
  const sameness = compareWithEntry(entry, state.call)
  if (sameness === 'same-but-reworded' && !state.warnings.includes(REWORDED)) state.warnings.push(REWORDED)
  return sameness === 'different'
}

const CALLBACK_OF_FIRST =
  'the call that waits was made by an earlier request: only the callback of that one is called'

const REWORDED =
  'fields outside the identity differ from the first request with this key; the first one counts'

function conflict(state: Received, entry: Entry): StageResult<never> {
  return refuse(state, 'key-conflict', {
    message: `key '${state.key}' was already used for another payload`,
    details: { call_id: entry.callId },
  })
}

function underWay(entryId: string, as: 'running' | 'canceled'): CallResult {
  return { state: as, effect: 'pending', attempt: 0, replayed: true, warnings: [], sideEffects: [], entryId }
}

function detached(entryId: string): NonNullable<CallResult['failure']> {
  return createFailure('canceled', {
    message: 'this call no longer waits; the call it had joined goes on',
    details: { entry_id: entryId },
  })
}
