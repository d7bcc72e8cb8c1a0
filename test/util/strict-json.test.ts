// S3 at the text door: what is refused, where, and that everything else is read exactly as JSON.parse reads it.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { Json } from '../../src/util/json.ts'
import { parseStrictJson } from '../../src/util/strict-json.ts'

function refusal(source: string | Uint8Array, maxDepth?: number) {
  const result = parseStrictJson(source, maxDepth === undefined ? {} : { maxDepth })
  assert.ok(!result.ok, 'should have been refused')
  return result
}

function accepted(source: string | Uint8Array): Json {
  const result = parseStrictJson(source)
  assert.ok(result.ok, `refused: ${JSON.stringify(result)}`)
  return result.value
}

const paths = (source: string) => refusal(source).violations.map(({ path }) => path)

/** JSON values that break no rule: no reserved keys, no unsafe integers, no half surrogates. */
const lawfulJson = fc.jsonValue({ maxDepth: 6, stringUnit: 'binary' }).filter((value) => {
  const text = JSON.stringify(value)
  return !/"(?:__proto__|constructor|prototype)":/.test(text) && isSafe(value)
})

function isSafe(value: unknown): boolean {
  if (typeof value === 'number') return !Number.isInteger(value) || Number.isSafeInteger(value)
  if (typeof value === 'object' && value !== null) return Object.values(value).every(isSafe)
  return true
}

describe('S3: text that is not readable JSON', () => {
  test('bytes that are not UTF-8 are unreadable', () => {
    for (const bytes of [
      [0x22, 0xff, 0x22],
      [0xc3, 0x28],
      [0x22, 0xed, 0xa0, 0x80, 0x22],
    ]) {
      const result = refusal(Uint8Array.from(bytes))
      assert.equal(result.kind, 'unreadable')
      assert.match(result.violations[0]?.message ?? '', /UTF-8/)
    }
  })

  test('a byte order mark is named as the reason', () => {
    for (const source of ['\ufeff{}', Uint8Array.from([0xef, 0xbb, 0xbf, 0x7b, 0x7d])]) {
      const result = refusal(source)
      assert.equal(result.kind, 'unreadable')
      assert.match(result.violations[0]?.message ?? '', /byte order mark/)
    }
  })

  test('a string source with half of a surrogate pair is unreadable', () => {
    assert.equal(refusal('"\ud800"').kind, 'unreadable')
  })

  const broken: [string, RegExp][] = [
    ['', /ends where a value/],
    ['   ', /ends where a value/],
    ['{', /ends where a key/],
    ['{"a"', /ends where ':'/],
    ['{"a":1', /ends where ',' or '}'/],
    ['{"a":1,}', /a key in double quotes at line 1, column 8/],
    ['[1,]', /a value at line 1, column 4/],
    ['[1 2]', /',' or '\]' at line 1, column 4/],
    ['{"a":1]', /',' or '}' at line 1, column 7/],
    ['01', /the end at line 1, column 2/],
    ['1 2', /the end at line 1, column 3/],
    ['-', /a digit/],
    ['1.', /a digit/],
    ['.5', /a value/],
    ['+1', /a value/],
    ['1e', /a digit/],
    ['NaN', /a value/],
    ['nul', /a value at line 1, column 1/],
    ["{'a':1}", /a key in double quotes/],
    ['{"a":\n  tru}', /a value at line 2, column 3/],
    ['"\\x"', /a valid escape at line 1, column 2/],
    ['"\\u12g4"', /a valid escape/],
    ['"a\nb"', /the rest of a string at line 1, column 3/],
    ['"abc', /ends where the rest of a string/],
    ['// no\n1', /a value at line 1, column 1/],
  ]
  for (const [text, expected] of broken) {
    test(`${JSON.stringify(text)} is unreadable, and where is said`, () => {
      const result = refusal(text)
      assert.equal(result.kind, 'unreadable')
      assert.deepEqual(
        result.violations.map(({ path }) => path),
        [''],
      )
      assert.match(result.violations[0]?.message ?? '', expected)
    })
  }
})

describe('S3: JSON that breaks a rule', () => {
  test('duplicate keys are found, also when written differently', () => {
    assert.deepEqual(paths('{"a":1,"b":{"c":1,"c":2}}'), ['/b/c'])
    assert.deepEqual(paths('{"ab":1,"\\u0061b":2}'), ['/ab'])
    assert.deepEqual(paths('[{"a/b":1,"a/b":2}]'), ['/0/a~1b'])
    const many = Array.from({ length: 50 }, (_, index) => `"k${index}":0`)
    assert.deepEqual(paths(`{${[...many, '"k7":1'].join()}}`), ['/k7'])
    assert.deepEqual(accepted('[{"a":1},{"a":1}]'), [{ a: 1 }, { a: 1 }])
  })

  test('keys that reach a prototype are refused, however they are written', () => {
    for (const key of ['__proto__', 'constructor', 'prototype', '__pr\\u006fto__']) {
      const result = refusal(`{"x":{"${key}":{"polluted":true}}}`)
      assert.equal(result.kind, 'rule')
      assert.match(result.violations[0]?.message ?? '', /reserved key/)
    }
    assert.equal((Object.prototype as Record<string, unknown>).polluted, undefined)
    assert.deepEqual(accepted('{"toString":1,"proto":2}'), { toString: 1, proto: 2 })
    assert.equal(accepted('"__proto__"'), '__proto__')
  })

  for (const text of [
    '9007199254740992',
    '-9007199254740992',
    '12345678901234567890',
    '1e20',
    '9007199254740993.0',
  ]) {
    test(`the integer ${text} is past 2^53-1`, () => {
      assert.match(refusal(`{"n":[${text}]}`).violations[0]?.message ?? '', /2\^53-1/)
      assert.deepEqual(paths(`{"n":[${text}]}`), ['/n/0'])
    })
  }

  for (const text of [
    '1e400',
    '-1e400',
    '1e-400',
    '0.1000000000000000055511151231257827',
    '1.00000000000000000001',
    '4503599627370497.75',
  ]) {
    test(`${text} does not survive reading and writing`, () => {
      assert.match(refusal(text).violations[0]?.message ?? '', /survive|2\^53/)
    })
  }

  test('numbers that keep their value are read', () => {
    const numbers = [
      '0',
      '-0',
      '1.0',
      '0.1',
      '1e2',
      '1E+2',
      '100e-2',
      '9007199254740991',
      '-9007199254740991',
      '5e-324',
    ]
    for (const text of [
      ...numbers,
      '0.30000000000000004',
      '1.5e-10',
      '0e999999',
      '0.000',
      '123456789.123456',
    ]) {
      assert.equal(accepted(text), Number(text), text)
    }
  })

  test('an escape for half of a surrogate pair is refused, a whole pair is read', () => {
    assert.deepEqual(paths('{"a":"\\ud83d"}'), ['/a'])
    assert.deepEqual(paths('["\\ude00\\ud83d"]'), ['/0'])
    assert.equal(refusal('{"\\ud83d":1}').kind, 'rule')
    assert.equal(accepted('"\\ud83d\\ude00"'), '😀')
  })

  test('128 levels are read, 129 are not', () => {
    assert.ok(parseStrictJson(`${'['.repeat(128)}${']'.repeat(128)}`).ok)
    const result = refusal(`${'['.repeat(129)}${']'.repeat(129)}`)
    assert.equal(result.kind, 'rule')
    assert.match(result.violations[0]?.message ?? '', /deeper than 128/)
    assert.match(refusal('{"a":[{}]}', 2).violations[0]?.message ?? '', /deeper than 2/)
    assert.deepEqual(
      refusal('{"a":[{}]}', 2).violations.map(({ path }) => path),
      ['/a/0'],
    )
  })

  test('all broken rules are listed, up to a hundred', () => {
    assert.deepEqual(paths('{"a":1e400,"a":2,"b":[12345678901234567890]}'), ['/a', '/a', '/b/0'])
    assert.equal(refusal(`[${Array(5000).fill('1e400').join()}]`).violations.length, 100)
  })

  test('a path is never longer than the message it is shown in can bear', () => {
    const result = refusal(`{"${'k'.repeat(1_000_000)}":[${Array(100).fill('1e400').join()}]}`)
    assert.ok(JSON.stringify(result).length < 200_000)
  })
})

describe('S3: any bytes', () => {
  test('never throw', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 200 }),
        (bytes) => typeof parseStrictJson(bytes).ok === 'boolean',
      ),
    )
  })

  test('texts made of JSON pieces are refused or read as JSON.parse reads them', () => {
    const piece = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"a"',
      '"',
      '\\',
      'u0041',
      '\\n',
      '1',
      '-',
      '.',
      'e',
      '0',
      'true',
      'null',
      ' ',
      '\n',
      'x',
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 14 }), (pieces) => {
        const text = pieces.join('')
        const result = parseStrictJson(text)
        if (result.ok) assert.deepEqual(result.value, JSON.parse(text))
        else if (result.kind === 'unreadable') assert.throws(() => JSON.parse(text), SyntaxError)
        else assert.doesNotThrow(() => JSON.parse(text))
      }),
      { numRuns: 3000 },
    )
  })

  test('one changed byte in a document never makes the two readers disagree', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 3 }), fc.nat(), fc.integer({ min: 32, max: 126 }), (text, at, code) => {
        const index = at % text.length
        const changed = text.slice(0, index) + String.fromCharCode(code) + text.slice(index + 1)
        const result = parseStrictJson(changed)
        let parses = true
        try {
          JSON.parse(changed)
        } catch {
          parses = false
        }
        if (result.ok) assert.ok(parses)
        else if (result.kind === 'unreadable') assert.ok(!parses)
      }),
      { numRuns: 1000 },
    )
  })

  test('a document without broken rules reads as JSON.parse reads it, from text and from bytes, in any layout', () => {
    fc.assert(
      fc.property(lawfulJson, fc.constantFrom(undefined, 1, '\t'), (value, space) => {
        const text = JSON.stringify(value, null, space)
        assert.deepEqual(accepted(text), JSON.parse(text))
        assert.deepEqual(accepted(Buffer.from(text)), JSON.parse(text))
      }),
    )
  })

  test('what is accepted is accepted again after it was written', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        const result = parseStrictJson(text)
        if (result.ok)
          assert.deepEqual(accepted(JSON.stringify(result.value)), JSON.parse(JSON.stringify(result.value)))
      }),
    )
  })

  test('a view into a larger buffer is read where it begins', () => {
    const buffer = Buffer.from('xx{"a":1}yy')
    assert.deepEqual(accepted(new Uint8Array(buffer.buffer, buffer.byteOffset + 2, 7)), { a: 1 })
  })

  test('ten megabytes of nesting, digits or keys end in bounded time', () => {
    const started = performance.now()
    assert.equal(refusal('['.repeat(10_000_000)).kind, 'rule')
    assert.equal(refusal('{"a":'.repeat(2_000_000)).kind, 'rule')
    assert.equal(refusal('1'.repeat(10_000_000)).kind, 'rule')
    assert.equal(refusal('"'.padEnd(10_000_000, '\\n')).kind, 'unreadable')
    assert.ok(performance.now() - started < 10_000)
  })
})
