// The whole life of a call, top to bottom. Every door ends here.
import type { Answer } from '../contract/answer.ts'
import { createFailure } from '../contract/projection.ts'
import { StoreUnavailable } from '../store/store.ts'
import { admit } from './admit.ts'
import { answerOf, emitEnded, emitStarted, recordOf } from './answer.ts'
import { approve } from './approve.ts'
import { authorize } from './authorize.ts'
import { claim } from './claim.ts'
import { refusedFact, requestedFact } from './evidence.ts'
import { execute } from './execute.ts'
import type { Kit } from './kit.ts'
import { permit } from './permit.ts'
import { recall } from './recall.ts'
import { resolve } from './resolve.ts'
import { failedResult } from './result.ts'
import { settle } from './settle.ts'
import type { CallResult, Claimed, Received } from './stages.ts'
import { step } from './step.ts'
import { validate } from './validate.ts'
import { verify } from './verify.ts'

/** Never throws: what goes wrong in here is a row of the failure table, too. */
export async function runCall(received: Received, kit: Kit): Promise<Answer> {
  emitStarted(received, kit)
  let answer: Answer
  try {
    answer = await story(received, kit)
  } catch (bug) {
    answer = await internal(received, bug, kit)
  }
  emitEnded(received, answer, kit)
  received.held.slot?.leave()
  received.held.flight?.release()
  return answer
}

async function story(received: Received, kit: Kit): Promise<Answer> {
  const recalled = await step('recall', received, kit, recall)
  if (recalled.kind !== 'ok') return conclude(received, recalled.result, kit)
  const resolved = await step('resolve', recalled.state, kit, resolve)
  if (resolved.kind !== 'ok') return conclude(received, resolved.result, kit)
  const permitted = await step('permit', resolved.state, kit, permit)
  if (permitted.kind !== 'ok') return conclude(received, permitted.result, kit)
  const valid = await step('validate', permitted.state, kit, validate)
  if (valid.kind !== 'ok') return conclude(received, valid.result, kit)
  const granted = await step('authorize', valid.state, kit, authorize)
  if (granted.kind !== 'ok') return conclude(received, granted.result, kit)
  const claimed = await step('claim', granted.state, kit, claim)
  if (claimed.kind !== 'ok') return conclude(received, claimed.result, kit)
  const approved = await step('approve', claimed.state, kit, approve)
  if (approved.kind !== 'ok') return suspend(claimed.state, approved.result, kit)
  const admitted = await step('admit', approved.state, kit, admit)
  if (admitted.kind !== 'ok') return conclude(received, admitted.result, kit)
  if (received.call.dryRun) return conclude(received, wouldRun(received), kit)
  const executed = await step('execute', admitted.state, kit, execute)
  if (executed.kind !== 'ok') return conclude(received, executed.result, kit)
  const verified = await step('verify', executed.state, kit, verify)
  if (verified.kind !== 'ok') return conclude(received, verified.result, kit)
  return settle(verified.state, kit)
}

/** Answered without a send of its own: refused, replayed, joined, or a dry run. Written behind (S34). */
function conclude(received: Received, result: CallResult, kit: Kit): Answer {
  const answer = answerOf(received, result, kit)
  if (received.call.dryRun) return answer
  const noted = () =>
    kit.ledger.note(recordOf(received, answer, result.entryId, kit), [refusedFact(received, result)])
  try {
    noted().catch(ignoreFailedStore)
  } catch (error) {
    ignoreFailedStore(error)
  }
  return answer
}

/** A refusal is right whether or not it could be written down; a failed store makes itself known. */
function ignoreFailedStore(error: unknown): void {
  if (!(error instanceof StoreUnavailable)) throw error
}

/** The call waits on disk; its key is held by the suspension. */
async function suspend(state: Claimed, result: CallResult, kit: Kit): Promise<Answer> {
  const answer = answerOf(state, result, kit)
  if (state.call.dryRun || result.failure === undefined) return answer
  const approvalId = String(result.failure.details.approval_id)
  const outcome = { failure: result.failure, sideEffects: [], warnings: result.warnings }
  try {
    const record = recordOf(state, answer, state.entry.id, kit)
    const written = await kit.ledger.suspend(state.entry, record, approvalId, outcome, [
      requestedFact(state, approvalId),
    ])
    if (written.kind === 'conflict') throw new Error(`key ${state.key} was claimed twice`)
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error
    return answerOf(
      state,
      failedResult(state, createFailure('intent-not-recorded', { message: error.message }), 'none'),
      kit,
    )
  }
  state.flight.land(result)
  state.flight.forget()
  state.held.flight = undefined
  return answer
}

/** S17: every stage before execute said yes. */
function wouldRun(received: Received): CallResult {
  const stages = (received.reports ?? []).map(({ stage, verdict, reason }) => ({ stage, verdict, reason }))
  return {
    state: 'succeeded',
    effect: 'none',
    output: { dry_run: true, stages },
    attempt: 0,
    replayed: false,
    warnings: received.warnings,
    sideEffects: [],
  }
}

/** A bug. What was intended may have been sent: it stays open as unknown, and is never sent again. */
async function internal(received: Received, bug: unknown, kit: Kit): Promise<Answer> {
  const { intended } = received.held
  const message = `internal fault: ${bug instanceof Error ? bug.message : String(bug)}`
  const failure = createFailure('internal', { message, harmless: intended === undefined })
  const result = failedResult(received, failure, intended === undefined ? 'none' : 'unknown')
  const answer = answerOf(received, result, kit)
  if (intended === undefined) return conclude(received, result, kit)
  const ending = {
    path: ['unknown'] as const,
    attempts: intended.attempts,
    outcome: { failure, sideEffects: [], warnings: [] },
  }
  await kit.ledger
    .settle(intended, ending, recordOf(received, answer, intended.id, kit), [refusedFact(received, result)])
    .catch(ignoreFailedStore)
  return answer
}
