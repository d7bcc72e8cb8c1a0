// The read side: prepared statements on a connection of their own, which sees only what is committed.
import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { type CallState, isOutcome } from '../../contract/answer.ts'
import type { StoreReads } from '../assemble-store.ts'
import { isKeepable, isSettled } from '../entry-rule.ts'
import type { CallFilter, EvidenceLink, EvidenceRecord } from '../store.ts'
import {
  CALL_COLUMNS,
  decodeCall,
  decodeEntry,
  ENTRY_COLUMNS,
  ENTRY_TABLES,
  keepable,
  type Row,
} from './codec.ts'
import { FIND_IDENTITY } from './entry-writer.ts'
import { decodeResource, RESOURCE_COLUMNS } from './resource-writer.ts'
import { prepareRows, type RowStatement } from './statement.ts'

export function createReader(db: DatabaseSync): StoreReads {
  return {
    entries: entryReads(db),
    calls: callReads(db),
    resources: resourceReads(db),
    evidence: evidenceReads(db),
  }
}

function entryReads(db: DatabaseSync): StoreReads['entries'] {
  const find = prepareRows(db, `select ${ENTRY_COLUMNS} from ${ENTRY_TABLES} where scope = ? and key = ?`)
  const get = prepareRows(db, `select ${ENTRY_COLUMNS} from ${ENTRY_TABLES} where namespace = ? and id = ?`)
  const findByIdentity = prepareRows(db, FIND_IDENTITY)
  const orphans = prepareRows(
    db,
    `select ${ENTRY_COLUMNS} from ${ENTRY_TABLES}
     where open = 1 and state in ('intended', 'sent') and epoch <> ? order by number limit ?`,
  )
  const countOpen = prepareRows(db, 'select count(*) from entry where open = 1 and state = ?')
  const countSettled = prepareRows(db, 'select count(*) from entry where state = ?')
  return {
    // A key that cannot be kept is nobody's; as bytes it could be another one.
    find: (scope, key) => (isKeepable(key) ? one(find.get(scope, key), decodeEntry) : undefined),
    get: (namespace, id) => one(get.get(namespace, id), decodeEntry),
    findByIdentity: (identity, since) => one(findByIdentity.get(identity, since), decodeEntry),
    orphans: (epoch, limit) => orphans.all(epoch, limit).map(decodeEntry),
    countByState: (state) => ((isSettled(state) ? countSettled : countOpen).get(state) as [number])[0],
  }
}

function callReads(db: DatabaseSync): StoreReads['calls'] {
  const get = prepareRows(db, `select ${CALL_COLUMNS} from call where namespace = ? and id = ?`)
  const orphans = prepareRows(
    db,
    `select ${CALL_COLUMNS} from call where open = 1 and state = 'running' and epoch <> ? order by rowid limit ?`,
  )
  /** By their text: there are as many as there are combinations of filters. */
  const lists = new Map<string, RowStatement>()
  return {
    get: (namespace, id) => one(get.get(namespace, id), decodeCall),
    list(filter) {
      const { where, parameters } = callQuery(filter)
      const sql = `select ${CALL_COLUMNS} from call where ${where} order by id desc limit ?`
      const statement = lists.get(sql) ?? prepareRows(db, sql)
      lists.set(sql, statement)
      return statement.all(...parameters, filter.limit).map(decodeCall)
    },
    orphans: (epoch, limit) => orphans.all(epoch, limit).map(decodeCall),
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
     order by namespace, kind, name, version`,
  )
  return {
    list: ({ namespace, kind, name }) =>
      list.all(namespace ?? null, kind ?? null, name ?? null).map(decodeResource),
  }
}

function evidenceReads(db: DatabaseSync): StoreReads['evidence'] {
  const links = prepareRows(
    db,
    `select link.epoch, batch, prev, root, hash, first_seq, last_seq
     from evidence_link as link join epoch on epoch.ordinal = link.epoch
     where epoch.epoch = ? and batch >= ? order by batch limit ?`,
  )
  const records = prepareRows(
    db,
    `select namespace, call_id, type, at, body, seq, hash from evidence
     where epoch = ? and seq between ? and ? order by seq`,
  )
  const epochs = prepareRows(db, 'select epoch from epoch order by ordinal')
  const forCall = prepareRows(
    db,
    `select namespace, call_id, type, at, body from evidence
     where namespace = ? and call_id = ? order by epoch, seq`,
  )
  return {
    links: (epoch, fromBatch, limit) =>
      links.all(epoch, fromBatch, limit).map((row): EvidenceLink => {
        const [ordinal, batch, prev, root, hash, first, last] = row as [
          number,
          number,
          string,
          string,
          string,
          number,
          number,
        ]
        return {
          epoch,
          batch,
          prev,
          root,
          hash,
          records: records.all(ordinal, first, last).map((record) => ({
            ...decodeEvidence(record),
            seq: record[5] as number,
            hash: record[6] as string,
          })),
        }
      }),
    epochs: () => epochs.all().map(([epoch]) => epoch as string),
    forCall: (namespace, callId) => forCall.all(namespace, callId).map(decodeEvidence),
  }
}

function decodeEvidence(row: Row): EvidenceRecord {
  return {
    namespace: row[0] as string,
    callId: row[1] as string,
    type: row[2] as string,
    at: row[3] as number,
    body: JSON.parse(row[4] as string),
  }
}

function one<T>(row: Row | undefined, decode: (row: Row) => T): T | undefined {
  return row === undefined ? undefined : decode(row)
}
