// Prepared reads that give rows as arrays: cheaper than objects, and what the codec expects.
import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import type { Row } from './codec.ts'

export interface RowStatement {
  get(...parameters: SQLInputValue[]): Row | undefined
  all(...parameters: SQLInputValue[]): Row[]
}

export function prepareRows(db: DatabaseSync, sql: string): RowStatement {
  const statement = db.prepare(sql)
  statement.setReturnArrays(true)
  return statement as unknown as RowStatement
}
