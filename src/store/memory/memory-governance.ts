// Approvals, budgets and stops in memory: what stands in the way of a write, and what it leaves.
import type { Approval } from '../../contract/approval.ts'
import { EVERYWHERE, readStop, STOP_KIND, stopsGuard } from '../../contract/stop.ts'
import { approvalMoveProblem, erasedApproval } from '../approval-rule.ts'
import { isOverspent, isSentRead, planSpends, type SpendPlan, spendKeyOf } from '../spend-rule.ts'
import type { LedgerWrite, ResourceRow, SpendKey, WriteResult } from '../store.ts'
import type { Refused } from '../write-queue.ts'
import { type MemoryData, pairKey } from './memory-data.ts'

export function stopped(
  data: MemoryData,
  now: number,
  { namespace, unless = [] }: LedgerWrite,
): WriteResult | undefined {
  const stands = unless.find((guard) =>
    [namespace, EVERYWHERE].some((where) =>
      data.stops
        .get(pairKey(where, guard.stop))
        ?.some(({ name, body }) => stopsGuard(readStop(where, name, body), guard, now)),
    ),
  )
  return stands && { kind: 'conflict', on: 'stopped', stop: stands.stop }
}

/** Keeps the stops in step with the resources. */
export function noteStop(data: MemoryData, row: Pick<ResourceRow, 'namespace' | 'kind' | 'name'>): void {
  if (row.kind !== STOP_KIND) return
  const { namespace, kind, name } = row
  const same = [...data.resources.values()].filter(
    (other) => other.namespace === namespace && other.kind === kind && other.name === name,
  )
  const at = pairKey(namespace, name)
  if (same.length === 0) data.stops.delete(at)
  else data.stops.set(at, same)
}

export function approvalConflict(data: MemoryData, op: LedgerWrite): WriteResult | Refused | undefined {
  if (op.approval === undefined) return undefined
  const { kind, approval } = op.approval
  const found = data.approvals.get(pairKey(approval.namespace, approval.id))
  if (kind === 'insert') return found && { kind: 'conflict', on: 'approval' }
  if (found?.revision !== approval.revision - 1) return { kind: 'conflict', on: 'approval' }
  const message = approvalMoveProblem(found, approval)
  return message === undefined ? undefined : { kind: 'refused', message }
}

export function keepApproval(data: MemoryData, approval: Approval): void {
  const at = pairKey(approval.namespace, approval.id)
  if (!data.approvals.has(at)) {
    const entry = pairKey(approval.namespace, approval.entryId)
    data.approvalsOf.set(entry, [...(data.approvalsOf.get(entry) ?? []), at])
  }
  data.approvals.set(at, approval)
}

export function eraseApprovals(data: MemoryData, namespace: string, entryId: string): void {
  for (const at of data.approvalsOf.get(pairKey(namespace, entryId)) ?? []) {
    const approval = data.approvals.get(at)
    const erased = approval && erasedApproval(approval)
    if (erased !== undefined) data.approvals.set(at, erased)
  }
}

export function forgetApprovals(data: MemoryData, namespace: string, entryId: string): void {
  const entry = pairKey(namespace, entryId)
  for (const at of data.approvalsOf.get(entry) ?? []) data.approvals.delete(at)
  data.approvalsOf.delete(entry)
}

export function budgetKey(namespace: string, key: SpendKey): string {
  return pairKey(namespace, spendKeyOf(key))
}

export function overspent(data: MemoryData, op: LedgerWrite): WriteResult | undefined {
  const over = planOf(data, op)?.changes.find((change) =>
    isOverspent(data.budgets.get(budgetKey(op.namespace, change))?.spent ?? 0, change),
  )?.of
  return over && { kind: 'conflict', on: 'budget', spend: over }
}

/** Takes from budgets and gives back. What is given back to a period that is forgotten is forgotten, too. */
export function spend(data: MemoryData, op: LedgerWrite): void {
  const plan = planOf(data, op)
  if (plan === undefined) return
  for (const change of plan.changes) {
    const at = budgetKey(op.namespace, change)
    const found = data.budgets.get(at)
    const until = found?.until ?? change.of?.until
    if (until === undefined) continue
    data.budgets.set(at, { until, spent: Math.max(0, (found?.spent ?? 0) + change.by) })
  }
  data.held.set(entryKey(op), plan.held)
}

function planOf(data: MemoryData, op: LedgerWrite): SpendPlan | undefined {
  const { entry, spends } = op
  if (entry === undefined) return undefined
  if (entry.kind === 'insert') return planSpends([], [entry.entry.state], spends, isSentRead(entry.entry))
  const at = entryKey(op)
  const kept = data.entries.get(at)
  const sentRead =
    kept !== undefined &&
    isSentRead({ readOnly: kept.readOnly, attempts: entry.set.attempts ?? kept.attempts })
  return planSpends(data.held.get(at) ?? [], entry.path, spends, sentRead)
}

/** Where the entry of a write is in the data. */
function entryKey({ entry }: LedgerWrite): string {
  if (entry === undefined) return ''
  const { scope, key } = entry.kind === 'insert' ? entry.entry : entry
  return pairKey(scope, key)
}

/** Periods that were over before this time. */
export function forgetBudgets(data: MemoryData, before: number, limit: number): number {
  const over = [...data.budgets]
    .filter(([, { until }]) => until < before)
    .sort(([, a], [, b]) => a.until - b.until)
    .slice(0, limit)
  for (const [at] of over) data.budgets.delete(at)
  return over.length
}
