// Looks at what governance says about a group of writes: stops, approvals and budgets. Nothing of it is written yet.
import type pg from 'pg'
import { EVERYWHERE, readStop, STOP_KIND, stopsGuard } from '../../contract/stop.ts'
import { approvalMoveProblem } from '../approval-rule.ts'
import { readResourceBody } from '../resource-body.ts'
import type { WriteResult } from '../store.ts'
import type { Refused } from '../write-queue.ts'
import { planBudgets, type Spending } from './budget-writer.ts'
import { APPROVAL_COLUMNS, decodeApproval } from './decode.ts'
import { type EncodedWrite, keepable, pair } from './encode.ts'
import { checkEntries } from './entry-writer.ts'
import { type Part, rowsOf, run } from './statement.ts'
import type { Placed } from './write-group.ts'

type Writes = readonly Placed<EncodedWrite>[]
type Refusals = Map<number, WriteResult | Refused>

export interface GovernancePlan {
  /** By place in the batch: what stands in the way. */
  readonly refusals: ReadonlyMap<number, WriteResult | Refused>
  /** By place in the batch: what budgets give and get. */
  readonly spendings: ReadonlyMap<number, Spending>
}

const NOTHING: GovernancePlan = Object.freeze({ refusals: new Map(), spendings: new Map() })

/** What stands in the way of an entry counts first, then stops, then approvals, and budgets at last. */
export async function planGovernance(client: pg.ClientBase, writes: Writes): Promise<GovernancePlan> {
  const refusals: Refusals = new Map()
  const going = () => writes.filter(({ index }) => !refusals.has(index))
  const stoppable = writes.filter(({ op }) => (op.write.unless ?? []).length > 0)
  const asking = writes.filter(({ op }) => op.approval !== undefined)
  const spending = writes.filter(({ op }) => op.spends)
  if (stoppable.length + asking.length + spending.length === 0) return NOTHING
  if (stoppable.length > 0) await findStops(client, stoppable, refusals)
  if (asking.length > 0) await lockApprovals(client, asking, refusals)
  // Whether an entry can be written decides what is left for the next one: those that touch budgets are all looked at.
  const counted = spending.length > 0 ? writes.filter(({ op }) => op.spends || op.givesBack) : []
  const looked = writes.filter((one) => refusals.has(one.index) || counted.includes(one))
  const found = await checkEntries(
    client,
    looked.flatMap(({ op }) => op.entry ?? []),
  )
  for (const { index, op } of looked) {
    const result = op.entry && found.get(op.entry.slot)
    if (result !== undefined) refusals.set(index, result)
  }
  if (counted.length === 0) return { refusals, spendings: new Map() }
  const budgets = await planBudgets(
    client,
    going().filter((one) => counted.includes(one)),
  )
  for (const [index, result] of budgets.refusals) refusals.set(index, result)
  return { refusals, spendings: budgets.spendings }
}

/** Whoever puts a stop waits for the transactions that have looked before it; see `beginBatch`. */
async function findStops(client: pg.ClientBase, writes: Writes, refusals: Refusals): Promise<void> {
  const names = new Map<string, string>()
  for (const { op } of writes) {
    for (const { stop } of op.write.unless ?? []) {
      for (const namespace of [op.write.namespace, EVERYWHERE]) {
        const key = { namespace: keepable(namespace), name: keepable(stop) }
        names.set(pair(key.namespace, key.name), JSON.stringify(key))
      }
    }
  }
  const { rows } = await run<{ namespace: string; name: string; body: string; now: number }>(
    client,
    'find-stops',
    `select s.namespace, s.name, s.body, writ.now_ms() as now
     from json_to_recordset($1::json) as r(namespace text, name text)
     join writ.resource as s on s.namespace = r.namespace and s.kind = '${STOP_KIND}' and s.name = r.name`,
    [rowsOf(names.values())],
  )
  if (rows.length === 0) return
  const stops = Map.groupBy(rows, ({ namespace, name }) => pair(namespace, name))
  for (const { index, op } of writes) {
    const { namespace, unless = [] } = op.write
    const stands = unless.find((guard) =>
      [namespace, EVERYWHERE].some((where) =>
        stops
          .get(pair(keepable(where), keepable(guard.stop)))
          ?.some(({ body, now }) =>
            stopsGuard(readStop(where, guard.stop, readResourceBody(body)), guard, now),
          ),
      ),
    )
    if (stands !== undefined) refusals.set(index, { kind: 'conflict', on: 'stopped', stop: stands.stop })
  }
}

/** Keeps the approvals as they are found until the end of the transaction. */
async function lockApprovals(client: pg.ClientBase, writes: Writes, refusals: Refusals): Promise<void> {
  const { rows } = await run(
    client,
    'lock-approvals',
    `select ${APPROVAL_COLUMNS} from writ.approval as a
     where (a.namespace, a.id) in (select namespace, id from json_to_recordset($1::json) as r(namespace text, id text))
     order by a.namespace, a.id for no key update`,
    [rowsOf(writes.flatMap(({ op }) => op.approval?.row ?? []))],
  )
  const found = new Map(
    rows.map((row) => [pair(row.namespace as string, row.id as string), decodeApproval(row)]),
  )
  for (const { index, op } of writes) {
    if (refusals.has(index) || op.approval === undefined || op.write.approval === undefined) continue
    const { kind, approval } = op.write.approval
    const before = found.get(op.approval.at)
    if (kind === 'insert' ? before !== undefined : before?.revision !== approval.revision - 1) {
      refusals.set(index, { kind: 'conflict', on: 'approval' })
      continue
    }
    const message = before && approvalMoveProblem(before, approval)
    if (message !== undefined) refusals.set(index, { kind: 'refused', message })
  }
}

const RECORD = `json_to_recordset($1::json) as r(
  namespace text, id text, state text, revision bigint, entry_id text, requester text, tool text, body text, payload text)`

/** One that exists already is a fault: then each write is made alone, and finds it. */
const INSERT_APPROVALS = `
  insert into writ.approval (${APPROVAL_COLUMNS}) select ${APPROVAL_COLUMNS} from ${RECORD}`

const UPDATE_APPROVALS = `
  update writ.approval as a set state = r.state, revision = r.revision, body = r.body, payload = r.payload
  from ${RECORD} where a.namespace = r.namespace and a.id = r.id`

export function approvalParts(writes: Writes): Part[] {
  const part = (kind: 'insert' | 'update', text: string): Part[] => {
    const rows = writes.flatMap(({ op }) =>
      op.approval === undefined || op.write.approval?.kind !== kind ? [] : [op.approval.row],
    )
    return rows.length === 0 ? [] : [{ name: `${kind}-approvals`, text, values: [rowsOf(rows)] }]
  }
  return [...part('insert', INSERT_APPROVALS), ...part('update', UPDATE_APPROVALS)]
}
