// Checking values: in bounded time and memory, whatever the schema and the value.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { compileSchema } from '../../src/util/json-schema.ts'
import { inTime, nested, told } from './check-schema.ts'

describe('bounded work', () => {
  test('a pattern that backtracks for ever elsewhere ends', () => {
    for (const pattern of [
      '(a+)+$',
      '^(a|aa)+$',
      '^(\\w+\\s?)*$',
      '(x+x+)+y',
      '^(([a-z])+.)+[A-Z]([a-z])+$',
    ]) {
      const text = `${'a'.repeat(50_000)}!`
      inTime(() => compileSchema({ pattern }).check(text))
      inTime(() =>
        compileSchema({ patternProperties: { [pattern]: { type: 'string' } } }, { closed: true }).check({
          [text]: 1,
        }),
      )
    }
    assert.equal(told({ pattern: '^(a+)+$' }, `${'a'.repeat(50_000)}!`).length, 1)
  })

  test('a text too long for its pattern is refused, also inside of not', () => {
    const pattern = '^(a?){500}a{500}$'
    const text = 'a'.repeat(5_000_000)
    assert.match(inTime(() => told({ pattern }, text)).join(), /too large/)
    assert.match(inTime(() => told({ not: { pattern } }, text)).join(), /too large/)
  })

  test('formats look at a bounded length', () => {
    for (const format of [
      'email',
      'uri',
      'uri-reference',
      'url',
      'hostname',
      'date-time',
      'duration',
      'uri-template',
      'ipv6',
      'regex',
      'json-pointer',
    ]) {
      for (const unit of [':', 'a', 'a.', '/a', '-', '{a', '1:'])
        inTime(() => told({ format }, `http://${unit.repeat(500_000)}`))
    }
    assert.match(told({ format: 'uri' }, `http://x/${'a'.repeat(3_000)}`).join(), /at most 2048 characters/)
    assert.deepEqual(told({ format: 'byte' }, 'QUJD'.repeat(500_000)), [])
    assert.equal(told({ format: 'byte' }, `${'QUJD'.repeat(500_000)}Q`).length, 1)
  })

  test('unique items of a long list are found in one pass', () => {
    const items = Array.from({ length: 100_000 }, (_, i) => ({ i }))
    assert.deepEqual(
      inTime(() => told({ uniqueItems: true }, items)),
      [],
    )
  })

  test('a million wrong items or unknown keys are not collected', () => {
    const schema = {
      items: { $ref: '#/$defs/a' },
      $defs: { a: { type: 'object', required: ['x'], additionalProperties: false } },
    }
    const items = Array.from({ length: 300_000 }, () => ({ y: 1, z: 2 }))
    assert.equal(inTime(() => told(schema, items)).length, 101)
    const keys = Object.fromEntries(Array.from({ length: 300_000 }, (_, i) => [`k${i}`, i]))
    assert.equal(inTime(() => told({ additionalProperties: false }, keys)).length, 101)
    assert.equal(inTime(() => told({ patternProperties: { '^k': false } }, keys)).length, 101)
    assert.equal(inTime(() => told({ propertyNames: { maxLength: 1 } }, keys)).length, 101)
  })

  test('a recursive union is followed by its constant, however deep', () => {
    const shape = (op: string) => ({
      type: 'object',
      properties: { left: { $ref: '#/$defs/e' }, right: { $ref: '#/$defs/e' }, op: { const: op } },
      required: ['op'],
    })
    const schema = {
      $ref: '#/$defs/e',
      $defs: { e: { oneOf: ['add', 'sub', 'mul', 'div', 'neg', 'lit'].map(shape) } },
    }
    for (const closed of [false, true]) {
      const { check } = compileSchema(schema, { closed })
      assert.deepEqual(
        inTime(() => check(nested({ op: 'lit' }, (left, i) => ({ op: i % 2 ? 'add' : 'mul', left })))),
        [],
      )
      assert.notDeepEqual(
        inTime(() => check(nested({ op: 'pow' }, (left) => ({ op: 'add', left })))),
        [],
      )
    }
  })

  test('a union that multiplies at every level is refused, not followed', () => {
    const shape = (name: string) => ({
      type: 'object',
      properties: { child: { $ref: '#' }, [name]: { minimum: 0 } },
    })
    const schema = { oneOf: [shape('a'), shape('b'), shape('c')] }
    const value = nested({ a: -1 }, (child) => ({ child }))
    for (const closed of [false, true]) {
      const [first] = inTime(() => compileSchema(schema, { closed }).check(value))
      assert.match(first?.message ?? '', /too large or too deep/)
    }
  })

  test('half a million good items pass', () => {
    const schema = {
      items: { $ref: '#/$defs/a' },
      $defs: { a: { type: 'object', properties: { x: { type: 'integer' } } } },
    }
    const items = Array.from({ length: 500_000 }, () => ({ x: 1 }))
    assert.deepEqual(
      inTime(() => compileSchema(schema, { closed: true }).check(items)),
      [],
    )
  })
})
