// A field table as a table in Markdown.
import type { FieldRow } from '../src/resource/field-row.ts'

export function renderFieldTable(rows: readonly FieldRow[]): string {
  return [
    '| field | type | default | also read as | source | enforced | meaning |',
    '|---|---|---|---|---|---|---|',
    ...rows.map(renderRow),
  ].join('\n')
}

function renderRow(row: FieldRow): string {
  const aliases = row.aliases.map(({ path, as, when }) => {
    const how = [as === undefined ? [] : `in ${as}`, when === undefined ? [] : `when ${when}`]
      .flat()
      .join(', ')
    return `\`${path}\`${NOTED.has(as ?? '') || when !== undefined ? ` (${how})` : ''}`
  })
  // Prose stays prose.
  const fallback = row.default === '' || row.default.includes(' ') ? row.default : `\`${row.default}\``
  const cells = [
    `\`${row.path}\``,
    row.type,
    fallback,
    aliases.join(', '),
    row.source.join(' '),
    row.enforced,
    row.description,
  ]
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
}

/** Rules that say a unit; the others only normalise. */
const NOTED: ReadonlySet<string> = new Set(['seconds', 'milliseconds', 'megabytes'])
