// A call that somebody has to decide about waits on disk; its key is held by that.
import type { Answer } from '../contract/answer.ts'
import { createFailure } from '../contract/projection.ts'
import { StoreUnavailable } from '../store/store.ts'
import { answerOf, recordOf } from './answer.ts'
import { requestedFact } from './evidence.ts'
import type { Kit } from './kit.ts'
import { type Ended, failedResult, runningResult } from './result.ts'
import { sagaClosed } from './saga-member.ts'
import type { Again, CallResult, Claimed } from './stages.ts'

const APPROVAL_TTL_MS = 600_000

export type Suspended = { readonly kind: 'answered'; readonly answer: Answer } | Ended | Again

export async function suspend(state: Claimed, result: CallResult, kit: Kit): Promise<Suspended> {
  const answered = (what: CallResult): Suspended => ({ kind: 'answered', answer: answerOf(state, what, kit) })
  if (result.failure === undefined) throw new Error('a call is suspended without a reason')
  const approvalId = String(result.failure.details.approval_id)
  const outcome = { failure: result.failure, sideEffects: [], warnings: result.warnings }
  const answer = answerOf(state, result, kit)
  try {
    const written = await kit.ledger.suspend(
      state.entry,
      recordOf(state, answer, state.entry.id, kit),
      approvalId,
      outcome,
      [requestedFact(state, approvalId)],
      ttlOf(state, kit),
    )
    if (written.kind === 'conflict') return written.on === 'saga' ? sagaClosed(state) : { kind: 'again' }
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
    // It may be on disk all the same, and be found by the next life: then that one ends the call.
    if (error.maybeWritten) return answered({ ...runningResult(state), entryId: state.entry.id })
    return answered(failedResult(state, createFailure('intent-not-recorded'), 'none'))
  }
  state.flight.land(result)
  state.flight.forget()
  state.held.flight = undefined
  return { kind: 'answered', answer }
}

/** How long somebody has to decide: never past the time the caller listens (S9). */
function ttlOf(state: Claimed, kit: Kit): number {
  return Math.max(0, Math.min(APPROVAL_TTL_MS, state.listensUntil - kit.world.clock.monotonic()))
}
