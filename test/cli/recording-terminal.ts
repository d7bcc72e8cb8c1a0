// A terminal that keeps what is written to it.
import { randomUUID } from 'node:crypto'
import type { Terminal } from '../../src/cli/terminal.ts'

export interface RecordingTerminal extends Terminal {
  readonly written: { out: string; err: string }
}

export function createRecordingTerminal(
  options: Partial<Pick<Terminal, 'env' | 'cwd' | 'outIsTty' | 'errIsTty' | 'columns' | 'clock'>> & {
    readonly input?: string
  } = {},
): RecordingTerminal {
  const written = { out: '', err: '' }
  return {
    written,
    env: options.env ?? {},
    cwd: options.cwd ?? process.cwd(),
    clock: options.clock ?? { now: () => Date.now(), monotonic: () => performance.now() },
    id: () => randomUUID(),
    out: (text) => {
      written.out += text
    },
    err: (text) => {
      written.err += text
    },
    outIsTty: options.outIsTty ?? false,
    errIsTty: options.errIsTty ?? false,
    columns: options.columns ?? undefined,
    readIn: async () => Buffer.from(options.input ?? ''),
    onStop: () => () => {},
    exit: (code) => {
      throw new Error(`exit ${code}`)
    },
    pid: process.pid,
  }
}
