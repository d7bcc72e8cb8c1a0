// The intent of a call: on disk before anything is sent that must not happen twice, or must be found again.
import type { Entry } from '../contract/entry.ts'
import { createFailure } from '../contract/projection.ts'
import { guardsOf, stopKindOf } from '../contract/stop.ts'
import type { IntendResult } from '../ledger/ledger.ts'
import { StoreUnavailable } from '../store/store.ts'
import { onlyUnavailable } from '../store/unavailable.ts'
import { answerOf, recordOf, runningRecord } from './answer.ts'
import { overBudget } from './authorize.ts'
import { narrowedPart, repeated } from './claim.ts'
import type { FirstCredential } from './credential-use.ts'
import { startedFact } from './evidence.ts'
import type { Kit } from './kit.ts'
import { within } from './pause.ts'
import { stopped as stoppedEarly } from './permit.ts'
import { failedResult, refuse, runningResult } from './result.ts'
import { memberSettled, sagaClosed } from './saga-member.ts'
import type { Admitted, Again, StageResult } from './stages.ts'
import { isGrantUse, usedFacts, useOf } from './use-approval.ts'

export type Intended = { readonly kind: 'intended'; readonly entry: Entry } | StageResult<never> | Again

/** The first of the two times a write waits for the disk (S34). */
export async function intend(
  state: Admitted,
  credential: FirstCredential,
  onRecord: boolean,
  kit: Kit,
): Promise<Intended> {
  const { identity } = state.operation.effect
  // Somebody has decided about a repeat that was approved; all others must still be the only one (S14).
  const unique = identity !== undefined && !isAgreedRepeat(state)
  try {
    const writing = kit.ledger.intend(
      state.continued ? { ...state.entry, callId: state.call.id } : withCredential(state.entry, credential),
      unique ? state.receivedAt - identity.windowMs : undefined,
      [startedFact(state, kit), ...usedFacts(state, kit)],
      {
        // Other processes and tools must be able to find the call, and recovery the one that continues an entry.
        ...(state.continued || kit.refresh || onRecord ? { call: runningRecord(state, kit) } : {}),
        ...useOf(state, kit),
        ...renarrowed(state),
        unless: guardsOf(state.caller, state.call.tool, state.call.agent),
      },
    )
    // A database that is away must not hold its callers.
    const left = state.deadline - kit.world.clock.monotonic()
    const written = await within(left, writing, kit.world)
    if (written === undefined) {
      // Whatever becomes of the intent, nothing is sent for it: it is closed as soon as it is there. Until then nobody
      // knows whether it is, and another life may find it: the call is open.
      writing.then((late) => closeUnsent(state, late, kit), onlyUnavailable)
      return { kind: 'end', result: { ...runningResult(state), entryId: state.entry.id } }
    }
    if (written.kind === 'intended') return written
    if (written.on === 'saga') return sagaClosed(state)
    if (written.on === 'identity' && written.entry) return repeated(state, written.entry)
    if (written.on === 'stopped') return stoppedBy(state, written.stop ?? '', kit)
    if (written.on === 'budget' && written.spend && !isGrantUse(written.spend)) {
      return overBudget(state, written.spend)
    }
    const found = written.entry
    // A conflict with one's own nonce is ownership: the acknowledgement was lost, not the intent (S35).
    if (found?.callId === state.call.id && found.epoch === kit.world.epoch && found.state === 'intended') {
      return { kind: 'intended', entry: found }
    }
    return { kind: 'again' }
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
    // It may be on disk all the same, and be found by the next life: then that one ends the call.
    if (error.maybeWritten)
      return { kind: 'end', result: { ...runningResult(state), entryId: state.entry.id } }
    return refuse(state, 'intent-not-recorded')
  }
}

function withCredential(entry: Entry, { shown, ...credential }: FirstCredential): Entry {
  const request = shown === undefined ? {} : { request: { ...entry.request, shown } }
  return { ...entry, ...credential, ...request }
}

/** S43: an entry that is there already is sent as policy makes it now. */
function renarrowed(state: Admitted): Pick<Entry, 'narrowed'> {
  return state.entry.revision === 0 ? {} : narrowedPart(state)
}

function isAgreedRepeat({ decision, approval }: Admitted): boolean {
  return approval !== undefined && decision.matches.some(({ code }) => code === 'effect-repeated')
}

/** Somebody stopped it a moment ago: here that may not be known yet. */
function stoppedBy(state: Admitted, name: string, kit: Kit): StageResult<never> {
  const kind = stopKindOf(name)
  const known = kit.authority.stopped(state.caller, state.call.tool, state.call.agent)
  return stoppedEarly(
    state,
    known ?? { kind, name, reason: 'stopped by an operator', at: kit.world.clock.now() },
  )
}

/** Nothing was sent for this intent, and nothing will be. */
export function closeUnsent(state: Admitted, late: IntendResult, kit: Kit): void {
  if (late.kind !== 'intended') return
  const failure =
    state.held.attempt > 0
      ? createFailure('timeout', { harmless: true, message: 'the work was on record too late' })
      : createFailure('timeout-before-send', {
          message: 'the intent was on record too late; nothing was sent',
        })
  // An earlier send of this entry may have had its effect; this one had none.
  const to = state.continued?.state === 'unknown' ? 'unknown' : 'not-done'
  const outcome = { failure, sideEffects: [], warnings: [] }
  const set = { attempts: late.entry.attempts, outcome, settledAt: kit.world.clock.now() }
  const result = failedResult(state, failure, to)
  const record = recordOf(state, answerOf(state, result, kit), late.entry.id, kit)
  const timers = memberSettled(late.entry, result)
  kit.ledger.move(late.entry, { path: [to], set, calls: [record], timers }).catch(onlyUnavailable)
}

/** The entry with its handle, undefined where the store did not take it; or what the call comes to instead. */
export type Kept = { readonly kind: 'kept'; readonly entry: Entry | undefined } | StageResult<never> | Again

export function kept(entry: Entry | undefined): Kept {
  return { kind: 'kept', entry }
}

/**
 * A read that nobody reports on needs no record before it is sent: lost before its tool has taken it on, it is read again.
 * From here on it can be found after a restart; where another process has the key, its work is joined.
 */
export async function keepOfRead(
  state: Admitted,
  credential: FirstCredential,
  attempt: number,
  keep: (entry: Entry) => Promise<Entry | undefined>,
  kit: Kit,
): Promise<Kept> {
  const written = await intend(state, credential, true, kit)
  if (written.kind === 'intended') {
    state.held.intended = written.entry
    return kept(await keep(written.entry))
  }
  return written.kind === 'end' ? { kind: 'end', result: { ...written.result, attempt } } : written
}
