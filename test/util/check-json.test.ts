// S3 at the library door: only values that JSON can say.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { checkJson, parseStrictJson } from '../../src/util/strict-json.ts'

const messages = (value: unknown) => checkJson(value).map(({ path, message }) => `${path} ${message}`)

describe('S3: values from a program', () => {
  test('plain JSON passes', () => {
    const bare = Object.assign(Object.create(null), { a: 1 })
    for (const value of [
      null,
      true,
      '',
      0,
      -0,
      1.5,
      [],
      {},
      { a: [{ b: null }] },
      bare,
      Number.MAX_SAFE_INTEGER,
    ]) {
      assert.deepEqual(checkJson(value), [])
    }
  })

  const refused: [string, unknown, RegExp][] = [
    ['undefined', { a: undefined }, /^\/a is undefined/],
    ['a hole in an array', Array(1), /^\/0 is undefined/],
    ['a function', { a: [() => 1] }, /^\/a\/0 is a function/],
    ['a bigint', { a: 1n }, /^\/a is a bigint/],
    ['a symbol', Symbol('x'), /is a symbol/],
    ['a symbol as key', { [Symbol('x')]: 1 }, /symbol for a key/],
    ['NaN', { a: Number.NaN }, /^\/a is NaN/],
    ['Infinity', [Number.NEGATIVE_INFINITY], /^\/0 is -Infinity/],
    ['an unsafe integer', [2 ** 53], /^\/0 is an integer past 2\^53-1/],
    ['a date', { at: new Date(0) }, /^\/at is an instance of Date/],
    ['a map', new Map(), /is an instance of Map/],
    ['bytes', { b: new Uint8Array(2) }, /^\/b is an instance of Uint8Array/],
    ['an object with another prototype', { a: Object.create({ b: 1 }) }, /^\/a is an instance of Object/],
    ['half of a surrogate pair', ['\ud800'], /^\/0 holds half/],
    ['a key with half of a surrogate pair', { '\ud800': 1 }, /half of a surrogate pair/],
    ['a reserved key', { a: { constructor: 1 } }, /^\/a\/constructor uses the reserved key/],
    ['an own __proto__', JSON.parse('{"__proto__":{"x":1}}'), /reserved key '__proto__'/],
  ]
  for (const [name, value, expected] of refused) {
    test(`${name} is refused with its path`, () => {
      const found = messages(value)
      assert.equal(found.length, 1)
      assert.match(found[0] ?? '', expected)
    })
  }

  test('a value that contains itself is refused, one that is only used twice is not', () => {
    const shared = { x: 1 }
    assert.deepEqual(checkJson({ a: shared, b: shared }), [])
    const circle: Record<string, unknown> = { list: [] }
    ;(circle.list as unknown[]).push(circle, circle)
    assert.deepEqual(messages(circle), ['/list/0 contains itself', '/list/1 contains itself'])
  })

  test('129 levels are refused, also when they would overflow the stack', () => {
    let deep: unknown = []
    for (let i = 1; i < 128; i++) deep = [deep]
    assert.deepEqual(checkJson(deep), [])
    assert.match(messages([deep])[0] ?? '', /deeper than 128/)
    for (let i = 0; i < 100_000; i++) deep = [deep]
    assert.equal(checkJson(deep).length, 1)
  })

  test('sharing that would grow without end when written is refused in bounded time', () => {
    let value: unknown = 1
    for (let i = 0; i < 60; i++) value = [value, value]
    assert.match(messages(value)[0] ?? '', /more than 5000000 values/)
  })

  test('at most a hundred violations are listed', () => {
    assert.equal(checkJson(Array(10_000).fill(undefined)).length, 100)
  })

  test('both doors agree: what passes here is accepted as text, and reads the same', () => {
    fc.assert(
      fc.property(
        fc.anything({ maxDepth: 4, withBigInt: true, withDate: true, withSparseArray: true }),
        (value) => {
          if (checkJson(value).length > 0) return
          const parsed = parseStrictJson(JSON.stringify(value))
          assert.ok(parsed.ok)
          assert.equal(JSON.stringify(parsed.value), JSON.stringify(value))
        },
      ),
      { numRuns: 500 },
    )
  })
})
