// Data at random for templates: what the fields of the grammar mostly find something in.
import fc from 'fast-check'
import type { Json } from '../../../src/util/json.ts'

const CHARACTERS = [
  ...'abcXYZ019 -_./:=?&%#+<>"\'`\\{}[]$|',
  ...['\0', '\t', '\n', '\r', '\u001b', '\u007f', '\u0085', '\u00a0', '\u00ad', 'é', 'ß', 'Ω', 'я', '\u0301'],
  ...['日', '本', '\u200b', '\u2028', '\ufeff', '\ufffd', '\uffff', '😀', '\u{e0001}', '\u{10ffff}'],
]

export const text: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom('', 'a', '-rf', '--name', 'hello world', 'é', '日本', '😀'),
  fc.string({ unit: fc.constantFrom(...CHARACTERS), maxLength: 8 }),
)

const ODD_NUMBERS = [
  ...[0.5, 1.5, 2.5, -0.25, 1e5, 999999, 1e6, 1234567.5, 1e20, 1e21, 1e-4, 1e-5, 0.1, 1 / 3, 0.125, 0.375],
  ...[Number.MAX_VALUE, Number.MIN_VALUE, 2 ** 53, -(2 ** 63), 12345678.9, 1e23, 9.5, 99.5, 0.05, 1e-7],
]

const number: fc.Arbitrary<number> = fc.oneof(
  fc.integer({ min: -3, max: 12 }),
  fc.constantFrom(...ODD_NUMBERS),
  // JSON.stringify writes -0 as 0.
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((one) => one || 0),
)

const key = fc.constantFrom('a', 'b', 's', 'n', 'l', 'm', 'é', 'Z')
const leaf: fc.Arbitrary<Json> = fc.oneof(text, number, fc.boolean(), fc.constant(null))

function jsonOf(depth: number): fc.Arbitrary<Json> {
  if (depth === 0) return leaf
  const inner = jsonOf(depth - 1)
  return fc.oneof(
    { weight: 3, arbitrary: leaf },
    { weight: 1, arbitrary: fc.array(inner, { maxLength: 4 }) },
    { weight: 1, arbitrary: fc.dictionary(fc.oneof(key, text), inner, { maxKeys: 4 }) },
  )
}

const value = jsonOf(2)

const fields = fc.record(
  {
    s: text,
    n: number,
    b: fc.boolean(),
    z: fc.constant(null),
    l: fc.array(value, { maxLength: 4 }),
    m: fc.dictionary(key, value, { maxKeys: 4 }),
    a: value,
  },
  { requiredKeys: ['s', 'l', 'm'] },
)

export const data: fc.Arbitrary<Json> = fc.oneof<
  [{ weight: number; arbitrary: fc.Arbitrary<Json> }, ...{ weight: number; arbitrary: fc.Arbitrary<Json> }[]]
>({ weight: 12, arbitrary: fields as unknown as fc.Arbitrary<Json> }, { weight: 1, arbitrary: value })

export const values: fc.Arbitrary<readonly Json[]> = fc.array(value, { maxLength: 3 })
