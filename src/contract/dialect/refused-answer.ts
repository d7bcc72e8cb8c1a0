// The answer to a request that could not be decoded.
import type { Answer } from '../answer.ts'
import type { Failure } from '../failure.ts'
import { failureRow } from '../failures.ts'
import type { RefusedCall } from './dialect.ts'

/** Nothing was resolved, nothing was sent: no effect is possible. */
export function answerRefused(call: RefusedCall, failure: Failure, durationMs: number): Answer {
  return {
    callId: call.id,
    requestId: call.requestId,
    state: failureRow(failure.id).state,
    final: true,
    effect: 'none',
    failure,
    usage: { durationMs, attempt: 0 },
    trace: call.trace,
    tool: { name: call.tool, operation: call.operation },
    replayed: false,
    warnings: call.warnings,
    sideEffects: [],
  }
}
