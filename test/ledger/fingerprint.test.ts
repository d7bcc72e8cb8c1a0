// What makes two requests the same call, and two calls the same effect (S13, S14, S19).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EffectRule } from '../../src/contract/effect.ts'
import type { Entry } from '../../src/contract/entry.ts'
import {
  type Asked,
  compareWithEntry,
  fingerprintOf,
  scopeOf,
  serialize,
  toolKeyOf,
} from '../../src/ledger/fingerprint.ts'
import type { Json } from '../../src/util/json.ts'
import { invokeOf } from '../resource/support.ts'

const WHERE = { namespace: 'default', tool: 'probe', operation: 'invoke' }
const PLAIN = invokeOf({ effect: { class: 'external-communication' } }).effect
const IDENTIFIED = invokeOf({
  effect: { class: 'external-communication', identity: ['/to', '/deep/id'] },
}).effect

function entryOf(rule: EffectRule, input: Json | undefined): Entry {
  const { payloadHash, fingerprint, fields, identity } = fingerprintOf(rule, WHERE, input, serialize(input))
  return {
    payloadHash,
    fingerprint,
    fingerprintFields: fields,
    ...(identity === undefined ? {} : { identity }),
    ...(input === undefined ? {} : { payload: { inline: input } }),
  } as Entry
}

function same(rule: EffectRule, kept: Json | undefined, asked: Asked): string {
  return compareWithEntry(entryOf(rule, kept), asked)
}

test('S13: without an identity the whole payload counts, in whatever order and notation', () => {
  const kept = { a: 1, b: { c: [1, 2] } }
  for (const asked of [
    { input: kept },
    { input: { b: { c: [1, 2] }, a: 1 } },
    { inputRaw: '{"b":{"c":[1,2]},"a":1}' },
    { inputRaw: ' { "a" : 1.0, "b" : { "c" : [ 1, 2 ] } }\n' },
  ]) {
    assert.equal(same(PLAIN, kept, asked), 'same', JSON.stringify(asked))
  }
  for (const asked of [
    {},
    { input: null },
    { input: { a: 1, b: { c: [2, 1] } } },
    { input: { a: '1', b: { c: [1, 2] } } },
    { input: { ...kept, more: null } },
    { input: JSON.stringify(kept) },
    { inputRaw: '{"a":1}' },
    { inputRaw: '{"a":1,"a":1,"b":{"c":[1,2]}}' },
    { inputRaw: 'not { json' },
  ]) {
    assert.equal(same(PLAIN, kept, asked), 'different', JSON.stringify(asked))
  }
})

test('S13: no input, null and an empty text are three different payloads', () => {
  const inputs = [undefined, null, '', {}, []]
  for (const kept of inputs) {
    for (const input of inputs) {
      const expected = kept === input ? 'same' : 'different'
      const asked = input === undefined ? {} : { input }
      assert.equal(same(PLAIN, kept, asked), expected, `${JSON.stringify(kept)} and ${JSON.stringify(input)}`)
    }
  }
})

test('S3: text that was kept as text is found again as text, and JSON in it is not read twice', () => {
  const text = '{"a":1}'
  assert.equal(same(PLAIN, text, { inputRaw: text }), 'same')
  assert.equal(same(PLAIN, text, { input: text }), 'same')
  assert.equal(same(PLAIN, text, { inputRaw: '{"a": 1}' }), 'different')
  assert.equal(same(PLAIN, 'x', { inputRaw: '"x"' }), 'same', 'a JSON text, where the tool has a schema')
})

test('S13: with an identity its fields alone make another call, also when the input comes as text', () => {
  const kept = { to: 'a', deep: { id: 1 }, text: 'hello' }
  assert.equal(same(IDENTIFIED, kept, { input: kept }), 'same')
  assert.equal(same(IDENTIFIED, kept, { input: { ...kept, text: 'hi' } }), 'same-but-reworded')
  assert.equal(same(IDENTIFIED, kept, { inputRaw: '{"deep":{"id":1},"to":"a"}' }), 'same-but-reworded')
  assert.equal(same(IDENTIFIED, kept, { input: { ...kept, to: 'b' } }), 'different')
  assert.equal(same(IDENTIFIED, kept, { input: { ...kept, deep: { id: '1' } } }), 'different')
  assert.equal(same(IDENTIFIED, kept, { inputRaw: '{"deep":{"id":2},"to":"a"}' }), 'different')
})

test('S14: an identity is that of a namespace, a tool, an operation and the values of its fields', () => {
  const identity = (input: Json, where = WHERE, rule = IDENTIFIED) =>
    fingerprintOf(rule, where, input, serialize(input)).identity
  const input = { to: 'a', deep: { id: 1 }, text: 'hello' }
  const one = identity(input)
  assert.match(one ?? '', /^[0-9a-f]{64}$/)
  assert.equal(identity({ deep: { id: 1, more: 2 }, to: 'a', text: 'reworded' }), one)
  const others = [
    identity({ ...input, to: 'b' }),
    identity({ ...input, deep: { id: 2 } }),
    identity({ text: 'hello', to: 'a' }),
    identity(input, { ...WHERE, namespace: 'other' }),
    identity(input, { ...WHERE, tool: 'other' }),
    identity(input, { ...WHERE, operation: 'other' }),
    identity(input, { namespace: 'defaultprobe', tool: '', operation: 'invoke' }),
  ]
  assert.equal(new Set([one, ...others]).size, others.length + 1)
  assert.equal(identity(input, WHERE, PLAIN), undefined)
})

test('S13, S19: no two scopes and keys meet, whatever characters they are made of', () => {
  const scopes = [
    scopeOf('n', 'a', 't', 'o'),
    scopeOf('n', 'a', 'to', ''),
    scopeOf('n,a', '', 't', 'o'),
    scopeOf('n', 'a","t', 'o', ''),
    scopeOf('', 'n', 'at', 'o'),
  ]
  assert.equal(new Set(scopes).size, scopes.length)
  const keys = [
    toolKeyOf('scope', 'key'),
    toolKeyOf('scopek', 'ey'),
    toolKeyOf('scop', 'ekey'),
    toolKeyOf('scope', 'key '),
  ]
  assert.equal(new Set(keys).size, keys.length)
  for (const key of keys) assert.match(key, /^[A-Za-z0-9_-]{43}$/)
})
