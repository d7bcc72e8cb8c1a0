// From the bytes of a file to text that is safe to hand to the YAML parser.
import { Lexer } from 'yaml'
import type { Path, Position } from './problem.ts'

/** A problem of the text itself, before its meaning. */
export interface TextProblem {
  readonly at: Position
  readonly path: Path
  readonly message: string
  readonly fix?: string
}

export const MAX_FILE_BYTES = 1024 * 1024
/** The parser costs up to 20 us a token: this bounds what a hostile file costs, and no real one comes near. */
const MAX_TOKENS = 100_000

export const START: Position = Object.freeze({ line: 1, column: 1 })

/** The text, or why it is not read. */
export function decodeText(source: string | Uint8Array): string | TextProblem {
  const bytes = typeof source === 'string' ? Buffer.byteLength(source) : source.byteLength
  if (bytes > MAX_FILE_BYTES) {
    return {
      at: START,
      path: [],
      message: `is ${bytes} bytes long; at most ${MAX_FILE_BYTES} are read`,
      fix: 'split the file',
    }
  }
  let text = source
  if (typeof text !== 'string') {
    try {
      text = new TextDecoder('utf-8', { fatal: true }).decode(text)
    } catch {
      return {
        at: firstBadByte(source as Uint8Array),
        path: [],
        message: 'is not UTF-8',
        fix: 'save the file as UTF-8',
      }
    }
  }
  let tokens = 0
  for (const _ of new Lexer().lex(text)) {
    if (++tokens > MAX_TOKENS) {
      return { at: START, path: [], message: `holds more than ${MAX_TOKENS} tokens`, fix: 'split the file' }
    }
  }
  return text
}

/** The end of the longest prefix that decodes. */
function firstBadByte(bytes: Uint8Array): Position {
  let good = 0
  let bad = bytes.byteLength
  while (good < bad) {
    const middle = Math.ceil((good + bad) / 2)
    if (decodes(bytes.subarray(0, middle))) good = middle
    else bad = middle - 1
  }
  const before = new TextDecoder().decode(bytes.subarray(0, good)).replace(/\uFFFD$/, '')
  const lines = before.split('\n')
  return { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 }
}

function decodes(prefix: Uint8Array): boolean {
  try {
    // Streaming: a character that is cut by the end of the prefix is not yet an error.
    new TextDecoder('utf-8', { fatal: true }).decode(prefix, { stream: true })
    return true
  } catch {
    return false
  }
}
