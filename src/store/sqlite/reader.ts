// The read side: prepared statements on a connection of their own, which sees only what is committed.
import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { type CallState, isOutcome } from '../../contract/answer.ts'
import type { StoreReads } from '../assemble-store.ts'
import type { CallFilter } from '../store.ts'
import { CALL_COLUMNS, decodeCall } from './call-codec.ts'
import { entryReads } from './entry-reader.ts'
import { evidenceReads } from './evidence-reader.ts'
import { approvalReads, budgetReads } from './governance-reader.ts'
import { decodeResource, RESOURCE_COLUMNS } from './resource-writer.ts'
import { keepable, type Row } from './row.ts'
import { decodeSaga, SAGA_COLUMNS } from './saga-codec.ts'
import { createStatements, prepareRows } from './statement.ts'
import { decodeTimer, FREE_TIMER, TIMER_COLUMNS } from './timer-codec.ts'

export interface ReaderOptions {
  /** The life that reads. */
  readonly epoch: string
  /** The store's clock. */
  readonly now: () => number
}

export function createReader(db: DatabaseSync, { epoch, now }: ReaderOptions): StoreReads {
  return {
    entries: entryReads(db, epoch),
    calls: callReads(db),
    timers: timerReads(db, now),
    sagas: sagaReads(db),
    resources: resourceReads(db),
    evidence: evidenceReads(db),
    approvals: approvalReads(db),
    budgets: budgetReads(db),
  }
}

function callReads(db: DatabaseSync): StoreReads['calls'] {
  const get = prepareRows(db, `select ${CALL_COLUMNS} from call where namespace = ? and id = ?`)
  const lists = createStatements(db)
  return {
    get: (namespace, id) => one(get.get(namespace, id), decodeCall),
    list(filter) {
      const { where, parameters } = callQuery(filter)
      const sql = `select ${CALL_COLUMNS} from call where ${where} order by id desc limit ?`
      return lists(sql)
        .all(...parameters, filter.limit)
        .map(decodeCall)
    },
  }
}

function callQuery(filter: CallFilter): { where: string; parameters: SQLInputValue[] } {
  const terms: [string, string | undefined][] = [
    ['namespace = ?', filter.namespace],
    ['actor = ?', filter.actor],
    ['tool = ?', filter.tool],
    ['state = ?', filter.state],
    ['request_id = ?', filter.requestId],
    ['id < ?', filter.before],
  ]
  const used = terms.filter((term): term is [string, string] => term[1] !== undefined)
  const where = used.map(([term]) => term)
  // Lets open states be found by their own small index.
  if (filter.state !== undefined && !isOutcome(filter.state as CallState)) where.push('open = 1')
  return { where: where.join(' and '), parameters: used.map(([, value]) => keepable(value)) }
}

function resourceReads(db: DatabaseSync): StoreReads['resources'] {
  const list = prepareRows(
    db,
    `select ${RESOURCE_COLUMNS} from resource
     where (?1 is null or namespace = ?1) and (?2 is null or kind = ?2) and (?3 is null or name = ?3)
       and resource_version > ?4
     order by namespace, kind, name, version`,
  )
  const keys = prepareRows(
    db,
    'select namespace, kind, name, version from resource order by namespace, kind, name, version',
  )
  const stamp = prepareRows(db, 'select last, (select count(*) from resource) from resource_counter')
  return {
    stamp() {
      const [last, count] = stamp.get() as [number, number]
      return { last, count }
    },
    keys: () =>
      (keys.all() as [string, string, string, string][]).map(([namespace, kind, name, version]) => ({
        namespace,
        kind,
        name,
        version,
      })),
    list: ({ namespace, kind, name, since = 0 }) =>
      list.all(namespace ?? null, kind ?? null, name ?? null, since).map(decodeResource),
  }
}

function timerReads(db: DatabaseSync, now: () => number): StoreReads['timers'] {
  const next = prepareRows(db, `select due_at from timer where ${FREE_TIMER} order by due_at limit 1`)
  const get = prepareRows(
    db,
    `select ${TIMER_COLUMNS} from timer where namespace = ? and kind = ? and subject = ?`,
  )
  return {
    nextIn() {
      const row = next.get() as [number] | undefined
      return row === undefined ? undefined : Math.max(0, row[0] - now())
    },
    get: (namespace, kind, subject) => one(get.get(namespace, kind, subject), decodeTimer),
  }
}

function sagaReads(db: DatabaseSync): StoreReads['sagas'] {
  const get = prepareRows(db, `select ${SAGA_COLUMNS} from saga where namespace = ? and id = ?`)
  const list = prepareRows(
    db,
    `select ${SAGA_COLUMNS} from saga
     where namespace = ?1 and (?2 is null or actor = ?2) and (?3 is null or state = ?3) and (?4 is null or id < ?4)
     order by id desc limit ?5`,
  )
  return {
    get: (namespace, id) => one(get.get(namespace, id), decodeSaga),
    list: ({ namespace, actor, state, before, limit }) =>
      list.all(namespace, actor ?? null, state ?? null, before ?? null, limit).map(decodeSaga),
  }
}

function one<T>(row: Row | undefined, decode: (row: Row) => T): T | undefined {
  return row === undefined ? undefined : decode(row)
}
