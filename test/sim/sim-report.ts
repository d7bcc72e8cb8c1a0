// What a run is given and what it says.
import type { DatabaseSync } from 'node:sqlite'
import type { StoreReads } from '../../src/store/assemble-store.ts'
import type { LedgerView, Violation } from './invariant.ts'

export interface SimReport {
  readonly seed: number
  readonly hash: string
  readonly violation?: Violation
  /** The last lines of the trace. */
  readonly last: readonly string[]
  readonly counts: Counts
}

export interface Counts {
  readonly events: number
  readonly calls: number
  readonly sends: number
  readonly effects: number
  readonly lives: number
  readonly flushes: number
  /** What came up, by name: states that were told, failures, incidents that took place. */
  readonly seen: Readonly<Record<string, number>>
}

export interface SimulateOptions {
  readonly verbose?: (line: string) => void
  /** Turns of the event loop after each event. One is enough: more must change nothing. */
  readonly turns?: number
}

/** What all runs of a process share. */
export interface Shared {
  readonly database: DatabaseSync
  readonly ledger: LedgerView
  readonly evidence: StoreReads['evidence']
  /** Signs checkpoints; nothing that a run does depends on it. */
  readonly auditKey: string
}
