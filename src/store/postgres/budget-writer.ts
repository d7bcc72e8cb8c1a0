// Takes from budgets and gives back to them (S38). The rows of the budgets are locked from the look until the commit, in
// one order, so that no two replicas spend the same rest.
import type pg from 'pg'
import type { Spend } from '../../contract/decision.ts'
import type { FixedPart } from '../entry-fixed.ts'
import {
  type BudgetChange,
  type HeldSpend,
  isOverspent,
  isSentRead,
  planSpends,
  type SpendPlan,
} from '../spend-rule.ts'
import type { EntryUpdate, WriteResult } from '../store.ts'
import { type EncodedWrite, pair, rowOf } from './encode.ts'
import type { HolderRow } from './entry-writer.ts'
import { type Part, rowsOf, run } from './statement.ts'
import type { Placed } from './write-group.ts'

/** What a write does to budgets, and to what its entry holds of them. */
export interface Spending {
  readonly namespace: string
  readonly slot: string
  readonly plan: SpendPlan
}

export interface BudgetPlan {
  /** By place in the batch: the budget that has no room. */
  readonly refusals: ReadonlyMap<number, WriteResult>
  /** By place in the batch. */
  readonly spendings: ReadonlyMap<number, Spending>
}

/** Keeps the budgets, and the entries that hold something of them, as they are found until the end of the transaction. */
export async function planBudgets(
  client: pg.ClientBase,
  writes: readonly Placed<EncodedWrite>[],
): Promise<BudgetPlan> {
  const held = await lockHeld(client, writes)
  const planned = writes.flatMap(({ index, op }) => {
    const spending = spendingOf(op, held)
    return spending === undefined ? [] : [{ index, spending }]
  })
  const spent = await lockBudgets(
    client,
    planned.map(({ spending }) => spending),
  )
  const refusals = new Map<number, WriteResult>()
  const spendings = new Map<number, Spending>()
  for (const { index, spending } of planned) {
    const { namespace, plan } = spending
    const spentOf = (change: BudgetChange) => spent.get(budgetKey(namespace, change)) ?? 0
    const over = plan.changes.find((change) => isOverspent(spentOf(change), change))?.of
    if (over !== undefined) {
      refusals.set(index, { kind: 'conflict', on: 'budget', spend: over })
      continue
    }
    for (const change of plan.changes) spent.set(budgetKey(namespace, change), spentOf(change) + change.by)
    spendings.set(index, spending)
  }
  return { refusals, spendings }
}

/** `held` by slot: entries that are there already. */
export function spendingOf(
  { entry, write }: EncodedWrite,
  held: ReadonlyMap<string, HolderRow>,
): Spending | undefined {
  if (entry === undefined || write.entry === undefined) return undefined
  const plan =
    write.entry.kind === 'insert'
      ? planSpends([], [write.entry.entry.state], write.spends, isSentRead(write.entry.entry))
      : planUpdate(write.entry, write.spends, held.get(entry.slot))
  return plan && { namespace: write.namespace, slot: entry.slot, plan }
}

function planUpdate(
  { path, set }: EntryUpdate,
  spends: readonly Spend[] | undefined,
  kept: HolderRow | undefined,
): SpendPlan | undefined {
  const before: readonly HeldSpend[] = kept?.spends == null ? [] : JSON.parse(kept.spends)
  const sentRead =
    kept?.fixed != null &&
    isSentRead({
      readOnly: (JSON.parse(kept.fixed) as FixedPart).readOnly,
      attempts: set.attempts ?? kept.attempts,
    })
  return planSpends(before, path, spends, sentRead)
}

function budgetKey(namespace: string, { budget, subject, from }: Omit<BudgetChange, 'by' | 'of'>): string {
  return pair(namespace, pair(budget, pair(subject, String(from))))
}

async function lockHeld(
  client: pg.ClientBase,
  writes: readonly Placed<EncodedWrite>[],
): Promise<ReadonlyMap<string, HolderRow>> {
  const slots = writes.flatMap(({ op }) => (op.entry?.kind === 'update' ? [op.entry.slot] : []))
  if (slots.length === 0) return new Map()
  const { rows } = await run<HolderRow & { slot: string }>(
    client,
    'lock-held',
    'select slot, spends, attempts, fixed from writ.entry where slot = any ($1::text[]) order by slot for no key update',
    [slots],
  )
  return new Map(rows.map((row) => [row.slot, row]))
}

const LOCK_BUDGETS = `
  select b.namespace, b.budget, b.subject, b.began_at, b.spent from writ.budget as b
  where (b.namespace, b.budget, b.subject, b.began_at) in (
    select namespace, budget, subject, began_at from json_to_recordset($1::json) as r(
      namespace text, budget text, subject text, began_at bigint))
  order by b.namespace, b.budget, b.subject, b.began_at for update`

const OPEN_BUDGETS = `
  insert into writ.budget (namespace, budget, subject, began_at, ends_at, spent)
  select namespace, budget, subject, began_at, ends_at, 0 from json_to_recordset($1::json) as r(
    namespace text, budget text, subject text, began_at bigint, ends_at bigint)
  on conflict do nothing`

interface BudgetRow {
  readonly namespace: string
  readonly budget: string
  readonly subject: string
  readonly began_at: number
  readonly spent: number
}

/** By budget: what is taken of it. One that is spent from for the first time is opened, so that it can be locked. */
async function lockBudgets(
  client: pg.ClientBase,
  spendings: readonly Spending[],
): Promise<Map<string, number>> {
  const asked = new Map<string, string>()
  const opened = new Map<string, string>()
  for (const { namespace, plan } of spendings) {
    for (const change of plan.changes) {
      const key = budgetKey(namespace, change)
      const { budget, subject, from, of } = change
      const row = rowOf({ namespace, budget, subject, began_at: from, ends_at: of?.until })
      asked.set(key, row)
      if (change.by > 0) opened.set(key, row)
    }
  }
  const spent = new Map<string, number>()
  const lock = async () => {
    if (asked.size === 0) return
    const { rows } = await run<BudgetRow & pg.QueryResultRow>(client, 'lock-budgets', LOCK_BUDGETS, [
      rowsOf(inOrder(asked)),
    ])
    for (const { namespace, budget, subject, began_at: from, spent: taken } of rows)
      spent.set(budgetKey(namespace, { budget, subject, from }), taken)
  }
  await lock()
  const missing = new Map([...opened].filter(([key]) => !spent.has(key)))
  if (missing.size > 0) {
    await run(client, 'open-budgets', OPEN_BUDGETS, [rowsOf(inOrder(missing))])
    await lock()
  }
  return spent
}

function inOrder(rows: ReadonlyMap<string, string>): string[] {
  return [...rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)
}

/** What is given back to a period that is forgotten is forgotten, too. */
const CHANGE_BUDGETS = `
  update writ.budget as b set spent = greatest(0, b.spent + r.by)
  from json_to_recordset($1::json) as r(namespace text, budget text, subject text, began_at bigint, by bigint)
  where b.namespace = r.namespace and b.budget = r.budget and b.subject = r.subject and b.began_at = r.began_at`

/** An insert brings what it holds with it. */
const HOLD = `
  update writ.entry as e set spends = r.spends from json_to_recordset($1::json) as r(slot text, spends text)
  where e.slot = r.slot and e.spends is distinct from r.spends`

export function spendParts(spendings: readonly Spending[]): Part[] {
  if (spendings.length === 0) return []
  const changes = new Map<string, { namespace: string; change: BudgetChange; by: number }>()
  for (const { namespace, plan } of spendings) {
    for (const change of plan.changes) {
      const key = budgetKey(namespace, change)
      changes.set(key, { namespace, change, by: (changes.get(key)?.by ?? 0) + change.by })
    }
  }
  const budgets = [...changes].map(([key, { namespace, change, by }]): [string, string] => {
    const { budget, subject, from } = change
    return [key, rowOf({ namespace, budget, subject, began_at: from, by })]
  })
  const entries = spendings.map(({ slot, plan }): [string, string] => [
    slot,
    rowOf({ slot, spends: heldText(plan.held) }),
  ])
  return [
    { name: 'change-budgets', text: CHANGE_BUDGETS, values: [rowsOf(inOrder(new Map(budgets)))] },
    { name: 'hold', text: HOLD, values: [rowsOf(inOrder(new Map(entries)))] },
  ]
}

function heldText(held: readonly HeldSpend[]): string | undefined {
  return held.length === 0 ? undefined : JSON.stringify(held)
}
