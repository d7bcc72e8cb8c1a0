// Text as Go sees it: bytes. A byte string has one UTF-16 unit for each byte of the UTF-8 form, so that length, order,
// slices and indexes are those of Go, and text that is no valid UTF-8 can be held as well.

export interface Rune {
  readonly code: number
  /** In bytes. */
  readonly size: number
  readonly isValid: boolean
}

const REPLACEMENT = 0xfffd
const BROKEN: Rune = Object.freeze({ code: REPLACEMENT, size: 1, isValid: false })
/** What the first byte says: how many follow, and the smallest code that needs so many. */
const LEADS: readonly (readonly [mask: number, lead: number, more: number, least: number])[] = [
  [0xe0, 0xc0, 1, 0x80],
  [0xf0, 0xe0, 2, 0x800],
  [0xf8, 0xf0, 3, 0x10000],
]

export function toBytes(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1')
}

/** Undefined where the bytes are not UTF-8. */
export function fromBytes(bytes: string): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(bytes, 'latin1'))
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    return undefined
  }
}

export function encodeRune(code: number): string {
  const isRune = code >= 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff)
  return toBytes(String.fromCodePoint(isRune ? code : REPLACEMENT))
}

/** The rune at a position that is inside the text. */
export function decodeRune(bytes: string, at: number): Rune {
  const first = bytes.charCodeAt(at)
  if (first < 0x80) return { code: first, size: 1, isValid: true }
  for (const [mask, lead, more, least] of LEADS) {
    if ((first & mask) !== lead) continue
    let code = first & ~mask & 0xff
    for (let next = at + 1; next <= at + more; next++) {
      const byte = bytes.charCodeAt(next)
      if ((byte & 0xc0) !== 0x80) return BROKEN
      code = (code << 6) | (byte & 0x3f)
    }
    const isSurrogate = code >= 0xd800 && code <= 0xdfff
    return code < least || code > 0x10ffff || isSurrogate ? BROKEN : { code, size: more + 1, isValid: true }
  }
  return BROKEN
}

export function* runesOf(bytes: string): Generator<Rune> {
  for (let at = 0; at < bytes.length; ) {
    const rune = decodeRune(bytes, at)
    yield rune
    at += rune.size
  }
}

export function countRunes(bytes: string): number {
  let count = 0
  for (const _ of runesOf(bytes)) count++
  return count
}

export function truncateRunes(bytes: string, count: number): string {
  let end = 0
  let left = count
  for (const rune of runesOf(bytes)) {
    if (left-- <= 0) break
    end += rune.size
  }
  return bytes.slice(0, end)
}

/** What names are made of; the empty text is nothing. */
export function isWord(char: string): boolean {
  return /^[\p{L}\p{Nd}_]$/u.test(char)
}

/** Letters, marks, numbers, punctuation, symbols and the ASCII space. */
export function isPrint(code: number): boolean {
  return code === 0x20 || /^[\p{L}\p{M}\p{N}\p{P}\p{S}]$/u.test(String.fromCodePoint(code))
}

const SHORT_ESCAPES: Readonly<Record<number, string>> = {
  7: '\\a',
  8: '\\b',
  9: '\\t',
  10: '\\n',
  11: '\\v',
  12: '\\f',
  13: '\\r',
}

const hex = (code: number, digits: number): string => code.toString(16).padStart(digits, '0')

export function quoteRune(code: number, quote: string, isAscii: boolean): string {
  if (code === quote.charCodeAt(0) || code === 0x5c) return `\\${String.fromCharCode(code)}`
  if ((!isAscii || code < 0x80) && isPrint(code)) return encodeRune(code)
  const short = SHORT_ESCAPES[code]
  if (short !== undefined) return short
  if (code < 0x20 || code === 0x7f) return `\\x${hex(code, 2)}`
  return code < 0x10000 ? `\\u${hex(code, 4)}` : `\\U${hex(code, 8)}`
}

/** A Go string literal in double quotes. */
export function quoteText(bytes: string, isAscii: boolean): string {
  let quoted = '"'
  let at = 0
  for (const rune of runesOf(bytes)) {
    quoted += rune.isValid ? quoteRune(rune.code, '"', isAscii) : `\\x${hex(bytes.charCodeAt(at), 2)}`
    at += rune.size
  }
  return `${quoted}"`
}

/** Whether a literal in backquotes can hold the text, on one line and with nothing that cannot be seen but tabs. */
export function canBackquote(bytes: string): boolean {
  for (const { code, isValid } of runesOf(bytes)) {
    if (!isValid || code === 0xfeff || code === 0x60 || code === 0x7f) return false
    if (code < 0x20 && code !== 9) return false
  }
  return true
}
