// Results that several stages give.
import type { EffectState } from '../contract/effect.ts'
import { EFFECT_OF_STATE, type Entry } from '../contract/entry.ts'
import type { Failure } from '../contract/failure.ts'
import type { FailureId } from '../contract/failures.ts'
import { createFailure, type FailureFacts, stateOf } from '../contract/projection.ts'
import type { CallResult, Recalled, Received, Resolved, StageResult } from './stages.ts'

/** Ends a call before it sends anything. No effect is possible, unless an earlier attempt of its entry is not known. */
export function refuse(state: Received, id: FailureId, facts?: FailureFacts): StageResult<never> {
  const { continued } = state as Partial<Recalled>
  const open = continued?.state === 'unknown'
  const result = failedResult(state, createFailure(id, facts), open ? 'unknown' : 'none')
  return {
    kind: 'end',
    result:
      continued === undefined ? result : { ...result, attempt: continued.attempts, entryId: continued.id },
  }
}

export function failedResult(state: Received, failure: Failure, effect: EffectState): CallResult {
  const { target } = state as Partial<Resolved>
  return {
    state: stateOf(failure, effect),
    effect,
    failure,
    attempt: state.held.attempt,
    replayed: false,
    warnings: state.warnings,
    sideEffects: [],
    ...(target === undefined ? {} : { tool: { version: target.tool.version, digest: target.tool.digest } }),
  }
}

/** What is known of a call that runs. */
export function runningResult(state: Received): CallResult {
  const { target } = state as Partial<Resolved>
  return {
    state: 'running',
    effect: 'pending',
    attempt: state.held.attempt,
    replayed: false,
    warnings: state.warnings,
    sideEffects: [],
    ...(target === undefined ? {} : { tool: { version: target.tool.version, digest: target.tool.digest } }),
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
    ...(outcome?.usage === undefined ? {} : { usage: outcome.usage }),
    entryId: entry.id,
    tool: { version: entry.version, digest: entry.digest },
  }
}
