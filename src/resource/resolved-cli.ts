// The cli block of a tool with every default applied: a program, and how it is started and read.

/** What a program can be told of its call, each in a variable that the tool names. */
export const CALL_FACTS = [
  'key',
  'attempt',
  'call_id',
  'request_id',
  'operation',
  'traceparent',
  'deadline_unix_ms',
  'commit_token',
] as const
export type CallFact = (typeof CALL_FACTS)[number]

export interface DeclaredExit {
  /** `none`: the program did nothing, for certain (S23). */
  readonly effect: 'none' | 'unknown'
  readonly retryable: boolean
  /** A word of the contract, such as `rate_limited`, or of the tool's own. */
  readonly code: string
}

export interface ResolvedCli {
  /** A name, or an absolute path. */
  readonly command: string
  /** Each gives exactly one argument; one with `{{` is a template. */
  readonly args: readonly string[]
  /** An argument may begin with `-` although that came from the input. */
  readonly allowDash: boolean
  readonly stdinFromInput: boolean
  readonly output: 'stdout' | 'stderr' | 'both'
  readonly workingDir: string
  readonly env: Readonly<Record<string, string>>
  readonly envCall: Readonly<Record<string, CallFact>>
  readonly envFrom: readonly { readonly name: string; readonly secretRef: string; readonly key?: string }[]
  /** By exit code. */
  readonly exitCodes: Readonly<Record<string, DeclaredExit>>
}
