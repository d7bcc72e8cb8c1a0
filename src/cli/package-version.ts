// The version of this package, from its package.json: two folders up, both in the sources and in what is published.
import { readFileSync } from 'node:fs'

export function packageVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  return String(version)
}
