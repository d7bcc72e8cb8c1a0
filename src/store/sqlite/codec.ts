// Operations and their results as they cross to the writer. The caller's side makes them, so that each value is turned
// into JSON once and the writer's thread never sees an object it would have to walk.
import type { OpResult, StoreOp } from '../assemble-store.ts'
import { spendProblem } from '../spend-rule.ts'
import {
  type ApplyResult,
  type CheckpointRow,
  type EvidenceRecord,
  IllegalWrite,
  type LedgerWrite,
  type Life,
  type TimerChange,
  type WriteResult,
} from '../store.ts'
import { timerProblem } from '../timer-rule.ts'
import type { Refused } from '../write-queue.ts'
import { type EncodedApproval, encodeApproval } from './approval-codec.ts'
import { decodeCall, encodeCall } from './call-codec.ts'
import {
  decodeEntry,
  type EncodedInsert,
  type EncodedUpdate,
  encodeInsert,
  encodeUpdate,
} from './entry-codec.ts'
import { checked, type Row } from './row.ts'
import { type EncodedSaga, encodeSaga } from './saga-codec.ts'
import { decodeTimer } from './timer-codec.ts'

/** What one atomic write brings beside entry, calls and evidence; most bring nothing. */
export interface WriteRest {
  readonly namespace: string
  /** Each: kind, subject, in how many milliseconds or null, data, only if due at this time or null. */
  readonly timers: readonly Row[]
  readonly saga: EncodedSaga | null
  readonly openSaga: string | null
  readonly approval: EncodedApproval | null
  /** JSON of what is spent. */
  readonly spends: string | null
  /** Each: the name of a stop, when the token was issued or null. */
  readonly unless: readonly Row[]
}

export type EncodedWrite = readonly [
  'write',
  EncodedInsert | EncodedUpdate | null,
  calls: readonly Row[],
  evidence: readonly Row[],
  rest?: WriteRest,
]

export type EncodedOp =
  | EncodedWrite
  | readonly ['start', number]
  | readonly ['apply', string, string, number, readonly Row[]]
  | readonly ['erase' | 'forget' | 'prune-checkpoints', number, number]
  | readonly ['adopt-entries' | 'adopt-calls' | 'claim-timers', number]
  | readonly ['cancel', string, string]
  | readonly ['renew', string, number]
  | readonly ['reap' | 'end']
  | readonly ['checkpoint', Row]
  | readonly ['prune', string, number, number]

/** What one group commit writes, on behalf of which life of the process, and when by the store's clock. */
export interface Batch {
  readonly epoch: string
  readonly at: number
  /** Null: this life owns the store alone. */
  readonly leaseMs: number | null
  readonly ops: readonly EncodedOp[]
}

/** 0 is `written`, the common case; a conflict carries the row that was found. */
export type EncodedResult =
  | 0
  | readonly ['key' | 'identity' | 'revision' | 'saga', Row | null]
  | Refused
  | Extract<WriteResult, { kind: 'conflict' }>
  | ApplyResult
  | { readonly kind: 'changed'; readonly rows: number }
  | { readonly kind: 'entries' | 'calls' | 'timers'; readonly found: readonly Row[] }
  | { readonly kind: 'lives'; readonly lives: readonly Life[] }
  | { readonly kind: 'reaped'; readonly epochs: readonly string[] }

export function encodeOp(op: StoreOp): EncodedOp {
  switch (op.kind) {
    case 'write':
      return encodeWrite(op.write)
    case 'start':
      return ['start', op.at]
    case 'apply':
      return ['apply', op.namespace, JSON.stringify(op.changes), op.at, op.evidence.map(encodeEvidence)]
    case 'erase':
    case 'forget':
    case 'prune-checkpoints':
      return [op.kind, op.before, op.limit]
    case 'adopt-entries':
    case 'adopt-calls':
    case 'claim-timers':
      return [op.kind, op.limit]
    case 'cancel':
      return ['cancel', op.namespace, op.id]
    case 'renew':
      return ['renew', JSON.stringify(op.over), op.seen]
    case 'reap':
    case 'end':
      return [op.kind]
    case 'checkpoint':
      return ['checkpoint', encodeCheckpoint(op.row)]
    case 'prune':
      return ['prune', op.epoch, op.upToBatch, op.limit]
  }
}

function encodeWrite(write: LedgerWrite): EncodedWrite {
  const { namespace, entry, calls, evidence, timers, saga, openSaga, approval, spends, unless } = write
  const main = [
    'write',
    entry === undefined ? null : entry.kind === 'insert' ? encodeInsert(entry) : encodeUpdate(entry),
    calls === undefined ? [] : calls.map(encodeCall),
    evidence === undefined ? [] : evidence.map(encodeEvidence),
  ] as const
  const rest = timers ?? saga ?? openSaga ?? approval ?? spends ?? unless
  if (rest === undefined) return main
  const problem = spendProblem(write)
  if (problem !== undefined) throw new IllegalWrite(problem)
  return [
    ...main,
    {
      namespace,
      timers: (timers ?? []).map(encodeTimer),
      saga: saga === undefined ? null : encodeSaga(saga),
      openSaga: openSaga ?? null,
      approval: approval === undefined ? null : encodeApproval(namespace, approval),
      spends: spends === undefined || spends.length === 0 ? null : JSON.stringify(spends),
      unless: (unless ?? []).map(({ stop, issuedAt }) => checked([stop, issuedAt ?? null], 'guard')),
    },
  ]
}

function encodeEvidence(record: EvidenceRecord): Row {
  const { namespace, callId, type, at, body } = record
  return checked([namespace, callId, type, at, JSON.stringify(body)], 'evidence record')
}

function encodeTimer(timer: TimerChange): Row {
  const problem = timerProblem(timer)
  if (problem !== undefined) throw new IllegalWrite(problem)
  const { kind, subject, inMs, data = {}, ifDueAt } = timer
  return checked([kind, subject, inMs ?? null, JSON.stringify(data), ifDueAt ?? null], 'timer')
}

export const CHECKPOINT_COLUMNS = 'number, at, hash, body, key_id, signature'

/** Makes CHECKPOINT_COLUMNS. */
function encodeCheckpoint({ number, at, hash, body, keyId, signature }: CheckpointRow): Row {
  return checked([number, at, hash, body, keyId, signature], 'checkpoint')
}

/** `row` has CHECKPOINT_COLUMNS. */
export function decodeCheckpoint(row: Row): CheckpointRow {
  const [number, at, hash, body, keyId, signature] = row as [number, number, string, string, string, string]
  return { number, at, hash, body, keyId, signature }
}

export function decodeResult(result: EncodedResult): OpResult | Refused {
  if (result === 0) return WRITTEN
  if (isConflict(result)) {
    const [on, row] = result
    return { kind: 'conflict', on, ...(row === null ? {} : { entry: decodeEntry(row) }) }
  }
  switch (result.kind) {
    case 'entries':
      return { kind: 'entries', entries: result.found.map(decodeEntry) }
    case 'calls':
      return { kind: 'calls', calls: result.found.map(decodeCall) }
    case 'timers':
      return { kind: 'timers', timers: result.found.map(decodeTimer) }
    default:
      return result
  }
}

const WRITTEN: OpResult = Object.freeze({ kind: 'written' })

function isConflict(result: Exclude<EncodedResult, 0>): result is Extract<EncodedResult, readonly unknown[]> {
  return Array.isArray(result)
}
