// A call that somebody has to decide about waits on disk; its key is held by that.
import type { Answer } from '../contract/answer.ts'
import { createFailure } from '../contract/projection.ts'
import { StoreUnavailable } from '../store/store.ts'
import { answerOf, recordOf } from './answer.ts'
import { callbackTimers } from './callback-timer.ts'
import { requestedFact } from './evidence.ts'
import type { Kit } from './kit.ts'
import { type Ended, failedResult, runningResult } from './result.ts'
import { sagaClosed } from './saga-member.ts'
import type { Again, CallResult, Claimed } from './stages.ts'

/** When the end is looked for the first time, should nobody be left to tell it. */
const CALLBACK_LOOK_MS = 30_000

export type Suspended = { readonly kind: 'answered'; readonly answer: Answer } | Ended | Again

export async function suspend(state: Claimed, result: CallResult, kit: Kit): Promise<Suspended> {
  const answered = (what: CallResult): Suspended => ({ kind: 'answered', answer: answerOf(state, what, kit) })
  const { question: approval } = state
  if (result.failure === undefined || approval === undefined)
    throw new Error('a call is suspended without a question')
  const outcome = { failure: result.failure, sideEffects: [], warnings: result.warnings }
  const answer = answerOf(state, result, kit)
  try {
    const written = await kit.ledger.suspend(state.entry, {
      call: recordOf(state, answer, state.entry.id, kit),
      approval,
      outcome,
      facts: [requestedFact(state, approval.id, kit)],
      ttlMs: Math.max(0, approval.expiresAt - kit.steadyNow()),
      timers: [...kit.notify(approval, 'approval.requested'), ...callbackTimers(approval, CALLBACK_LOOK_MS)],
    })
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
  const { namespace, id, entryId, callId, binding, needs } = approval
  kit.events.emit('approval:requested', {
    namespace,
    approval_id: id,
    entry_id: entryId,
    call_id: callId,
    tool_id: binding.tool,
    escalated: needs.some(({ escalated }) => escalated === true),
  })
  return { kind: 'answered', answer }
}
