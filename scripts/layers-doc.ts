// Writes the table of layers into ARCHITECTURE.md. `node scripts/layers-doc.ts`
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { LAYERS } from '../test/layers.ts'
import { ROOT } from './repo-files.ts'

export const ARCHITECTURE: string = join(ROOT, 'ARCHITECTURE.md')
const TABLE = /(<!-- layers -->\n)[\s\S]*?(\n<!-- \/layers -->)/

/** The page with the table as it is now. */
export function withLayers(page: string): string {
  const rows = Object.entries(LAYERS).map(([layer, below]) => {
    const names = below.map((one) => `\`${one}\``).join(', ')
    return `| \`${layer}\` | ${names === '' ? 'nothing' : names} |`
  })
  return page.replace(TABLE, `$1\n${['| layer | may import |', '|---|---|', ...rows].join('\n')}\n$2`)
}

if (import.meta.main) writeFileSync(ARCHITECTURE, withLayers(readFileSync(ARCHITECTURE, 'utf8')))
