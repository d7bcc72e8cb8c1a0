// One pass over JSON text that finds what JSON.parse cannot tell: where it is broken, and which rules of S3 it breaks.
//
// It keeps its own stack, so that nesting never costs call stack, and stops at the first level too many: ten megabytes
// of '[' are refused after 129 bytes.
import { isExact } from './decimal.ts'
import type { Violation } from './json.ts'
import { clipPointer, pointer } from './pointer.ts'

export interface JsonScan {
  /** Set when the text is no JSON: the offset, and what should have been there. */
  readonly fault?: JsonFault
  readonly violations: readonly Violation[]
}

export interface JsonFault {
  readonly at: number
  readonly expected: string
}

export function scanJson(text: string, maxDepth: number): JsonScan {
  const scanner = new Scanner(text, maxDepth)
  const fault = scanner.run()
  return fault === undefined ? { violations: scanner.violations } : { fault, violations: [] }
}

/** Past this many the text is refused without looking further. */
const MAX_VIOLATIONS = 100

/** A decimal of 15 digits survives reading and writing, and is below 2^53. */
const SAFE_DIGITS = 15

const HALF_PAIR = 'holds an escape for half of a surrogate pair, which cannot be written as UTF-8'

/** A container that is still open: `keys` are an object's so far, `at` is the key or index being read. */
interface Frame {
  readonly keys: KeySet | undefined
  at: string | number
}

class Scanner {
  readonly violations: Violation[] = []
  readonly #text: string
  readonly #maxDepth: number
  readonly #frames: Frame[] = []
  #i = 0

  constructor(text: string, maxDepth: number) {
    this.#text = text
    this.#maxDepth = maxDepth
  }

  /** Undefined when the text is well-formed, or when enough is known to refuse it. */
  run(): JsonFault | undefined {
    for (;;) {
      this.#skipSpace()
      const code = this.#text.charCodeAt(this.#i)
      if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
        if (this.#frames.length === this.#maxDepth) {
          this.#refuse(`is nested deeper than ${this.#maxDepth} levels`)
          return undefined
        }
        this.#i++
        this.#skipSpace()
        if (this.#text.charCodeAt(this.#i) !== code + 2) {
          this.#frames.push(
            code === OPEN_OBJECT ? { keys: new KeySet(), at: '' } : { keys: undefined, at: 0 },
          )
          const fault = code === OPEN_OBJECT ? this.#key() : undefined
          if (fault) return fault
          continue
        }
        this.#i++
      } else {
        const fault = this.#scalar(code)
        if (fault) return fault
      }
      const fault = this.#afterValue()
      if (fault) return fault
      if (this.#frames.length === 0 || this.violations.length >= MAX_VIOLATIONS) return undefined
    }
  }

  #scalar(code: number): JsonFault | undefined {
    if (code === QUOTE) return this.#string(false)
    if (code === MINUS || (code >= ZERO && code <= NINE)) return this.#number()
    const word = code === 116 ? 'true' : code === 102 ? 'false' : code === 110 ? 'null' : undefined
    if (word === undefined || !this.#text.startsWith(word, this.#i)) return this.#expected('a value')
    this.#i += word.length
    return undefined
  }

  /** Closes what ends here and goes to the next value; with no frame left the document has ended. */
  #afterValue(): JsonFault | undefined {
    for (;;) {
      this.#skipSpace()
      const frame = this.#frames.at(-1)
      if (frame === undefined) return this.#i === this.#text.length ? undefined : this.#expected('the end')
      const code = this.#text.charCodeAt(this.#i)
      if (code === COMMA) {
        this.#i++
        if (frame.keys === undefined) {
          frame.at = (frame.at as number) + 1
          return undefined
        }
        this.#skipSpace()
        return this.#key()
      }
      const close = frame.keys === undefined ? CLOSE_ARRAY : CLOSE_OBJECT
      if (code !== close) return this.#expected(frame.keys === undefined ? "',' or ']'" : "',' or '}'")
      this.#frames.pop()
      this.#i++
    }
  }

  #key(): JsonFault | undefined {
    if (this.#text.charCodeAt(this.#i) !== QUOTE) return this.#expected('a key in double quotes')
    const fault = this.#string(true)
    if (fault) return fault
    this.#skipSpace()
    if (this.#text.charCodeAt(this.#i) !== COLON) return this.#expected("':'")
    this.#i++
    return undefined
  }

  #string(isKey: boolean): JsonFault | undefined {
    const text = this.#text
    const start = this.#i
    let end = start + 1
    let code = text.charCodeAt(end)
    // Past the end the code is NaN, which ends the loop too.
    while (code !== QUOTE && code !== BACKSLASH && code >= SPACE) code = text.charCodeAt(++end)
    const escaped = code === BACKSLASH
    if (escaped) {
      end = endOfEscaped(text, end)
      code = text.charCodeAt(end)
    }
    this.#i = end
    if (code !== QUOTE)
      return this.#expected(escaped && code === BACKSLASH ? 'a valid escape' : 'the rest of a string')
    this.#i++
    if (!escaped && !isKey) return undefined
    const value = escaped ? (JSON.parse(text.slice(start, this.#i)) as string) : text.slice(start + 1, end)
    if (isKey) this.#named(value)
    if (escaped && !value.isWellFormed()) this.#refuse(HALF_PAIR)
    return undefined
  }

  #named(key: string): void {
    const frame = this.#frames.at(-1)
    if (frame?.keys === undefined) return
    frame.at = key
    if (!frame.keys.add(key)) this.#refuse('is given more than once')
    if (isReservedKey(key)) this.#refuse(reservedMessage(key))
  }

  #number(): JsonFault | undefined {
    const text = this.#text
    const start = this.#i
    let end = text.charCodeAt(start) === MINUS ? start + 1 : start
    const first = end
    if (text.charCodeAt(end) === ZERO) end++
    else end = endOfDigits(text, end)
    let plain = true
    let digits = end > first
    if (digits && text.charCodeAt(end) === DOT) {
      const after = end + 1
      end = endOfDigits(text, after)
      digits = end > after
    }
    if (digits && (text.charCodeAt(end) | 32) === LOWER_E) {
      plain = false
      const sign = text.charCodeAt(end + 1)
      const after = sign === PLUS || sign === MINUS ? end + 2 : end + 1
      end = endOfDigits(text, after)
      digits = end > after
    }
    this.#i = end
    if (!digits) return this.#expected('a digit')
    if (plain && end - start <= SAFE_DIGITS) return undefined
    const problem = numberProblem(text.slice(start, end))
    if (problem !== undefined) this.#refuse(problem)
    return undefined
  }

  #skipSpace(): void {
    const text = this.#text
    let code = text.charCodeAt(this.#i)
    while (code === SPACE || code === 10 || code === 13 || code === 9) code = text.charCodeAt(++this.#i)
  }

  #refuse(message: string): void {
    this.violations.push({ path: clipPointer(pointer(this.#frames.map((frame) => frame.at))), message })
  }

  #expected(expected: string): JsonFault {
    return { at: this.#i, expected }
  }
}

/** The keys of one object. Most objects are small, and a short list is then quicker than a set. */
class KeySet {
  readonly #few: string[] = []
  #many: Set<string> | undefined

  /** False when the key is there already. */
  add(key: string): boolean {
    if (this.#many !== undefined) return this.#many.size < this.#many.add(key).size
    if (this.#few.includes(key)) return false
    this.#few.push(key)
    if (this.#few.length > 16) this.#many = new Set(this.#few)
    return true
  }
}

/** From a first backslash: the closing quote, or the place of what is wrong. */
function endOfEscaped(text: string, start: number): number {
  let i = start
  for (;;) {
    const code = text.charCodeAt(i)
    if (code !== BACKSLASH) {
      if (code === QUOTE || !(code >= SPACE)) return i
      i++
    } else if ('"\\/bfnrt'.includes(text.charAt(i + 1) || ' ')) i += 2
    else if (text.charAt(i + 1) === 'u' && /^[0-9a-fA-F]{4}$/.test(text.slice(i + 2, i + 6))) i += 6
    else return i
  }
}

function endOfDigits(text: string, start: number): number {
  let i = start
  let code = text.charCodeAt(i)
  while (code >= ZERO && code <= NINE) code = text.charCodeAt(++i)
  return i
}

function numberProblem(text: string): string | undefined {
  const value = Number(text)
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) return UNSAFE_INTEGER
  if (!isExact(text))
    return 'is a number that does not survive reading and writing: give fewer digits, or a string'
  return undefined
}

export const UNSAFE_INTEGER = 'is an integer past 2^53-1: give it as a string'

/** Keys that reach a prototype when an object is copied carelessly. */
export function isReservedKey(key: string): boolean {
  return key === '__proto__' || key === 'constructor' || key === 'prototype'
}

export function reservedMessage(key: string): string {
  return `uses the reserved key '${key}': name it otherwise`
}

const SPACE = 32
const QUOTE = 34
const PLUS = 43
const COMMA = 44
const MINUS = 45
const DOT = 46
const ZERO = 48
const NINE = 57
const COLON = 58
const OPEN_ARRAY = 91
const BACKSLASH = 92
const CLOSE_ARRAY = 93
const LOWER_E = 101
const OPEN_OBJECT = 123
const CLOSE_OBJECT = 125
