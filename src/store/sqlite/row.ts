// Rows as they cross to the writer and lie on disk: flat arrays of text and numbers.
import { isKeepable } from '../entry-rule.ts'
import { IllegalWrite } from '../store.ts'

export type Cell = string | number | null
export type Row = readonly Cell[]

/**
 * Only text, finite numbers and null may cross: anything else would break the whole batch, not this write alone. Text
 * that would not come back as it was (a request id may be anything) gets replacement characters; keys are refused before.
 */
export function checked(row: Cell[], what: string): Row {
  for (let index = 0; index < row.length; index += 1) {
    const cell = row[index]
    if (typeof cell === 'string') {
      if (!isKeepable(cell)) row[index] = keepable(cell)
    } else if (cell !== null && !Number.isFinite(cell)) {
      throw new IllegalWrite(`value ${index} of the ${what} ${row[1]} is ${cell}`)
    }
  }
  return row
}

/** What a text becomes on disk. */
export function keepable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd')
}

export function textOf(value: object | undefined): string | null {
  return value === undefined ? null : JSON.stringify(value)
}
