// Rows as they cross to the writer and lie on disk: flat arrays of text and numbers. The caller's side makes them, so that
// each value is turned into JSON once and the writer's thread never sees an object it would have to walk.
import { type Answer, type CallState, isOutcome } from '../../contract/answer.ts'
import type { CallRecord } from '../../contract/call.ts'
import type { Entry, EntryState } from '../../contract/entry.ts'
import type { OpResult, StoreOp } from '../assemble-store.ts'
import { insertProblem, isKeepable, isSettled } from '../entry-rule.ts'
import {
  type ApplyResult,
  type EntryInsert,
  type EntryUpdate,
  type EvidenceRecord,
  IllegalWrite,
  type LedgerWrite,
} from '../store.ts'
import type { Refused } from '../write-queue.ts'

type Cell = string | number | null
export type Row = readonly Cell[]

/** An entry to insert: its row, its body, its identity, and since when that must be the only one. */
export type EncodedInsert = readonly ['insert', Row, Row, string | null, number | null]
/** An entry to change: scope, key, revision, path; the columns to set, where null keeps what is there; then as above. */
export type EncodedUpdate = readonly [
  'update',
  string,
  string,
  number,
  readonly EntryState[],
  Row,
  number | null,
]

export type EncodedOp =
  | readonly ['write', EncodedInsert | EncodedUpdate | null, readonly Row[], readonly Row[]]
  | readonly ['start', number]
  | readonly ['apply', string, string, number, readonly Row[]]
  | readonly ['erase' | 'forget', number, number]

/** What one group commit writes, and on behalf of which life of the process. */
export interface Batch {
  readonly epoch: string
  readonly ops: readonly EncodedOp[]
}

/** 0 is `written`, the common case; a conflict carries the row that was found. */
export type EncodedResult =
  | 0
  | readonly ['key' | 'identity' | 'revision', Row | null]
  | Refused
  | ApplyResult
  | { readonly kind: 'changed'; readonly rows: number }

/** Of `entry join entry_body`. */
export const ENTRY_COLUMNS =
  'namespace, scope, key, id, state, revision, epoch, call_id, attempts, approval_id, cancel_requested, created_at, settled_at, identity, outcome, erased, fixed, payload'

export const ENTRY_TABLES = 'entry join entry_body using (number)'

export const CALL_COLUMNS =
  'namespace, id, request_id, dialect, actor, tool, version, operation, entry_id, state, effect, epoch, created_at, ended_at, answer, result'

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
      return [op.kind, op.before, op.limit]
  }
}

function encodeWrite(write: LedgerWrite): EncodedOp {
  const { entry, calls, evidence } = write
  return [
    'write',
    entry === undefined ? null : entry.kind === 'insert' ? encodeInsert(entry) : encodeUpdate(entry),
    calls === undefined ? [] : calls.map(encodeCall),
    evidence === undefined ? [] : evidence.map(encodeEvidence),
  ]
}

/** Columns of `entry` in the order in which the engine inserts them. */
function encodeInsert(insert: EntryInsert): EncodedInsert {
  const problem = insertProblem(insert)
  if (problem !== undefined) throw new IllegalWrite(problem)
  const { entry } = insert
  const fixed: FixedPart = {
    requestId: entry.requestId,
    dialect: entry.dialect,
    tool: entry.tool,
    version: entry.version,
    digest: entry.digest,
    operation: entry.operation,
    readOnly: entry.readOnly,
    caller: entry.caller,
    payloadHash: entry.payloadHash,
    fingerprint: entry.fingerprint,
    fingerprintFields: entry.fingerprintFields,
    trace: entry.trace,
  }
  const row = [
    entry.namespace,
    entry.scope,
    entry.key,
    entry.id,
    entry.state,
    isSettled(entry.state) ? 0 : 1,
    entry.revision,
    entry.epoch,
    entry.callId,
    entry.attempts,
    entry.approvalId ?? null,
    entry.cancelRequested ? 1 : 0,
    entry.createdAt,
    entry.settledAt ?? null,
    entry.identity ?? null,
    textOf(entry.outcome),
  ]
  const body = [JSON.stringify(fixed), textOf(entry.payload)]
  return ['insert', checked(row, 'entry'), body, entry.identity ?? null, insert.uniqueSince ?? null]
}

type FixedPart = Pick<
  Entry,
  | 'requestId'
  | 'dialect'
  | 'tool'
  | 'version'
  | 'digest'
  | 'operation'
  | 'readOnly'
  | 'caller'
  | 'payloadHash'
  | 'fingerprint'
  | 'fingerprintFields'
  | 'trace'
>

function encodeUpdate(update: EntryUpdate): EncodedUpdate {
  const { epoch, attempts, outcome, settledAt, callId, cancelRequested, approvalId } = update.set
  const row = [
    epoch ?? null,
    attempts ?? null,
    callId ?? null,
    cancelRequested === undefined ? null : cancelRequested ? 1 : 0,
    approvalId ?? null,
    textOf(outcome),
    settledAt ?? null,
  ]
  const { scope, key, revision, path, uniqueSince } = update
  return ['update', scope, key, revision, path, checked(row, 'entry'), uniqueSince ?? null]
}

/** Columns of `call` in the order in which the engine writes them. */
function encodeCall(record: CallRecord): Row {
  let answer: string | null = null
  let result: string | null = null
  if (record.answer !== undefined) {
    const { output, sideEffects, commitToken, ...rest } = record.answer
    answer = JSON.stringify(rest)
    if (output !== undefined || sideEffects.length > 0 || commitToken !== undefined) {
      result = JSON.stringify({ output, sideEffects, commitToken })
    }
  }
  const row = [
    record.namespace,
    record.id,
    record.requestId,
    record.dialect,
    record.actor,
    record.tool,
    record.version ?? null,
    record.operation,
    record.entryId ?? null,
    record.state,
    isOutcome(record.state) ? 0 : 1,
    record.effect,
    record.epoch,
    record.createdAt,
    record.endedAt ?? null,
    answer,
    result,
  ]
  return checked(row, 'call')
}

function encodeEvidence(record: EvidenceRecord): Row {
  const { namespace, callId, type, at, body } = record
  return checked([namespace, callId, type, at, JSON.stringify(body)], 'evidence record')
}

/**
 * Only text, finite numbers and null may cross: anything else would break the whole batch, not this write alone. Text
 * that would not come back as it was (a request id may be anything) gets replacement characters; keys are refused before.
 */
function checked(row: Cell[], what: string): Row {
  for (let index = 0; index < row.length; index += 1) {
    const cell = row[index]
    if (typeof cell === 'string') {
      if (!isKeepable(cell)) row[index] = keepable(cell)
    } else if (cell !== null && !Number.isFinite(cell)) {
      throw new IllegalWrite(`value ${index} of the ${what} ${row[1]} is ${cell}`)
    }
  }
  return row
}

/** What a text becomes on disk. */
export function keepable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd')
}

function textOf(value: object | undefined): string | null {
  return value === undefined ? null : JSON.stringify(value)
}

export function decodeResult(result: EncodedResult): OpResult | Refused {
  if (result === 0) return WRITTEN
  if (!isConflict(result)) return result
  const [on, row] = result
  return { kind: 'conflict', on, ...(row === null ? {} : { entry: decodeEntry(row) }) }
}

const WRITTEN: OpResult = Object.freeze({ kind: 'written' })

function isConflict(result: Exclude<EncodedResult, 0>): result is Extract<EncodedResult, readonly unknown[]> {
  return Array.isArray(result)
}

/** `row` has ENTRY_COLUMNS. */
export function decodeEntry(row: Row): Entry {
  const fixed = JSON.parse(row[16] as string) as FixedPart
  return {
    namespace: row[0] as string,
    scope: row[1] as string,
    key: row[2] as string,
    id: row[3] as string,
    state: row[4] as EntryState,
    revision: row[5] as number,
    epoch: row[6] as string,
    callId: row[7] as string,
    ...fixed,
    attempts: row[8] as number,
    ...(row[9] === null ? {} : { approvalId: row[9] as string }),
    cancelRequested: row[10] === 1,
    createdAt: row[11] as number,
    ...(row[12] === null ? {} : { settledAt: row[12] as number }),
    ...(row[13] === null ? {} : { identity: row[13] as string }),
    ...(row[17] === null ? {} : { payload: JSON.parse(row[17] as string) }),
    ...(row[14] === null ? {} : { outcome: JSON.parse(row[14] as string) }),
    ...(row[15] === 0 ? {} : { erased: true as const }),
  }
}

/** `row` has CALL_COLUMNS. */
export function decodeCall(row: Row): CallRecord {
  return {
    namespace: row[0] as string,
    id: row[1] as string,
    requestId: row[2] as string,
    dialect: row[3] as CallRecord['dialect'],
    actor: row[4] as string,
    tool: row[5] as string,
    ...(row[6] === null ? {} : { version: row[6] as string }),
    operation: row[7] as string,
    ...(row[8] === null ? {} : { entryId: row[8] as string }),
    state: row[9] as CallState,
    effect: row[10] as CallRecord['effect'],
    epoch: row[11] as string,
    createdAt: row[12] as number,
    ...(row[13] === null ? {} : { endedAt: row[13] as number }),
    ...(row[14] === null ? {} : { answer: decodeAnswer(row[14] as string, row[15] as string | null) }),
  }
}

function decodeAnswer(answer: string, result: string | null): Answer {
  return { sideEffects: [], ...JSON.parse(answer), ...(result === null ? {} : JSON.parse(result)) }
}
