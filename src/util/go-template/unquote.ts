// What a Go string or character literal stands for.
import { encodeRune } from './go-text.ts'

const ESCAPES: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
}
const HEX_DIGITS: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 }

interface Piece {
  readonly code: number
  /** Written as a number for one byte, which need not be a character. */
  readonly isByte: boolean
  readonly size: number
}

/** The byte string, or undefined where an escape is not one of Go's. `literal` has its quotes. */
export function unquote(literal: string): string | undefined {
  const body = literal.slice(1, -1)
  if (literal.startsWith('`')) return encodeText(body.replaceAll('\r', ''))
  let bytes = ''
  for (let at = 0; at < body.length; ) {
    const piece = readPiece(body, at, '"')
    if (piece === undefined) return undefined
    bytes += piece.isByte ? String.fromCharCode(piece.code) : encodeRune(piece.code)
    at += piece.size
  }
  return bytes
}

/** The number of the character, or undefined where there is not exactly one. */
export function unquoteCharacter(literal: string): number | undefined {
  const body = literal.slice(1, -1)
  const piece = body === '' ? undefined : readPiece(body, 0, "'")
  return piece?.size === body.length ? piece.code : undefined
}

function encodeText(text: string): string {
  return [...text].map((char) => encodeRune(char.codePointAt(0) ?? 0)).join('')
}

function readPiece(body: string, at: number, quote: string): Piece | undefined {
  const code = body.codePointAt(at) ?? 0
  if (code !== 0x5c) return { code, isByte: false, size: code > 0xffff ? 2 : 1 }
  const letter = body[at + 1] ?? ''
  const simple = letter === quote ? quote : ESCAPES[letter]
  if (simple !== undefined) return { code: simple.charCodeAt(0), isByte: false, size: 2 }
  const octal = /^[0-3][0-7]{2}/.exec(body.slice(at + 1, at + 4))
  if (octal !== null) return { code: Number.parseInt(octal[0], 8), isByte: true, size: 4 }
  const digits = HEX_DIGITS[letter]
  const hex = body.slice(at + 2, at + 2 + (digits ?? 0))
  if (digits === undefined || hex.length !== digits || !/^[0-9a-fA-F]+$/.test(hex)) return undefined
  const value = Number.parseInt(hex, 16)
  if (letter === 'x') return { code: value, isByte: true, size: 4 }
  const isRune = value <= 0x10ffff && !(value >= 0xd800 && value <= 0xdfff)
  return isRune ? { code: value, isByte: false, size: digits + 2 } : undefined
}
