// How results look: tables for people, JSON and YAML for programs.
import type { OutputFormat } from './command.ts'
import { type Terminal, useColor } from './terminal.ts'

export interface Column<Row> {
  readonly title: string
  readonly value: (row: Row) => string
}

/** Prints `value` as data, or lets `asTable` show it to a person. */
export async function printResult(
  terminal: Terminal,
  format: OutputFormat,
  value: unknown,
  asTable: () => string,
): Promise<void> {
  terminal.out(format === 'table' ? asTable() : await renderData(format, value))
}

async function renderData(format: 'json' | 'yaml', value: unknown): Promise<string> {
  if (format === 'json') return `${JSON.stringify(value, null, 2)}\n`
  // Loaded only when it is asked for: most commands end before it would be.
  const { stringify } = await import('yaml')
  return stringify(value, { lineWidth: 0, aliasDuplicateObjects: false })
}

/** A stream of YAML documents, each ready to be taken for itself. */
export async function renderDocuments(values: readonly unknown[]): Promise<string> {
  const documents = await Promise.all(values.map((value) => renderData('yaml', value)))
  return documents.map((document) => `---\n${document}`).join('')
}

export function renderTable<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  style: Style,
  empty: string,
): string {
  if (rows.length === 0) return `${empty}\n`
  const cells = rows.map((row) => columns.map((column) => clean(column.value(row)).replaceAll('\n', ' ')))
  const widths = columns.map((column, index) =>
    Math.max(column.title.length, ...cells.map((line) => line[index]?.length ?? 0)),
  )
  const line = (parts: readonly string[]) =>
    parts
      .map((part, index) => part.padEnd(widths[index] ?? 0))
      .join('  ')
      .trimEnd()
  const head = style.bold(line(columns.map(({ title }) => title)))
  return `${[head, ...cells.map(line)].join('\n')}\n`
}

/** `name: value` lines with the values in one column; later lines of a value are indented under the first. */
export function renderFields(fields: readonly (readonly [string, string | undefined])[]): string {
  const shown = fields.flatMap(([name, value]) =>
    value === undefined ? [] : [[`${name}:`, clean(value)] as const],
  )
  const width = Math.max(0, ...shown.map(([name]) => name.length))
  const indent = ' '.repeat(width + 2)
  return `${shown.map(([name, value]) => `${name.padEnd(width)}  ${value.replaceAll('\n', `\n${indent}`)}`).join('\n')}\n`
}

/** Text from elsewhere must not move the cursor or change colours: control characters are shown, not sent. */
export function clean(text: string): string {
  return text.replaceAll(/(?![\n\t])[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}

export interface Style {
  bold(text: string): string
  good(text: string): string
  warn(text: string): string
  bad(text: string): string
}

export function styleOf(terminal: Terminal): Style {
  const color = useColor(terminal)
  const paint = (code: number) => (text: string) => (color ? `\u001b[${code}m${text}\u001b[0m` : text)
  return { bold: paint(1), good: paint(32), warn: paint(33), bad: paint(31) }
}

/** How long ago, in the largest unit that fits. */
export function renderAge(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000))
  if (seconds < 120) return `${seconds}s`
  if (seconds < 7200) return `${Math.floor(seconds / 60)}m`
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)}h`
  return `${Math.floor(seconds / 86_400)}d`
}
