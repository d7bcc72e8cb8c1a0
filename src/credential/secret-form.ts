// The forms in which the value of a secret may come back: as it is, as base64 within anything, as hex.
//
// Escapes are not among them: a text is read for those before it is searched. Only inside of base64 nobody reads them, so
// there the usual spellings are forms of their own.
import { readEscapes } from './read-escapes.ts'

/**
 * Anything shorter is not looked for: it would be found in texts that have nothing to do with it, and take them apart.
 * A secret that is meant to be one is longer (S50).
 */
export const SHORTEST_FORM = 6

export function formsOf(value: string): readonly string[] {
  const forms = new Set([value, readEscapes(value)?.text ?? value])
  const encodings = [Buffer.from(value, 'utf8')]
  // Headers carry a byte for each character, where that is possible.
  const isLatin = [...value].every((one) => (one.codePointAt(0) ?? 0) < 256)
  if (isLatin && encodings[0]?.length !== value.length) encodings.push(Buffer.from(value, 'latin1'))
  for (const bytes of encodings) {
    const hex = bytes.toString('hex')
    const unescaped = bytes.toString('latin1')
    forms.add(unescaped).add(unescaped.replaceAll(' ', '+')).add(hex).add(hex.toUpperCase())
    for (const form of base64Forms(bytes)) forms.add(form)
  }
  for (const spelling of spellingsOf(value))
    for (const form of base64Forms(Buffer.from(spelling))) forms.add(form)
  return [...forms].filter(({ length }) => length >= SHORTEST_FORM)
}

/** Of something longer, such as a file of keys, each spelling would make the search as large again. */
const LONGEST_SPELLED = 4_096

/** As it stands in addresses, forms and JSON, where that is not as it is. A client of OAuth 2 shows itself like that. */
function spellingsOf(value: string): ReadonlySet<string> {
  if (value.length > LONGEST_SPELLED) return new Set()
  const encoded = encodeURIComponent(value.toWellFormed())
  const spellings = new Set([
    encoded,
    encoded.replaceAll('%2F', '/'),
    new URLSearchParams({ a: value }).toString().slice(2),
    JSON.stringify(value).slice(1, -1),
  ])
  spellings.delete(value)
  return spellings
}

/** Of a private key and its like, in which each line is a secret: programs indent them, number them, or show one alone. */
const KEY_LINE = /^[A-Za-z0-9+/=_-]{32,}$/

/** Also of one inside JSON, where its line breaks are escapes. */
export function keyLinesOf(value: string): readonly string[] {
  const lines = (readEscapes(value)?.text ?? value).split(/[\r\n]+/)
  return lines.length === 1 ? [] : lines.map((line) => line.trim()).filter((line) => KEY_LINE.test(line))
}

/** Whole, with and without padding; and the part that does not depend on what stands before and after it. */
function base64Forms(bytes: Buffer): readonly string[] {
  const whole = bytes.toString('base64')
  const standard = [whole, whole.replace(/=+$/, '')]
  for (const before of [0, 1, 2]) {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64')
    standard.push(text.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6)))
  }
  return standard.flatMap((text) => [text, text.replaceAll('+', '-').replaceAll('/', '_')])
}
