// Prepared reads that give rows as arrays: cheaper than objects, and what the codec expects.
import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import type { Row } from './row.ts'

export interface RowStatement {
  get(...parameters: SQLInputValue[]): Row | undefined
  all(...parameters: SQLInputValue[]): Row[]
}

export function prepareRows(db: DatabaseSync, sql: string): RowStatement {
  const statement = db.prepare(sql)
  statement.setReturnArrays(true)
  return statement as unknown as RowStatement
}

/** Prepares each text once: a list has as many as there are combinations of filters. */
export function createStatements(db: DatabaseSync): (sql: string) => RowStatement {
  const prepared = new Map<string, RowStatement>()
  return (sql) => {
    const statement = prepared.get(sql) ?? prepareRows(db, sql)
    prepared.set(sql, statement)
    return statement
  }
}

/** Words of this program, never of a caller, as a list in SQL. */
export function textList(words: readonly string[]): string {
  return words.map((word) => `'${word}'`).join(', ')
}
