// The tool's own file: what reached it and what it did, one line of JSON each. It is the oracle of the chaos run.
import { closeSync, existsSync, fdatasyncSync, openSync, readFileSync, writeSync } from 'node:fs'

export const LINE_KINDS = ['arrived', 'effect', 'prepared', 'rolled-back', 'fenced'] as const

export interface LogLine {
  readonly kind: (typeof LINE_KINDS)[number]
  readonly tool: string
  /** The key as the tool received it (S19). */
  readonly key: string
  /** What the client meant: the same for every call about one intended effect. */
  readonly intent: string
  readonly attempt: number
  /** Counts the lines of the file. */
  readonly serial: number
  readonly at: number
}

export interface EffectLog {
  readonly lines: readonly LogLine[]
  /** On disk when it returns, unless it only says that something arrived. */
  append(line: Omit<LogLine, 'serial' | 'at'>): LogLine
  close(): void
}

export function openEffectLog(path: string): EffectLog {
  const lines = readEffectLog(path)
  const file = openSync(path, 'a')
  return {
    lines,
    append(line) {
      const full: LogLine = { ...line, serial: lines.length + 1, at: Date.now() }
      // One write: a kill comes before it or after it, never in between.
      writeSync(file, `${JSON.stringify(full)}\n`)
      if (line.kind !== 'arrived') fdatasyncSync(file)
      lines.push(full)
      return full
    },
    close: () => closeSync(file),
  }
}

/** Throws for a line that is not whole: then nothing that is concluded from the file would be worth anything. */
export function readEffectLog(path: string): LogLine[] {
  if (!existsSync(path)) return []
  const text = readFileSync(path, 'utf8')
  if (text !== '' && !text.endsWith('\n')) throw new Error(`the last line of ${path} is cut off`)
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as LogLine)
}
