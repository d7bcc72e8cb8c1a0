// Operations as they cross to the database: JSON texts that set-based statements unpack. Each value is turned
// into text once, when the write is made, and the text is sent again as it is when a batch has to be applied again.
import { isOutcome } from '../../contract/answer.ts'
import type { CallRecord } from '../../contract/call.ts'
import type { Spend } from '../../contract/decision.ts'
import { ENTRY_STATES, type EntryState } from '../../contract/entry.ts'
import type { Saga } from '../../contract/saga.ts'
import { isLegalPath } from '../../contract/transitions.ts'
import { sha256Hex } from '../../util/canonical.ts'
import { approvalProblem } from '../approval-rule.ts'
import type { StoreOp } from '../assemble-store.ts'
import { fixedPart } from '../entry-fixed.ts'
import { firstIdentityAt, insertProblem, isKeepable, isSettled, startsAttempt } from '../entry-rule.ts'
import type { EvidenceText } from '../evidence-chain.ts'
import { isSentRead, isUnspent, planSpends, spendProblem } from '../spend-rule.ts'
import {
  type ApprovalWrite,
  type EntryInsert,
  type EntryUpdate,
  type EvidenceRecord,
  IllegalWrite,
  type LedgerWrite,
  type TimerChange,
} from '../store.ts'
import { timerProblem } from '../timer-rule.ts'

export interface EncodedInsert {
  readonly kind: 'insert'
  readonly slot: string
  /** Where it is found by its id: (namespace, id). */
  readonly id: string
  readonly row: string
  /** Set where it must be the only one with its identity (S14). */
  readonly unique?: { readonly identity: string; readonly since: number }
}

export interface EncodedUpdate {
  readonly kind: 'update'
  readonly slot: string
  readonly row: string
  readonly update: EntryUpdate
  /** Whoever waits for the entry elsewhere wants to hear of this. */
  readonly tells: boolean
}

/** A row with the key by which it replaces another one. */
export interface Keyed {
  readonly at: string
  readonly row: string
}

export interface EncodedTimer extends Keyed {
  readonly drop: boolean
  /** Only while it is the one that this life has claimed, due at this time. */
  readonly ifDueAt?: number
}

export interface EncodedWrite {
  readonly kind: 'write'
  readonly write: LedgerWrite
  readonly entry?: EncodedInsert | EncodedUpdate
  readonly calls: readonly (Keyed & { readonly running: boolean })[]
  readonly timers: readonly EncodedTimer[]
  readonly evidence: readonly EvidenceText[]
  readonly approval?: Keyed
  /** It takes from budgets. */
  readonly spends: boolean
  /** Its entry lets go of what it holds of budgets, if that is anything: mostly, that is given back. */
  readonly givesBack: boolean
}

export interface EncodedOther {
  readonly kind: 'other'
  readonly op: Exclude<StoreOp, { kind: 'write' }>
  readonly evidence: readonly EvidenceText[]
}

export type EncodedOp = EncodedWrite | EncodedOther

export function encodeOp(op: StoreOp): EncodedOp {
  if (op.kind === 'write') return encodeWrite(op.write)
  return { kind: 'other', op, evidence: op.kind === 'apply' ? op.evidence.map(encodeEvidence) : [] }
}

function encodeWrite(write: LedgerWrite): EncodedWrite {
  const { entry, namespace, spends = [], approval } = write
  const problem = spendProblem(write)
  if (problem !== undefined) throw new IllegalWrite(problem)
  return {
    kind: 'write',
    write,
    ...(entry === undefined
      ? {}
      : { entry: entry.kind === 'insert' ? encodeInsert(entry, spends) : encodeUpdate(entry) }),
    ...(approval === undefined ? {} : { approval: encodeApproval(namespace, approval) }),
    spends: spends.length > 0,
    givesBack: entry?.kind === 'update' && entry.path.some(isUnspent),
    calls: (write.calls ?? []).map(encodeCall),
    timers: (write.timers ?? []).map((timer) => encodeTimer(namespace, timer)),
    evidence: (write.evidence ?? []).map(encodeEvidence),
  }
}

function encodeTimer(namespace: string, timer: TimerChange): EncodedTimer {
  const problem = timerProblem(timer)
  if (problem !== undefined) throw new IllegalWrite(problem)
  const { kind, subject, inMs, data = {}, ifDueAt } = timer
  const row = rowOf({ namespace, kind, subject, in_ms: inMs, data: JSON.stringify(data), if_due: ifDueAt })
  const at = pair(namespace, pair(kind, subject))
  return { at, drop: inMs === undefined, row, ...(ifDueAt === undefined ? {} : { ifDueAt }) }
}

/** The longest text that is put into an index as it is. PostgreSQL takes some 2,700 bytes. */
const LONGEST_SLOT = 600

/** Two texts as one. The length keeps ('a', 'bc') apart from ('ab', 'c'). */
export function pair(first: string, second: string): string {
  return `${first.length}:${first}${second}`
}

/** Where an entry is found by its key. Keys that are in the order of time stay so. */
export function slotOf(scope: string, key: string): string {
  const slot = pair(scope, key)
  return slot.length <= LONGEST_SLOT ? slot : `${sha256Hex(scope, key)}#`
}

function encodeInsert(insert: EntryInsert, spends: readonly Spend[]): EncodedInsert {
  const problem = insertProblem(insert)
  if (problem !== undefined) throw new IllegalWrite(problem)
  const { entry, uniqueSince } = insert
  const slot = slotOf(entry.scope, entry.key)
  const row = rowOf({
    slot,
    namespace: entry.namespace,
    scope: entry.scope,
    key: entry.key,
    id: entry.id,
    state: entry.state,
    open: !isSettled(entry.state),
    revision: entry.revision,
    epoch: entry.epoch,
    call_id: entry.callId,
    attempts: entry.attempts,
    approval_id: entry.approvalId,
    cancel_requested: entry.cancelRequested,
    created_at: entry.createdAt,
    settled_at: entry.settledAt,
    identity: entry.identity,
    identity_at: firstIdentityAt(entry),
    saga: entry.saga,
    actor: entry.caller.actor,
    outcome: textOf(entry.outcome),
    fixed: JSON.stringify(fixedPart(entry)),
    request: textOf(entry.request),
    payload: textOf(entry.payload),
    narrowed: textOf(entry.narrowed),
    spends: textOf(planSpends([], [entry.state], spends, isSentRead(entry))?.held),
  })
  const unique =
    uniqueSince === undefined || entry.identity === undefined
      ? {}
      : { unique: { identity: entry.identity, since: uniqueSince } }
  return { kind: 'insert', slot, id: pair(entry.namespace, entry.id), row, ...unique }
}

/** The states that a path can begin in are part of the row: the database itself refuses all others. */
function encodeUpdate(update: EntryUpdate): EncodedUpdate {
  const { scope, key, revision, path, set } = update
  const slot = slotOf(scope, key)
  const last = path.at(-1)
  const row = rowOf({
    slot,
    revision,
    froms: ENTRY_STATES.filter((state) => isLegalPath(state, path)),
    state: last,
    open: last === undefined ? undefined : !isSettled(last),
    fresh: startsAttempt(path),
    epoch: set.epoch,
    attempts: set.attempts,
    call_id: set.callId,
    cancel_requested: set.cancelRequested,
    approval_id: set.approvalId,
    identity_at: set.identityAt,
    outcome: textOf(set.outcome),
    settled_at: set.settledAt,
    narrowed: textOf(set.narrowed),
  })
  return { kind: 'update', slot, row, update, tells: last !== undefined && !WORKING.has(last) }
}

/** Steps of an attempt: nobody waits for these. */
const WORKING: ReadonlySet<EntryState> = new Set<EntryState>(['intended', 'sent', 'committing'])

function encodeCall(record: CallRecord): Keyed & { running: boolean } {
  let answer: string | undefined
  let result: string | undefined
  if (record.answer !== undefined) {
    const { output, sideEffects, commitToken, ...rest } = record.answer
    answer = JSON.stringify(rest)
    if (output !== undefined || sideEffects.length > 0 || commitToken !== undefined) {
      result = JSON.stringify({ output, sideEffects, commitToken })
    }
  }
  const row = rowOf({
    namespace: record.namespace,
    id: record.id,
    request_id: record.requestId,
    dialect: record.dialect,
    actor: record.actor,
    tool: record.tool,
    version: record.version,
    operation: record.operation,
    entry_id: record.entryId,
    state: record.state,
    open: !isOutcome(record.state),
    effect: record.effect,
    epoch: record.epoch,
    created_at: record.createdAt,
    ended_at: record.endedAt,
    answer,
    result,
  })
  return { at: pair(record.namespace, record.id), running: record.state === 'running', row }
}

/** What people are shown is apart, so that it can be erased on its own (S18). */
function encodeApproval(namespace: string, write: ApprovalWrite): Keyed {
  const problem = approvalProblem(namespace, write)
  if (problem !== undefined) throw new IllegalWrite(problem)
  const { shown, asked, ...rest } = write.approval
  const row = rowOf({
    namespace,
    id: rest.id,
    state: rest.state,
    revision: rest.revision,
    entry_id: rest.entryId,
    requester: rest.requester,
    tool: rest.binding.tool,
    body: JSON.stringify(rest),
    payload: shown === undefined && asked === undefined ? undefined : JSON.stringify({ shown, asked }),
  })
  return { at: pair(keepable(namespace), rest.id), row }
}

export function encodeSaga(saga: Saga): string {
  const { namespace, id, caller, state, revision, reason, createdAt, endedAt } = saga
  return rowOf({
    namespace,
    id,
    actor: caller.actor,
    caller: JSON.stringify(caller),
    state,
    revision,
    reason,
    created_at: createdAt,
    ended_at: endedAt,
  })
}

function encodeEvidence({ namespace, callId, type, at, body }: EvidenceRecord): EvidenceText {
  if (!Number.isFinite(at)) throw new IllegalWrite(`the time of the evidence record ${type} is ${at}`)
  return {
    namespace: keepable(namespace),
    callId: keepable(callId),
    type: keepable(type),
    at,
    body: JSON.stringify(body),
  }
}

/**
 * A row as JSON. Only what comes back as it was may cross: a number that is none would become null, and text that the
 * database does not take (a request id may be anything) gets replacement characters; keys are refused before.
 */
export function rowOf(cells: Record<string, unknown>): string {
  for (const [name, cell] of Object.entries(cells)) {
    if (typeof cell === 'string') {
      if (!isKeepable(cell)) cells[name] = keepable(cell)
    } else if (typeof cell === 'number' && !Number.isFinite(cell)) {
      throw new IllegalWrite(`${name} of ${cells.id ?? cells.slot} is ${cell}`)
    }
  }
  return JSON.stringify(cells)
}

/** What a text becomes in the database. */
export function keepable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd')
}

function textOf(value: object | undefined): string | undefined {
  return value === undefined ? undefined : JSON.stringify(value)
}
