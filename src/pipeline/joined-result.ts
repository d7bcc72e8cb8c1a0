// What a call came to that was told to wait for people: what came of the question it was told of, whatever its key did since.
import type { Answer } from '../contract/answer.ts'
import type { CallRecord } from '../contract/call.ts'
import type { Entry } from '../contract/entry.ts'
import type { Kit } from './kit.ts'
import { resultOfEntry } from './result.ts'
import type { CallResult } from './stages.ts'

/**
 * Its entry says it as long as nobody has taken the key up again. After that, the record of the call that had asked does:
 * an outcome that somebody was told, or could look up, never changes (S16).
 */
export async function joinedResult(
  entry: Entry,
  told: Answer,
  kit: Pick<Kit, 'ledger'>,
): Promise<{ readonly result: CallResult; readonly at: number }> {
  const { answer, endedAt } = (await askerOf(entry, told, kit)) ?? {}
  const at = endedAt ?? entry.settledAt ?? 0
  if (answer?.final !== true) return { result: resultOfEntry(entry), at }
  // The output lies in the entry alone; and that may have been read before the other call ended.
  for (const one of [entry, await kit.ledger.get(entry.namespace, entry.id)]) {
    const now = one && resultOfEntry(one)
    if (now?.state === answer.state && now.effect === answer.effect) return { result: now, at }
  }
  const { state, effect, failure, usage, warnings, sideEffects } = answer
  const result = {
    state,
    effect,
    ...(failure === undefined ? {} : { failure }),
    attempt: usage.attempt,
    replayed: true,
    warnings,
    sideEffects,
    entryId: entry.id,
  }
  return { result, at }
}

async function askerOf(
  { namespace }: Entry,
  { failure }: Answer,
  { ledger }: Pick<Kit, 'ledger'>,
): Promise<CallRecord | undefined> {
  const id = failure?.details.approval_id
  const question = typeof id === 'string' ? await ledger.approvals.get(namespace, id) : undefined
  return question && ledger.call(namespace, question.callId)
}
