// The tables of docs/reference/threats.md, which tests hold the server to.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export const THREATS_PAGE = 'docs/reference/threats.md'

/** The rows of the table between <!-- name --> and <!-- /name -->, without its head. */
export function readTable(name: string): readonly (readonly string[])[] {
  const text = readFileSync(fileURLToPath(new URL(`../../${THREATS_PAGE}`, import.meta.url)), 'utf8')
  const part = new RegExp(`<!-- ${name} -->([\\s\\S]*)<!-- /${name} -->`).exec(text)?.[1]
  if (part === undefined) throw new Error(`${THREATS_PAGE} has no table between <!-- ${name} --> marks`)
  return part
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .slice(2)
    .map((line) =>
      line
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
    )
}
