// Stage 11: the outcome on disk, evidence chained, everybody who waits answered.
import type { Answer } from '../contract/answer.ts'
import { isReadOnly } from '../contract/effect.ts'
import type { EntryOutcome, EntryState } from '../contract/entry.ts'
import { createFailure, stateOf } from '../contract/projection.ts'
import { StoreUnavailable } from '../store/store.ts'
import { answerOf, recordOf } from './answer.ts'
import { endedFact } from './evidence.ts'
import type { Kit } from './kit.ts'
import { isUnknownToOthers } from './recall.ts'
import type { CallResult, Execution, Verified } from './stages.ts'

export async function settle(state: Verified, kit: Kit): Promise<Answer> {
  const result = resultOf(state)
  return isReadOnly(state.operation.effect) ? settleRead(state, result, kit) : settleWrite(state, result, kit)
}

/** The second of the two times a write waits for the disk (S34). */
async function settleWrite(state: Verified, result: CallResult, kit: Kit): Promise<Answer> {
  const { execution, flight, held } = state
  const answer = answerOf(state, result, kit)
  if (execution.intended === undefined) throw new Error('a write was executed without an intent')
  const ending = { path: pathOf(execution), attempts: execution.attempt, outcome: outcomeOf(result) }
  try {
    const written = await kit.ledger.settle(
      execution.intended,
      ending,
      recordOf(state, answer, execution.intended.id, kit),
      [endedFact(state, result)],
    )
    if (written.kind === 'conflict') throw new Error(`entry ${execution.intended.id} changed under its owner`)
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
    return unrecorded(state, result, error, kit)
  }
  if (remembers(result)) {
    flight.land(result)
    flight.forget()
    held.flight = undefined
  }
  held.intended = undefined
  return answer
}

/** Written behind; only `audit: strict` waits. Until it is on disk the flight remembers (S20, S34). */
async function settleRead(state: Verified, result: CallResult, kit: Kit): Promise<Answer> {
  const { execution, flight, held, entry } = state
  const answer = answerOf(state, result, kit)
  const keeps = remembers(result)
  // A minted id that nobody knows cannot be asked for again: no entry is kept for it.
  const kept = keeps && !isUnknownToOthers(state) ? entry : undefined
  const ending = { path: pathOf(execution), attempts: execution.attempt, outcome: outcomeOf(result) }
  const wait = state.target.tool.auditStrict
  try {
    const record = recordOf(state, answer, kept?.id, kit)
    const written = kit.ledger.settleRead(kept, ending, record, [endedFact(state, result)], wait)
    if (wait || kit.ledger.behind) await written
    if (keeps) {
      flight.land(result)
      held.flight = undefined
      const forget = () => flight.forget()
      written.then(forget, forget)
    } else {
      written.catch(() => {
        // The store has failed: it says so itself, and admit refuses everything from now on.
      })
    }
    return answer
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
    const failure = createFailure('intent-not-recorded', { message: error.message })
    return answerOf(
      state,
      { ...failedOf(result), state: stateOf(failure, 'none'), effect: 'none', failure },
      kit,
    )
  }
}

/** The effect may have happened and its outcome is not on record: row 62, for a person to settle. */
function unrecorded(state: Verified, result: CallResult, error: Error, kit: Kit): Answer {
  const failure = createFailure('outcome-not-recorded', { message: error.message, harmless: false })
  return answerOf(state, { ...failedOf(result), state: 'unknown', effect: 'unknown', failure }, kit)
}

function failedOf(result: CallResult): CallResult {
  const { output: _, ...rest } = result
  return rest
}

function resultOf(state: Verified): CallResult {
  const { execution, target, warnings } = state
  const { failure } = execution
  return {
    state: failure ? stateOf(failure, execution.effect) : 'succeeded',
    effect: execution.effect,
    ...(execution.output === undefined ? {} : { output: execution.output }),
    ...(failure === undefined ? {} : { failure }),
    attempt: execution.attempt,
    replayed: false,
    warnings,
    sideEffects: execution.sideEffects,
    ...(execution.commitToken === undefined ? {} : { commitToken: execution.commitToken }),
    ...(execution.usage === undefined ? {} : { usage: execution.usage }),
    entryId: state.entry.id,
    tool: { version: target.tool.version, digest: target.tool.digest },
  }
}

/** S16: what another call with this key is told is this result; else the key is free for the next attempt. */
function remembers(result: CallResult): boolean {
  return result.failure?.retryable !== true
}

function pathOf(execution: Execution): readonly EntryState[] {
  const { effect, failure, sent } = execution
  const last: EntryState =
    failure === undefined
      ? 'done'
      : effect === 'unknown'
        ? 'unknown'
        : failure.id === 'canceled'
          ? 'canceled'
          : 'not-done'
  return sent ? ['sent', last] : [last]
}

function outcomeOf(result: CallResult): EntryOutcome {
  return {
    ...(result.output === undefined ? {} : { output: { inline: result.output } }),
    ...(result.failure === undefined ? {} : { failure: result.failure }),
    sideEffects: result.sideEffects,
    warnings: result.warnings,
    ...(result.commitToken === undefined ? {} : { commitToken: result.commitToken }),
    ...(result.usage === undefined ? {} : { usage: result.usage }),
  }
}
