// Results that several stages give.
import type { CallState } from '../contract/answer.ts'
import type { EffectState } from '../contract/effect.ts'
import { EFFECT_OF_STATE, type Entry, type EntryState } from '../contract/entry.ts'
import type { Failure } from '../contract/failure.ts'
import type { FailureId } from '../contract/failures.ts'
import { createFailure, type FailureFacts, stateOf } from '../contract/projection.ts'
import type { CallResult, Recalled, Received, Resolved, StageResult } from './stages.ts'

export type Ended = Extract<StageResult<never>, { readonly kind: 'end' }>

/** Ends a call before it sends anything. No effect is possible, unless an earlier attempt of its entry is not known. */
export function refuse(state: Received, id: FailureId, facts?: FailureFacts): Ended {
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

/** Entries whose open state is the answer, whatever they remember beside it. */
const OPEN: Partial<Record<EntryState, CallState>> = {
  reserved: 'running',
  'awaiting-approval': 'awaiting-approval',
  intended: 'running',
  sent: 'running',
  reconciling: 'reconciling',
  prepared: 'prepared',
  committing: 'running',
  'commit-unknown': 'unknown',
  'rolling-back': 'running',
}

/** What an entry says to another call that asks for it. */
export function resultOfEntry(entry: Entry): CallResult {
  const { outcome } = entry
  const open = OPEN[entry.state]
  // While it is being rolled back it has not failed yet.
  const failure = open === 'running' ? undefined : outcome?.failure
  const effect = entry.readOnly ? 'none' : EFFECT_OF_STATE[entry.state]
  // The preview of what is being committed, or may not have been, is no output.
  const shown = open !== 'running' && entry.state !== 'commit-unknown'
  return {
    state: open ?? (failure ? stateOf(failure, effect) : 'succeeded'),
    effect,
    ...(shown && outcome?.output && 'inline' in outcome.output ? { output: outcome.output.inline } : {}),
    ...(failure ? { failure } : {}),
    attempt: entry.attempts,
    replayed: true,
    warnings: outcome?.warnings ?? [],
    sideEffects: outcome?.sideEffects ?? [],
    ...tokenOf(entry),
    ...(outcome?.usage === undefined ? {} : { usage: outcome.usage }),
    entryId: entry.id,
    tool: { version: entry.version, digest: entry.digest },
  }
}

/** A token that was used, or can no longer be, is not shown any more. */
function tokenOf({ state, outcome }: Entry): Pick<CallResult, 'commitToken' | 'commitBy'> {
  if (outcome?.commitToken === undefined) return {}
  const { commitToken, commitBy } = outcome
  if (commitBy === undefined) return { commitToken }
  return state === 'prepared' ? { commitToken, commitBy } : {}
}
