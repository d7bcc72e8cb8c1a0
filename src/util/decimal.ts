// Numbers as the decimal text that they are written in, for questions that binary arithmetic answers wrongly.

/** digits x 10^exponent. Digits have no zeros at either end, so equal values have equal parts; zero is ''. */
export interface Decimal {
  readonly negative: boolean
  readonly digits: string
  readonly exponent: number
}

/** Reads a JSON number. Zero has no sign. */
export function parseDecimal(text: string): Decimal {
  const negative = text.startsWith('-')
  const end = text.search(/[eE]/)
  const mantissa = text.slice(negative ? 1 : 0, end === -1 ? undefined : end)
  const dot = mantissa.indexOf('.')
  const all = dot === -1 ? mantissa : mantissa.slice(0, dot) + mantissa.slice(dot + 1)
  let start = 0
  while (all.charCodeAt(start) === 48) start++
  let stop = all.length
  while (stop > start && all.charCodeAt(stop - 1) === 48) stop--
  if (start === stop) return { negative: false, digits: '', exponent: 0 }
  const written = end === -1 ? 0 : Number(text.slice(end + 1))
  const fraction = dot === -1 ? 0 : mantissa.length - dot - 1
  return { negative, digits: all.slice(start, stop), exponent: written - fraction + (all.length - stop) }
}

/** Whether reading `text` as a number and writing it again gives the same value (S3). */
export function isExact(text: string): boolean {
  const value = Number(text)
  if (!Number.isFinite(value)) return false
  const read = parseDecimal(String(value))
  const written = parseDecimal(text)
  return (
    read.digits === written.digits && read.exponent === written.exponent && read.negative === written.negative
  )
}

/**
 * Whether `value` is `step` a whole number of times, by their decimal values: 19.99 is a multiple of 0.01, although
 * 19.99 / 0.01 is 1998.9999999999998.
 */
export function isMultiple(value: number, step: number): boolean {
  if (Number.isInteger(value) && Number.isInteger(step)) return value % step === 0
  const a = parseDecimal(String(value))
  const b = parseDecimal(String(step))
  if (a.digits === '') return true
  const shared = Math.min(a.exponent, b.exponent)
  return scaled(a, shared) % scaled(b, shared) === 0n
}

function scaled(decimal: Decimal, exponent: number): bigint {
  return BigInt(decimal.digits) * 10n ** BigInt(decimal.exponent - exponent)
}
