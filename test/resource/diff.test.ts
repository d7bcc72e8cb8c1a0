import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { diffBodies } from '../../src/resource/diff.ts'
import type { JsonObject } from '../../src/util/json.ts'

test('values, lists and maps are compared leaf by leaf', () => {
  assert.deepEqual(
    diffBodies(
      { a: 1, b: [1, 2], c: { d: 1 }, same: [{}] },
      { a: 2, b: [1, 3, 4], c: {}, e: null, same: [{}] },
    ),
    [
      { op: 'change', path: 'a', from: 1, to: 2 },
      { op: 'change', path: 'b[1]', from: 2, to: 3 },
      { op: 'add', path: 'b[2]', to: 4 },
      { op: 'remove', path: 'c.d', from: 1 },
      { op: 'add', path: 'c', to: {} },
      { op: 'add', path: 'e', to: null },
    ],
  )
})

test('a value of another kind goes as a whole and comes as a whole', () => {
  assert.deepEqual(diffBodies({ a: 'none' }, { a: { keyed: 1 } }), [
    { op: 'remove', path: 'a', from: 'none' },
    { op: 'add', path: 'a.keyed', to: 1 },
  ])
  assert.deepEqual(diffBodies({ a: ['x'] }, { a: { fields: ['x'] } }), [
    { op: 'remove', path: 'a[0]', from: 'x' },
    { op: 'add', path: 'a.fields[0]', to: 'x' },
  ])
  assert.deepEqual(diffBodies({ a: [] }, { a: {} }), [
    { op: 'remove', path: 'a', from: [] },
    { op: 'add', path: 'a', to: {} },
  ])
})

test('what may be a secret is masked, also when it changes', () => {
  const body = (env: JsonObject): JsonObject => ({ spec: { cli: { command: 'gh', env } } })
  const changes = diffBodies(body({ TOKEN: 'hunter22', OLD: 'a' }), body({ TOKEN: 'hunter23', NEW: 'b' }))
  assert.deepEqual(changes, [
    { op: 'change', path: 'spec.cli.env.TOKEN', from: '***', to: '***' },
    { op: 'remove', path: 'spec.cli.env.OLD', from: '***' },
    { op: 'add', path: 'spec.cli.env.NEW', to: '***' },
  ])
})

test('the values of the environment of an MCP server are masked, its names are not', () => {
  const env = [{ name: 'TOKEN', value: 'hunter2' }]
  assert.deepEqual(diffBodies(undefined, { spec: { env } }), [
    { op: 'add', path: 'spec.env[0].name', to: 'TOKEN' },
    { op: 'add', path: 'spec.env[0].value', to: '***' },
  ])
})

test('only what is masked is masked', () => {
  const body = (secretRef: string): JsonObject => ({
    spec: { cli: { env_from: [{ name: 'T', secretRef }] } },
  })
  assert.deepEqual(diffBodies(body('a'), body('b')), [
    { op: 'change', path: 'spec.cli.env_from[0].secretRef', from: 'a', to: 'b' },
  ])
})

test('there is a difference exactly where there is one', () => {
  const json = fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.jsonValue({ maxDepth: 3 }), {
    maxKeys: 3,
  }) as fc.Arbitrary<JsonObject>
  const plain = (value: JsonObject) => JSON.parse(JSON.stringify(value)) as JsonObject
  fc.assert(
    fc.property(json, json, (left, right) => {
      const [from, to] = [plain(left), plain(right)]
      assert.deepEqual(diffBodies(from, structuredClone(from)), [])
      let same = true
      try {
        assert.deepEqual(from, to)
      } catch {
        same = false
      }
      assert.equal(diffBodies(from, to).length === 0, same)
    }),
    { numRuns: 300 },
  )
})
