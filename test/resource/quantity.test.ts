import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mayHaveField, toPointer } from '../../src/resource/input-field.ts'
import { allowsUrl } from '../../src/resource/net-allowlist.ts'
import { MEGABYTE, parseRate, parseSize } from '../../src/resource/quantity.ts'

test('sizes are powers of 1024 in every spelling', () => {
  const sizes = ['512Mi', '512m', '512M', '512MB', '512MiB', '512mib', 512].map((size) =>
    parseSize(size, MEGABYTE),
  )
  assert.deepEqual(new Set(sizes), new Set([512 * MEGABYTE]))
  assert.deepEqual(
    ['1k', '1Ki', '1g', '7b', '7', 7].map((size) => parseSize(size, 1)),
    [1024, 1024, 1024 ** 3, 7, 7, 7],
  )
  for (const bad of [
    '',
    'Mi',
    '1.5Gi',
    '-1',
    '0',
    '1T',
    '1e3',
    ' ',
    '9'.repeat(16),
    0,
    -1,
    1.5,
    Number.NaN,
  ]) {
    assert.equal(parseSize(bad, 1), undefined, String(bad))
  }
  assert.equal(parseSize('999999999999g', 1), undefined, 'more than can be counted')
})

test('rates are a number in a time', () => {
  assert.deepEqual(parseRate('10/s'), { max: 10, perMs: 1_000 })
  assert.deepEqual(parseRate('100/m'), { max: 100, perMs: 60_000 })
  assert.deepEqual(parseRate(' 5 / 30s '), { max: 5, perMs: 30_000 })
  assert.deepEqual(parseRate({ max: 3, per: '1h' }), { max: 3, perMs: 3_600_000 })
  for (const bad of ['', '10', '/s', '0/s', '-1/s', '1.5/s', '10/x', '10/s/s', '10/0s', '1/1ns']) {
    assert.equal(parseRate(bad), undefined, bad)
  }
})

test('an allowed origin covers scheme, host and port, and nothing that only looks like it', () => {
  const allows = (entry: string, url: string) => allowsUrl([entry], new URL(url))
  assert.ok(allows('https://api.example.com', 'https://api.example.com/v1?x=y'))
  assert.ok(allows('https://api.example.com:443', 'https://api.example.com'))
  assert.ok(allows('https://api.example.com', 'https://api.example.com:443'))
  assert.ok(allows('HTTPS://API.Example.com/', 'https://api.example.com'))
  assert.ok(allows('api.example.com', 'http://api.example.com'))
  assert.ok(allows('https://*.example.com', 'https://a.b.example.com'))
  assert.ok(allows('http://[::1]:9', 'http://[::1]:9'))
  assert.ok(!allows('https://api.example.com', 'https://api.example.com.evil.test'))
  assert.ok(!allows('https://api.example.com', 'http://api.example.com'))
  assert.ok(!allows('https://api.example.com', 'https://api.example.com:8443'))
  assert.ok(!allows('https://*.example.com', 'https://example.com'))
  assert.ok(!allows('https://*.example.com', 'https://evilexample.com'))
  assert.ok(!allows('https://api.example.com', 'https://api.example.com@evil.test'))
  assert.ok(!allowsUrl([], new URL('https://a.example.com')), 'an empty list allows nothing')
})

test('input fields are pointers or names with dots', () => {
  assert.deepEqual(['a', 'a.b', '/a/b', '$.a.b', '/a.b', 'a/b', ' a '].map(toPointer), [
    '/a',
    '/a/b',
    '/a/b',
    '/a/b',
    '/a.b',
    '/a~1b',
    '/a',
  ])
  for (const bad of ['', ' ', '.', 'a.', '.a', '/a~2']) assert.equal(toPointer(bad), undefined, bad)
})

test('S5: a field is ruled out only where the schema leaves no doubt', () => {
  const schema = {
    type: 'object',
    properties: {
      text: { type: 'string' },
      deep: { type: 'object', properties: { a: { type: 'number' } } },
      open: { type: 'object', additionalProperties: true },
      list: { type: 'array', items: { type: 'object', properties: { b: {} } } },
      either: { anyOf: [{ type: 'object', properties: { c: {} } }] },
      any: {},
      never: false,
    },
  }
  for (const field of ['/text', '/deep/a', '/open/x', '/list/0/b', '/either/c', '/any/x/y'])
    assert.ok(mayHaveField(schema, field), field)
  for (const field of ['/txt', '/text/x', '/deep/b', '/list/0/c', '/deep/a/b', '/never/x'])
    assert.ok(!mayHaveField(schema, field), field)
  assert.ok(mayHaveField({ $ref: '#/$defs/x' }, '/a'))
  assert.ok(mayHaveField({}, '/a'))
})
