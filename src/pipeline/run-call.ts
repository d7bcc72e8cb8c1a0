// The whole life of a call, top to bottom. Every door ends here.
import type { Answer } from '../contract/answer.ts'
import type { FailureId } from '../contract/failures.ts'
import { admit } from './admit.ts'
import { answerOf, emitEnded, emitStarted } from './answer.ts'
import { approve } from './approve.ts'
import { authorize } from './authorize.ts'
import { claim } from './claim.ts'
import { conclude } from './conclude.ts'
import { wouldRun } from './dry-run.ts'
import { execute } from './execute.ts'
import { faulted } from './faulted.ts'
import type { Kit } from './kit.ts'
import { permit } from './permit.ts'
import { recall, takeUp } from './recall.ts'
import { resolve } from './resolve.ts'
import { settle } from './settle.ts'
import { type Claimed, type Recalled, type Received, type StageResult, undecide } from './stages.ts'
import { step } from './step.ts'
import { suspend } from './suspend.ts'
import { commitCall } from './two-phase-call.ts'
import { validate } from './validate.ts'
import { verify } from './verify.ts'

/** Never throws: what goes wrong in here is a row of the failure table, too. */
export async function runCall(received: Received, kit: Kit): Promise<Answer> {
  try {
    const answer = await story(received, kit).catch((bug: unknown) => faulted(received, bug, kit))
    // Work that goes on elsewhere is told of when it ends.
    if (received.held.detached !== true) emitEnded(received, answer, kit)
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
  const approved = await step('approve', claimed.state, kit, approve)
  if (approved.kind === 'suspend') {
    if (received.call.dryRun) return conclude(received, wouldRun(received, 'require-approval'), kit)
    const suspended = await suspend(claimed.state, approved.result, kit)
    if (suspended.kind === 'answered') return suspended.answer
    return suspended.kind === 'end' ? conclude(received, suspended.result, kit) : again(received, kit)
  }
  if (approved.kind === 'end') return conclude(received, approved.result, kit)
  const admitted = step('admit', approved.state, kit, admit)
  if (admitted.kind !== 'ok') return conclude(received, admitted.result, kit)
  if (received.call.dryRun) return conclude(received, wouldRun(received, 'allow'), kit)
  const executed = await step('execute', admitted.state, kit, execute)
  if (executed.kind === 'again') return again(received, kit)
  // On record already: the tool is at it.
  if (executed.kind === 'suspend') return answerOf(received, executed.result, kit)
  if (executed.kind !== 'ok') return conclude(received, executed.result, kit)
  const verified = step('verify', executed.state, kit, verify)
  if (verified.kind !== 'ok') return conclude(received, verified.result, kit)
  return settle(verified.state, kit)
}

/** Another process had this key first: look again what it says by now. */
function again(received: Received, kit: Kit): Promise<Answer> {
  letGo(received)
  undecide(received as Recalled)
  received.warnings.splice(0, received.warnings.length, ...received.call.warnings)
  return story(received, kit)
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
  const granted = await step('authorize', valid.state, kit, authorize)
  if (granted.kind !== 'ok') return granted
  const claimed = await step('claim', granted.state, kit, claim)
  if (claimed.kind !== 'again') return claimed
  undecide(claimed.state)
  return decide(claimed.state, kit)
}

function isNotHere(failure: FailureId | undefined): boolean {
  return failure === 'tool-unknown' || failure === 'version-unmatched' || failure === 'operation-unknown'
}
