// Writes who shares the store: leases, and lives that end (S35).
import type { DatabaseSync } from 'node:sqlite'
import { fenced } from '../life-rule.ts'
import type { Life } from '../store.ts'
import type { Batch } from './codec.ts'
import { prepareRows } from './statement.ts'

interface LifeWriter {
  /** Renews the lease of the batch's life, and gives its ordinal. Throws `Fenced` when it was ended. */
  begin(batch: Batch): number
  start(batch: Batch): void
  /** `over` is JSON. */
  renew(epoch: string, over: string, seen: number): readonly Life[]
  reap(batch: Batch): readonly string[]
  end(epoch: string): void
}

export function createLifeWriter(db: DatabaseSync): LifeWriter {
  const find = prepareRows(db, 'select ordinal, ended from epoch where epoch = ?')
  const add = db.prepare('insert into epoch (epoch) values (?)')
  // It cannot have known of a later one.
  const see = db.prepare('update epoch set seen = ordinal where ordinal = ?')
  const extend = db.prepare('update epoch set expires_at = ? where ordinal = ?')
  const endOthers = db.prepare('update epoch set ended = 1 where ended = 0 and epoch <> ?')
  const end = db.prepare('update epoch set ended = 1 where epoch = ?')
  const renew = db.prepare('update epoch set over = ?, seen = max(seen, ?) where epoch = ?')
  const alive = prepareRows(
    db,
    'select epoch, ordinal, seen, over from epoch where ended = 0 order by ordinal',
  )
  const expired = prepareRows(
    db,
    'select epoch from epoch where ended = 0 and epoch <> ? and expires_at <= ? order by ordinal',
  )

  function ordinalOf(epoch: string): number {
    const found = find.get(epoch) as [number, number] | undefined
    if (found === undefined) {
      const ordinal = Number(add.run(epoch).lastInsertRowid)
      see.run(ordinal)
      return ordinal
    }
    if (found[1] === 1) throw fenced(epoch)
    return found[0]
  }

  return {
    begin({ epoch, at, leaseMs }) {
      const ordinal = ordinalOf(epoch)
      if (leaseMs !== null) extend.run(at + leaseMs, ordinal)
      return ordinal
    },

    // One that owns the store alone is the only one alive: the lock of the others has ended with them.
    start({ epoch, leaseMs }) {
      if (leaseMs === null) endOthers.run(epoch)
    },

    renew(epoch, over, seen) {
      renew.run(over, seen, epoch)
      const rows = alive.all() as unknown as [string, number, number, string][]
      return rows.map(([one, ordinal, seen, json]) => ({
        epoch: one,
        ordinal,
        seen,
        over: JSON.parse(json),
      }))
    },

    reap({ epoch, at }) {
      const epochs = expired.all(epoch, at).map(([one]) => one as string)
      for (const one of epochs) end.run(one)
      return epochs
    },

    end(epoch) {
      end.run(epoch)
    },
  }
}
