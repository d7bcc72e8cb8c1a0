// What is kept. One small port per aggregate; each engine is a folder beside this file.
//
// Every row leads with its namespace and no write spans two. The write verbs say what is durable: `intend` and `settle`
// return when on disk, `note` within a bounded lag (S34). A store that fails to flush is dead: it refuses everything
// from then on and says so once through `onFailed` (S37).
import type { CallRecord } from '../contract/call.ts'
import type { Entry, EntryState } from '../contract/entry.ts'
import type { EvidenceType } from '../contract/evidence.ts'
import type { Saga, SagaState } from '../contract/saga.ts'
import type { JsonObject } from '../util/json.ts'

export interface EvidenceRecord {
  readonly namespace: string
  readonly callId: string
  /** An `EvidenceType` of the version that wrote it. */
  readonly type: string
  readonly at: number
  readonly body: JsonObject
}

/** Evidence that is to be written. */
export interface NewEvidence extends EvidenceRecord {
  readonly type: EvidenceType
}

export interface EntryInsert {
  readonly kind: 'insert'
  readonly entry: Entry
  /** Refuses while another live entry has the same `identity`, with `identityAt` at or after this time (S14). */
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
   * outcome and settledAt of the one before are dropped unless `set` brings new ones, and `set` says with `identityAt`
   * when it began.
   */
  readonly path: readonly EntryState[]
  readonly set: Partial<
    Pick<
      Entry,
      | 'epoch'
      | 'attempts'
      | 'outcome'
      | 'settledAt'
      | 'callId'
      | 'cancelRequested'
      | 'approvalId'
      | 'identityAt'
    >
  >
}

/** What has to be done later, each with its own handler. */
export const TIMER_KINDS = [
  /** nobody decided in time */
  'approval',
  /** an effect may have happened: ask the tool, or send again where that is harmless */
  'reconcile',
  /** prepared and not committed in time */
  'commit-deadline',
  /** a rollback that the tool has not acknowledged */
  'rollback',
  /** an effect is being undone */
  'compensation',
  /** a saga is being aborted */
  'saga',
  /** old payloads are to be erased */
  'retention',
] as const
export type TimerKind = (typeof TIMER_KINDS)[number]

/** Sets or drops the one timer of this kind and subject. */
export interface TimerChange {
  readonly kind: TimerKind
  /** What it is about: the id of an entry or a saga; empty for the whole namespace. */
  readonly subject: string
  /** From now, by the store's clock, which is the only one that timers run on (S12). Absent drops the timer. */
  readonly inMs?: number
  readonly data?: JsonObject
  /**
   * Only while the timer is the one that this life has claimed, with exactly this due time: one that was set anew since
   * stays as it is, and the rest of the write stands.
   */
  readonly ifDueAt?: number
}

export interface DueTimer {
  readonly namespace: string
  readonly kind: TimerKind
  readonly subject: string
  readonly dueAt: number
  readonly data: JsonObject
}

export type SagaWrite =
  | { readonly kind: 'insert'; readonly saga: Saga }
  | {
      readonly kind: 'update'
      readonly id: string
      /** The revision this change was computed from. */
      readonly revision: number
      readonly state: SagaState
      readonly reason?: string
      readonly endedAt?: number
    }

/** One atomic write. When `entry` conflicts, nothing of it is written. */
export interface LedgerWrite {
  readonly namespace: string
  readonly entry?: EntryInsert | EntryUpdate
  /** Each replaces the record before it; one that only says `running` replaces none. */
  readonly calls?: readonly CallRecord[]
  readonly evidence?: readonly NewEvidence[]
  readonly timers?: readonly TimerChange[]
  readonly saga?: SagaWrite
  /** The write is only for a saga that is open; checked with the rest, so that none joins one that is being aborted. */
  readonly openSaga?: string
}

export type WriteResult =
  | { readonly kind: 'written' }
  /**
   * `key`: an entry with this key exists. `identity`: S14. `revision`: the entry changed since it was read. `saga`: the
   * saga is not open, changed since it was read, or exists already.
   */
  | {
      readonly kind: 'conflict'
      readonly on: 'key' | 'identity' | 'revision' | 'saga'
      readonly entry?: Entry
    }

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
   * and what the tool returned from the answers of calls ended before it (S18). Returns how many entries and calls
   * changed; fewer than `limit` means that none is left.
   */
  erase(before: number, limit: number): Promise<number>
  /**
   * Forgets erased entries settled, erased calls ended, and sagas completed or aborted before `before`. Returns their
   * number, as `erase`.
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

/** One process life that shares the store. */
export interface Life {
  readonly epoch: string
  /** Counts the lives of a store, in the order in which they started. */
  readonly ordinal: number
  readonly alive: boolean
  /** The newest life that this one knew of when it counted `over`: it keeps to its share among those (S38). */
  readonly seen: number
  /** Limits that it is still over, by name: it had more under way when its share became smaller. */
  readonly over: Readonly<Record<string, number>>
}

/**
 * Who shares the store (S35). Every write of a life renews its lease; a life that was ended by another process is fenced:
 * the store refuses everything it still sends, and fails for good.
 */
export interface LifeStore {
  /** Infinity where one process owns the store alone: its lock ends with it. */
  readonly leaseMs: number
  /** Monotonic time until which this process may send: a third of the lease is then left (S35). */
  readonly sendUntil: number
  /**
   * Renews the lease, and tells of all lives that are not ended, by ordinal. `over` was counted by what this life knew of
   * the others, up to the life with ordinal `seen`: only that is what they may rely on.
   */
  renew(over: Readonly<Record<string, number>>, seen: number): Promise<readonly Life[]>
  /** Ends lives whose lease is over by the store's clock. Gives their epochs. */
  reap(): Promise<readonly string[]>
  /** The last write of a life that goes in order: others need not wait for its lease to end. */
  end(): Promise<void>
}

/** How processes that share a store wake each other. Only a hint: whoever waits polls as well (S38). */
export interface Peers {
  /** Somebody here waits for this entry: whoever settles it elsewhere tells. Costs no revision. */
  await(namespace: string, entryId: string): Promise<void>
  /** Hears of entries that were waited for here and were settled elsewhere, and of cancel requests for own ones. */
  onChanged(listener: (entryId: string) => void): () => void
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

export interface ResourceStamp {
  /** The last resource version that was given. */
  readonly last: number
  /** How many there are. */
  readonly count: number
}

export interface ResourceStore {
  list(filter: {
    readonly namespace?: string
    readonly kind?: string
    readonly name?: string
  }): Promise<readonly ResourceRow[]>
  /** Another one whenever anything was put or removed: cheap to ask, for processes that keep what they have read. */
  stamp(): Promise<ResourceStamp>
  /** All or nothing, in one namespace. A put that changes nothing keeps its resourceVersion. */
  apply(
    namespace: string,
    changes: readonly ResourceChange[],
    at: number,
    evidence: readonly NewEvidence[],
  ): Promise<ApplyResult>
}

export interface LinkedRecord extends EvidenceRecord {
  readonly seq: number
  readonly hash: string
  /** What is kept in place of the body, where somebody changed it so that the body does not give the same text again. */
  readonly text?: string
}

/** One link of the evidence chain of a process life: sha256(prev, root(batch)) (S39). */
export interface EvidenceLink {
  readonly epoch: string
  readonly batch: number
  readonly prev: string
  readonly root: string
  readonly hash: string
  readonly records: readonly LinkedRecord[]
}

/** Where a chain ended when somebody looked. */
export interface ChainEnd {
  readonly epoch: string
  readonly batch: number
  readonly seq: number
  readonly hash: string
  /** Its life has ended: the chain does not grow any more. */
  readonly closed: boolean
}

/** A signed statement about where all chains ended (S39). The store keeps it as it is given. */
export interface CheckpointRow {
  /** 1 for the first. */
  readonly number: number
  readonly at: number
  /** SHA-256 of `body`. */
  readonly hash: string
  /** The signed text. */
  readonly body: string
  readonly keyId: string
  readonly signature: string
}

export interface EvidenceStore {
  /** In order, from `fromBatch` on; the first batch of an epoch is 1. */
  links(epoch: string, fromBatch: number, limit: number): Promise<readonly EvidenceLink[]>
  /** In the order in which they started. */
  epochs(): Promise<readonly string[]>
  /** Oldest first. */
  forCall(namespace: string, callId: string): Promise<readonly EvidenceRecord[]>
  /** The end of every chain of which a link is kept, by ordinal of its life. */
  ends(): Promise<readonly ChainEnd[]>
  /** From `fromNumber` on, in order. */
  checkpoints(fromNumber: number, limit: number): Promise<readonly CheckpointRow[]>
  lastCheckpoint(): Promise<CheckpointRow | undefined>
  /** False when this number was taken meanwhile. */
  addCheckpoint(row: CheckpointRow): Promise<boolean>
  /** Drops links of one chain up to and including a batch, oldest first, at most `limit` links. Returns how many went. */
  prune(epoch: string, upToBatch: number, limit: number): Promise<number>
  /** Drops checkpoints with a smaller number, at most `limit`. Returns how many went. */
  pruneCheckpoints(before: number, limit: number): Promise<number>
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
  /** Flushes and lets go. */
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
