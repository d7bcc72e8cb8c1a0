// Lists that come in pages: the flags, what they may say, and how the next page is found.
import { usageError } from './cli-error.ts'
import type { OutputFormat } from './command.ts'
import { type Column, printResult, renderTable, styleOf } from './print.ts'
import type { Terminal } from './terminal.ts'

export const PAGE_FLAGS = {
  limit: { type: 'integer', default: 20, description: 'At most so many, up to 200.' },
  cursor: { type: 'string', description: 'Go on where the last page ended.', placeholder: 'CURSOR' },
} as const

export interface PageWanted {
  readonly limit: number
  readonly cursor?: string
}

/** What the flags ask for. Throws for a page of a size that no server gives. */
export function readPage({ limit, cursor }: { limit: number; cursor: string | undefined }): PageWanted {
  if (limit < 1 || limit > 200)
    throw usageError(`--limit is ${limit}, but must be from 1 to 200`, 'use --cursor for more')
  return { limit, ...(cursor === undefined ? {} : { cursor }) }
}

export interface ShownPage<Row> {
  readonly rows: readonly Row[]
  /** By the time at which it is printed. */
  readonly columns: (now: number) => readonly Column<Row>[]
  /** In place of an empty table. */
  readonly none: string
}

/** The page as data, or as a table with how to get the next one. */
export async function printPage<Row>(
  terminal: Terminal,
  output: OutputFormat,
  page: { readonly next_cursor: string | null },
  { rows, columns, none }: ShownPage<Row>,
): Promise<void> {
  const now = terminal.clock.now()
  await printResult(terminal, output, page, () => renderTable(rows, columns(now), styleOf(terminal), none))
  if (output === 'table' && page.next_cursor !== null) terminal.err(`More: --cursor ${page.next_cursor}\n`)
}
