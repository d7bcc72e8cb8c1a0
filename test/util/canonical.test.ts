import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { canonicalJson, sha256Base64url, sha256Hex } from '../../src/util/canonical.ts'
import type { Json } from '../../src/util/json.ts'

test('the order of keys does not matter, everything else does', () => {
  assert.equal(
    canonicalJson({ b: [1, 'x', null], a: { d: 1, c: 2 } }),
    '{"a":{"c":2,"d":1},"b":[1,"x",null]}',
  )
  assert.equal(canonicalJson(1), canonicalJson(1.0))
  assert.notEqual(canonicalJson(['1']), canonicalJson([1]))
  assert.throws(() => canonicalJson(undefined as unknown as Json), TypeError)
})

test('a canonical text means the same value', () => {
  fc.assert(
    fc.property(fc.jsonValue({ noUnicodeString: true }), (value) => {
      assert.deepEqual(JSON.parse(canonicalJson(value as Json)), JSON.parse(JSON.stringify(value)))
    }),
  )
})

test('where one part ends and the next begins counts', () => {
  assert.notEqual(sha256Hex('ab', 'c'), sha256Hex('a', 'bc'))
  assert.notEqual(sha256Hex('ab'), sha256Hex('ab', ''))
  assert.notEqual(sha256Hex('1:a'), sha256Hex('1', 'a'))
  assert.notEqual(sha256Hex(), sha256Hex(''))
})

test('the framing is length in bytes, colon, bytes, so that other languages can compute it', () => {
  const expected = createHash('sha256').update('5:naïv2:ok').digest()
  assert.equal(sha256Hex('naïv', 'ok'), expected.toString('hex'))
  assert.equal(sha256Base64url('naïv', 'ok'), expected.toString('base64url'))
})

test('text and its UTF-8 bytes hash the same', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme' })), (parts) => {
      assert.equal(sha256Hex(...parts), sha256Hex(...parts.map((part) => Buffer.from(part))))
      assert.equal(sha256Hex('x', ...parts), sha256Hex(Buffer.from('x'), ...parts))
    }),
  )
})

test('different parts never frame the same', () => {
  fc.assert(
    fc.property(fc.array(fc.string()), fc.array(fc.string()), (a, b) => {
      assert.equal(sha256Hex(...a) === sha256Hex(...b), JSON.stringify(a) === JSON.stringify(b))
    }),
  )
})
