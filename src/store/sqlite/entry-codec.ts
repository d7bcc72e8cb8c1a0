// An entry as it is kept: a small row that changes, and a body that is written once.
import type { Entry, EntryState } from '../../contract/entry.ts'
import { type FixedPart, fixedPart } from '../entry-fixed.ts'
import { firstIdentityAt, insertProblem, isSettled } from '../entry-rule.ts'
import { type EntryInsert, type EntryUpdate, IllegalWrite } from '../store.ts'
import { checked, type Row, textOf } from './row.ts'

/** An entry to insert: its row, its body, its identity, and since when that must be the only one. */
export type EncodedInsert = readonly ['insert', Row, Row, string | null, number | null]
/**
 * An entry to change: scope, key, revision, path; the columns to set, where null keeps what is there; then as above; and
 * what its payload is narrowed to, where the update says so.
 */
export type EncodedUpdate = readonly [
  'update',
  string,
  string,
  number,
  readonly EntryState[],
  Row,
  number | null,
  narrowed?: string,
]

/** Of `entry join entry_body`. */
export const ENTRY_COLUMNS =
  'namespace, scope, key, id, state, revision, epoch, call_id, attempts, approval_id, cancel_requested, created_at, settled_at, identity, outcome, erased, fixed, payload, request, saga, identity_at, narrowed'

export const ENTRY_TABLES = 'entry join entry_body using (number)'

/** Columns of `entry` in the order in which the engine inserts them. */
export function encodeInsert(insert: EntryInsert): EncodedInsert {
  const problem = insertProblem(insert)
  if (problem !== undefined) throw new IllegalWrite(problem)
  const { entry } = insert
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
    entry.saga ?? null,
    firstIdentityAt(entry) ?? null,
  ]
  const body = [
    JSON.stringify(fixedPart(entry)),
    textOf(entry.payload),
    textOf(entry.request),
    textOf(entry.narrowed),
  ]
  return ['insert', checked(row, 'entry'), body, entry.identity ?? null, insert.uniqueSince ?? null]
}

export function encodeUpdate(update: EntryUpdate): EncodedUpdate {
  const { epoch, attempts, outcome, settledAt, callId, cancelRequested, approvalId, identityAt } = update.set
  const { narrowed } = update.set
  const row = [
    epoch ?? null,
    attempts ?? null,
    callId ?? null,
    cancelRequested === undefined ? null : cancelRequested ? 1 : 0,
    approvalId ?? null,
    identityAt ?? null,
    textOf(outcome),
    settledAt ?? null,
  ]
  const { scope, key, revision, path, uniqueSince } = update
  const main = ['update', scope, key, revision, path, checked(row, 'entry'), uniqueSince ?? null] as const
  return narrowed === undefined ? main : [...main, JSON.stringify(narrowed)]
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
    ...(row[20] === null ? {} : { identityAt: row[20] as number }),
    ...(row[19] === null ? {} : { saga: row[19] as string }),
    ...(row[18] === null ? {} : { request: JSON.parse(row[18] as string) }),
    ...(row[17] === null ? {} : { payload: JSON.parse(row[17] as string) }),
    ...(row[21] === null ? {} : { narrowed: JSON.parse(row[21] as string) }),
    ...(row[14] === null ? {} : { outcome: JSON.parse(row[14] as string) }),
    ...(row[15] === 0 ? {} : { erased: true as const }),
  }
}
