// From an answer to what each door says. Lookups in the failure table, and the few rules around it.
import type { JsonObject } from '../util/json.ts'
import type { Answer, CallState } from './answer.ts'
import { type EffectRule, type EffectState, isReadOnly, type Repeat } from './effect.ts'
import type { Failure } from './failure.ts'
import { exitCode, type FailureId, type FourOutcomeStatus, failureRow, type V1Status } from './failures.ts'

/** What is known of a failed call when its failure is made. */
export interface FailureFacts {
  readonly message?: string
  readonly details?: JsonObject
  /** Trying again cannot do harm: nothing was sent, nothing happened for certain, or a repeat is harmless (S22). */
  readonly harmless?: boolean
  /** What the tool itself said about trying again, and whether its effect rule lets that count (S24). */
  readonly said?: { readonly retryable: boolean; readonly counts: boolean }
  /** What to do in this very case; the row's hint where absent. */
  readonly fix?: string
  /** The tool is asked whether it happened, without anybody's doing (S27). */
  readonly asking?: boolean
}

/** Makes a failure. `retryable` is the safe answer for this very call, `details.transient` the raw one (S24). */
export function createFailure(id: FailureId, facts: FailureFacts = {}): Failure {
  const row = failureRow(id)
  const rowTransient = row.retry === 'yes' || row.retry === 'once' || row.retry === 'if-harmless'
  const transient = facts.said?.retryable ?? (rowTransient || row.retry === 'query')
  const safe = facts.said?.retryable === true ? facts.said.counts : rowTransient
  const retryable = transient && safe && facts.harmless !== false
  const details: JsonObject =
    transient && !retryable ? { transient: true, ...facts.details } : (facts.details ?? {})
  return {
    id,
    message: facts.message ?? row.summary,
    details,
    retryable,
    ...(facts.fix === undefined ? {} : { fix: facts.fix }),
    ...(facts.asking === true ? { asking: true } : {}),
  }
}

/**
 * S22: a second send does no harm, so a transient fault may be tried again even after a byte has left. What a two-phase
 * call sends is its prepare, which counts as keyed; its commit is a send of its own, by its own rule.
 */
export function isRepeatHarmless(rule: EffectRule): boolean {
  return isReadOnly(rule) || HARMLESS.has(rule.repeat)
}

const HARMLESS: ReadonlySet<Repeat> = new Set<Repeat>(['natural', 'keyed', 'two-phase'])

/**
 * The state of a call that ended in `failure`. An unknown effect keeps the call open until somebody settles it, unless
 * a repeat is harmless: then the call is over and the next one finds out.
 */
export function stateOf(failure: Failure, effect: EffectState): CallState {
  return effect === 'unknown' && !failure.retryable ? 'unknown' : failureRow(failure.id).state
}

export function v1StatusOf(answer: Answer): V1Status {
  return answer.failure ? failureRow(answer.failure.id).v1.status : 'ok'
}

/** A row that is retryable only under a condition is terminal when the condition fails. */
export function fourOutcomeStatusOf(answer: Answer): FourOutcomeStatus {
  if (!answer.failure) return 'success'
  const status = failureRow(answer.failure.id).four.status
  if (status === 'invalid_request') return status
  return answer.failure.retryable ? 'retryable_error' : 'terminal_error'
}

export function httpStatusOf(answer: Answer): number {
  if (answer.failure) return failureRow(answer.failure.id).http
  return answer.final || answer.state === 'prepared' ? 200 : 202
}

export function exitCodeOf(answer: Pick<Answer, 'state' | 'failure'>): number {
  return exitCode(answer.state, answer.failure?.retryable ?? false)
}

const FIND_OUT =
  'It may have happened: find out from the tool; do not send it again until you know. Its key stays held meanwhile.'
const ASKING =
  'It may have happened, and the tool is being asked: wait (GET the call with wait), or ask again with the same key; nothing is sent again meanwhile.'
const REPEAT = 'It may have happened, and a repeat is harmless: send it again with the same key.'
const GOES_ON = 'It goes on without this call: ask again with the same key to hear how it ends.'

/**
 * What to do about a failure, by what is known of the effect. Where it may have happened and a repeat could do harm,
 * nothing advises to send again, not even a hint that was made for the case.
 */
export function fixOf(failure: Failure, effect: EffectState): string {
  const row = failureRow(failure.id)
  if (effect === 'unknown' && !failure.retryable) {
    return failure.asking === true ? ASKING : (row.fixUnknown ?? FIND_OUT)
  }
  if (failure.fix !== undefined) return failure.fix
  if (effect === 'unknown') return REPEAT
  return effect === 'pending' && row.retry !== 'wait' ? GOES_ON : row.fix
}

/** What `error.details` holds in every dialect: the case, the row, the fix and the effect (design section 3). */
export function wireDetailsOf(answer: Answer, failure: Failure): JsonObject {
  const row = failureRow(failure.id)
  return {
    ...failure.details,
    failure: failure.id,
    dotted_code: row.dotted,
    fix: fixOf(failure, answer.effect),
    effect: answer.effect,
    ...(failure.asking === true && answer.effect === 'unknown' ? { asking: true } : {}),
  }
}
