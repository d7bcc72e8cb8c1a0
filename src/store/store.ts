// What is kept. One small port per aggregate; each engine is a folder beside this file.
//
// Every row leads with its namespace and no write spans two. The write verbs say what is durable: `intend` and `settle`
// return when on disk, `note` within a bounded lag (S34). A store that fails to flush is dead: it refuses everything
// from then on and says so once through `onFailed` (S37).
import type { CallRecord } from '../contract/call.ts'
import type { Entry, EntryState } from '../contract/entry.ts'
import type { JsonObject } from '../util/json.ts'

export interface EvidenceRecord {
  readonly namespace: string
  readonly callId: string
  readonly type: string
  readonly at: number
  readonly body: JsonObject
}

export interface EntryInsert {
  readonly kind: 'insert'
  readonly entry: Entry
  /** Refuses while another live entry has the same `identity` and was made at or after this time (S14). */
  readonly uniqueSince?: number
}

export interface EntryUpdate {
  readonly kind: 'update'
  readonly scope: string
  readonly key: string
  /** The revision this change was computed from. */
  readonly revision: number
  /** As for an insert: refuses while another live entry has the identity of this one (S14). */
  readonly uniqueSince?: number
  /**
   * States passed through, the last one stays. Empty keeps the state. A path through `intended` starts another attempt:
   * outcome and settledAt of the one before are dropped unless `set` brings new ones.
   */
  readonly path: readonly EntryState[]
  readonly set: Partial<
    Pick<Entry, 'epoch' | 'attempts' | 'outcome' | 'settledAt' | 'callId' | 'cancelRequested' | 'approvalId'>
  >
}

/** One atomic write. When `entry` conflicts, nothing of it is written. */
export interface LedgerWrite {
  readonly namespace: string
  readonly entry?: EntryInsert | EntryUpdate
  /** Each replaces the record before it; one that only says `running` replaces none. */
  readonly calls?: readonly CallRecord[]
  readonly evidence?: readonly EvidenceRecord[]
}

export type WriteResult =
  | { readonly kind: 'written' }
  /** `key`: an entry with this key exists. `identity`: S14. `revision`: it changed since it was read. */
  | { readonly kind: 'conflict'; readonly on: 'key' | 'identity' | 'revision'; readonly entry?: Entry }

/** Each rejects with `IllegalWrite` for a write that can only come from a bug; the others in its batch go on. */
export interface LedgerStore {
  intend(write: LedgerWrite): Promise<WriteResult>
  settle(write: LedgerWrite): Promise<WriteResult>
  /**
   * Throws `StoreUnavailable` at once when the buffer is full or the store has failed. The promise settles when the note
   * is on disk; it may be ignored, a failed flush is told through `onFailed`.
   */
  note(write: LedgerWrite): Promise<WriteResult>
}

export interface EntryStore {
  find(scope: string, key: string): Promise<Entry | undefined>
  get(namespace: string, id: string): Promise<Entry | undefined>
  /** The newest live entry with this identity made at or after `since` (S14). */
  findByIdentity(identity: string, since: number): Promise<Entry | undefined>
  /** Entries that are `intended` or `sent` and belong to another life than `epoch`. */
  orphans(epoch: string, limit: number): Promise<readonly Entry[]>
  countByState(state: EntryState): Promise<number>
  /**
   * Erases payload and outcome of entries settled before `before`, never of open ones such as `unknown` or `prepared`,
   * and what the tool returned from the answers of calls ended before it (S18). Returns how many entries and calls
   * changed; fewer than `limit` means that none is left.
   */
  erase(before: number, limit: number): Promise<number>
  /** Forgets erased entries settled, and erased calls ended, before `before`. Returns their number, as `erase`. */
  forget(before: number, limit: number): Promise<number>
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
  /** Calls that another life than `epoch` left running. */
  orphans(epoch: string, limit: number): Promise<readonly CallRecord[]>
}

/** A declared resource as it is kept. */
export interface ResourceRow {
  readonly namespace: string
  readonly kind: string
  readonly name: string
  /** Semver; `0.0.0` for kinds and manifests without one (S49). */
  readonly version: string
  /** Changes with every write and is never given twice; optimistic concurrency. */
  readonly resourceVersion: number
  /** Changes when the spec changes. */
  readonly generation: number
  readonly digest: string
  /** The manifest in canonical field names. */
  readonly body: JsonObject
  readonly createdAt: number
  readonly updatedAt: number
}

export interface ResourceChange {
  readonly kind: string
  readonly name: string
  readonly version: string
  /** Absent deletes. */
  readonly put?: { readonly digest: string; readonly body: JsonObject }
  /** The version that must be there; 0 means none may be; absent means any. */
  readonly expect?: number
}

export type ApplyResult =
  /** One row for each put, in order. */
  | { readonly kind: 'applied'; readonly rows: readonly ResourceRow[] }
  | { readonly kind: 'conflict'; readonly change: ResourceChange; readonly found?: ResourceRow }

export interface ResourceStore {
  list(filter: {
    readonly namespace?: string
    readonly kind?: string
    readonly name?: string
  }): Promise<readonly ResourceRow[]>
  /** All or nothing, in one namespace. A put that changes nothing keeps its resourceVersion. */
  apply(
    namespace: string,
    changes: readonly ResourceChange[],
    at: number,
    evidence: readonly EvidenceRecord[],
  ): Promise<ApplyResult>
}

/** One link of the evidence chain of a process life: sha256(prev, root(batch)) (S39). */
export interface EvidenceLink {
  readonly epoch: string
  readonly batch: number
  readonly prev: string
  readonly root: string
  readonly hash: string
  readonly records: readonly (EvidenceRecord & { readonly seq: number; readonly hash: string })[]
}

export interface EvidenceStore {
  /** In order, from `fromBatch` on; the first batch of an epoch is 1. */
  links(epoch: string, fromBatch: number, limit: number): Promise<readonly EvidenceLink[]>
  /** In the order in which they started. */
  epochs(): Promise<readonly string[]>
  /** Oldest first. */
  forCall(namespace: string, callId: string): Promise<readonly EvidenceRecord[]>
}

export interface Store {
  readonly durable: boolean
  readonly ledger: LedgerStore
  readonly entries: EntryStore
  readonly calls: CallStore
  readonly resources: ResourceStore
  readonly evidence: EvidenceStore
  /**
   * As many notes wait for the disk as may (S34). Whoever makes one more waits until it is written: that is what bounds
   * the lag when calls come faster than the disk, or leave it no time to begin.
   */
  readonly behind: boolean
  /** Set once the store can no longer be trusted. */
  readonly failed: Error | undefined
  /** Writes what is noted. */
  flush(): Promise<void>
  /** Flushes and lets go. */
  close(): Promise<void>
}

/**
 * The write is not acknowledged: never act on it. It was not taken, or the flush that carried it failed; then whether it
 * reached the disk is only known after a restart (S37).
 */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable'
}

/** A write that only a bug makes, such as a move the transition table does not have. Nothing of it was written. */
export class IllegalWrite extends Error {
  override readonly name = 'IllegalWrite'
}

/** An entry of which only the key is remembered (S18). */
export function isTombstone(entry: Entry): boolean {
  return entry.erased === true
}
