// What one attempt did to the world, and what may be done next: the table S22 with S23's definite answers.
import type { ToolUsage } from '../contract/answer.ts'
import { type EffectRule, type EffectState, isReadOnly } from '../contract/effect.ts'
import type { Failure } from '../contract/failure.ts'
import type { FailureId } from '../contract/failures.ts'
import { createFailure, type FailureFacts, isRepeatHarmless } from '../contract/projection.ts'
import type { Refusal } from '../transport/transport.ts'
import type { AbortReason } from '../util/abort.ts'
import type { Json, JsonObject } from '../util/json.ts'
import type { AttemptOutcome } from './attempt.ts'
import type { Admitted } from './stages.ts'
import { classifyPrepared } from './two-phase-prepare.ts'

export interface Classified {
  readonly effect: EffectState
  readonly failure?: Failure
  readonly output?: Json
  readonly bytes?: number
  readonly retryAfterMs?: number
  readonly sideEffects: readonly JsonObject[]
  readonly usage?: ToolUsage
  readonly commitToken?: string
  /** The tool's own word for what it has prepared; `effect` is `prepared` then. */
  readonly toolToken?: string
  /** The tool said so when it was asked. */
  readonly asked?: true
}

/** `open`: an earlier attempt may have had its effect, which no later failure takes back. */
export function classify(
  state: Admitted,
  outcome: AttemptOutcome,
  open: boolean,
  left: number,
  now: number,
): Classified {
  const { reply } = outcome
  const rule = state.operation.effect
  if (reply?.kind === 'success') {
    state.warnings.push(...(reply.warnings ?? []))
    if (rule.twoPhase !== undefined) {
      return classifyPrepared(reply, mayRepeat(rule, state.entry.createdAt, now))
    }
    return {
      effect: isReadOnly(rule) ? 'none' : 'done',
      output: reply.output,
      bytes: reply.bytes,
      sideEffects: reply.sideEffects ?? [],
      ...(reply.usage === undefined ? {} : { usage: reply.usage }),
      ...(reply.commitToken === undefined ? {} : { commitToken: reply.commitToken }),
    }
  }
  const definite = reply?.definite === true
  const maybeDone = open || (outcome.sent && !definite)
  const harmless = !maybeDone || mayRepeat(rule, state.entry.createdAt, now)
  const effect: EffectState = isReadOnly(rule) ? 'none' : maybeDone ? 'unknown' : 'not-done'
  if (outcome.aborted !== undefined && !definite) {
    return {
      effect,
      failure: abortFailure(outcome.aborted, state, maybeDone, harmless, left),
      sideEffects: [],
    }
  }
  if (reply === undefined) throw new Error('an attempt ended without a reply and without an abort')
  state.warnings.push(...(reply.warnings ?? []))
  return {
    effect,
    failure: refusalFailure(reply, rule, harmless),
    sideEffects: reply.sideEffects ?? [],
    ...(reply.usage === undefined ? {} : { usage: reply.usage }),
    ...(reply.retryAfterMs === undefined ? {} : { retryAfterMs: reply.retryAfterMs }),
  }
}

/** Stopped between two attempts, or before the first: what the last attempt did still holds. */
export function stopped(
  state: Admitted,
  reason: AbortReason,
  last: Classified | undefined,
  now: number,
): Classified {
  const rule = state.operation.effect
  const before: EffectState = state.continued?.state === 'unknown' ? 'unknown' : 'not-done'
  const effect: EffectState = last?.effect ?? (isReadOnly(rule) ? 'none' : before)
  const harmless = effect !== 'unknown' || mayRepeat(rule, state.entry.createdAt, now)
  const failure = abortFailure(reason, state, effect === 'unknown', harmless, state.bounds.timeoutMs)
  if (last?.failure === undefined) return { effect, failure, sideEffects: [] }
  // Out of time with a known failure: that one is the answer. Only a cancel takes its place.
  return reason === 'timeout'
    ? last
    : { ...last, failure: { ...failure, details: { ...failure.details, last_failure: last.failure.id } } }
}

/** Too late for a repeat: the tool may no longer remember the key, and then it would be a second effect (S22). */
export function tooLate(last: Classified | undefined): Classified {
  const { id, message, details } = last?.failure ?? createFailure('outcome-unknown')
  return {
    effect: 'unknown',
    failure: createFailure(id, { message, details, harmless: false }),
    sideEffects: [],
  }
}

/** Clocks of tool and processes differ by a little: the end of what a tool remembers is not used. */
function safe(retentionMs: number): number {
  return retentionMs - Math.min(60_000, retentionMs / 10)
}

/** S22: keyed repeats are harmless only while the tool remembers the key. */
export function mayRepeat(rule: EffectRule, firstSendAt: number, now: number): boolean {
  if (rule.repeat === 'keyed' && rule.keyed) return now < firstSendAt + safe(rule.keyed.retentionMs)
  // Preparing counts as keyed, for as long as the tool must keep what it has prepared.
  if (rule.repeat === 'two-phase' && rule.twoPhase) return now < firstSendAt + safe(rule.twoPhase.deadlineMs)
  return isRepeatHarmless(rule)
}

function abortFailure(
  reason: AbortReason,
  state: Admitted,
  sent: boolean,
  harmless: boolean,
  left: number,
): Failure {
  if (reason === 'canceled' || reason === 'hang-up') return createFailure('canceled', { harmless })
  if (reason === 'shutdown') {
    // Nothing was sent: as good as never asked for.
    return sent
      ? createFailure('interrupted', { harmless, said: { retryable: true, counts: harmless } })
      : createFailure('timeout-before-send', { message: 'the runtime stopped before anything was sent' })
  }
  const id: FailureId = !sent ? 'timeout-before-send' : harmless ? 'timeout' : 'timeout-unknown-commit'
  const timeout_ms = Math.round(Math.min(state.bounds.timeoutMs, left))
  const byTool = state.bounds.timeoutMs === state.operation.timeoutMs
  const fix =
    byTool && id === 'timeout'
      ? { fix: 'Retry; only spec.runtime.timeout of the tool can give it more time.' }
      : {}
  return createFailure(id, { harmless, details: { timeout_ms }, ...fix })
}

/** S24: a tool's own word counts where a repeat is harmless; that nothing was sent and it may pass always does. */
function saidOf({ transient, toolRetryable }: Refusal, rule: EffectRule): Pick<FailureFacts, 'said'> {
  if (transient === true) return { said: { retryable: true, counts: true } }
  if (toolRetryable === undefined) return {}
  return { said: { retryable: toolRetryable, counts: isRepeatHarmless(rule) } }
}

export function refusalFailure(reply: Refusal, rule: EffectRule, harmless: boolean): Failure {
  // A tool that reports a timeout does not know whether a repeat would do harm; its declaration does.
  const id = reply.failure === 'timeout' && !harmless ? 'timeout-unknown-commit' : reply.failure
  return createFailure(id, {
    harmless,
    ...(reply.message === undefined ? {} : { message: reply.message }),
    ...(reply.fix === undefined ? {} : { fix: reply.fix }),
    details: {
      ...reply.details,
      ...(reply.retryAfterMs === undefined ? {} : { retry_after_ms: Math.ceil(reply.retryAfterMs) }),
    },
    ...saidOf(reply, rule),
  })
}
