// What every dialect needs to write an answer.
import type { JsonObject } from '../../util/json.ts'
import type { Answer, Usage } from '../answer.ts'
import type { Failure } from '../failure.ts'
import { failureRow } from '../failures.ts'
import { wireDetailsOf } from '../projection.ts'

/** S8: an open call has no envelope, except through the failure that says why it waits. Anything else is a bug. */
export function assertHasEnvelope(answer: Answer): void {
  if (answer.failure !== undefined) return
  if (answer.state === 'succeeded' || answer.state === 'prepared') return
  throw new Error(`bug: a call that is '${answer.state}' has no envelope; show it as the Call resource`)
}

export function usageOf(usage: Usage): JsonObject {
  return {
    duration_ms: wholeMs(usage.durationMs),
    attempt: usage.attempt,
    ...(usage.cpuMs === undefined ? {} : { cpu_ms: usage.cpuMs }),
    ...(usage.memoryPeakMb === undefined ? {} : { memory_peak_mb: usage.memoryPeakMb }),
  }
}

export function traceFields(answer: Answer): JsonObject {
  return { trace_id: answer.trace.traceId, span_id: answer.trace.spanId }
}

/** Until when a prepared effect can be committed; 004 has a place for it only in `provenance`. */
export function commitByOf({ commitBy }: Answer): JsonObject {
  return commitBy === undefined ? {} : { commit_by: new Date(commitBy).toISOString() }
}

/** What comes only when there is something to say. */
export function extrasOf(answer: Answer): JsonObject {
  return {
    ...(answer.commitToken === undefined ? {} : { commit_token: answer.commitToken }),
    ...(answer.sideEffects.length === 0 ? {} : { side_effects: answer.sideEffects }),
    ...(answer.warnings.length === 0 ? {} : { warnings: answer.warnings }),
  }
}

/** The error in v1's words; legacy only spells it otherwise. */
export function v1ErrorOf(answer: Answer, failure: Failure) {
  const { code, reason } = failureRow(failure.id).v1
  return {
    code,
    reason,
    retryable: failure.retryable,
    message: failure.message,
    details: wireDetailsOf(answer, failure),
  }
}

/** Clocks give fractions, the wire has whole milliseconds. */
export function wholeMs(ms: number): number {
  return Math.max(0, Math.round(ms))
}
