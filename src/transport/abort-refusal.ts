// The refusal of an attempt that was stopped from outside: by its deadline, its caller or the end of the process.
import type { FailureId } from '../contract/failures.ts'
import { isRepeatHarmless } from '../contract/projection.ts'
import type { ResolvedOperation } from '../resource/resolved-tool.ts'
import type { AbortReason } from '../util/abort.ts'
import type { Refusal, Send } from './transport.ts'

/** Before anything was sent a stop is definite; after it the tool may have done everything (S23). */
export function abortRefusal(reason: AbortReason, sent: boolean, send: Send): Refusal {
  return {
    kind: 'failure',
    failure: failureOfAbort(reason, sent, send.operation),
    ...(reason === 'timeout' ? { details: { timeout_ms: Math.round(send.timeoutMs) } } : {}),
    ...(reason === 'shutdown' && !sent ? { message: 'the runtime stopped before anything was sent' } : {}),
    definite: !sent,
  }
}

function failureOfAbort(reason: AbortReason, sent: boolean, operation: ResolvedOperation): FailureId {
  if (reason === 'canceled' || reason === 'hang-up') return 'canceled'
  if (!sent) return 'timeout-before-send'
  if (reason === 'shutdown') return 'interrupted'
  return isRepeatHarmless(operation.effect) ? 'timeout' : 'timeout-unknown-commit'
}
