// The end of a call that sent nothing of its own.
import type { Answer } from '../contract/answer.ts'
import type { CallRecord } from '../contract/call.ts'
import type { Fact } from '../ledger/ledger.ts'
import { onlyUnavailable } from '../store/unavailable.ts'
import { answerOf, recordOf } from './answer.ts'
import { dryResult } from './dry-run.ts'
import { driedFact, refusedDecision, refusedFact } from './evidence.ts'
import type { Kit } from './kit.ts'
import { memberDenied } from './saga-member.ts'
import type { CallResult, Granted, Received } from './stages.ts'

/** Answered without a send of its own: refused, replayed, joined, or a dry run. Written behind (S34). */
export async function conclude(received: Received, result: CallResult, kit: Kit): Promise<Answer> {
  const { call } = received
  const answer = answerOf(received, call.dryRun ? dryResult(received, result) : result, kit)
  if (call.dryRun && !isDried(received)) return answer
  // The call was kept when its process ended; a run that did not come to a send has nothing to add (S36).
  if (received.resumed !== undefined) return answer
  try {
    const record = recordOf(received, answer, result.entryId, kit)
    const facts = factsOf(received, result, record, kit)
    const noted = kit.ledger.note(record, facts, memberDenied(received, result))
    if (kit.ledger.behind) await noted
    else noted.catch(onlyUnavailable)
  } catch (error) {
    // A refusal is right whether or not it could be written down; a failed store makes itself known.
    onlyUnavailable(error)
  }
  return answer
}

function factsOf(
  received: Received,
  result: CallResult,
  { namespace, id }: CallRecord,
  kit: Kit,
): readonly Fact[] {
  // S43: what policy made of it is on record, though nothing came of it.
  if (isDried(received) && result.failure === undefined) return [driedFact(received, kit)]
  const fact = refusedFact(received, result)
  if (result.replayed) return [fact]
  const decision = refusedDecision(received, result, kit)
  // Equal ones are counted, and each decision is another: it is with the first of them.
  return kit.refusals
    .count(namespace, id, fact)
    .map(({ type, body }) => ({ type, body: { ...body, ...(decision === undefined ? {} : { decision }) } }))
}

function isDried(received: Received): received is Granted {
  return (received as Partial<Granted>).dried === true
}
