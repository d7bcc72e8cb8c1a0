// The end of a call that something inside the runtime broke.
import type { Answer } from '../contract/answer.ts'
import { createFailure } from '../contract/projection.ts'
import { PolicyUnavailable } from '../governance/authority.ts'
import { StoreUnavailable } from '../store/store.ts'
import { onlyUnavailable } from '../store/unavailable.ts'
import { errorPlace } from '../util/error-place.ts'
import { answerOf, recordOf } from './answer.ts'
import { conclude } from './conclude.ts'
import { refusedFact } from './evidence.ts'
import type { Kit } from './kit.ts'
import { failedResult } from './result.ts'
import type { Received } from './stages.ts'

/** A bug. What was intended may have been sent: it stays open as unknown, and is never sent again. */
export async function faulted(received: Received, bug: unknown, kit: Kit): Promise<Answer> {
  const { intended } = received.held
  if (bug instanceof StoreUnavailable && intended === undefined) {
    // No bug: the store failed under a stage that had to read it, and nothing was sent (S37).
    const failure = createFailure('intent-not-recorded')
    return conclude(received, failedResult(received, failure, 'none'), kit)
  }
  if (bug instanceof PolicyUnavailable && intended === undefined) {
    // Nobody was denied: nobody can say what governs the call (S42).
    const failure = createFailure('policy-unavailable', { message: bug.message })
    return conclude(received, failedResult(received, failure, 'none'), kit)
  }
  kit.events.emit('call:faulted', { call_id: received.call.id, error: errorPlace(bug) })
  const failure = createFailure('internal', { harmless: intended === undefined })
  const result = failedResult(received, failure, intended === undefined ? 'none' : 'unknown')
  const answer = answerOf(received, result, kit)
  if (intended === undefined) return conclude(received, result, kit)
  const ending = {
    path: ['unknown'] as const,
    attempts: intended.attempts,
    outcome: { failure, sideEffects: [], warnings: [] },
  }
  await kit.ledger
    .settle(intended, ending, recordOf(received, answer, intended.id, kit), [refusedFact(received, result)])
    .catch(onlyUnavailable)
  return answer
}
