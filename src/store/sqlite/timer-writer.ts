// Writes timers, and gives those that are due to one process each.
import type { DatabaseSync } from 'node:sqlite'
import type { Batch } from './codec.ts'
import type { Row } from './row.ts'
import { prepareRows } from './statement.ts'
import { FREE_TIMER, TIMER_COLUMNS } from './timer-codec.ts'

interface TimerWriter {
  /**
   * `row`: kind, subject, in how many milliseconds, data, only if due at. Null for the time drops the timer; a new time
   * takes it from whoever has it.
   */
  set(batch: Batch, namespace: string, row: Row): void
  /** Rows have TIMER_COLUMNS. */
  claim(batch: Batch, limit: number): readonly Row[]
}

export function createTimerWriter(db: DatabaseSync): TimerWriter {
  const put = db.prepare(`
    insert into timer (namespace, kind, subject, due_at, data) values (?, ?, ?, ?, ?)
    on conflict (namespace, kind, subject) do update set
      due_at = excluded.due_at, data = excluded.data, claimed_by = null`)
  const drop = db.prepare('delete from timer where namespace = ? and kind = ? and subject = ?')
  const inHand = prepareRows(
    db,
    'select 1 from timer where namespace = ? and kind = ? and subject = ? and claimed_by = ? and due_at = ?',
  )
  const due = prepareRows(
    db,
    `select ${TIMER_COLUMNS} from timer where due_at <= ? and ${FREE_TIMER}
     order by due_at, namespace, kind, subject limit ?`,
  )
  const claim = db.prepare('update timer set claimed_by = ? where namespace = ? and kind = ? and subject = ?')

  return {
    set({ epoch, at }, namespace, row) {
      const [kind, subject, inMs, data, ifDueAt] = row as [
        string,
        string,
        number | null,
        string,
        number | null,
      ]
      if (ifDueAt !== null && inHand.get(namespace, kind, subject, epoch, ifDueAt) === undefined) return
      if (inMs === null) drop.run(namespace, kind, subject)
      else put.run(namespace, kind, subject, at + inMs, data)
    },

    claim({ epoch, at }, limit) {
      const rows = due.all(at, limit)
      for (const [namespace, kind, subject] of rows as unknown as [string, string, string][])
        claim.run(epoch, namespace, kind, subject)
      return rows
    },
  }
}
