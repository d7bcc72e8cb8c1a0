// Writes floating-point numbers as Go's strconv does: e, f, g, and the binary forms b and x.

interface Digits {
  /** Without zeros at the end; '' is zero. */
  readonly digits: string
  /** Where the decimal point is: 0.digits x 10^point. */
  readonly point: number
}

interface Binary {
  readonly isNegative: boolean
  /** The value is mantissa x 2^exponent. */
  readonly mantissa: bigint
  readonly exponent: number
}

const ZERO: Digits = Object.freeze({ digits: '', point: 0 })
const MANTISSA_BITS = 52

/** `precision` undefined means as many digits as are needed to read the same number again. */
export function formatFloat(value: number, verb: string, precision: number | undefined): string {
  const binary = toBinary(value)
  const sign = binary.isNegative ? '-' : ''
  if (verb === 'b') {
    return `${sign}${binary.mantissa}p${binary.exponent >= 0 ? '+' : ''}${binary.exponent}`
  }
  if (verb === 'x' || verb === 'X') {
    const text = formatHex(binary, precision)
    return sign + (verb === 'X' ? text.toUpperCase() : text)
  }
  return sign + formatDecimal(Math.abs(value), binary, verb, precision)
}

function toBinary(value: number): Binary {
  const view = new DataView(new ArrayBuffer(8))
  view.setFloat64(0, value)
  const bits = view.getBigUint64(0)
  const power = Number((bits >> 52n) & 0x7ffn)
  const fraction = bits & (2n ** 52n - 1n)
  const isNegative = bits >> 63n === 1n
  // A power of 0 stands for the smallest numbers, which have no leading 1.
  return power === 0
    ? { isNegative, mantissa: fraction, exponent: 1 - 1023 - MANTISSA_BITS }
    : { isNegative, mantissa: fraction | (1n << 52n), exponent: power - 1023 - MANTISSA_BITS }
}

function formatDecimal(value: number, binary: Binary, verb: string, precision: number | undefined): string {
  if (precision === undefined) {
    const shortest = shortestDigits(value)
    const count = shortest.digits.length
    if (verb === 'e' || verb === 'E') return exponential(shortest, Math.max(count - 1, 0), verb)
    if (verb === 'f') return fixed(shortest, Math.max(count - shortest.point, 0))
    return general(shortest, count, 6, verb)
  }
  const exact = exactDigits(binary)
  if (verb === 'e' || verb === 'E') return exponential(rounded(exact, precision + 1), precision, verb)
  if (verb === 'f') return fixed(rounded(exact, exact.point + precision), precision)
  const wanted = precision === 0 ? 1 : precision
  const digits = rounded(exact, wanted)
  const count = digits.digits.length
  return general(digits, wanted, wanted > count && count >= digits.point ? count : wanted, verb)
}

/** From `limit` digits before the point on, and below 0.0001, it is written with an exponent. */
function general(digits: Digits, precision: number, limit: number, verb: string): string {
  const count = digits.digits.length
  const exponent = digits.point - 1
  if (exponent < -4 || exponent >= limit) {
    return exponential(digits, Math.min(precision, count) - 1, verb === 'G' ? 'E' : 'e')
  }
  const shown = precision > digits.point ? count : precision
  return fixed(digits, Math.max(shown - digits.point, 0))
}

function exponential({ digits, point }: Digits, precision: number, letter: string): string {
  const exponent = digits === '' ? 0 : point - 1
  const fraction = precision > 0 ? `.${digits.slice(1, precision + 1).padEnd(precision, '0')}` : ''
  const power = String(Math.abs(exponent)).padStart(2, '0')
  return `${digits[0] ?? '0'}${fraction}${letter}${exponent < 0 ? '-' : '+'}${power}`
}

function fixed({ digits, point }: Digits, precision: number): string {
  const whole = point > 0 ? digits.slice(0, point).padEnd(point, '0') : '0'
  if (precision <= 0) return whole
  const zeros = '0'.repeat(Math.min(Math.max(-point, 0), precision))
  const rest = (zeros + digits.slice(Math.max(point, 0))).slice(0, precision)
  return `${whole}.${rest.padEnd(precision, '0')}`
}

function shortestDigits(value: number): Digits {
  if (value === 0) return ZERO
  const [mantissa = '', power = ''] = value.toExponential().split('e')
  return { digits: mantissa.replace('.', ''), point: Number(power) + 1 }
}

/** All digits of the value: every binary fraction ends in decimal, too. */
function exactDigits({ mantissa, exponent }: Binary): Digits {
  if (mantissa === 0n) return ZERO
  const scaled = exponent >= 0 ? mantissa << BigInt(exponent) : mantissa * 5n ** BigInt(-exponent)
  const all = scaled.toString()
  return { digits: all.replace(/0+$/, ''), point: all.length + Math.min(exponent, 0) }
}

/** To `count` digits; exactly half goes to the even neighbour. */
function rounded(exact: Digits, count: number): Digits {
  const { digits, point } = exact
  if (count < 0 || count >= digits.length) return exact
  const kept = digits.slice(0, count)
  const isHalf = digits[count] === '5' && count + 1 === digits.length
  const isUp = isHalf ? count > 0 && Number(kept.at(-1)) % 2 === 1 : Number(digits[count]) >= 5
  const grown = isUp ? (kept === '' ? '1' : (BigInt(kept) + 1n).toString()) : kept
  const trimmed = grown.replace(/0+$/, '')
  if (trimmed === '') return ZERO
  return { digits: trimmed, point: point + (grown.length - count) }
}

function formatHex(binary: Binary, precision: number | undefined): string {
  let mantissa = binary.mantissa << 8n
  let exponent = mantissa === 0n ? 0 : binary.exponent + MANTISSA_BITS
  while (mantissa !== 0n && mantissa < 1n << 60n) {
    mantissa <<= 1n
    exponent--
  }
  if (precision !== undefined && precision < 15) {
    const cut = BigInt(60 - 4 * precision)
    const rest = mantissa & ((1n << cut) - 1n)
    const half = 1n << (cut - 1n)
    mantissa >>= cut
    if (rest > half || (rest === half && (mantissa & 1n) === 1n)) mantissa++
    mantissa <<= cut
    if (mantissa >= 1n << 61n) {
      mantissa >>= 1n
      exponent++
    }
  }
  const hex = (mantissa & ((1n << 60n) - 1n)).toString(16).padStart(15, '0')
  const fraction =
    precision === undefined ? hex.replace(/0+$/, '') : hex.slice(0, precision).padEnd(precision, '0')
  const power = String(Math.abs(exponent)).padStart(2, '0')
  const point = fraction === '' ? '' : '.'
  return `0x${mantissa >> 60n}${point}${fraction}p${exponent < 0 ? '-' : '+'}${power}`
}
