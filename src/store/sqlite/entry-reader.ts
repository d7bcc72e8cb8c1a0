// Reads entries: by key, id, identity, and in lists.
import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { ENTRY_STATES, type Entry, type EntryState } from '../../contract/entry.ts'
import type { StoreReads } from '../assemble-store.ts'
import { isKeepable, isSettled, isStoppable } from '../entry-rule.ts'
import type { EntryFilter } from '../store.ts'
import { decodeEntry, ENTRY_COLUMNS, ENTRY_TABLES } from './entry-codec.ts'
import { FIND_IDENTITY } from './entry-writer.ts'
import { keepable, type Row } from './row.ts'
import { createStatements, prepareRows, textList } from './statement.ts'

/** `epoch` is the life that reads. */
export function entryReads(db: DatabaseSync, epoch: string): StoreReads['entries'] {
  const find = prepareRows(db, `select ${ENTRY_COLUMNS} from ${ENTRY_TABLES} where scope = ? and key = ?`)
  const get = prepareRows(db, `select ${ENTRY_COLUMNS} from ${ENTRY_TABLES} where namespace = ? and id = ?`)
  const findByIdentity = prepareRows(db, FIND_IDENTITY)
  const lists = createStatements(db)
  const countOpen = prepareRows(db, 'select state, count(*) from entry where open = 1 group by state')
  const cancelRequests = prepareRows(
    db,
    `select namespace, id from entry
     where open = 1 and cancel_requested = 1 and epoch = ?
       and state in (${textList(ENTRY_STATES.filter(isStoppable))})
     order by number limit ?`,
  )

  function list(filter: EntryFilter): Entry[] {
    const { where, parameters } = entryQuery(filter)
    const sql = `select ${ENTRY_COLUMNS} from ${ENTRY_TABLES} where ${where} order by id desc limit ?`
    return lists(sql)
      .all(...parameters, filter.limit)
      .map(decodeEntry)
  }

  return {
    // A key that cannot be kept is nobody's; as bytes it could be another one.
    find: (scope, key) => (isKeepable(key) ? one(find.get(scope, key)) : undefined),
    get: (namespace, id) => one(get.get(namespace, id)),
    findByIdentity: (identity, since) => one(findByIdentity.get(identity, since)),
    // Each open state on its own is read in order from its small index; together they would be a walk over all entries.
    list(filter) {
      const { states, saga, limit } = filter
      if (states === undefined || states.length < 2 || saga !== undefined || states.some(isSettled))
        return list(filter)
      return [...new Set(states)]
        .flatMap((state) => list({ ...filter, states: [state] }))
        .sort((a, b) => (a.id < b.id ? 1 : -1))
        .slice(0, limit)
    },
    countOpen: () => Object.fromEntries(countOpen.all() as unknown as [EntryState, number][]),
    cancelRequests: (limit) =>
      (cancelRequests.all(epoch, limit) as unknown as [string, string][]).map(([namespace, id]) => ({
        namespace,
        id,
      })),
  }
}

function entryQuery(filter: EntryFilter): { where: string; parameters: SQLInputValue[] } {
  const { namespace, states, saga, actor, before } = filter
  const where = ['namespace = ?']
  const parameters: string[] = [namespace]
  if (states !== undefined) {
    where.push(`state in (${states.map(() => '?').join(', ')})`)
    parameters.push(...states)
    // Lets open states be found by their own small index.
    if (states.length > 0 && !states.some(isSettled)) where.push('open = 1')
  }
  const terms: [string, string | undefined][] = [
    ['saga = ?', saga],
    ["json_extract(fixed, '$.caller.actor') = ?", actor],
    ['id < ?', before],
  ]
  for (const [term, value] of terms) {
    if (value === undefined) continue
    where.push(term)
    parameters.push(value)
  }
  return { where: where.join(' and '), parameters: parameters.map(keepable) }
}

function one(row: Row | undefined): Entry | undefined {
  return row === undefined ? undefined : decodeEntry(row)
}
