// Stage 11: the outcome on disk, evidence chained, everybody who waits answered.
import type { Answer } from '../contract/answer.ts'
import { isReadOnly } from '../contract/effect.ts'
import { type Entry, type EntryOutcome, type EntryState, isInQuestion } from '../contract/entry.ts'
import type { Failure } from '../contract/failure.ts'
import { createFailure, stateOf } from '../contract/projection.ts'
import type { TimerChange } from '../store/store.ts'
import { onlyUnavailable } from '../store/unavailable.ts'
import { answerOf, recordOf } from './answer.ts'
import { endedFact } from './evidence.ts'
import { canAttach } from './handle.ts'
import type { Kit } from './kit.ts'
import { within } from './pause.ts'
import { isUnknownToOthers, leavesKeyFree } from './recall.ts'
import { reconcileTimer } from './reconcile-timer.ts'
import { resultOfEntry } from './result.ts'
import { memberSettled } from './saga-member.ts'
import { settleUnknown } from './settle-unknown.ts'
import type { CallResult, Execution, Verified } from './stages.ts'
import {
  deadlineTimers,
  givenUpFacts,
  isGivenUp,
  preparedOutcome,
  preparedResult,
} from './two-phase-prepare.ts'

export async function settle(state: Verified, kit: Kit): Promise<Answer> {
  const plain = resultOf(state, kit)
  const result = plain.effect === 'prepared' ? preparedResult(plain, state, kit) : plain
  return hasIntent(state) ? settleWrite(state, result, kit) : settleRead(state, result, kit)
}

/** Writes have one, and reads that somebody had to agree to or that a budget pays for. */
function hasIntent({ execution, operation }: Verified): boolean {
  return execution.intended !== undefined || !isReadOnly(operation.effect)
}

/** The second of the two times a write waits for the disk (S34). */
async function settleWrite(state: Verified, result: CallResult, kit: Kit): Promise<Answer> {
  const { execution, flight, held } = state
  const answer = answerOf(state, result, kit)
  if (execution.intended === undefined) throw new Error('a write was executed without an intent')
  try {
    const ending = {
      path: pathOf(execution),
      attempts: execution.attempt,
      outcome: { ...outcomeOf(result, execution), ...preparedOutcome(state, result, kit) },
      timers: [
        ...timersOf(state, kit),
        ...deadlineTimers(state),
        ...memberSettled(execution.intended, result),
      ],
    }
    const writing = kit.ledger.settle(
      execution.intended,
      ending,
      recordOf(state, answer, execution.intended.id, kit),
      [endedFact(state, result, kit), ...givenUpFacts(state)],
    )
    const left = Math.max(0, state.deadline - kit.world.clock.monotonic())
    const written = await within(left + RECORD_MS, writing, kit.world)
    if (written === undefined) {
      // The database is away and takes it when it is back; until then others wait for the flight.
      held.flight = undefined
      held.intended = undefined
      writing.then(
        (late) =>
          late.kind === 'written' && remembers(result) ? landLate(flight, result) : flight.release(),
        () => flight.release(),
      )
      return unrecorded(state, result, kit, 'the ledger has not taken the outcome yet')
    }
    if (written.kind === 'conflict') return await overtaken(state, result, kit)
  } catch (error) {
    onlyUnavailable(error)
    return unrecorded(state, result, kit)
  }
  if (remembers(result)) {
    flight.land(result)
    flight.forget()
    held.flight = undefined
  }
  held.intended = undefined
  return answer
}

/** How long after the execution's own time its outcome may take to be on record, before its caller hears of that. */
const RECORD_MS = 5_000

function landLate(flight: Verified['flight'], result: CallResult): void {
  flight.land(result)
  flight.forget()
}

/**
 * Another process took this entry over, because the lease of this one had ended. What that process made of it stands;
 * a definite success still settles what it could only call unknown (S28, S35).
 */
async function overtaken(state: Verified, result: CallResult, kit: Kit): Promise<Answer> {
  state.held.intended = undefined
  const entry = await kit.ledger.find(state.scope, state.key)
  // The tool has reported the end by itself, and was faster: the first word counts.
  if (entry?.outcome?.settledBy === 'callback') {
    state.held.detached = true
    return answerOf(state, { ...resultOfEntry(entry), replayed: false }, kit)
  }
  const ours = entry !== undefined && isInQuestion(entry) && entry.attempts === result.attempt
  if (ours && result.state === 'succeeded') {
    const found = { as: 'done', by: 'late-reply', output: result.output ?? null } as const
    if ((await settleUnknown(entry, found, kit)).kind === 'moved') return answerOf(state, result, kit)
  }
  return unrecorded(state, result, kit, 'another process has taken this call over')
}

/** What is asked later, where the tool can be asked and has not said anything yet (S27). */
function timersOf(state: Verified, kit: Kit): readonly TimerChange[] {
  const { execution, entry, operation } = state
  const query = operation.effect.statusQuery
  if (!isAsked(state, kit)) {
    // What an earlier attempt left to be looked into is answered by this one.
    return state.continued === undefined ? [] : [{ kind: 'reconcile', subject: entry.id }]
  }
  const now = kit.world.clock.monotonic()
  const stray = Math.max(0, (execution.lastDeadline ?? now) - now)
  return [reconcileTimer(entry.id, stray + (query?.quietMs ?? 0), kit.world)]
}

/** In question, and the tool can say what became of it: that needs nobody (S27). */
function isAsked({ execution, operation, target }: Verified, kit: Kit): boolean {
  if (execution.effect !== 'unknown') return false
  const { intended } = execution
  return (
    operation.effect.statusQuery !== undefined || (intended !== undefined && canAttach(intended, target, kit))
  )
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
    const write = (own: Entry | undefined) => {
      const record = recordOf(state, answer, own?.id, kit)
      return kit.ledger.settleRead(own, ending, record, [endedFact(state, result, kit)], wait)
    }
    // Another process read with the same key and was faster: the entry is its own, this call is still on record.
    const written = write(kept).then((one) => (one.kind === 'conflict' ? write(undefined) : one))
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
    onlyUnavailable(error)
    const failure = createFailure('intent-not-recorded')
    return answerOf(
      state,
      { ...failedOf(result), state: stateOf(failure, 'none'), effect: 'none', failure },
      kit,
    )
  }
}

/** The effect may have happened and its outcome is not on record: row 62, for a person to settle. */
function unrecorded(state: Verified, result: CallResult, kit: Kit, message?: string): Answer {
  const why = message === undefined ? {} : { message }
  const failure = createFailure('outcome-not-recorded', { ...why, harmless: false })
  return answerOf(state, { ...failedOf(result), state: 'unknown', effect: 'unknown', failure }, kit)
}

function failedOf(result: CallResult): CallResult {
  const { output: _, commitToken: __, commitBy: ___, ...rest } = result
  return rest
}

function resultOf(state: Verified, kit: Kit): CallResult {
  const { execution, target, warnings } = state
  const failure: Failure | undefined =
    execution.failure && (isAsked(state, kit) ? { ...execution.failure, asking: true } : execution.failure)
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
  return result.failure === undefined || !leavesKeyFree(result.failure)
}

function pathOf(execution: Execution): readonly EntryState[] {
  const { effect, failure, intended } = execution
  // A handle that was kept has moved it already.
  const sent = execution.sent && intended?.state !== 'sent'
  if (execution.asked) return [...(sent ? ['sent' as const] : []), 'unknown', 'reconciling', 'done']
  if (isGivenUp(execution)) return ['sent', 'prepared', 'rolling-back']
  const last: EntryState =
    failure === undefined
      ? effect === 'prepared'
        ? 'prepared'
        : 'done'
      : effect === 'unknown' || effect === 'done'
        ? effect
        : failure.id === 'canceled'
          ? 'canceled'
          : 'not-done'
  return sent ? ['sent', last] : [last]
}

/** What is in question can still be asked for by it. */
function handleOf({ intended }: Execution): Pick<EntryOutcome, 'handle'> {
  const handle = intended?.outcome?.handle
  return handle === undefined ? {} : { handle }
}

function outcomeOf(result: CallResult, execution?: Execution): EntryOutcome {
  return {
    ...(execution?.asked ? { settledBy: 'status-query' as const } : {}),
    ...(execution?.effect === 'unknown' ? handleOf(execution) : {}),
    ...(result.output === undefined ? {} : { output: { inline: result.output } }),
    ...(result.failure === undefined ? {} : { failure: result.failure }),
    sideEffects: result.sideEffects,
    warnings: result.warnings,
    ...(result.commitToken === undefined ? {} : { commitToken: result.commitToken }),
    ...(result.usage === undefined ? {} : { usage: result.usage }),
  }
}
