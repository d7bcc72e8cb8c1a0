// What every store must do: data and cases, independent of the test runner.
import type { Store } from '../../src/store/store.ts'
import type { World } from '../../src/util/world.ts'
import { callCases } from './case/call-cases.ts'
import { entryCases } from './case/entry-cases.ts'
import { evidenceCases } from './case/evidence-cases.ts'
import { ledgerCases } from './case/ledger-cases.ts'
import { resourceCases } from './case/resource-cases.ts'
import { retentionCases } from './case/retention-cases.ts'

/** A place for one store, empty at first. */
export interface StoreBench {
  /** The life in which the first store opens. */
  readonly world: World
  /** Opens a store over what is kept in this place; in another life when one is given. */
  open(world?: World, options?: { readonly maxBuffered?: number }): Promise<Store>
}

export interface StoreCase {
  /** A sentence, with the rule it is about. */
  readonly name: string
  /** Needs a store that finds again what an earlier one wrote. */
  readonly reopens?: true
  run(bench: StoreBench): Promise<void>
}

export const storeCases: readonly StoreCase[] = [
  ...ledgerCases,
  ...entryCases,
  ...callCases,
  ...resourceCases,
  ...evidenceCases,
  ...retentionCases,
]
