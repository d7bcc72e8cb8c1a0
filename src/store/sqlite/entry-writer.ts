// Writes entries: the rules of keys, identities, revisions and moves, inside the engine's transaction.
import type { DatabaseSync } from 'node:sqlite'
import { ENTRY_STATES, type EntryState } from '../../contract/entry.ts'
import { holdsIdentity, isSettled, isUnderWay, moveProblem, startsAttempt } from '../entry-rule.ts'
import type { EncodedResult } from './codec.ts'
import { ENTRY_COLUMNS, ENTRY_TABLES, type EncodedInsert, type EncodedUpdate } from './entry-codec.ts'
import type { Row } from './row.ts'
import { prepareRows, textList } from './statement.ts'

interface EntryWriter {
  insert(op: EncodedInsert): EncodedResult
  update(op: EncodedUpdate): EncodedResult
  /** Gives entries that ended lives were at work on to this one, oldest first. Rows have ENTRY_COLUMNS. */
  adopt(epoch: string, limit: number): readonly Row[]
  /** False when there is none, or nothing is left to cancel. */
  requestCancel(namespace: string, id: string): boolean
  erase(before: number, limit: number): number
  forget(before: number, limit: number): number
}

/** The entry that holds an identity, with the newest `identity_at`, at or after a time. Parameters: identity, since. */
export const FIND_IDENTITY = `
  select ${ENTRY_COLUMNS} from ${ENTRY_TABLES}
  where identity = ? and identity_at >= ?
    and state not in (${textList(ENTRY_STATES.filter((state) => !holdsIdentity(state)))})
  order by identity_at desc, number desc limit 1`

export function createEntryWriter(db: DatabaseSync): EntryWriter {
  const findKey = prepareRows(db, `select ${ENTRY_COLUMNS} from ${ENTRY_TABLES} where scope = ? and key = ?`)
  const findIdentity = prepareRows(db, FIND_IDENTITY)
  const findState = prepareRows(
    db,
    'select number, revision, state, erased, identity from entry where scope = ? and key = ?',
  )
  const insert = db.prepare(`
    insert into entry (
      namespace, scope, key, id, state, open, revision, epoch, call_id, attempts, approval_id, cancel_requested,
      created_at, settled_at, identity, outcome, saga, identity_at
    ) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    on conflict (scope, key) do nothing`)
  const insertBody = db.prepare(
    'insert into entry_body (number, fixed, payload, request) values (?, ?, ?, ?)',
  )
  const update = db.prepare(setEntry('outcome = ?, settled_at = ?'))
  const updateKeepingOutcome = db.prepare(
    setEntry('outcome = coalesce(?, outcome), settled_at = coalesce(?, settled_at)'),
  )
  const adoptable = prepareRows(
    db,
    `select number from entry
     where open = 1 and state in (${textList(ENTRY_STATES.filter(isUnderWay))})
       and epoch not in (select epoch from epoch where ended = 0)
     order by number limit ?`,
  )
  // The revision moves, so that nobody who read the entry before can still change it.
  const adopt = db.prepare('update entry set epoch = ?, revision = revision + 1 where number = ?')
  const findNumber = prepareRows(db, `select ${ENTRY_COLUMNS} from ${ENTRY_TABLES} where number = ?`)
  const requestCancel = db.prepare(
    'update entry set cancel_requested = 1 where namespace = ? and id = ? and open = 1',
  )
  const erasable = prepareRows(
    db,
    'select number from entry where open = 0 and erased = 0 and settled_at < ? order by settled_at limit ?',
  )
  // The revision moves, so that nobody who read the entry before can still bring it to run.
  const erase = db.prepare(
    'update entry set outcome = null, erased = 1, revision = revision + 1 where number = ?',
  )
  const eraseBody = db.prepare('update entry_body set payload = null, request = null where number = ?')
  const forgettable = prepareRows(
    db,
    'select number from entry where erased = 1 and settled_at < ? order by settled_at limit ?',
  )
  const forget = db.prepare('delete from entry where number = ?')
  const forgetBody = db.prepare('delete from entry_body where number = ?')

  return {
    insert([, row, body, identity, uniqueSince]) {
      const [, scope, key] = row as [string, string, string]
      if (identity !== null && uniqueSince !== null) {
        const found = findKey.get(scope, key)
        if (found !== undefined) return ['key', found]
        const earlier = findIdentity.get(identity, uniqueSince)
        if (earlier !== undefined) return ['identity', earlier]
      }
      const { changes, lastInsertRowid } = insert.run(...row)
      if (changes === 0) return ['key', findKey.get(scope, key) ?? null]
      insertBody.run(lastInsertRowid, ...body)
      return 0
    },

    update([, scope, key, revision, path, set, uniqueSince]) {
      const found = findState.get(scope, key)
      if (found === undefined) return ['revision', null]
      const [number, at, state, erased, identity] = found as [
        number,
        number,
        EntryState,
        number,
        string | null,
      ]
      if (at !== revision) return ['revision', findKey.get(scope, key) ?? null]
      if (identity !== null && uniqueSince !== null) {
        const earlier = findIdentity.get(identity, uniqueSince)
        if (earlier !== undefined && !isAt(earlier, scope, key)) return ['identity', earlier]
      }
      const message = moveProblem({ state, erased: erased === 1 }, { scope, key, path })
      if (message !== undefined) return { kind: 'refused', message }
      const next = path.at(-1) ?? state
      const statement = startsAttempt(path) ? update : updateKeepingOutcome
      statement.run(next, isSettled(next) ? 0 : 1, ...set, number)
      return 0
    },

    adopt(epoch, limit) {
      const rows = adoptable.all(limit) as unknown as [number][]
      return rows.map(([number]) => {
        adopt.run(epoch, number)
        return findNumber.get(number) as Row
      })
    },

    requestCancel: (namespace, id) => requestCancel.run(namespace, id).changes > 0,

    erase(before, limit) {
      const rows = erasable.all(before, limit) as [number][]
      for (const [number] of rows) {
        erase.run(number)
        eraseBody.run(number)
      }
      return rows.length
    },

    forget(before, limit) {
      const rows = forgettable.all(before, limit) as [number][]
      for (const [number] of rows) {
        forget.run(number)
        forgetBody.run(number)
      }
      return rows.length
    },
  }
}

/** `row` has ENTRY_COLUMNS. */
function isAt(row: Row, scope: string, key: string): boolean {
  return row[1] === scope && row[2] === key
}

/** Parameters: state, open, the columns of an encoded update, number. */
function setEntry(ending: string): string {
  return `
    update entry set
      state = ?, open = ?, revision = revision + 1,
      epoch = coalesce(?, epoch), attempts = coalesce(?, attempts), call_id = coalesce(?, call_id),
      cancel_requested = coalesce(?, cancel_requested), approval_id = coalesce(?, approval_id),
      identity_at = case when identity is null then null else coalesce(?, identity_at) end,
      ${ending}
    where number = ?`
}
