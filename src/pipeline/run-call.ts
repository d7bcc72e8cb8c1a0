// The whole life of a call, top to bottom. Every door ends here.
import type { Answer } from '../contract/answer.ts'
import type { FailureId } from '../contract/failures.ts'
import { createFailure } from '../contract/projection.ts'
import { StoreUnavailable } from '../store/store.ts'
import { errorPlace } from '../util/error-place.ts'
import { admit } from './admit.ts'
import { answerOf, emitEnded, emitStarted, recordOf } from './answer.ts'
import { approve } from './approve.ts'
import { authorize } from './authorize.ts'
import { claim } from './claim.ts'
import { dryResult, wouldRun } from './dry-run.ts'
import { refusedFact, requestedFact } from './evidence.ts'
import { execute } from './execute.ts'
import type { Kit } from './kit.ts'
import { permit } from './permit.ts'
import { recall, takeUp } from './recall.ts'
import { resolve } from './resolve.ts'
import { failedResult } from './result.ts'
import { memberDenied, sagaClosed } from './saga-member.ts'
import { settle } from './settle.ts'
import type { CallResult, Claimed, Recalled, Received, StageResult } from './stages.ts'
import { step } from './step.ts'
import { commitCall } from './two-phase-call.ts'
import { validate } from './validate.ts'
import { verify } from './verify.ts'

/** Never throws: what goes wrong in here is a row of the failure table, too. */
export async function runCall(received: Received, kit: Kit): Promise<Answer> {
  try {
    const answer = await story(received, kit).catch((bug: unknown) => internal(received, bug, kit))
    emitEnded(received, answer, kit)
    return answer
  } finally {
    letGo(received)
    received.held.over = true
    received.held.onOver?.()
  }
}

function letGo({ held }: Received): void {
  held.slot?.leave()
  held.slot = undefined
  held.flight?.release()
  held.flight = undefined
}

async function story(received: Received, kit: Kit): Promise<Answer> {
  const committed = received.call.operation === 'commit' ? await commitCall(received, kit) : undefined
  if (committed !== undefined) return committed
  const recalled = await step('recall', received, kit, received.resumed ? takeUp : recall)
  if (recalled.kind !== 'ok') return conclude(received, recalled.result, kit)
  const claimed = await decide(recalled.state, kit)
  if (claimed.kind !== 'ok') return conclude(received, claimed.result, kit)
  const approved = step('approve', claimed.state, kit, approve)
  if (approved.kind === 'suspend') return suspend(claimed.state, approved.result, kit)
  if (approved.kind === 'end') return conclude(received, approved.result, kit)
  const admitted = step('admit', approved.state, kit, admit)
  if (admitted.kind !== 'ok') return conclude(received, admitted.result, kit)
  if (received.call.dryRun) return conclude(received, wouldRun(received, 'allow'), kit)
  const executed = await step('execute', admitted.state, kit, execute)
  if (executed.kind === 'again') {
    // Another process had this key first: look again what it says by now.
    letGo(received)
    return story(received, kit)
  }
  if (executed.kind !== 'ok') return conclude(received, executed.result, kit)
  const verified = step('verify', executed.state, kit, verify)
  if (verified.kind !== 'ok') return conclude(received, verified.result, kit)
  return settle(verified.state, kit)
}

/** From what the key remembers to a claim on it. Taking a flight over makes every decision anew: it is about another entry. */
async function decide(recalled: Recalled, kit: Kit): Promise<StageResult<Claimed>> {
  const resolved = step('resolve', recalled, kit, resolve)
  if (resolved.kind !== 'ok') {
    // Another process may have declared it a moment ago.
    const missing = resolved.kind === 'end' && isNotHere(resolved.result.failure?.id)
    return missing && (await kit.refresh?.()) === true ? decide(recalled, kit) : resolved
  }
  emitStarted(resolved.state, kit)
  const permitted = step('permit', resolved.state, kit, permit)
  if (permitted.kind !== 'ok') return permitted
  const valid = step('validate', permitted.state, kit, validate)
  if (valid.kind !== 'ok') return valid
  const granted = step('authorize', valid.state, kit, authorize)
  if (granted.kind !== 'ok') return granted
  const claimed = await step('claim', granted.state, kit, claim)
  return claimed.kind === 'again' ? decide(claimed.state, kit) : claimed
}

function isNotHere(failure: FailureId | undefined): boolean {
  return failure === 'tool-unknown' || failure === 'version-unmatched' || failure === 'operation-unknown'
}

/** Answered without a send of its own: refused, replayed, joined, or a dry run. Written behind (S34). */
async function conclude(received: Received, result: CallResult, kit: Kit): Promise<Answer> {
  if (received.call.dryRun) return answerOf(received, dryResult(received, result), kit)
  const answer = answerOf(received, result, kit)
  // The call was kept when its process ended; a run that did not come to a send has nothing to add (S36).
  if (received.resumed !== undefined) return answer
  try {
    const record = recordOf(received, answer, result.entryId, kit)
    const fact = refusedFact(received, result)
    const facts = result.replayed ? [fact] : kit.refusals.count(record.namespace, record.id, fact)
    const noted = kit.ledger.note(record, facts, memberDenied(received, result))
    if (kit.ledger.behind) await noted
    else noted.catch(ignoreFailedStore)
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
  if (state.call.dryRun) return conclude(state, wouldRun(state, 'require-approval'), kit)
  const answer = answerOf(state, result, kit)
  if (result.failure === undefined) return answer
  const approvalId = String(result.failure.details.approval_id)
  const outcome = { failure: result.failure, sideEffects: [], warnings: result.warnings }
  try {
    const record = recordOf(state, answer, state.entry.id, kit)
    const written = await kit.ledger.suspend(
      state.entry,
      record,
      approvalId,
      outcome,
      [requestedFact(state, approvalId)],
      approvalTtl(state, kit),
    )
    if (written.kind === 'conflict') {
      if (written.on === 'saga') return conclude(state, sagaClosed(state).result, kit)
      letGo(state)
      return story(state, kit)
    }
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

/** How long somebody has to decide: never past the time the caller listens (S9). */
function approvalTtl(state: Claimed, kit: Kit): number {
  return Math.max(0, Math.min(APPROVAL_TTL_MS, state.listensUntil - kit.world.clock.monotonic()))
}

const APPROVAL_TTL_MS = 600_000

/** A bug. What was intended may have been sent: it stays open as unknown, and is never sent again. */
async function internal(received: Received, bug: unknown, kit: Kit): Promise<Answer> {
  const { intended } = received.held
  if (bug instanceof StoreUnavailable && intended === undefined) {
    // No bug: the store failed under a stage that had to read it, and nothing was sent (S37).
    const failure = createFailure('intent-not-recorded', { message: bug.message })
    return conclude(received, failedResult(received, failure, 'none'), kit)
  }
  kit.events.emit('call:faulted', { call_id: received.call.id, error: errorPlace(bug) })
  const failure = createFailure('internal', { harmless: intended === undefined })
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
