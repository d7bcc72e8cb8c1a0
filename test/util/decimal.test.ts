import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isExact, isMultiple, parseDecimal } from '../../src/util/decimal.ts'

test('equal values have equal parts, however they are written', () => {
  for (const text of ['1200', '1.2e3', '12E2', '1200.000', '0.12e+4', '00120000e-2']) {
    assert.deepEqual(parseDecimal(text), { negative: false, digits: '12', exponent: 2 }, text)
  }
  for (const text of ['0', '-0', '0.000', '0e99']) assert.equal(parseDecimal(text).digits, '')
})

test('every number is exact as JavaScript writes it', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) =>
      isExact(JSON.stringify(value)),
    ),
  )
})

test('a digit that a double cannot keep is not exact', () => {
  for (const text of ['0.1000000000000000055511151231257827', '1e400', '1e-400', '9007199254740993'])
    assert.ok(!isExact(text), text)
})

test('multiples are by decimal value, not by binary division', () => {
  for (const [value, step] of [
    [19.99, 0.01],
    [0.3, 0.1],
    [1.15, 0.05],
    [1e15, 0.5],
    [0, 0.7],
    [-4.5, 1.5],
    [1e-7, 1e-8],
  ]) {
    assert.ok(isMultiple(value!, step!), `${value} ${step}`)
  }
  for (const [value, step] of [
    [19.999, 0.01],
    [0.35, 0.1],
    [1.0000001, 1],
    [7, 2],
    [1e-9, 1e-8],
  ]) {
    assert.ok(!isMultiple(value!, step!), `${value} ${step}`)
  }
})

test('cents are multiples of 0.01 whatever the amount', () => {
  fc.assert(
    fc.property(fc.integer({ min: -1e12, max: 1e12 }), (cents) => isMultiple(Number(`${cents}e-2`), 0.01)),
  )
})
