// Takes from budgets and gives back to them, inside the engine's transaction (S38).
import type { DatabaseSync } from 'node:sqlite'
import type { Spend } from '../../contract/decision.ts'
import { isOverspent, type SpendPlan } from '../spend-rule.ts'
import { prepareRows } from './statement.ts'

export interface BudgetWriter {
  /** What the plan would take more of than is left. */
  check(namespace: string, plan: SpendPlan): Spend | undefined
  /** Only after `check` found nothing. What is given back to a period that is forgotten is forgotten, too. */
  write(namespace: string, plan: SpendPlan): void
  /** Periods that were over before this time. */
  forget(before: number, limit: number): number
}

/** Parameters: namespace, budget, subject, when the period began. */
export const FIND_SPENT =
  'select spent from budget where namespace = ? and budget = ? and subject = ? and began_at = ?'

export function createBudgetWriter(db: DatabaseSync): BudgetWriter {
  const find = prepareRows(db, FIND_SPENT)
  const take = db.prepare(`
    insert into budget (namespace, budget, subject, began_at, ends_at, spent) values (?, ?, ?, ?, ?, ?)
    on conflict (namespace, budget, subject, began_at) do update set spent = spent + excluded.spent`)
  const give = db.prepare(`
    update budget set spent = max(0, spent + ?)
    where namespace = ? and budget = ? and subject = ? and began_at = ?`)
  const forget = db.prepare(`
    delete from budget where (namespace, budget, subject, began_at) in (
      select namespace, budget, subject, began_at from budget where ends_at < ? order by ends_at limit ?)`)

  return {
    check(namespace, { changes }) {
      for (const change of changes) {
        const { budget, subject, from } = change
        const row = find.get(namespace, budget, subject, from) as [number] | undefined
        if (isOverspent(row?.[0] ?? 0, change)) return change.of
      }
      return undefined
    },
    write(namespace, { changes }) {
      for (const { budget, subject, from, by, of } of changes) {
        if (by > 0 && of !== undefined) take.run(namespace, budget, subject, from, of.until, by)
        else give.run(by, namespace, budget, subject, from)
      }
    },
    forget: (before, limit) => Number(forget.run(before, limit).changes),
  }
}
