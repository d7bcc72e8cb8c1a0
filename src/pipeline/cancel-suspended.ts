// Cancels a call that waits for somebody to decide: nothing was sent, and nothing will be (S11).
import type { CallRecord } from '../contract/call.ts'
import { createFailure } from '../contract/projection.ts'
import type { Store } from '../store/store.ts'
import { endWaiting } from './end-waiting.ts'
import type { Kit } from './kit.ts'
import { approvalOf } from './recall.ts'

/** False when it no longer waits. */
export async function cancelSuspended(record: CallRecord, store: Store, kit: Kit): Promise<boolean> {
  const { namespace, entryId } = record
  if (entryId === undefined || record.answer === undefined) return false
  // Again where somebody decides at the same moment: each time round, the question has moved on.
  for (;;) {
    const entry = await store.entries.get(namespace, entryId)
    // A call that only joined another's has nothing to cancel there.
    if (entry?.state !== 'awaiting-approval' || entry.callId !== record.id) return false
    const failure = createFailure('canceled', { message: 'canceled while it waited for approval' })
    const approval = await approvalOf(entry, kit)
    const moved = await endWaiting(entry, approval, { state: 'canceled', failure }, kit)
    if (moved.kind === 'moved') return true
  }
}
