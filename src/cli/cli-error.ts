// A refusal that a person can act on. Anything else that is thrown is a bug.

/** S32, for what is not the outcome of a call. */
export const EXIT = {
  ok: 0,
  /** A server that could not be started. */
  startFailed: 1,
  usage: 2,
  invalid: 3,
  denied: 4,
  waiting: 5,
  retryable: 6,
  failed: 7,
  unknown: 8,
  canceled: 9,
  bug: 70,
} as const

export interface CliErrorOptions {
  readonly exit: number
  readonly fix?: string
  /** More lines, indented under the message. */
  readonly lines?: readonly string[]
}

export class CliError extends Error {
  override readonly name = 'CliError'
  readonly exit: number
  readonly fix: string | undefined
  readonly lines: readonly string[]

  constructor(message: string, options: CliErrorOptions) {
    super(message)
    this.exit = options.exit
    this.fix = options.fix
    this.lines = options.lines ?? []
  }
}

/** The command line itself is wrong. */
export function usageError(message: string, fix: string): CliError {
  return new CliError(message, { exit: EXIT.usage, fix })
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
