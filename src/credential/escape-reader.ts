// Reads the escapes of a text that comes one character at a time: the same as `readEscapes` does with a whole one.
import { ESCAPE, meaningOf } from './read-escapes.ts'

/** A character, and what of the source it stands for. */
export type TakeCharacter = (code: number, start: number, end: number) => void

export interface EscapeReader {
  push: TakeCharacter
  /** Where that begins of which it is not known yet whether it is an escape. */
  open(): number
  /** Nothing more comes: what has begun as an escape is none. */
  end(): void
}

const WHOLE = new RegExp(`^(?:${ESCAPE.source})`)
/** What may become one when more of the text comes. */
const BEGUN =
  /^(?:%[0-9a-fA-F]?|\\(?:u[0-9a-fA-F]{0,3}|x[0-9a-fA-F]?)?|&(?:#(?:[xX][0-9a-fA-F]{0,6}|[0-9]{0,7})|[a-z]{0,4}))$/

const PERCENT = 0x25
const AMPERSAND = 0x26
const BACKSLASH = 0x5c

export function beginsEscape(code: number): boolean {
  return code === PERCENT || code === AMPERSAND || code === BACKSLASH
}

export function createEscapeReader(take: TakeCharacter): EscapeReader {
  let held = ''
  let starts: number[] = []
  let ends: number[] = []

  /** Gives out the first characters that are held, as what they mean. */
  function give(count: number, meant: string): void {
    const [start = 0, end = 0] = [starts[0], ends[count - 1]]
    held = held.slice(count)
    starts = starts.slice(count)
    ends = ends.slice(count)
    for (let index = 0; index < meant.length; index++) take(meant.charCodeAt(index), start, end)
  }

  function settle(last: boolean): void {
    while (held !== '') {
      const [sequence] = WHOLE.exec(held) ?? []
      if (sequence !== undefined) give(sequence.length, meaningOf(sequence))
      else if (!last && BEGUN.test(held)) return
      else give(1, held.charAt(0))
    }
  }

  return {
    push(code, start, end) {
      if (held === '' && !beginsEscape(code)) {
        take(code, start, end)
        return
      }
      held += String.fromCharCode(code)
      starts.push(start)
      ends.push(end)
      settle(false)
    },
    open: () => starts[0] ?? Number.POSITIVE_INFINITY,
    end: () => settle(true),
  }
}
