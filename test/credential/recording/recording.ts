// What a recording of a real server holds: the requests that our provider sent, and the answers that the server gave.

/** Headers that belong to a connection or an address, and not to what is asked. */
const OF_THE_CONNECTION: ReadonlySet<string> = new Set([
  'host',
  'connection',
  'keep-alive',
  'transfer-encoding',
])

export type Headers = Readonly<Record<string, string>>

export interface Request {
  readonly method: string
  readonly path: string
  readonly headers: Headers
  readonly body: string
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: string
}

export interface Exchange {
  readonly request: Request
  readonly answer: Answer
}

/** What a case has to know of what was arranged at the server, such as a token that it made. */
export type Facts = Readonly<Record<string, string>>

export interface RecordedCase {
  /** One for each arrangement, in their order. */
  readonly facts: readonly Facts[]
  readonly exchanges: readonly Exchange[]
}

export interface Recording {
  /** Such as `HashiCorp Vault 1.21.4`, as it says itself. */
  readonly server: string
  readonly cases: Readonly<Record<string, RecordedCase>>
}

/** Those that count, in the order of their names. */
export function headersOf(raw: Readonly<Record<string, string | readonly string[] | undefined>>): Headers {
  const kept = Object.entries(raw).flatMap(([name, value]): [string, string][] =>
    value === undefined || OF_THE_CONNECTION.has(name) ? [] : [[name, [value].flat().join(', ')]],
  )
  return Object.fromEntries(kept.sort(([a], [b]) => (a < b ? -1 : 1)))
}
