// What a command sees of the process it runs in. The composition root makes the real one.
import type { Environment } from '../config/resolve-config.ts'
import type { Clock } from '../util/world.ts'

export interface Terminal {
  readonly env: Environment
  readonly cwd: string
  readonly clock: Clock
  /** A new UUID. */
  id(): string
  /** The result of a command, and nothing else. */
  out(text: string): void
  /** Everything said to a person beside the result. */
  err(text: string): void
  /** A person watches the result. */
  readonly outIsTty: boolean
  /** A person watches the messages: progress may be shown. */
  readonly errIsTty: boolean
  /** Columns of the terminal, where there is one. */
  readonly columns: number | undefined
  /** All of standard input. Refuses more than `limit` bytes. */
  readIn(limit: number): Promise<Uint8Array>
  /** Runs on SIGTERM and SIGINT in place of the default. Returns how to stop listening. */
  onStop(listener: (signal: 'SIGTERM' | 'SIGINT') => void): () => void
  /** Ends the process now, for when it cannot end by itself. */
  exit(code: number): never
  readonly pid: number
}

/** NO_COLOR and anything but a terminal mean none. */
export function useColor(terminal: Terminal): boolean {
  return terminal.outIsTty && !terminal.env.NO_COLOR && terminal.env.TERM !== 'dumb'
}
