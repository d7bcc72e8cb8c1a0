// What every store must do: data and cases, independent of the test runner.
//
// An engine joins by a file beside its tests that says `describeStoreContract(name, engine)` (store-contract-run.ts),
// with a `StoreEngine`. Each case gets a fresh, empty place; in it, it opens one store or several, each in a life of its
// own. What the cases take as given beyond the words of the port:
//
// - Time passes by `pass`, which moves the store's clock for leases and timers. An engine whose clock cannot be moved
//   (a database server's) moves what is kept the other way: due times and lease ends, back by as much. So cases look at
//   how long something takes (`nextIn`), with some seconds of room, and never at `dueAt` itself.
// - In a write the saga is looked at before the entry; a key before an identity; a conflict before an illegal move. After
//   the entry come stops, then the approval, and budgets at last.
// - Adopted entries and calls come oldest first; claimed timers by due time, then namespace, kind, subject.
// - Erasing takes `request` and `narrowed` with payload and outcome; `saga` stays. What people were shown goes with it, and
//   the approvals of an entry are forgotten with it.
// - A pruned chain grows on from where it was, also when no link of it is left; and the next life names its true end.
import type { Store } from '../../src/store/store.ts'
import type { World } from '../../src/util/world.ts'
import { approvalCases } from './case/approval-cases.ts'
import { budgetCases } from './case/budget-cases.ts'
import { callCases } from './case/call-cases.ts'
import { chainCases } from './case/chain-cases.ts'
import { entryCases } from './case/entry-cases.ts'
import { evidenceCases } from './case/evidence-cases.ts'
import { ledgerCases } from './case/ledger-cases.ts'
import { lifeCases } from './case/life-cases.ts'
import { listCases } from './case/list-cases.ts'
import { moveCases } from './case/move-cases.ts'
import { resourceCases } from './case/resource-cases.ts'
import { retentionCases } from './case/retention-cases.ts'
import { sagaCases } from './case/saga-cases.ts'
import { stopCases } from './case/stop-cases.ts'
import { timerCases } from './case/timer-cases.ts'

export interface OpenOptions {
  readonly maxBuffered?: number
  /** Finite: this life shares the place with others. Absent: as the engine does by default. */
  readonly leaseMs?: number
}

export interface StoreEngine {
  /** Several stores, each in its own life with a finite lease, may be open in one place. */
  readonly shares: boolean
  /** A store without a lease owns its place alone: opening it ends all lives before it. */
  readonly alone: boolean
  place(): Promise<StorePlace>
}

/** Where stores of one case keep what they are given; empty at first. */
export interface StorePlace {
  /** Opens a store over what is kept in this place. */
  open(world: World, options: OpenOptions): Promise<Store>
  /** Lets time pass by the store's clock. */
  pass(ms: number): Promise<void>
  /** All stores are closed by then. */
  remove(): void | Promise<void>
}

/** What a case gets. */
export interface StoreBench {
  /** The life in which the first store opens. */
  readonly world: World
  /** In another life when one is given. Closed after the case. */
  open(world?: World, options?: OpenOptions): Promise<Store>
  pass(ms: number): Promise<void>
}

export interface StoreCase {
  /** A sentence, with the rule it is about. */
  readonly name: string
  /** What the engine must be able to do. */
  readonly needs?: 'shares' | 'alone'
  run(bench: StoreBench): Promise<void>
}

export const storeCases: readonly StoreCase[] = [
  ...ledgerCases,
  ...moveCases,
  ...entryCases,
  ...listCases,
  ...callCases,
  ...timerCases,
  ...sagaCases,
  ...lifeCases,
  ...resourceCases,
  ...evidenceCases,
  ...chainCases,
  ...retentionCases,
  ...approvalCases,
  ...budgetCases,
  ...stopCases,
]
