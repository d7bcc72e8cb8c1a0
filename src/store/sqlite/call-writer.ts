// Writes calls: each record replaces the one before it, but for one that only says that the call runs.
import type { DatabaseSync } from 'node:sqlite'
import { CALL_COLUMNS } from './call-codec.ts'
import type { Row } from './row.ts'
import { prepareRows } from './statement.ts'

interface CallWriter {
  put(row: Row): void
  /** Gives calls that ended lives left running to this one, oldest first. Rows have CALL_COLUMNS. */
  adopt(epoch: string, limit: number): readonly Row[]
  erase(before: number, limit: number): number
  forget(before: number, limit: number): number
}

export function createCallWriter(db: DatabaseSync): CallWriter {
  const put = db.prepare(`
    insert into call (
      namespace, id, request_id, dialect, actor, tool, version, operation, entry_id, state, open, effect, epoch,
      created_at, ended_at, answer, result
    ) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    on conflict (namespace, id) do update set
      request_id = excluded.request_id, dialect = excluded.dialect, actor = excluded.actor, tool = excluded.tool,
      version = excluded.version, operation = excluded.operation, entry_id = excluded.entry_id,
      state = excluded.state, open = excluded.open, effect = excluded.effect, epoch = excluded.epoch,
      created_at = excluded.created_at, ended_at = excluded.ended_at, answer = excluded.answer,
      result = excluded.result, erased = 0
    where excluded.state <> 'running'`)
  const adoptable = prepareRows(
    db,
    `select namespace, id from call
     where open = 1 and state = 'running' and epoch not in (select epoch from epoch where ended = 0)
     order by id, namespace limit ?`,
  )
  const adopt = db.prepare('update call set epoch = ? where namespace = ? and id = ?')
  const get = prepareRows(db, `select ${CALL_COLUMNS} from call where namespace = ? and id = ?`)
  const erase = db.prepare(`
    update call set result = null, erased = 1
    where rowid in (
      select rowid from call where open = 0 and erased = 0 and ended_at < ? order by ended_at limit ?)`)
  const forget = db.prepare(`
    delete from call
    where rowid in (select rowid from call where erased = 1 and ended_at < ? order by ended_at limit ?)`)

  return {
    put(row) {
      put.run(...row)
    },
    adopt(epoch, limit) {
      const rows = adoptable.all(limit) as unknown as [string, string][]
      return rows.map(([namespace, id]) => {
        adopt.run(epoch, namespace, id)
        return get.get(namespace, id) as Row
      })
    },
    erase: (before, limit) => Number(erase.run(before, limit).changes),
    forget: (before, limit) => Number(forget.run(before, limit).changes),
  }
}
