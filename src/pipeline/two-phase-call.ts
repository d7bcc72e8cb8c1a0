// Seed 004's way to commit: a call of `fn: commit` with the token as its input (S26). It has an answer of its own, and
// goes the way of every other commit.
import type { Answer } from '../contract/answer.ts'
import type { Entry } from '../contract/entry.ts'
import type { Failure } from '../contract/failure.ts'
import { createFailure } from '../contract/projection.ts'
import { mayInvokeName } from '../governance/permit.ts'
import { onlyUnavailable } from '../store/unavailable.ts'
import { isJsonObject } from '../util/json.ts'
import { answerOf, recordOf } from './answer.ts'
import type { Kit } from './kit.ts'
import { failedResult, resultOfEntry } from './result.ts'
import type { CallResult, Received } from './stages.ts'
import { standingOf } from './standing.ts'
import { commitEntry } from './two-phase.ts'
import { commitRefusal, isOwn, wasPrepared } from './two-phase-check.ts'

/** undefined when the call is one like any other. */
export async function commitCall(received: Received, kit: Kit): Promise<Answer | undefined> {
  const token = tokenIn(received)
  if (token === undefined) return undefined
  if (!mayInvokeName(received.caller, received.call.tool, standingOf(received.caller, kit).held))
    return undefined
  const entry = await entryOf(token, received, kit)
  // A tool may have an operation of this name that commits nothing of ours.
  if (entry === undefined && !commitsOnly(received, kit)) return undefined
  const result = entry === undefined ? noSuch(received) : await commit(entry, token, received, kit)
  const answer = answerOf(received, result, kit)
  if (!received.call.dryRun) note(received, answer, result, kit)
  return answer
}

function tokenIn({ call }: Received): string | undefined {
  if (call.dialect !== 'four-outcome' || call.operation !== 'commit' || !isJsonObject(call.input))
    return undefined
  const { commit_token: token } = call.input
  return typeof token === 'string' ? token : undefined
}

/** A token names its entry; only one of this caller and tool is looked at. */
async function entryOf(token: string, { call, caller }: Received, kit: Kit): Promise<Entry | undefined> {
  const [id = ''] = token.split('.', 1)
  const entry = UUID.test(id) ? await kit.ledger.get(caller.namespace, id) : undefined
  return entry !== undefined && isOwn(entry, caller) && entry.tool === call.tool && wasPrepared(entry)
    ? entry
    : undefined
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** The tool has two phases, and nothing of its own that is called commit and is meant for callers. */
function commitsOnly({ call, caller }: Received, kit: Kit): boolean {
  const found = kit.catalog.resolve(caller.namespace, call.tool, call.version, kit.world.clock.now())
  if (found.kind === 'failed') return false
  const { operations } = found.tool.tool
  const phases = Object.values(operations).flatMap((one) => one.effect.twoPhase ?? [])
  return (
    phases.length > 0 && (operations.commit === undefined || phases.some((one) => one.commit === 'commit'))
  )
}

function noSuch(received: Received): CallResult {
  return failedResult(received, createFailure('commit-token-invalid'), 'none')
}

/** Nobody waits for it any more, or it was called off: it is not begun (S9, S11). */
function tooLate({ listensUntil, abort }: Received, kit: Kit): Failure | undefined {
  if (abort.aborted) return createFailure('canceled', { message: 'canceled before it was committed' })
  return listensUntil <= kit.world.clock.monotonic() ? createFailure('deadline-past') : undefined
}

async function commit(entry: Entry, token: string, received: Received, kit: Kit): Promise<CallResult> {
  const { dryRun } = received.call
  const late = tooLate(received, kit)
  if (late !== undefined) return failedResult(received, late, 'none')
  const failure = dryRun
    ? await commitRefusal(entry, received.caller, token, kit)
    : await commitEntry(entry, received.caller, token, kit)
  const now = dryRun ? entry : ((await kit.ledger.get(entry.namespace, entry.id)) ?? entry)
  const tool = { version: entry.version, digest: entry.digest }
  if (failure !== undefined) {
    // Told here is what became of this commit; an effect that is not known is said to be so.
    const effect =
      failure.id === 'commit-unknown' || failure.id === 'outcome-not-recorded' ? 'unknown' : 'none'
    return { ...failedResult(received, failure, effect), tool }
  }
  if (dryRun) {
    const output = { dry_run: true, decision: 'allow' }
    return { ...resultOfEntry(now), state: 'succeeded', effect: 'none', output, replayed: false, tool }
  }
  return { ...resultOfEntry(now), replayed: false }
}

/** Written behind: the commit itself is on record already. */
function note(received: Received, answer: Answer, result: CallResult, kit: Kit): void {
  const { call, caller } = received
  const body = {
    actor: caller.actor,
    tool: call.tool,
    state: result.state,
    ...(result.failure === undefined ? {} : { failure: result.failure.id }),
    ...(result.entryId === undefined ? {} : { entry_id: result.entryId }),
  }
  try {
    const record = recordOf(received, answer, result.entryId, kit)
    kit.ledger.note(record, [{ type: 'commit.requested', body }]).catch(onlyUnavailable)
  } catch (error) {
    onlyUnavailable(error)
  }
}
