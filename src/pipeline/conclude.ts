// The end of a call that sent nothing of its own.
import type { Answer } from '../contract/answer.ts'
import { onlyUnavailable } from '../store/unavailable.ts'
import { answerOf, recordOf } from './answer.ts'
import { dryResult } from './dry-run.ts'
import { refusedFact } from './evidence.ts'
import type { Kit } from './kit.ts'
import { memberDenied } from './saga-member.ts'
import type { CallResult, Received } from './stages.ts'

/** Answered without a send of its own: refused, replayed, joined, or a dry run. Written behind (S34). */
export async function conclude(received: Received, result: CallResult, kit: Kit): Promise<Answer> {
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
    else noted.catch(onlyUnavailable)
  } catch (error) {
    // A refusal is right whether or not it could be written down; a failed store makes itself known.
    onlyUnavailable(error)
  }
  return answer
}
