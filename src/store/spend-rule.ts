// What a write takes from budgets, and gives back to them: pure, so that all engines count alike (S38).
import type { Spend } from '../contract/decision.ts'
import type { Entry, EntryState } from '../contract/entry.ts'
import { isKeepable } from './entry-rule.ts'
import type { LedgerWrite, SpendKey } from './store.ts'

/** What an entry holds of one period of a budget. */
export interface HeldSpend extends SpendKey {
  readonly amount: number
}

export interface BudgetChange extends SpendKey {
  /** What it is more, or less, than before; never 0. */
  readonly by: number
  /** What asked for more. */
  readonly of?: Spend
}

export interface SpendPlan {
  readonly changes: readonly BudgetChange[]
  /** What the entry holds afterwards. */
  readonly held: readonly HeldSpend[]
}

/** The effect did not happen: nothing is spent on it. One that was undone has been spent, and so may an unknown one. */
const UNSPENT: ReadonlySet<EntryState> = new Set<EntryState>(['not-done', 'canceled', 'rolled-back'])

export function isUnspent(state: EntryState): boolean {
  return UNSPENT.has(state)
}

/**
 * What a budget bounds of a read is that it is sent: one that was keeps what it took, however it ends. Else whoever
 * cancels each in time could send as many as they like.
 */
export function isSentRead({ readOnly, attempts }: Pick<Entry, 'readOnly' | 'attempts'>): boolean {
  return readOnly && attempts > 0
}

/** What can be said of a write without a look at what is kept; undefined when it may be. */
export function spendProblem({ entry, spends = [] }: LedgerWrite): string | undefined {
  if (spends.length > 0 && entry === undefined)
    return 'a budget is spent from without an entry to keep it with'
  const seen = new Set<string>()
  for (const { budget, subject, from, until, amount, max } of spends) {
    const where = `budget ${JSON.stringify(budget)} of ${JSON.stringify(subject)}`
    if (!isKeepable(budget) || !isKeepable(subject)) return `${where} has a NUL or half of a surrogate pair`
    if (!isWhole(amount))
      return `${where} is to be spent from by ${amount}, which is no whole number from 0 up`
    if (!isWhole(max)) return `${where} has the limit ${max}, which is no whole number from 0 up`
    if (!Number.isSafeInteger(from) || !Number.isSafeInteger(until)) {
      return `${where} has a period from ${from} until ${until}, which are no times`
    }
    const key = spendKeyOf({ budget, subject, from })
    if (seen.has(key)) return `${where} is spent from twice in one write`
    seen.add(key)
  }
  return undefined
}

function isWhole(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0
}

export function spendKeyOf({ budget, subject, from }: SpendKey): string {
  return JSON.stringify([budget, subject, from])
}

/**
 * What an entry that holds this does to budgets on its way; undefined when nothing. An attempt that is made again while
 * the one before is unknown is the same effect: of the same period it takes only what it needs beyond that one.
 * `sentRead`: `isSentRead` of the entry as the write leaves it. Where nothing happened, such a one has spent what it held
 * for good: it holds that no longer, and whatever it takes next comes in addition.
 */
export function planSpends(
  before: readonly HeldSpend[],
  path: readonly EntryState[],
  spends: readonly Spend[] = [],
  sentRead = false,
): SpendPlan | undefined {
  if (before.length === 0 && spends.length === 0) return undefined
  const over = path.some(isUnspent)
  const endsOver = isUnspent(path.at(-1) ?? 'reserved')
  const wanted = endsOver && !sentRead ? [] : spends
  if (!over && wanted.length === 0) return undefined

  const counted = over && sentRead ? [] : before
  const amounts = new Map(counted.map((one) => [spendKeyOf(one), one.amount]))
  const held = new Map((over ? [] : before).map((one) => [spendKeyOf(one), one]))
  const asked = new Map(wanted.map((one) => [spendKeyOf(one), one]))
  for (const [key, { budget, subject, from, amount }] of asked) {
    held.set(key, { budget, subject, from, amount: Math.max(amount, held.get(key)?.amount ?? 0) })
  }
  const changes = [...new Map([...counted, ...wanted].map((one) => [spendKeyOf(one), one]))].flatMap(
    ([key, { budget, subject, from }]): BudgetChange[] => {
      const by = (held.get(key)?.amount ?? 0) - (amounts.get(key) ?? 0)
      const of = asked.get(key)
      return by === 0 ? [] : [{ budget, subject, from, by, ...(of === undefined ? {} : { of }) }]
    },
  )
  return { changes, held: endsOver ? [] : [...held.values()] }
}

/** Whether a budget of which this is spent has no room for the change. What is given back always has. */
export function isOverspent(spent: number, { by, of }: BudgetChange): boolean {
  return by > 0 && of !== undefined && spent + by > of.max
}
