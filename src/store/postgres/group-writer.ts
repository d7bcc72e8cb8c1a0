// Writes a group of ledger writes: sagas and governance are looked at, then entries written, then what belongs to those
// that stood.
import type pg from 'pg'
import type { OpResult } from '../assemble-store.ts'
import type { EvidenceText } from '../evidence-chain.ts'
import type { Refused } from '../write-queue.ts'
import { spendingOf, spendParts } from './budget-writer.ts'
import { Restart } from './database-error.ts'
import type { EncodedInsert, EncodedTimer, EncodedUpdate, EncodedWrite, Keyed } from './encode.ts'
import { writeEntries } from './entry-writer.ts'
import { approvalParts, planGovernance } from './governance-writer.ts'
import { planSagas, sagaParts } from './saga-writer.ts'
import { type Part, rowsOf } from './statement.ts'
import type { Placed } from './write-group.ts'

export interface GroupWritten {
  /** By place in the batch; one that is not named was written. */
  readonly results: ReadonlyMap<number, OpResult | Refused>
  /** What the writes that stood say, in the order of the batch. */
  readonly evidence: readonly EvidenceText[]
  readonly awaited: readonly string[]
  /** What is still to be written: it can go with something else. */
  readonly parts: readonly Part[]
}

/** `epoch` is the life that writes. */
export async function writeGroup(
  client: pg.ClientBase,
  epoch: string,
  writes: readonly Placed<EncodedWrite>[],
): Promise<GroupWritten> {
  const { refusals, next } = await planSagas(client, writes)
  const results = new Map<number, OpResult | Refused>(refusals)
  const open = writes.filter(({ index }) => !results.has(index))
  const governance = await planGovernance(client, open)
  for (const [index, result] of governance.refusals) results.set(index, result)
  const going = open.filter(({ index }) => !results.has(index))
  const inserts: EncodedInsert[] = []
  const updates: EncodedUpdate[] = []
  for (const { op } of going) {
    if (op.entry?.kind === 'insert') inserts.push(op.entry)
    else if (op.entry !== undefined) updates.push(op.entry)
  }
  const written =
    inserts.length + updates.length === 0 ? undefined : await writeEntries(client, { inserts, updates })
  for (const { index, op } of going) {
    const result = op.entry === undefined ? undefined : written?.results.get(op.entry.slot)
    if (result === undefined) continue
    // What others were told of the budgets counted on this one.
    if (governance.spendings.has(index))
      throw new Restart('an entry was written elsewhere while its budget was')
    results.set(index, result)
  }
  const stood = writes.filter(({ index }) => !results.has(index))
  const sagas = stood.flatMap(({ index }) => next.get(index) ?? [])
  const spendings = stood.flatMap(({ index, op }) => {
    const spending = governance.spendings.get(index)
    return (
      spending ?? (op.givesBack && written !== undefined ? spendingOf(op, written.held) : undefined) ?? []
    )
  })
  return {
    results,
    evidence: stood.flatMap(({ op }) => op.evidence),
    awaited: written?.awaited ?? [],
    parts: [
      ...sagaParts(sagas),
      ...approvalParts(stood),
      ...spendParts(spendings),
      ...callParts(stood),
      ...timerParts(epoch, stood),
    ],
  }
}

const CALL_COLUMNS =
  'namespace, id, request_id, dialect, actor, tool, version, operation, entry_id, state, open, effect, epoch, ' +
  'created_at, ended_at, answer, result'

const PUT_CALLS = `
  insert into writ.call as c (${CALL_COLUMNS}) select ${CALL_COLUMNS} from json_to_recordset($1::json) as r(
    namespace text, id text, request_id text, dialect text, actor text, tool text, version text, operation text,
    entry_id text, state text, open boolean, effect text, epoch text, created_at double precision,
    ended_at double precision, answer text, result text)
  on conflict (namespace, id) do update set
    request_id = excluded.request_id, dialect = excluded.dialect, actor = excluded.actor, tool = excluded.tool,
    version = excluded.version, operation = excluded.operation, entry_id = excluded.entry_id, state = excluded.state,
    open = excluded.open, effect = excluded.effect, epoch = excluded.epoch, created_at = excluded.created_at,
    ended_at = excluded.ended_at, answer = excluded.answer, result = excluded.result, erased = false
  where excluded.state <> 'running'`

/** Each record replaces the one before it, but for one that only says that the call runs. */
function callParts(writes: readonly Placed<EncodedWrite>[]): Part[] {
  const last = new Map<string, Keyed>()
  for (const { op } of writes) {
    for (const call of op.calls) if (!call.running || !last.has(call.at)) last.set(call.at, call)
  }
  if (last.size === 0) return []
  return [{ name: 'calls', text: PUT_CALLS, values: [rowsOf(inOrder(last.values()))] }]
}

const SET_TIMERS = `
  insert into writ.timer (namespace, kind, subject, due, data)
  select namespace, kind, subject, writ.now_ms() + in_ms, data from json_to_recordset($1::json) as r(
    namespace text, kind text, subject text, in_ms double precision, data text)
  on conflict (namespace, kind, subject) do update set
    due = excluded.due, data = excluded.data, claimed_by = null`

const DROP_TIMERS = `
  delete from writ.timer as t using json_to_recordset($1::json) as r(namespace text, kind text, subject text)
  where t.namespace = r.namespace and t.kind = r.kind and t.subject = r.subject`

/** Only of timers that are still as this life has claimed them. */
const IF_IN_HAND = 't.claimed_by = $2 and t.due = r.if_due'

const SET_TIMERS_IN_HAND = `
  update writ.timer as t set due = writ.now_ms() + r.in_ms, data = r.data, claimed_by = null
  from json_to_recordset($1::json) as r(
    namespace text, kind text, subject text, in_ms double precision, data text, if_due double precision)
  where t.namespace = r.namespace and t.kind = r.kind and t.subject = r.subject and ${IF_IN_HAND}`

const DROP_TIMERS_IN_HAND = `
  delete from writ.timer as t using json_to_recordset($1::json) as r(
    namespace text, kind text, subject text, if_due double precision)
  where t.namespace = r.namespace and t.kind = r.kind and t.subject = r.subject and ${IF_IN_HAND}`

/** What becomes of timers in the end. All of it is one statement, so no two of its parts may change one timer. */
function timerParts(epoch: string, writes: readonly Placed<EncodedWrite>[]): Part[] {
  const last = new Map<string, readonly EncodedTimer[]>()
  for (const timer of writes.flatMap(({ op }) => op.timers)) {
    const before = last.get(timer.at) ?? []
    if (timer.ifDueAt === undefined) last.set(timer.at, [timer])
    else if (!before.some(({ ifDueAt }) => ifDueAt === undefined || ifDueAt === timer.ifDueAt)) {
      // Whatever was set before is in nobody's hand. Of several that ask for other times the timer can have but one.
      last.set(timer.at, [...before, timer])
    }
  }
  const all = [...last.values()].flat()
  const part = (name: string, text: string, inHand: boolean, drop: boolean): Part[] => {
    const rows = all.filter((one) => one.drop === drop && (one.ifDueAt !== undefined) === inHand)
    const values = [rowsOf(inOrder(rows)), ...(inHand ? [epoch] : [])]
    return rows.length === 0 ? [] : [{ name, text, values }]
  }
  return [
    ...part('set-timers', SET_TIMERS, false, false),
    ...part('drop-timers', DROP_TIMERS, false, true),
    ...part('set-timers-in-hand', SET_TIMERS_IN_HAND, true, false),
    ...part('drop-timers-in-hand', DROP_TIMERS_IN_HAND, true, true),
  ]
}

function inOrder(rows: Iterable<Keyed>): string[] {
  return [...rows].sort((a, b) => (a.at < b.at ? -1 : 1)).map(({ row }) => row)
}
