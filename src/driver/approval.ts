// Nobody decided in time: the call ends, and its key is free for the next attempt (S16, S45).
import { createFailure } from '../contract/projection.ts'
import { recordOfEntry, recordWith } from '../pipeline/closed-record.ts'
import { resultOfEntry } from '../pipeline/result.ts'
import { memberSettled } from '../pipeline/saga-member.ts'
import type { DueTimer } from '../store/store.ts'
import type { DriverKit, TimerEnd } from './timers.ts'

export async function expireApproval(timer: DueTimer, kit: DriverKit): Promise<TimerEnd> {
  const entry = await kit.store.entries.get(timer.namespace, timer.subject)
  if (entry?.state !== 'awaiting-approval') return { kind: 'done' }
  const failure = createFailure('approval-expired', {
    details: entry.approvalId === undefined ? {} : { approval_id: entry.approvalId },
  })
  const outcome = { failure, sideEffects: [], warnings: [] }
  const at = kit.world.clock.now()
  const result = { ...resultOfEntry({ ...entry, state: 'not-done', outcome }), replayed: false }
  const record = (await kit.ledger.call(entry.namespace, entry.callId)) ?? recordOfEntry(entry)
  const moved = await kit.ledger.move(entry, {
    path: ['not-done'],
    set: { outcome, settledAt: at },
    calls: [recordWith(record, result, at)],
    facts: [{ type: 'approval.expired', body: { entry_id: entry.id, approval_id: entry.approvalId ?? '' } }],
    timers: [{ kind: 'approval', subject: entry.id }, ...memberSettled(entry, result)],
  })
  return moved.kind === 'moved' ? { kind: 'written' } : { kind: 'again', inMs: 0 }
}
