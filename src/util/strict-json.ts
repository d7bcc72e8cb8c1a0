// Reads JSON text by the strict rules of S3: what is accepted means the same to every reader and can be written again.
import { isUtf8 } from 'node:buffer'
import type { Json, Violation } from './json.ts'
import { scanJson } from './scan-json.ts'

export { checkJson } from './check-json.ts'

export interface StrictJsonOptions {
  /** Levels of arrays and objects. @default 128 */
  readonly maxDepth?: number
}

export type StrictJson =
  | { readonly ok: true; readonly value: Json }
  /** `unreadable`: no JSON text at all (row 1). `rule`: JSON that S3 refuses. */
  | { readonly ok: false; readonly kind: 'unreadable' | 'rule'; readonly violations: readonly Violation[] }

export const MAX_JSON_DEPTH = 128

/** Never throws, whatever the bytes. Messages name places and keys, never values. */
export function parseStrictJson(source: Uint8Array | string, options: StrictJsonOptions = {}): StrictJson {
  if (typeof source !== 'string' && !isUtf8(source)) {
    return unreadable('is not UTF-8: encode the document as UTF-8')
  }
  const text = typeof source === 'string' ? source : decode(source)
  if (text.charCodeAt(0) === 0xfeff) {
    return unreadable('begins with a byte order mark: send the document without it')
  }
  if (typeof source === 'string' && !text.isWellFormed()) {
    return unreadable('holds half of a surrogate pair, which no UTF-8 text can: correct how the text was cut')
  }
  const scan = scanJson(text, options.maxDepth ?? MAX_JSON_DEPTH)
  if (scan.fault !== undefined) return unreadable(describe(text, scan.fault.at, scan.fault.expected))
  if (scan.violations.length > 0) return { ok: false, kind: 'rule', violations: scan.violations }
  return { ok: true, value: JSON.parse(text) as Json }
}

function decode(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
}

function unreadable(message: string): StrictJson {
  return { ok: false, kind: 'unreadable', violations: [{ path: '', message }] }
}

function describe(text: string, at: number, expected: string): string {
  if (at >= text.length) return `is not well-formed JSON: it ends where ${expected} should follow`
  let line = 1
  let start = 0
  for (let next = text.indexOf('\n'); next !== -1 && next < at; next = text.indexOf('\n', start)) {
    line++
    start = next + 1
  }
  return `is not well-formed JSON: expected ${expected} at line ${line}, column ${at - start + 1}`
}
