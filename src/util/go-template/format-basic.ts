// One bool, number or text by one verb of Go's fmt. Undefined where the verb is none for it.

import { type FormatFlags, pad, padding } from './format-flags.ts'
import { formatFloat } from './format-float.ts'
import { canBackquote, encodeRune, isPrint, quoteRune, quoteText, truncateRunes } from './go-text.ts'
import type { Value } from './go-value.ts'

const MAX_RUNE = 0x10ffffn
const REPLACEMENT = 0xfffd
const RADIX: Readonly<Record<string, number>> = { d: 10, v: 10, b: 2, o: 8, O: 8, x: 16, X: 16 }
const FLOAT_VERBS: Readonly<Record<string, readonly [verb: string, precision: number | undefined]>> = {
  v: ['g', undefined],
  b: ['b', undefined],
  g: ['g', undefined],
  G: ['G', undefined],
  x: ['x', undefined],
  X: ['X', undefined],
  f: ['f', 6],
  F: ['f', 6],
  e: ['e', 6],
  E: ['E', 6],
}

export function formatBasic(value: Value, verb: string, flags: FormatFlags): string | undefined {
  switch (value.kind) {
    case 'bool':
      return verb === 't' || verb === 'v' ? pad(String(value.value), flags) : undefined
    case 'string':
      return formatText(value.value, verb, flags)
    case 'int':
      return formatInt(value.value, verb, flags)
    case 'uint8':
      return verb === 'v' && flags.isGoSyntax
        ? formatDigits(value.value, 'x', { ...flags, sharp: true })
        : formatInt(value.value, verb, flags)
    case 'float64':
      return formatReal(value.value, verb, flags)
    case 'complex128': {
      const real = formatReal(value.real, verb, flags)
      const imaginary = formatReal(value.imaginary, verb, { ...flags, plus: true })
      return real === undefined ? undefined : `(${real}${imaginary}i)`
    }
    default:
      return undefined
  }
}

export function formatText(bytes: string, verb: string, flags: FormatFlags): string | undefined {
  if (verb === 'x' || verb === 'X') return formatBytes(bytes, verb, flags)
  const cut = flags.precision === undefined ? bytes : truncateRunes(bytes, flags.precision)
  if (verb === 'q' || (verb === 'v' && flags.isGoSyntax)) {
    if (flags.sharp && canBackquote(cut)) return pad(`\`${cut}\``, flags)
    return pad(quoteText(cut, flags.plus), flags)
  }
  return verb === 's' || verb === 'v' ? pad(cut, flags) : undefined
}

function formatBytes(bytes: string, verb: string, flags: FormatFlags): string {
  const cut = flags.precision === undefined ? bytes : bytes.slice(0, flags.precision)
  const width = flags.width ?? 0
  if (cut === '') return padding(width, flags)
  const prefix = flags.sharp ? '0x' : ''
  const pairs = [...cut].map((char) => char.charCodeAt(0).toString(16).padStart(2, '0'))
  const joined = prefix + pairs.join(flags.space ? ` ${prefix}` : '')
  const text = verb === 'X' ? joined.toUpperCase() : joined
  const fill = padding(width - text.length, flags)
  return flags.minus ? text + fill : fill + text
}

function formatInt(value: bigint, verb: string, flags: FormatFlags): string | undefined {
  const isRune = value >= 0n && value <= MAX_RUNE
  const code = isRune ? Number(value) : REPLACEMENT
  if (verb === 'c') return pad(encodeRune(code), flags)
  if (verb === 'q') {
    const isSurrogate = code >= 0xd800 && code <= 0xdfff
    return pad(`'${quoteRune(isSurrogate ? REPLACEMENT : code, "'", flags.plus)}'`, flags)
  }
  if (verb === 'U') {
    const hex = BigInt.asUintN(64, value).toString(16).toUpperCase()
    const shown = flags.sharp && isRune && isPrint(code) ? ` '${encodeRune(code)}'` : ''
    return pad(`U+${hex.padStart(Math.max(flags.precision ?? 0, 4), '0')}${shown}`, { ...flags, zero: false })
  }
  return RADIX[verb] === undefined ? undefined : formatDigits(value, verb, flags)
}

function formatDigits(value: bigint, verb: string, flags: FormatFlags): string {
  const plain = { ...flags, zero: false }
  const width = flags.width ?? 0
  if (flags.precision === 0 && value === 0n) return padding(width, plain)
  const sign = value < 0n ? '-' : flags.plus ? '+' : flags.space ? ' ' : ''
  // Zeros for the width are digits: they come after the sign and before the prefix.
  const fill = flags.zero && !flags.minus && flags.width !== undefined ? width - sign.length : 0
  const digits = (value < 0n ? -value : value).toString(RADIX[verb])
  const filled = digits.padStart(flags.precision ?? fill, '0')
  const text = prefixOf(verb, filled, flags) + filled
  return pad(sign + (verb === 'X' ? text.toUpperCase() : text), plain)
}

function prefixOf(verb: string, digits: string, flags: FormatFlags): string {
  const octal = flags.sharp && !digits.startsWith('0') ? '0' : ''
  if (verb === 'O') return `0o${octal}`
  if (verb === 'o') return octal
  if (!flags.sharp) return ''
  return verb === 'b' ? '0b' : verb === 'x' || verb === 'X' ? '0x' : ''
}

function formatReal(value: number, verb: string, flags: FormatFlags): string | undefined {
  const [form, standard] = FLOAT_VERBS[verb] ?? []
  if (form === undefined) return undefined
  const precision = flags.precision ?? standard
  const written = formatFloat(value, form, precision)
  const isNegative = written.startsWith('-')
  const unsigned = isNegative ? written.slice(1) : written
  const number = flags.sharp && form !== 'b' ? withPoint(unsigned, form, precision) : unsigned
  const sign = isNegative ? '-' : flags.plus ? '+' : flags.space ? ' ' : ''
  if (sign !== '' && flags.zero && !flags.minus) {
    return sign + padding((flags.width ?? 0) - number.length - 1, flags) + number
  }
  return pad(sign + number, flags)
}

/** The # flag: a point always, and for g the zeros that its precision asks for. */
function withPoint(number: string, form: string, precision: number | undefined): string {
  const isHex = form === 'x' || form === 'X'
  const tailAt = number.search(isHex ? /[pP]/ : /[eE]/)
  const head = tailAt === -1 ? number : number.slice(0, tailAt)
  const tail = tailAt === -1 ? '' : number.slice(tailAt)
  const wanted = 'gGx'.includes(form) ? (precision ?? 6) : 0
  // Digits count from the first that is not zero. The x of a prefix counts as one, as it does in Go.
  const counted = head.replace('.', '').replace(/^0+/, '').length
  const isLoneZero = !head.includes('.') && head === '0'
  const zeros = '0'.repeat(Math.max(wanted - counted - (isLoneZero ? 1 : 0), 0))
  return `${head}${head.includes('.') ? '' : '.'}${zeros}${tail}`
}
