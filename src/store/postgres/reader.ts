// The read side: single statements, each of which sees what is committed.
import { type CallState, isOutcome } from '../../contract/answer.ts'
import { ENTRY_STATES, type EntryState } from '../../contract/entry.ts'
import type { StoreReads } from '../assemble-store.ts'
import { isKeepable, isSettled, isStoppable } from '../entry-rule.ts'
import { CALL_COLUMNS, decodeCall, decodeEntry, decodeSaga, decodeTimer, ENTRY_COLUMNS } from './decode.ts'
import { keepable, slotOf } from './encode.ts'
import { NEWEST_HOLDER } from './entry-writer.ts'
import { evidenceReads } from './evidence-reader.ts'
import { approvalReads, budgetReads } from './governance-reader.ts'
import type { ReadPool } from './reading.ts'
import { decodeResource, RESOURCE_COLUMNS } from './resource-writer.ts'
import { createWhere } from './where.ts'

export function createReader(pool: ReadPool, epoch: string): StoreReads {
  return {
    entries: entryReads(pool, epoch),
    calls: callReads(pool),
    resources: resourceReads(pool),
    evidence: evidenceReads(pool),
    timers: timerReads(pool),
    sagas: sagaReads(pool),
    approvals: approvalReads(pool),
    budgets: budgetReads(pool),
  }
}

function entryReads(pool: ReadPool, epoch: string): StoreReads['entries'] {
  const select = `select ${ENTRY_COLUMNS} from writ.entry`
  return {
    async find(scope, key) {
      // A key that cannot be kept is nobody's; as bytes it could be another one.
      if (!isKeepable(key) || !isKeepable(scope)) return undefined
      const [row] = await pool.rows('find-entry', `${select} where slot = $1`, [slotOf(scope, key)])
      return row && decodeEntry(row)
    },
    async get(namespace, id) {
      const [row] = await pool.rows('get-entry', `${select} where namespace = $1 and id = $2`, [
        keepable(namespace),
        keepable(id),
      ])
      return row && decodeEntry(row)
    },
    async findByIdentity(identity, since) {
      const [row] = await pool.rows('find-identity', NEWEST_HOLDER('$1', '$2'), [identity, since])
      return row && decodeEntry(row)
    },
    async list({ namespace, states, saga, actor, before, limit }) {
      const where = createWhere()
      where.add('namespace = ?', namespace)
      if (states !== undefined) {
        where.add('state = any (?::text[])', states)
        // Lets open states be found by their own small index.
        if (!states.some(isSettled)) where.add('open')
      }
      if (saga !== undefined) where.add('saga = ?', keepable(saga))
      if (actor !== undefined) where.add('actor = ?', keepable(actor))
      if (before !== undefined) where.add('id < ?', keepable(before))
      const rows = await pool.rows(...where.query('list-entries', select, 'order by id desc', limit))
      return rows.map(decodeEntry)
    },
    async countOpen() {
      const rows = await pool.rows(
        'count-open',
        `select state, count(*) as entries from writ.entry where open and state in (${OPEN_STATES}) group by state`,
      )
      return Object.fromEntries(rows.map(({ state, entries }) => [state as EntryState, entries as number]))
    },
    async cancelRequests(limit) {
      const rows = await pool.rows(
        'cancel-requests',
        `select namespace, id from writ.entry
         where epoch = $1 and cancel_requested and open and state in (${STOPPABLE}) order by number limit $2`,
        [epoch, limit],
      )
      return rows.map(({ namespace, id }) => ({ namespace: namespace as string, id: id as string }))
    },
  }
}

const OPEN_STATES = ENTRY_STATES.filter((state) => !isSettled(state))
  .map((state) => `'${state}'`)
  .join(', ')

const STOPPABLE = ENTRY_STATES.filter(isStoppable)
  .map((state) => `'${state}'`)
  .join(', ')

function callReads(pool: ReadPool): StoreReads['calls'] {
  const select = `select ${CALL_COLUMNS} from writ.call`
  return {
    async get(namespace, id) {
      const [row] = await pool.rows('get-call', `${select} where namespace = $1 and id = $2`, [
        keepable(namespace),
        keepable(id),
      ])
      return row && decodeCall(row)
    },
    async list({ namespace, actor, tool, state, requestId, before, limit }) {
      const where = createWhere()
      where.add('namespace = ?', keepable(namespace))
      if (actor !== undefined) where.add('actor = ?', keepable(actor))
      if (tool !== undefined) where.add('tool = ?', keepable(tool))
      if (state !== undefined) {
        where.add('state = ?', keepable(state))
        if (!isOutcome(state as CallState)) where.add('open')
      }
      if (requestId !== undefined) {
        const id = keepable(requestId)
        where.add('left(request_id, 200) = left(?, 200)', id)
        where.add('request_id = ?', id)
      }
      if (before !== undefined) where.add('id < ?', keepable(before))
      const rows = await pool.rows(...where.query('list-calls', select, 'order by id desc', limit))
      return rows.map(decodeCall)
    },
  }
}

function resourceReads(pool: ReadPool): StoreReads['resources'] {
  return {
    async stamp() {
      const text = 'select last, (select count(*) from writ.resource) as count from writ.resource_counter'
      const [row] = await pool.rows('resource-stamp', text)
      return { last: Number(row?.last), count: Number(row?.count) }
    },
    async keys() {
      const rows = await pool.rows(
        'resource-keys',
        'select namespace, kind, name, version from writ.resource order by namespace, kind, name, version',
      )
      return rows.map((row) => ({
        namespace: String(row.namespace),
        kind: String(row.kind),
        name: String(row.name),
        version: String(row.version),
      }))
    },
    async list({ namespace, kind, name, since = 0 }) {
      const rows = await pool.rows(
        'list-resources',
        `select ${RESOURCE_COLUMNS} from writ.resource
         where ($1::text is null or namespace = $1) and ($2::text is null or kind = $2)
           and ($3::text is null or name = $3) and resource_version > $4
         order by namespace, kind, name, version`,
        [namespace ?? null, kind ?? null, name ?? null, since],
      )
      return rows.map(decodeResource)
    },
  }
}

function timerReads(pool: ReadPool): StoreReads['timers'] {
  return {
    async nextIn() {
      const [row] = await pool.rows(
        'next-timer',
        `select greatest(0, due - writ.now_ms()) as ms from writ.timer where claimed_by is null order by due limit 1`,
      )
      return row === undefined ? undefined : (row.ms as number)
    },
    async get(namespace, kind, subject) {
      const [row] = await pool.rows(
        'get-timer',
        `select namespace, kind, subject, due, data from writ.timer
         where namespace = $1 and kind = $2 and subject = $3`,
        [keepable(namespace), kind, keepable(subject)],
      )
      return row && decodeTimer(row)
    },
  }
}

function sagaReads(pool: ReadPool): StoreReads['sagas'] {
  return {
    async get(namespace, id) {
      const [row] = await pool.rows('get-saga', 'select * from writ.saga where namespace = $1 and id = $2', [
        keepable(namespace),
        keepable(id),
      ])
      return row && decodeSaga(row)
    },
    async list({ namespace, actor, state, before, limit }) {
      const where = createWhere()
      where.add('namespace = ?', keepable(namespace))
      if (actor !== undefined) where.add('actor = ?', keepable(actor))
      if (state !== undefined) where.add('state = ?', state)
      if (before !== undefined) where.add('id < ?', keepable(before))
      const rows = await pool.rows(
        ...where.query('list-sagas', 'select * from writ.saga', 'order by id desc', limit),
      )
      return rows.map(decodeSaga)
    },
  }
}
