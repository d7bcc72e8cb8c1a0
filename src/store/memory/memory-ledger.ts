// One atomic write in memory: everything that could stand in its way is looked at before anything of it is written.
import type { Entry } from '../../contract/entry.ts'
import type { Saga } from '../../contract/saga.ts'
import { firstIdentityAt, isSettled, moveProblem, startsAttempt } from '../entry-rule.ts'
import { nextReason, sagaMoveProblem } from '../saga-rule.ts'
import type { EntryInsert, EntryUpdate, LedgerWrite, SagaWrite, TimerChange, WriteResult } from '../store.ts'
import type { Refused } from '../write-queue.ts'
import { findIdentity, type MemoryData, pairKey, timerKey } from './memory-data.ts'
import type { MemoryBatch } from './memory-engine.ts'
import { approvalConflict, keepApproval, overspent, spend, stopped } from './memory-governance.ts'

const WRITTEN: WriteResult = Object.freeze({ kind: 'written' })
const SAGA_CONFLICT: WriteResult = Object.freeze({ kind: 'conflict', on: 'saga' })

/** The saga is looked at first, then the entry, then what stops it, then the approval, and budgets at last. */
export function write(data: MemoryData, batch: MemoryBatch, op: LedgerWrite): WriteResult | Refused {
  const { namespace, openSaga } = op
  if (openSaga !== undefined && data.sagas.get(pairKey(namespace, openSaga))?.state !== 'open')
    return SAGA_CONFLICT
  const saga = op.saga === undefined ? undefined : nextSaga(data, namespace, op.saga)
  if (saga !== undefined && 'kind' in saga) return saga
  const entry = op.entry === undefined ? undefined : nextEntry(data, op.entry)
  if (entry !== undefined && 'kind' in entry) return entry
  const problem = stopped(data, batch.at, op) ?? approvalConflict(data, op) ?? overspent(data, op)
  if (problem !== undefined) return problem

  if (op.entry !== undefined) spend(data, op)
  if (entry !== undefined) keepEntry(data, entry)
  if (op.approval !== undefined) keepApproval(data, op.approval.approval)
  if (saga !== undefined) data.sagas.set(pairKey(namespace, saga.id), saga)
  for (const record of op.calls ?? []) {
    const where = pairKey(record.namespace, record.id)
    if (record.state !== 'running' || !data.calls.has(where)) data.calls.set(where, { record, erased: false })
  }
  for (const timer of op.timers ?? []) setTimer(data, batch, namespace, timer)
  return WRITTEN
}

function setTimer(
  data: MemoryData,
  { epoch, at }: MemoryBatch,
  namespace: string,
  { kind, subject, inMs, data: more = {}, ifDueAt }: TimerChange,
): void {
  const where = timerKey(namespace, kind, subject)
  if (ifDueAt !== undefined) {
    const found = data.timers.get(where)
    if (found?.claimedBy !== epoch || found.due.dueAt !== ifDueAt) return
  }
  if (inMs === undefined) data.timers.delete(where)
  else data.timers.set(where, { due: { namespace, kind, subject, dueAt: at + inMs, data: more } })
}

/** The saga as it will be, or why it will not. */
function nextSaga(data: MemoryData, namespace: string, op: SagaWrite): Saga | WriteResult | Refused {
  if (op.kind === 'insert') {
    return data.sagas.has(pairKey(namespace, op.saga.id)) ? SAGA_CONFLICT : op.saga
  }
  const found = data.sagas.get(pairKey(namespace, op.id))
  if (found === undefined || found.revision !== op.revision) return SAGA_CONFLICT
  const message = sagaMoveProblem(found, op)
  if (message !== undefined) return { kind: 'refused', message }
  return {
    ...found,
    state: op.state,
    revision: found.revision + 1,
    reason: nextReason(found, op),
    ...(op.endedAt === undefined ? {} : { endedAt: op.endedAt }),
  }
}

/** The entry as it will be, or why it will not. */
function nextEntry(data: MemoryData, op: EntryInsert | EntryUpdate): Entry | WriteResult | Refused {
  return op.kind === 'insert' ? inserted(data, op) : updated(data, op)
}

function inserted(data: MemoryData, { entry, uniqueSince }: EntryInsert): Entry | WriteResult | Refused {
  const found = data.entries.get(pairKey(entry.scope, entry.key))
  if (found !== undefined) return { kind: 'conflict', on: 'key', entry: found }
  if (uniqueSince !== undefined && entry.identity !== undefined) {
    const earlier = findIdentity(data, entry.identity, uniqueSince)
    if (earlier !== undefined) return { kind: 'conflict', on: 'identity', entry: earlier }
  }
  if (data.entryKeys.has(pairKey(entry.namespace, entry.id)))
    return { kind: 'refused', message: `entry id ${entry.id} is already in use` }
  const { identityAt: _, ...rest } = entry
  const identityAt = firstIdentityAt(entry)
  return { ...rest, ...(identityAt === undefined ? {} : { identityAt }) }
}

function updated(data: MemoryData, op: EntryUpdate): Entry | WriteResult | Refused {
  const found = data.entries.get(pairKey(op.scope, op.key))
  if (found === undefined || found.revision !== op.revision) {
    return { kind: 'conflict', on: 'revision', ...(found === undefined ? {} : { entry: found }) }
  }
  if (op.uniqueSince !== undefined && found.identity !== undefined) {
    const earlier = findIdentity(data, found.identity, op.uniqueSince)
    if (earlier !== undefined && earlier !== found)
      return { kind: 'conflict', on: 'identity', entry: earlier }
  }
  const message = moveProblem({ state: found.state, erased: found.erased === true }, op)
  if (message !== undefined) return { kind: 'refused', message }
  const { outcome, settledAt, narrowed, ...rest } = found
  const { identityAt, ...set } = op.set
  return {
    ...(startsAttempt(op.path) ? rest : found),
    ...set,
    ...(found.identity === undefined || identityAt === undefined ? {} : { identityAt }),
    state: op.path.at(-1) ?? found.state,
    revision: found.revision + 1,
  }
}

function keepEntry(data: MemoryData, entry: Entry): void {
  const at = pairKey(entry.scope, entry.key)
  const isNew = !data.entries.has(at)
  data.entries.set(at, entry)
  if (!isNew) return
  data.entryKeys.set(pairKey(entry.namespace, entry.id), at)
  if (entry.identity === undefined) return
  const same = data.identities.get(entry.identity)
  if (same === undefined) data.identities.set(entry.identity, [at])
  else same.push(at)
}

/** Costs no revision: whoever works on the entry goes on from what it read. */
export function requestCancel(data: MemoryData, namespace: string, id: string): number {
  const at = data.entryKeys.get(pairKey(namespace, id)) ?? ''
  const entry = data.entries.get(at)
  if (entry === undefined || isSettled(entry.state)) return 0
  data.entries.set(at, { ...entry, cancelRequested: true })
  return 1
}
