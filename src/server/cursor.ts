// Cursors of lists: where the page before ended. Their content is not for reading.
import { refuseQuery } from './query.ts'

export interface Page<Row> {
  readonly rows: readonly Row[]
  readonly next_cursor: string | null
}

export interface PageQuery {
  readonly limit: number
  readonly before?: string
}

/** One more than shown is asked for: it tells whether there is a next page. */
export async function pageOf<Row>(
  kind: string,
  { limit, before }: PageQuery,
  list: (query: PageQuery) => Promise<readonly Row[]>,
  idOf: (row: Row) => string,
): Promise<Page<Row>> {
  const found = await list({ limit: limit + 1, ...(before === undefined ? {} : { before }) })
  const rows = found.slice(0, limit)
  const last = rows.at(-1)
  return {
    rows,
    next_cursor: found.length > limit && last !== undefined ? encodeCursor(kind, idOf(last)) : null,
  }
}

function encodeCursor(kind: string, id: string): string {
  return Buffer.from(`${kind}:${id}`).toString('base64url')
}

/** The id inside; `isId` says what ids of this list look like. */
export function decodeCursor(kind: string, cursor: string, isId: (id: string) => boolean): string {
  const text = Buffer.from(cursor, 'base64url').toString('latin1')
  const id = text.slice(kind.length + 1)
  if (text.startsWith(`${kind}:`) && isId(id)) return id
  throw refuseQuery([
    { path: '/query/cursor', message: 'is no cursor of this list; take next_cursor as it was given' },
  ])
}
