// What is kept. One small port per aggregate; each engine is a folder beside this file.
//
// Every row leads with its namespace and no write spans two. The write verbs say what is durable: `intend` and `settle`
// return when on disk, `note` within a bounded lag (S34). A store that fails to flush is dead: it refuses everything
// from then on and says so once through `onFailed` (S37).
import type { CallRecord } from '../contract/call.ts'
import type { Entry, EntryState } from '../contract/entry.ts'
import type { Saga, SagaState } from '../contract/saga.ts'
import type { ApprovalStore, BudgetStore } from './approval-store.ts'
import type { EvidenceStore } from './evidence-store.ts'
import type { LifeStore, Peers } from './life.ts'
import type { ResourceStore } from './resource-store.ts'
import type { DueTimer, LedgerStore, TimerKind } from './write.ts'

export type * from './approval-store.ts'
export type * from './evidence-store.ts'
export type * from './life.ts'
export type * from './resource-store.ts'
export type * from './write.ts'
export { TIMER_KINDS } from './write.ts'

export interface EntryStore {
  find(scope: string, key: string): Promise<Entry | undefined>
  get(namespace: string, id: string): Promise<Entry | undefined>
  /** The live entry with this identity whose `identityAt` is the newest, at or after `since` (S14). */
  findByIdentity(identity: string, since: number): Promise<Entry | undefined>
  list(filter: EntryFilter): Promise<readonly Entry[]>
  /**
   * Takes entries that somebody was at work on (`intended`, `sent`, `committing`) over from lives that have ended: each
   * is given to exactly one process, with its epoch and a new revision. Its state stays.
   */
  adopt(limit: number): Promise<readonly Entry[]>
  /** How many entries of all namespaces are in each open state; a state without any may be missing. */
  countOpen(): Promise<Readonly<Partial<Record<EntryState, number>>>>
  /** Any process may ask; the owner looks. Costs no revision. False when there is no such entry or it is settled. */
  requestCancel(namespace: string, id: string): Promise<boolean>
  /** Entries of this life that somebody asked to cancel and that are at their tool: `intended` or `sent`. */
  cancelRequests(limit: number): Promise<readonly Pick<Entry, 'namespace' | 'id'>[]>
  /**
   * Erases payload and outcome of entries settled before `before`, never of open ones such as `unknown` or `prepared`,
   * and what the tool returned from the answers of calls ended before it (S18). What people were shown of an entry goes
   * with its payload. Periods of budgets that were over before it are dropped, too. Returns how many entries, calls and
   * periods changed; fewer than `limit` means that none is left.
   */
  erase(before: number, limit: number): Promise<number>
  /**
   * Forgets erased entries settled, with their approvals, erased calls ended, and sagas completed or aborted before
   * `before`. Returns the number of these three, as `erase`.
   */
  forget(before: number, limit: number): Promise<number>
}

export interface EntryFilter {
  readonly namespace: string
  readonly states?: readonly EntryState[]
  readonly saga?: string
  readonly actor?: string
  /** Ids sort by time, newest first; the page ends before this one. */
  readonly before?: string
  readonly limit: number
}

export interface TimerStore {
  /**
   * Takes timers that are due by the store's clock. Each goes to one process, and stays there until a write sets or
   * drops it; when that process ends first, it can be claimed again. Never early, never lost.
   */
  claim(limit: number): Promise<readonly DueTimer[]>
  /** Milliseconds until the next timer that nobody has is due, 0 when one is; undefined when there is none. */
  nextIn(): Promise<number | undefined>
  get(namespace: string, kind: TimerKind, subject: string): Promise<DueTimer | undefined>
  /** Hears how soon a timer is due that this process has set. Those of others are found by looking. */
  onSet(listener: (inMs: number) => void): () => void
}

export interface SagaStore {
  get(namespace: string, id: string): Promise<Saga | undefined>
  /** Newest first. */
  list(filter: {
    readonly namespace: string
    readonly actor?: string
    readonly state?: SagaState
    readonly before?: string
    readonly limit: number
  }): Promise<readonly Saga[]>
}

export interface CallFilter {
  readonly namespace: string
  readonly actor?: string
  readonly tool?: string
  readonly state?: string
  readonly requestId?: string
  /** Ids sort by time; the page ends before this one. */
  readonly before?: string
  readonly limit: number
}

export interface CallStore {
  get(namespace: string, id: string): Promise<CallRecord | undefined>
  /** Newest first. */
  list(filter: CallFilter): Promise<readonly CallRecord[]>
  /** Takes calls over that lives which have ended left running: each is given to one process, with its epoch. */
  adopt(limit: number): Promise<readonly CallRecord[]>
}

export interface Store {
  readonly durable: boolean
  readonly ledger: LedgerStore
  readonly entries: EntryStore
  readonly calls: CallStore
  readonly resources: ResourceStore
  readonly evidence: EvidenceStore
  readonly timers: TimerStore
  readonly sagas: SagaStore
  readonly approvals: ApprovalStore
  readonly budgets: BudgetStore
  readonly lives: LifeStore
  /** There where other processes may share the store. */
  readonly peers?: Peers
  /**
   * As many notes wait for the disk as may (S34). Whoever makes one more waits until it is written: that is what bounds
   * the lag when calls come faster than the disk, or leave it no time to begin.
   */
  readonly behind: boolean
  /** Set while nothing can be kept: nothing may be sent, either. For good, unless the database is only `away`. */
  readonly failed: Error | undefined
  /** The database cannot be reached for the time being; outcomes wait for it, everything new is refused. */
  readonly away: boolean
  /** Writes what is noted. */
  flush(): Promise<void>
  /** From now on a database that is away is waited for only a little longer: outcomes that it does not take are given up. */
  hurry(): void
  /** Hurries, flushes and lets go. */
  close(): Promise<void>
}

/**
 * The write is not acknowledged: never act on it. It was not taken, or the flush that carried it failed; then whether it
 * reached the disk is only known after a restart (S37).
 */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable'
  /** It was on its way to the disk when that failed: it may be there. */
  readonly maybeWritten: boolean

  constructor(message: string, options: { readonly cause?: unknown; readonly maybeWritten?: boolean } = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause })
    this.maybeWritten = options.maybeWritten ?? false
  }
}

/** Another process has ended this life (S35): it may have taken over what was under way here. */
export class Fenced extends StoreUnavailable {
  override readonly name = 'Fenced' as 'StoreUnavailable'
}

/** A write that only a bug makes, such as a move the transition table does not have. Nothing of it was written. */
export class IllegalWrite extends Error {
  override readonly name = 'IllegalWrite'
}

/** An entry of which only the key is remembered (S18). */
export function isTombstone(entry: Entry): boolean {
  return entry.erased === true
}
