// S5: what a schema marks writeOnly is shown as ***.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileSchema, maskWriteOnly, writeOnlyPaths } from '../../src/util/json-schema.ts'

const secret = { type: 'string', writeOnly: true }

test('S5: sensitive fields are found by path and shown as ***', () => {
  const schema = {
    type: 'object',
    properties: {
      user: { type: 'string' },
      password: secret,
      'a/b': secret,
      cards: { type: 'array', items: { $ref: '#/$defs/card' } },
      pair: { prefixItems: [true, secret] },
    },
    patternProperties: { '^x-': { properties: { key: secret } } },
    additionalProperties: secret,
    $defs: { card: { type: 'object', properties: { pan: secret, name: {} } } },
  }
  assert.deepEqual(writeOnlyPaths(schema), ['/*', '/*/key', '/a~1b', '/cards/*/pan', '/pair/1', '/password'])
  const value = {
    user: 'u',
    password: 'p',
    'a/b': 1,
    cards: [{ pan: '1', name: 'n' }],
    pair: [1, 2],
    'x-1': { key: 1, other: 2 },
    extra: { any: 1 },
  }
  const before = structuredClone(value)
  assert.deepEqual(maskWriteOnly(schema, value), {
    user: 'u',
    password: '***',
    'a/b': '***',
    cards: [{ pan: '***', name: 'n' }],
    pair: [1, '***'],
    'x-1': { key: '***', other: 2 },
    extra: '***',
  })
  assert.deepEqual(value, before)
})

test('S5: a mark in any alternative counts, whether it matches or not', () => {
  const schema = {
    oneOf: [{ properties: { a: secret } }, { properties: { a: { type: 'number' } } }],
    if: { properties: { b: secret } },
    allOf: [{ properties: { c: { allOf: [{ $ref: '#/$defs/secret' }] } } }],
    dependentSchemas: { a: { properties: { d: secret } } },
    $defs: { secret },
  }
  assert.deepEqual(writeOnlyPaths(schema), ['/a', '/b', '/c', '/d'])
  assert.deepEqual(maskWriteOnly(schema, { a: 1, b: { x: 1 }, c: null, d: [1], e: 1 }), {
    a: '***',
    b: '***',
    c: '***',
    d: '***',
    e: 1,
  })
})

test('S5: recursive schemas are masked at every depth', () => {
  const schema = {
    properties: { tree: { $ref: '#/$defs/tree' } },
    $defs: { tree: { properties: { key: secret, kids: { items: { $ref: '#/$defs/tree' } } } } },
  }
  assert.deepEqual(writeOnlyPaths(schema), ['/tree/**/key'])
  assert.deepEqual(maskWriteOnly(schema, { tree: { key: 1, kids: [{ key: 2, kids: [{ key: 3 }] }] } }), {
    tree: { key: '***', kids: [{ key: '***', kids: [{ key: '***' }] }] },
  })
})

test('S5: the whole input can be sensitive, and most is not', () => {
  assert.deepEqual(writeOnlyPaths(secret), [''])
  assert.equal(maskWriteOnly(secret, 'x'), '***')
  assert.deepEqual(writeOnlyPaths({ properties: { writeOnly: { type: 'string' } } }), [])
  assert.deepEqual(maskWriteOnly({ properties: { writeOnly: {} } }, { writeOnly: 1 }), { writeOnly: 1 })
  assert.deepEqual(maskWriteOnly(true, [1]), [1])
})

test('S5: a schema that branches without end is sensitive as a whole rather than slow', () => {
  const $defs = Object.fromEntries(
    Array.from({ length: 30 }, (_, i) => [
      `a${i}`,
      { properties: { x: { $ref: `#/$defs/a${i + 1}` }, y: { $ref: `#/$defs/a${i + 1}` } } },
    ]),
  )
  const schema = { $ref: '#/$defs/a0', $defs: { ...$defs, a30: { properties: { key: secret } } } }
  assert.ok(compileSchema(schema))
  assert.ok(writeOnlyPaths(schema).some((path) => path.endsWith('/**')))
})
