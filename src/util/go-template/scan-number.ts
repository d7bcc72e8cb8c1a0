// Where a number in a template ends, and what it is worth. Go's notation: 1_000, 0x1F, 0b1, 0o7, 1e3, 0x1p-2, 2i.
import { isWord } from './go-text.ts'

export type NumberRead =
  | { readonly kind: 'int'; readonly value: bigint }
  | { readonly kind: 'float64'; readonly value: number }
  | { readonly kind: 'complex128'; readonly real: number; readonly imaginary: number }
  /** Fits 64 bits without a sign, and no `int`. */
  | { readonly kind: 'too-large' }

const MAX_INT = 2n ** 63n - 1n
const MAX_UINT = 2n ** 64n - 1n
const RADIX: Readonly<Record<string, string>> = { x: '0123456789abcdefABCDEF_', o: '01234567_', b: '01_' }
const DIGITS = '0123456789_'

/** Undefined where what is here cannot be a number. What is worth nothing, such as a lone sign, is found by `readNumber`. */
export function scanNumber(input: string, from: number): number | undefined {
  const end = scanPart(input, from)
  if (end === undefined || !/^[-+]/.test(input[end] ?? '')) return end
  const whole = scanPart(input, end)
  return whole !== undefined && input[whole - 1] === 'i' ? whole : undefined
}

function scanPart(input: string, from: number): number | undefined {
  let at = from
  const accept = (set: string): boolean => {
    const char = input[at]
    if (char === undefined || !set.includes(char)) return false
    at++
    return true
  }
  const acceptAll = (set: string): void => {
    while (accept(set));
  }
  accept('+-')
  const radix = input[at] === '0' ? (input[at + 1] ?? '').toLowerCase() : ''
  const digits = RADIX[radix] ?? DIGITS
  if (digits !== DIGITS) at += 2
  acceptAll(digits)
  if (accept('.')) acceptAll(digits)
  if ((digits === DIGITS && accept('eE')) || (radix === 'x' && accept('pP'))) {
    accept('+-')
    acceptAll(DIGITS)
  }
  accept('i')
  const next = input.codePointAt(at)
  return next !== undefined && isWord(String.fromCodePoint(next)) ? undefined : at
}

/** Undefined where Go reads no number. */
export function readNumber(text: string): NumberRead | undefined {
  const second = text.endsWith('i') ? /^(.*[^eEpP])([-+].*)i$/.exec(text) : null
  if (second !== null) {
    const real = readFloat(second[1] ?? '')
    const imaginary = readFloat(second[2] ?? '')
    return real === undefined || imaginary === undefined ? undefined : { kind: 'complex128', real, imaginary }
  }
  if (text.endsWith('i')) {
    const imaginary = readFloat(text.slice(0, -1))
    return imaginary === undefined ? undefined : { kind: 'complex128', real: 0, imaginary }
  }
  const int = readInt(text)
  if (int !== undefined && int >= -MAX_INT - 1n && int <= MAX_UINT) {
    // A sign before the 0x hides from Go that this is no fraction.
    const looksFloat = /[.eEpP]/.test(text) && !/^0[xX]./.test(text)
    if (looksFloat) return { kind: 'float64', value: Number(int) }
    return int <= MAX_INT ? { kind: 'int', value: int } : { kind: 'too-large' }
  }
  const float = /[.eEpP]/.test(text) ? readFloat(text) : undefined
  return float === undefined ? undefined : { kind: 'float64', value: float }
}

function readInt(text: string): bigint | undefined {
  const [, sign = '', prefix = '', digits = ''] = /^([-+]?)(0[xX]|0[bB]|0[oO]|0(?=.))?(\w+)$/.exec(text) ?? []
  const radix = prefix === '0' ? 'o' : prefix.slice(1).toLowerCase()
  const plain = digits.replaceAll('_', '')
  const allowed = { x: /^[0-9a-fA-F]+$/, o: /^[0-7]+$/, b: /^[01]+$/, '': /^[0-9]+$/ }[radix]
  if (!allowed?.test(plain) || !hasGoodUnderscores(text)) return undefined
  const value = BigInt(radix === '' ? plain : `0${radix}${plain}`)
  // Only a number with a sign goes below zero, and it must fit with it.
  if (sign !== '' && value > MAX_INT + (sign === '-' ? 1n : 0n)) return undefined
  return sign === '-' ? -value : value
}

function readFloat(text: string): number | undefined {
  if (!hasGoodUnderscores(text)) return undefined
  const plain = text.replaceAll('_', '')
  const hex = /^([-+]?)0[xX]([0-9a-fA-F]*)\.?([0-9a-fA-F]*)[pP]([-+]?\d+)$/.exec(plain)
  const isDecimal = /^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$/.test(plain)
  const value = hex === null ? (isDecimal ? Number(plain) : Number.NaN) : readHexFloat(hex)
  return Number.isFinite(value) ? value : undefined
}

function readHexFloat([, sign = '', whole = '', fraction = '', power = '']: readonly string[]): number {
  if (whole + fraction === '') return Number.NaN
  const mantissa = Number(BigInt(`0x${whole}${fraction}`))
  const exponent = Number(power) - 4 * fraction.length
  // In two steps: the power alone may be too small for a number where the product is not.
  const half = Math.trunc(exponent / 2)
  const value = mantissa === 0 ? 0 : mantissa * 2 ** half * 2 ** (exponent - half)
  return sign === '-' ? -value : value
}

/** Each stands between two digits, or between the prefix and a digit. */
function hasGoodUnderscores(text: string): boolean {
  if (!text.includes('_')) return true
  const unsigned = text.replace(/^[-+]/, '')
  const isHex = /^0[xX]/.test(unsigned)
  const digit = isHex ? '[0-9a-fA-F]' : '[0-9]'
  const body = unsigned.replace(/^0[xXbBoO]/, '0')
  return new RegExp(`^(?:[^_]|(?<=${digit})_(?=${digit}))*$`).test(body)
}
