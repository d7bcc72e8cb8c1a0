// Cancels a call that waits for somebody to decide: nothing was sent, and nothing will be (S11).
import type { CallRecord } from '../contract/call.ts'
import { createFailure } from '../contract/projection.ts'
import type { Store } from '../store/store.ts'
import type { Kit } from './kit.ts'

/** False when it no longer waits. */
export async function cancelSuspended(record: CallRecord, store: Store, kit: Kit): Promise<boolean> {
  const entry =
    record.entryId === undefined ? undefined : await store.entries.get(record.namespace, record.entryId)
  if (entry?.state !== 'awaiting-approval' || record.answer === undefined) return false
  const failure = createFailure('canceled', { message: 'canceled while it waited for approval' })
  const outcome = { failure, sideEffects: [], warnings: [] }
  const canceled: CallRecord = {
    ...record,
    state: 'canceled',
    effect: 'not-done',
    endedAt: kit.world.clock.now(),
    answer: { ...record.answer, state: 'canceled', final: true, effect: 'not-done', failure },
  }
  const fact = { type: 'tool.canceled' as const, body: { entry_id: entry.id, effect: 'not-done' } }
  const ending = { path: ['canceled'] as const, attempts: entry.attempts, outcome }
  const written = await kit.ledger.settle(entry, ending, canceled, [fact])
  return written.kind === 'written'
}
