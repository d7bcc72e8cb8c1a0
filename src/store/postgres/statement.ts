// One statement out of the parts that a batch needs: fewer ways to the database and back.
import type pg from 'pg'
import { sha256Hex } from '../../util/canonical.ts'

/** Keeps a plan for each text. A pooler that hands one session to several clients would mix them up. */
export function run<R extends pg.QueryResultRow>(
  client: pg.ClientBase,
  name: string,
  text: string,
  values: readonly unknown[] = [],
): Promise<pg.QueryResult<R>> {
  return client.query<R>({ name: planName(name), text, values: [...values] })
}

/** PostgreSQL cuts names at 63 bytes, and two that begin alike would be one. */
const LONGEST_NAME = 63

export function planName(name: string): string {
  const whole = `writ:${name}`
  return whole.length <= LONGEST_NAME ? whole : `writ:${sha256Hex(name).slice(0, 40)}`
}

export interface Part {
  /** Says which part it is: a statement is known by the names of its parts. */
  readonly name: string
  /** Its parameters are `$1`, `$2` and so on, counted on its own. */
  readonly text: string
  readonly values: readonly unknown[]
}

/** Runs all parts as one statement, each of which changes rows of its own. `last` gives the result. */
export function runParts<R extends pg.QueryResultRow>(
  client: pg.ClientBase,
  parts: readonly Part[],
  last: Part,
): Promise<pg.QueryResult<R>> {
  const values: unknown[] = []
  const number = (part: Part) => {
    const before = values.length
    values.push(...part.values)
    return part.text.replace(/\$(\d+)/g, (_, digits: string) => `$${before + Number(digits)}`)
  }
  const before = parts.map((part, index) => `p${index} as (${number(part)})`)
  const text = `${before.length === 0 ? '' : `with ${before.join(', ')} `}${number(last)}`
  return run<R>(client, [...parts, last].map((part) => part.name).join('+'), text, values)
}

/** Rows that are JSON texts already, as one parameter. */
export function rowsOf(rows: Iterable<string>): string {
  return `[${[...rows].join(',')}]`
}
