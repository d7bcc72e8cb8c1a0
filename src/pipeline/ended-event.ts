// What the event of the end of a call says of its answer (S53), whoever tells of it.
import type { Answer } from '../contract/answer.ts'
import { failureRow } from '../contract/failures.ts'
import { fourOutcomeStatusOf, v1StatusOf } from '../contract/projection.ts'
import type { CallEndedEvent, CallEvent } from '../event/event.ts'

export function endedPart(answer: Answer, endedAt: number): Omit<CallEndedEvent, keyof CallEvent> {
  const { failure, usage } = answer
  const row = failure && failureRow(failure.id)
  return {
    ended_at: new Date(endedAt).toISOString(),
    duration_ms: usage.durationMs,
    tool_attempt: usage.attempt,
    tool_status: v1StatusOf(answer),
    tool_code: row?.v1.code ?? '',
    tool_reason: row?.v1.reason ?? '',
    error_code: row?.four.code ?? '',
    error_reason: row?.dotted ?? '',
    outcome: fourOutcomeStatusOf(answer),
    retryable: failure?.retryable ?? false,
    failure: failure?.id ?? '',
    state: answer.state,
    effect: answer.effect,
    replayed: answer.replayed,
  }
}
