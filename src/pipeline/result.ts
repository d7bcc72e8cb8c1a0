// Results that several stages give.
import type { EffectState } from '../contract/effect.ts'
import { EFFECT_OF_STATE, type Entry } from '../contract/entry.ts'
import type { Failure } from '../contract/failure.ts'
import type { FailureId } from '../contract/failures.ts'
import { createFailure, type FailureFacts, stateOf } from '../contract/projection.ts'
import type { CallResult, Received, StageResult } from './stages.ts'

/** Ends a call before anything was sent: no effect is possible. */
export function refuse(state: Received, id: FailureId, facts?: FailureFacts): StageResult<never> {
  return { kind: 'end', result: failedResult(state, createFailure(id, facts), 'none') }
}

export function failedResult(state: Received, failure: Failure, effect: EffectState): CallResult {
  return {
    state: stateOf(failure, effect),
    effect,
    failure,
    attempt: 0,
    replayed: false,
    warnings: state.warnings,
    sideEffects: [],
  }
}

/** What a settled entry says to another call that asks for it. */
export function resultOfEntry(entry: Entry): CallResult {
  const { outcome } = entry
  const failure = outcome?.failure
  const effect = entry.readOnly ? 'none' : EFFECT_OF_STATE[entry.state]
  return {
    state: failure ? stateOf(failure, effect) : 'succeeded',
    effect,
    ...(outcome?.output && 'inline' in outcome.output ? { output: outcome.output.inline } : {}),
    ...(failure ? { failure } : {}),
    attempt: entry.attempts,
    replayed: true,
    warnings: outcome?.warnings ?? [],
    sideEffects: outcome?.sideEffects ?? [],
    ...(outcome?.commitToken === undefined ? {} : { commitToken: outcome.commitToken }),
    entryId: entry.id,
    tool: { version: entry.version, digest: entry.digest },
  }
}
