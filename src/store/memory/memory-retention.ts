// What is erased, and much later forgotten, when it was kept long enough (S18).
import { isOutcome } from '../../contract/answer.ts'
import type { CallRecord } from '../../contract/call.ts'
import { isSettled } from '../entry-rule.ts'
import { ENDED_SAGA_STATES } from '../saga-rule.ts'
import { type MemoryData, pairKey } from './memory-data.ts'
import { eraseApprovals, forgetApprovals, forgetBudgets } from './memory-governance.ts'

export function erase(data: MemoryData, before: number, limit: number): number {
  let rows = 0
  for (const [at, entry] of data.entries) {
    if (rows >= limit) return rows
    if (entry.erased || !isSettled(entry.state) || entry.settledAt === undefined || entry.settledAt >= before)
      continue
    const { payload, narrowed, outcome, request, ...rest } = entry
    // The revision moves, so that nobody who read the entry before can still bring it to run.
    data.entries.set(at, { ...rest, revision: entry.revision + 1, erased: true })
    eraseApprovals(data, entry.namespace, entry.id)
    data.held.delete(at)
    rows += 1
  }
  for (const [at, { record, erased }] of data.calls) {
    if (rows >= limit) return rows
    if (erased || !endedBefore(record, before)) continue
    data.calls.set(at, { record: withoutResult(record), erased: true })
    rows += 1
  }
  return rows + forgetBudgets(data, before, limit - rows)
}

export function forget(data: MemoryData, before: number, limit: number): number {
  let rows = 0
  for (const [at, entry] of data.entries) {
    if (rows >= limit) return rows
    if (!entry.erased || entry.settledAt === undefined || entry.settledAt >= before) continue
    data.entries.delete(at)
    data.entryKeys.delete(pairKey(entry.namespace, entry.id))
    forgetApprovals(data, entry.namespace, entry.id)
    if (entry.identity !== undefined) {
      const same = (data.identities.get(entry.identity) ?? []).filter((other) => other !== at)
      if (same.length === 0) data.identities.delete(entry.identity)
      else data.identities.set(entry.identity, same)
    }
    rows += 1
  }
  for (const [at, { record, erased }] of data.calls) {
    if (rows >= limit) return rows
    if (!erased || !endedBefore(record, before)) continue
    data.calls.delete(at)
    rows += 1
  }
  for (const [at, { state, endedAt }] of data.sagas) {
    if (rows >= limit) return rows
    if (!ENDED_SAGA_STATES.includes(state) || endedAt === undefined || endedAt >= before) continue
    data.sagas.delete(at)
    rows += 1
  }
  return rows
}

function endedBefore(record: CallRecord, before: number): boolean {
  return isOutcome(record.state) && record.endedAt !== undefined && record.endedAt < before
}

/** What the tool returned goes; that the call was, and how it ended, stays. */
function withoutResult(record: CallRecord): CallRecord {
  if (record.answer === undefined) return record
  const { output, commitToken, ...rest } = record.answer
  return { ...record, answer: { ...rest, sideEffects: [] } }
}
