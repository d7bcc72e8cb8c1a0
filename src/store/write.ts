// What is written to a store at once, and what comes of it.
import type { Approval } from '../contract/approval.ts'
import type { CallRecord } from '../contract/call.ts'
import type { Spend } from '../contract/decision.ts'
import type { Entry, EntryState } from '../contract/entry.ts'
import type { EvidenceType } from '../contract/evidence.ts'
import type { Saga, SagaState } from '../contract/saga.ts'
import type { StopGuard } from '../contract/stop.ts'
import type { JsonObject } from '../util/json.ts'

export type { StopGuard } from '../contract/stop.ts'

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
   * States passed through, the last one stays. Empty keeps the state. A path through `intended` starts another attempt,
   * and one to `awaiting-approval` asks for one: outcome, settledAt and narrowed of the one before are dropped unless
   * `set` brings new ones. For an attempt, `set` says with `identityAt` when it began.
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
      | 'narrowed'
    >
  >
}

/** What has to be done later, each with its own handler. */
export const TIMER_KINDS = [
  /** somebody has decided, or nobody did in time */
  'approval',
  /** somebody wants to hear of an approval */
  'notify',
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

export type ApprovalWrite =
  | { readonly kind: 'insert'; readonly approval: Approval }
  /** The whole of it as it is from now on; its `revision` is one more than that of the one it was computed from. */
  | { readonly kind: 'update'; readonly approval: Approval }

/** One atomic write. When any part of it conflicts, nothing of it is written. */
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
  /** Made, decided or used with the rest (S45). */
  readonly approval?: ApprovalWrite
  /**
   * What budgets take for `entry` (S38). The store keeps it with the entry, and gives it back when that moves to
   * `not-done`, `canceled` or `rolled-back`: while an effect is unknown it stays spent. A read with at least one attempt
   * has spent it for good, however it ends, and another intent of it takes it again.
   */
  readonly spends?: readonly Spend[]
  readonly unless?: readonly StopGuard[]
}

export type WriteResult =
  | { readonly kind: 'written' }
  /**
   * `key`: an entry with this key exists. `identity`: S14. `revision`: the entry changed since it was read. `saga`: the
   * saga is not open, changed since it was read, or exists already. `approval`: it exists already, or changed since it was
   * read. `budget`: `spend` would take more than is left of `max`. `stopped`: by `stop`.
   */
  | {
      readonly kind: 'conflict'
      readonly on: 'key' | 'identity' | 'revision' | 'saga' | 'approval' | 'budget' | 'stopped'
      readonly entry?: Entry
      readonly spend?: Spend
      readonly stop?: string
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
