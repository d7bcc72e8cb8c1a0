// Rows of the database as the values they stand for.
import type { Answer } from '../../contract/answer.ts'
import type { Approval, ApprovalState } from '../../contract/approval.ts'
import type { CallRecord } from '../../contract/call.ts'
import type { Entry, EntryState } from '../../contract/entry.ts'
import type { Saga } from '../../contract/saga.ts'
import type { FixedPart } from '../entry-fixed.ts'
import type { DueTimer, TimerKind } from '../store.ts'

export type DbRow = Readonly<Record<string, unknown>>

export const ENTRY_COLUMNS =
  'namespace, scope, key, id, state, revision, epoch, call_id, attempts, approval_id, cancel_requested, created_at, ' +
  'settled_at, identity, identity_at, saga, outcome, erased, fixed, request, payload, narrowed'

export function decodeEntry(row: DbRow): Entry {
  return {
    namespace: row.namespace as string,
    scope: row.scope as string,
    key: row.key as string,
    id: row.id as string,
    state: row.state as EntryState,
    revision: row.revision as number,
    epoch: row.epoch as string,
    callId: row.call_id as string,
    ...(JSON.parse(row.fixed as string) as FixedPart),
    attempts: row.attempts as number,
    ...(row.request === null ? {} : { request: JSON.parse(row.request as string) }),
    ...(row.saga === null ? {} : { saga: row.saga as string }),
    ...(row.approval_id === null ? {} : { approvalId: row.approval_id as string }),
    cancelRequested: row.cancel_requested as boolean,
    createdAt: row.created_at as number,
    ...(row.settled_at === null ? {} : { settledAt: row.settled_at as number }),
    ...(row.identity === null ? {} : { identity: row.identity as string }),
    ...(row.identity_at === null ? {} : { identityAt: row.identity_at as number }),
    ...(row.payload === null ? {} : { payload: JSON.parse(row.payload as string) }),
    ...(row.narrowed === null ? {} : { narrowed: JSON.parse(row.narrowed as string) }),
    ...(row.outcome === null ? {} : { outcome: JSON.parse(row.outcome as string) }),
    ...(row.erased === true ? { erased: true as const } : {}),
  }
}

export const CALL_COLUMNS =
  'namespace, id, request_id, dialect, actor, tool, version, operation, entry_id, state, effect, epoch, created_at, ' +
  'ended_at, answer, result'

export function decodeCall(row: DbRow): CallRecord {
  return {
    namespace: row.namespace as string,
    id: row.id as string,
    requestId: row.request_id as string,
    dialect: row.dialect as CallRecord['dialect'],
    actor: row.actor as string,
    tool: row.tool as string,
    ...(row.version === null ? {} : { version: row.version as string }),
    operation: row.operation as string,
    ...(row.entry_id === null ? {} : { entryId: row.entry_id as string }),
    state: row.state as CallRecord['state'],
    effect: row.effect as CallRecord['effect'],
    epoch: row.epoch as string,
    createdAt: row.created_at as number,
    ...(row.ended_at === null ? {} : { endedAt: row.ended_at as number }),
    ...(row.answer === null
      ? {}
      : { answer: decodeAnswer(row.answer as string, row.result as string | null) }),
  }
}

function decodeAnswer(answer: string, result: string | null): Answer {
  return { sideEffects: [], ...JSON.parse(answer), ...(result === null ? {} : JSON.parse(result)) }
}

export function decodeSaga(row: DbRow): Saga {
  return {
    namespace: row.namespace as string,
    id: row.id as string,
    caller: JSON.parse(row.caller as string),
    state: row.state as Saga['state'],
    revision: row.revision as number,
    reason: row.reason as string,
    createdAt: row.created_at as number,
    ...(row.ended_at === null ? {} : { endedAt: row.ended_at as number }),
  }
}

export function decodeTimer(row: DbRow): DueTimer {
  return {
    namespace: row.namespace as string,
    kind: row.kind as TimerKind,
    subject: row.subject as string,
    dueAt: row.due as number,
    data: JSON.parse(row.data as string),
  }
}

export const APPROVAL_COLUMNS = 'namespace, id, state, revision, entry_id, requester, tool, body, payload'

export function decodeApproval(row: DbRow): Approval {
  return {
    ...JSON.parse(row.body as string),
    ...(row.payload === null ? {} : JSON.parse(row.payload as string)),
    state: row.state as ApprovalState,
    revision: row.revision as number,
  }
}
