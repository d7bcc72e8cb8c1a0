import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { formatDuration, parseDuration } from '../../src/util/duration.ts'

test('durations are read as Go reads them, in milliseconds', () => {
  const known: [string, number][] = [
    ['0', 0],
    ['0s', 0],
    ['10s', 10_000],
    ['500ms', 500],
    ['1h30m', 5_400_000],
    ['1.5h', 5_400_000],
    ['1.15s', 1_150],
    ['.5s', 500],
    ['1.s', 1_000],
    ['2m3.5s', 123_500],
    ['250us', 0.25],
    ['250µs', 0.25],
    ['1ns', 0.000001],
    ['30s1m', 90_000],
  ]
  for (const [text, ms] of known) assert.equal(parseDuration(text), ms, text)
})

test('anything else is no duration', () => {
  for (const text of [
    '',
    ' ',
    '10',
    's',
    '10 s',
    '-1s',
    '+1s',
    '1d',
    '1h ',
    '1e3s',
    '.s',
    'PT1S',
    '10S',
    'NaN',
    `${'9'.repeat(30)}h`,
    '1s'.repeat(100),
  ]) {
    assert.equal(parseDuration(text), undefined, text)
  }
})

test('durations are written in the shortest way', () => {
  const known: [number, string][] = [
    [0, '0s'],
    [0.25, '250us'],
    [0.000001, '1ns'],
    [500, '500ms'],
    [1_500, '1.5s'],
    [90_000, '1m30s'],
    [5_400_000, '1h30m'],
    [3_600_000, '1h'],
    [86_400_000, '24h'],
  ]
  for (const [ms, text] of known) assert.equal(formatDuration(ms), text)
  for (const ms of [-1, Number.NaN, Number.POSITIVE_INFINITY])
    assert.throws(() => formatDuration(ms), RangeError)
})

test('what is written reads back', () => {
  fc.assert(fc.property(fc.nat({ max: 10 ** 12 }), (ms) => parseDuration(formatDuration(ms)) === ms))
})
