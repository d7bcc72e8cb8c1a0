// A stream finds what a whole text would show, in one pass: no character is looked at again, whatever came before it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPatternSet, type PatternSet } from '../../src/credential/pattern-set.ts'
import { createRedactStream } from '../../src/credential/redact-stream.ts'
import { createRedactor, REDACTED } from '../../src/credential/redactor.ts'

const LEVELS = 3

/** Counts the characters that are looked at, on all levels. */
function counting(patterns: PatternSet) {
  const counted = { looks: 0 }
  const scan: PatternSet['scan'] = () => {
    const { next, open } = patterns.scan()
    const count = (code: number) => {
      counted.looks++
      return next(code)
    }
    return { next: count, open }
  }
  return { patterns: { ...patterns, scan }, counted }
}

const SIZE = 200_000
const HOSTILE: readonly [name: string, secret: string, unit: string, length: number][] = [
  ['always almost the secret', `${'a'.repeat(5_000)}b`, 'a', SIZE],
  ['again and again all but its end', `${'a'.repeat(4_999)}b`, `${'a'.repeat(4_999)}c`, SIZE],
  ['nothing but the secret', 'abababab', 'ab', SIZE],
  ['begun escapes', 'abcdefgh', '%4', SIZE],
  ['escapes of escapes', 'abcdefgh', '%2525255c', SIZE],
  ['almost the secret in escapes', `${'a'.repeat(500)}b`, '\\u0061', SIZE],
  ['a long one with short ones inside', `${'abcdef-'.repeat(2_000)}!`, 'abcdef-', SIZE],
]

for (const [name, secret, unit, length] of HOSTILE) {
  test(`of ${name}, one character at a time, each is looked at once on each level`, () => {
    const { patterns, counted } = counting(createPatternSet([secret, 'abcdef']))
    const stream = createRedactStream(patterns, LEVELS, REDACTED)
    for (let index = 0; index < length; index++) stream.push(unit[index % unit.length] ?? '')
    stream.end()
    assert.ok(counted.looks >= length && counted.looks <= length * (LEVELS + 1), String(counted.looks))
  })
}

test('a secret without an end is replaced once, and nothing of it is held', () => {
  const stream = createRedactor(['abababab']).stream()
  const said = Array.from({ length: 100_000 }, () => stream.push('ab'))
  assert.equal(said.join(''), REDACTED)
  assert.equal(stream.push('!') + stream.end(), '!')
})

/** The same numbers each time. */
function numbers(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return (state >> 8) % below
  }
}

test('however a text is cut, what comes out is what comes out of the whole', () => {
  const secrets = ['abcabcab', 'bcabcabc!', 'ca"b\\c%41x']
  const parts = [
    'a',
    'b',
    'c',
    'abc',
    'abcabca',
    '%',
    '%6',
    '%61',
    '%2561',
    '\\',
    '\\u',
    '\\u006',
    '\\u0061',
    '!',
  ]
  const more = [
    '&',
    '&#',
    '&#97;',
    '&amp;',
    '&am',
    ' ',
    secrets[2] ?? '',
    JSON.stringify(secrets[2]),
    '"',
    'x',
  ]
  const all = [...parts, ...more]
  for (let seed = 1; seed <= 400; seed++) {
    const next = numbers(seed)
    // Short enough to have been cut off by nobody: then a whole text has no edges that are looked at in another way.
    const text = Array.from({ length: 12 }, () => all[next(all.length)])
      .join('')
      .slice(0, 99)
    const redactor = createRedactor(secrets)
    const whole = redactor.text(text)
    const stream = redactor.stream()
    let said = ''
    for (let at = 0; at < text.length; ) {
      const size = 1 + next(7)
      said += stream.push(text.slice(at, at + size))
      at += size
    }
    assert.equal(said + stream.end(), whole, `seed ${seed}: ${JSON.stringify(text)}`)
  }
})
