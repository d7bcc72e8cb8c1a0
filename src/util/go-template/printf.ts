// Go's Printf: reads the format, and prints one argument for each verb.
import type { TextBuilder } from './budget.ts'
import { type FormatFlags, PLAIN } from './format-flags.ts'
import { decodeRune, encodeRune } from './go-text.ts'
import { isNothing, jointLiteral, LITERAL, typeName, type Value } from './go-value.ts'
import { printValue } from './print-value.ts'

/** Widths and precisions above this are not taken. */
const MAX_SIZE = 1_000_000

/** Where the reading of a format is. */
interface State {
  at: number
  argument: number
  /** `%[3]d` was used: then nobody counts arguments that are left. */
  isReordered: boolean
  hasGoodIndex: boolean
  /** An index was read, and nothing that takes an argument since. */
  isAfterIndex: boolean
  /** The last ] of the format: looking for one after it would take longer with every [. */
  readonly lastClose: number
}

interface Size {
  readonly size: number | undefined
  readonly bad: string
  /** A negative width from an argument: pad on the other side. */
  readonly isNegative: boolean
}

export function printf(out: TextBuilder, format: Value & { kind: 'string' }, values: readonly Value[]): void {
  const text = format.value
  const literal = format.literal === LITERAL ? LITERAL : 0
  const state: State = {
    at: 0,
    argument: 0,
    isReordered: false,
    hasGoodIndex: true,
    isAfterIndex: false,
    lastClose: text.lastIndexOf(']'),
  }
  while (state.at < text.length) {
    const percent = text.indexOf('%', state.at)
    const stop = percent === -1 ? text.length : percent
    out.add(text.slice(state.at, stop), literal)
    state.at = stop
    if (percent === -1) break
    state.at++
    if (!printDirective(out, text, values, state, literal)) break
  }
  if (!state.isReordered && state.argument < values.length) {
    printExtra(out, values.slice(state.argument), literal)
  }
}

/** False where the format ends inside the directive. */
function printDirective(
  out: TextBuilder,
  text: string,
  values: readonly Value[],
  state: State,
  literal: number,
): boolean {
  const begun = state.argument
  state.hasGoodIndex = true
  const marks = readMarks(text, state)
  readIndex(text, values.length, state)
  const width = readSize(text, values, state, false)
  out.add(width.bad, literal)
  const precision = readPrecision(text, values, state)
  out.add(precision.bad, literal)
  if (!state.isAfterIndex) readIndex(text, values.length, state)
  if (state.at >= text.length) {
    out.add('%!(NOVERB)', literal)
    return false
  }
  const { code, size } = decodeRune(text, state.at)
  state.at += size
  const verb = encodeRune(code)
  const value = values[state.argument]
  if (verb === '%') out.add('%', literal)
  else if (!state.hasGoodIndex) out.add(`%!${verb}(BADINDEX)`, literal)
  else if (value === undefined) out.add(`%!${verb}(MISSING)`, literal)
  else {
    const isGo = verb === 'v' || verb === 'w'
    const flags: FormatFlags = {
      width: width.size,
      precision: precision.size,
      minus: marks.includes('-') || width.isNegative,
      plus: marks.includes('+') && !isGo,
      sharp: marks.includes('#') && !isGo,
      space: marks.includes(' '),
      zero: marks.includes('0') && !width.isNegative,
      isGoSyntax: marks.includes('#') && isGo,
    }
    // Sizes that came from input may shift the text.
    const sizes = values.slice(Math.min(begun, state.argument), state.argument)
    printValue(out, value, verb, flags, Math.min(literal, jointLiteral(sizes)))
    state.argument++
  }
  return true
}

function readMarks(text: string, state: State): string {
  const start = state.at
  while ('#0+- '.includes(text[state.at] ?? '!')) state.at++
  return text.slice(start, state.at)
}

/** `[3]`: which argument is next. */
function readIndex(text: string, count: number, state: State): void {
  state.isAfterIndex = false
  if (text[state.at] !== '[') return
  state.isReordered = true
  const close = state.at < state.lastClose ? text.indexOf(']', state.at + 1) : -1
  if (close === -1 || text.length - state.at < 3) {
    state.hasGoodIndex = false
    state.at++
    return
  }
  const written = text.slice(state.at + 1, close)
  const number = toSize(written)
  state.at = close + 1
  state.isAfterIndex = number !== undefined
  if (number !== undefined && number >= 1 && number <= count) state.argument = number - 1
  else state.hasGoodIndex = false
}

/** Digits that Go takes for a number: it gives up once it has read more than a million. */
function toSize(digits: string): number | undefined {
  if (!/^[0-9]+$/.test(digits)) return undefined
  return Number(digits.slice(0, -1)) > MAX_SIZE ? undefined : Number(digits)
}

function readSize(text: string, values: readonly Value[], state: State, isPrecision: boolean): Size {
  if (text[state.at] === '*') {
    state.at++
    state.isAfterIndex = false
    return sizeFromArgument(values, state, isPrecision)
  }
  const digits = /^[0-9]*/.exec(text.slice(state.at))?.[0] ?? ''
  const size = toSize(digits)
  // A number that is too long swallows the rest of the format.
  state.at = digits !== '' && size === undefined ? text.length : state.at + digits.length
  if (state.isAfterIndex && size !== undefined && !isPrecision) state.hasGoodIndex = false
  return { size, bad: '', isNegative: false }
}

function sizeFromArgument(values: readonly Value[], state: State, isPrecision: boolean): Size {
  const bad: Size = { size: undefined, bad: isPrecision ? '%!(BADPREC)' : '%!(BADWIDTH)', isNegative: false }
  const value = values[state.argument]
  if (value === undefined) return bad
  state.argument++
  if (value.kind !== 'int' && value.kind !== 'uint8') return bad
  const size = Number(value.value)
  if (Math.abs(size) > MAX_SIZE || (isPrecision && size < 0)) return bad
  return { size: Math.abs(size), bad: '', isNegative: size < 0 }
}

function readPrecision(text: string, values: readonly Value[], state: State): Size {
  if (text[state.at] !== '.' || state.at + 1 >= text.length) {
    return { size: undefined, bad: '', isNegative: false }
  }
  state.at++
  if (state.isAfterIndex) state.hasGoodIndex = false
  readIndex(text, values.length, state)
  const isStar = text[state.at] === '*'
  const read = readSize(text, values, state, true)
  return isStar ? read : { ...read, size: read.size ?? 0 }
}

function printExtra(out: TextBuilder, values: readonly Value[], literal: number): void {
  let separator = '%!(EXTRA '
  for (const value of values) {
    out.add(separator, literal)
    if (!isNothing(value)) out.add(`${typeName(value)}=`, literal)
    printValue(out, value, 'v', PLAIN)
    separator = ', '
  }
  out.add(')', literal)
}
