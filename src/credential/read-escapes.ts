// Reads the escapes of addresses, JSON, programs and HTML in a text, and keeps where each character was.

export interface Unescaped {
  readonly text: string
  /** Where a character of `text` begins in what was read; its length gives the end. */
  at(index: number): number
}

export const ESCAPE =
  /%[0-9a-fA-F]{2}|\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|["'\\/bfnrt])|&(?:#[xX][0-9a-fA-F]{1,6}|#[0-9]{1,7}|amp|lt|gt|quot|apos);/g
/** What may become one when more of the text comes; after a backslash only where that is none of another escape. */
const BEGUN = /%[0-9a-fA-F]?$|&[#0-9a-zA-Z]{0,8}$/
const BEGUN_AFTER_BACKSLASH = /(?:u[0-9a-fA-F]{0,3}|x[0-9a-fA-F]?)?$/
const LONGEST = 9

const LETTERS: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }
const NAMES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

/** undefined: there is nothing to read. The bytes of `%c3%a9` are a character each. */
export function readEscapes(source: string): Unescaped | undefined {
  if (!['%', '\\', '&'].some((sign) => source.includes(sign))) return undefined
  const pieces: string[] = []
  // Of each escape: how many characters of the result come before it, and by how much the source is ahead after it.
  const after: number[] = []
  const ahead: number[] = []
  let read = 0
  let made = 0
  const escapes = new RegExp(ESCAPE)
  for (let match = escapes.exec(source); match !== null; match = escapes.exec(source)) {
    const { index, 0: sequence } = match
    const meant = meaningOf(sequence)
    pieces.push(source.slice(read, index), meant)
    made += index - read + meant.length
    read = index + sequence.length
    after.push(made)
    ahead.push(read - made)
  }
  if (pieces.length === 0) return undefined
  pieces.push(source.slice(read))
  return {
    text: pieces.join(''),
    at(index) {
      // The last escape that was over before this character.
      let low = 0
      let high = after.length
      while (low < high) {
        const middle = (low + high) >> 1
        if ((after[middle] ?? 0) <= index) low = middle + 1
        else high = middle
      }
      return index + (low === 0 ? 0 : (ahead[low - 1] ?? 0))
    },
  }
}

/** How much of the end may be the beginning of an escape. */
export function begunEscape(text: string): number {
  const end = text.slice(-LONGEST)
  const begun = BEGUN.exec(end)
  if (begun !== null) return begun[0].length
  const after = BEGUN_AFTER_BACKSLASH.exec(end)?.[0].length ?? 0
  let first = text.length - after
  while (first > 0 && text[first - 1] === '\\') first--
  const backslashes = text.length - after - first
  return backslashes % 2 === 1 ? after + 1 : 0
}

export function meaningOf(sequence: string): string {
  const kind = sequence[0]
  if (kind === '%') return String.fromCharCode(Number.parseInt(sequence.slice(1), 16))
  if (kind === '\\') {
    const letter = sequence[1] ?? ''
    if (sequence.length > 2) return String.fromCharCode(Number.parseInt(sequence.slice(2), 16))
    return LETTERS[letter] ?? letter
  }
  const name = sequence.slice(1, -1)
  if (name[0] !== '#') return NAMES[name] ?? ''
  const hex = name[1] === 'x' || name[1] === 'X'
  const point = Number.parseInt(name.slice(hex ? 2 : 1), hex ? 16 : 10)
  return point <= 0x10ffff ? String.fromCodePoint(point) : ''
}
