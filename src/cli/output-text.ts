// The output of a call, as it goes to stdout.
import type { Json } from '../util/json.ts'
import { clean } from './print.ts'

/** Text as it is for a program that reads it, made harmless for a terminal. Nothing where there is no output. */
export function renderOutput(output: Json | undefined, tty: boolean): string {
  if (output === undefined) return ''
  const text = typeof output === 'string' ? output : JSON.stringify(output, null, 2)
  return `${tty ? clean(text) : text}\n`
}
