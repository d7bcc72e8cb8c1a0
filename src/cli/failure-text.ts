// What a person is told beside the message of a failure: the details that its fix names, and the fix itself.
import type { ClientError } from '../client/client-error.ts'
import type { Json, JsonObject, Violation } from '../util/json.ts'
import type { Terminal } from './terminal.ts'

/** Said in other places: the row, its hint, the effect, and the violations line by line. */
const TOLD_ELSEWHERE: ReadonlySet<string> = new Set([
  'failure',
  'dotted_code',
  'fix',
  'effect',
  'violations',
  'asking',
])
/** A tool may send details of any length. */
const LONGEST = 500

/** One line for each detail, such as `versions: 1.0.0, 1.1.0`: fixes refer to them by name. */
export function detailLines(details: JsonObject): readonly string[] {
  // Two names of one status: programs may know either, a person reads it once.
  const twice = details.upstream_status === details.http_status ? 'upstream_status' : undefined
  return Object.entries(details).flatMap(([name, value]) =>
    TOLD_ELSEWHERE.has(name) || name === twice || value === undefined || isEmpty(value)
      ? []
      : [`${name}: ${cut(textOf(value))}`],
  )
}

export function violationLines(violations: readonly Violation[], whole: string): readonly string[] {
  return violations.map(({ path, message }) => `${path === '' ? whole : path} ${message}`)
}

/** How to mend a refusal, in the words of the command line: a server speaks of headers, a person sets WRIT_TOKEN. */
export function fixOf(
  { status, fix, details }: ClientError,
  { env }: Pick<Terminal, 'env'>,
): string | undefined {
  if (status !== 401) return fix
  if (details.reason === 'expired' || details.reason === 'revoked')
    return "set WRIT_TOKEN to a new token: 'writ token create' issues one, for whoever has token:write"
  if (!env.WRIT_TOKEN)
    return 'the token in the data folder is not of this server: set WRIT_TOKEN to one that is'
  return env.WRIT_URL
    ? 'set WRIT_TOKEN to a token of the server that WRIT_URL names'
    : 'set WRIT_TOKEN to a token of this server, or unset it to use the one in the data folder'
}

function isEmpty(value: Json): boolean {
  return Array.isArray(value) && value.length === 0
}

function textOf(value: Json): string {
  if (typeof value === 'string') return value
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value.join(', ')
  return JSON.stringify(value)
}

function cut(text: string): string {
  return text.length <= LONGEST ? text : `${text.slice(0, LONGEST)}…`
}
