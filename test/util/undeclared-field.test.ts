// S5: fields outside the schema are violations unless the schema says otherwise.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { Json, JsonObject } from '../../src/util/json.ts'
import { compileSchema } from '../../src/util/json-schema.ts'

function unknown(schema: JsonObject | boolean, value: Json): string[] {
  return compileSchema(schema, { closed: true })
    .check(value)
    .map(({ path }) => path)
}

const text = { type: 'string' }
const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: 'object',
  properties,
  ...more,
})

describe('S5: closed schemas', () => {
  test('an undeclared field is a violation at its own path, at every depth', () => {
    const schema = object({
      a: text,
      b: object({ c: text }),
      list: { type: 'array', items: object({ d: text }) },
    })
    assert.deepEqual(unknown(schema, { a: 'x', b: { c: 'x' }, list: [{ d: 'x' }] }), [])
    assert.deepEqual(unknown(schema, { x: 1, b: { y: 1 }, list: [{}, { z: 1 }] }), [
      '/x',
      '/b/y',
      '/list/1/z',
    ])
  })

  test('the nearest declared field is suggested', () => {
    const [violation] = compileSchema(object({ recipient: text }), { closed: true }).check({ recipent: 'x' })
    assert.deepEqual(violation, {
      path: '/recipent',
      message: "is not a known field: did you mean 'recipient'?",
    })
  })

  test('without the option nothing is closed', () => {
    assert.deepEqual(compileSchema(object({ a: text })).check({ b: 1 }), [])
  })

  test('what says additionalProperties or unevaluatedProperties is left as it is', () => {
    assert.deepEqual(unknown(object({ a: text }, { additionalProperties: true }), { b: 1 }), [])
    assert.deepEqual(unknown(object({ a: text }, { unevaluatedProperties: true }), { b: 1 }), [])
    assert.deepEqual(unknown(object({ a: text }, { additionalProperties: text }), { b: 'x' }), [])
    assert.deepEqual(unknown(object({ a: text }, { additionalProperties: text }), { b: 1 }), ['/b'])
    assert.deepEqual(unknown(object({ a: text }, { additionalProperties: false }), { b: 1 }), ['/b'])
    assert.deepEqual(
      unknown(object({ a: object({}, { additionalProperties: true }) }), { a: { b: 1 }, c: 1 }),
      ['/c'],
    )
  })

  test('a schema that says nothing of objects stays open', () => {
    for (const schema of [
      true,
      {},
      { description: 'anything' },
      { $ref: '#/$defs/any', $defs: { any: {} } },
    ]) {
      assert.deepEqual(unknown(schema as JsonObject, { a: { b: 1 } }), [])
    }
    assert.deepEqual(
      unknown(object({ free: true, also: {} }), { free: { a: 1 }, also: { b: [{ c: 1 }] } }),
      [],
    )
    assert.deepEqual(unknown({ type: 'array', items: {} }, [{ a: 1 }]), [])
  })

  test('an object without declared fields has none', () => {
    assert.deepEqual(unknown({ type: 'object' }, { a: 1 }), ['/a'])
    assert.deepEqual(unknown({ type: ['object', 'null'] }, { a: 1 }), ['/a'])
  })

  test('additionalProperties as a schema and patternProperties are places too', () => {
    const schema = { type: 'object', patternProperties: { '^x-': object({ a: text }) } }
    assert.deepEqual(unknown(schema, { 'x-1': { a: 'x', b: 1 }, y: 1 }), ['/x-1/b', '/y'])
    assert.deepEqual(
      unknown({ type: 'object', additionalProperties: object({ a: text }) }, { k: { b: 1 } }),
      ['/k/b'],
    )
  })

  test('tuples and the items after them are places too', () => {
    const schema = { type: 'array', prefixItems: [object({ a: text }), true], items: object({ b: text }) }
    assert.deepEqual(unknown(schema, [{ a: 'x', b: 'x' }, { any: 1 }, { b: 'x', a: 'x' }]), ['/0/b', '/2/a'])
  })
})

describe('S5: composition', () => {
  const base = object({ id: text })

  test('allOf: the parts may each declare some of the fields', () => {
    const schema = { allOf: [base, object({ name: text })] }
    assert.deepEqual(unknown(schema, { id: 'x', name: 'x' }), [])
    assert.deepEqual(unknown(schema, { id: 'x', name: 'x', z: 1 }), ['/z'])
  })

  test('$ref with fields beside it', () => {
    const schema = object({ name: text }, { $ref: '#/$defs/base', $defs: { base } })
    assert.deepEqual(unknown(schema, { id: 'x', name: 'x' }), [])
    assert.deepEqual(unknown(schema, { z: 1 }), ['/z'])
  })

  test('a definition is open where it is composed, and its inner places are closed', () => {
    const $defs = { base: object({ address: object({ street: text }) }) }
    const schema = {
      $defs,
      allOf: [{ $ref: '#/$defs/base' }],
      properties: { other: { $ref: '#/$defs/base' } },
    }
    assert.deepEqual(unknown(schema, { address: { street: 'x', zip: 1 }, other: { address: {}, x: 1 } }), [
      '/address/zip',
      '/other/x',
    ])
  })

  test('two parts may describe the same inner object', () => {
    const schema = { allOf: [object({ a: object({ x: text }) }), object({ a: object({ y: text }) })] }
    assert.deepEqual(unknown(schema, { a: { x: 'x', y: 'y' } }), [])
    assert.deepEqual(unknown(schema, { a: { x: 'x', z: 'y' } }), ['/a/z'])
  })

  test('anyOf and oneOf: the fields of the alternatives that match', () => {
    const card = object({ kind: { const: 'card' }, number: text }, { required: ['kind'] })
    const bank = object({ kind: { const: 'bank' }, iban: text }, { required: ['kind'] })
    for (const choice of ['anyOf', 'oneOf']) {
      const schema = { $defs: { bank }, [choice]: [card, { $ref: '#/$defs/bank' }] }
      assert.deepEqual(unknown(schema, { kind: 'card', number: '1' }), [])
      assert.deepEqual(unknown(schema, { kind: 'bank', iban: '1' }), [])
      assert.deepEqual(unknown(schema, { kind: 'bank', number: '1' }), ['/number'])
    }
  })

  test('a shared object that the alternatives refine', () => {
    const refine = (kind: string, payload: JsonObject) => ({
      properties: { kind: { const: kind }, payload: object(payload) },
    })
    const schema = object(
      { kind: text, payload: { type: 'object' } },
      { oneOf: [refine('a', { x: text }), refine('b', { y: text })], required: ['kind'] },
    )
    assert.deepEqual(unknown(schema, { kind: 'a', payload: { x: 'x' } }), [])
    assert.deepEqual(unknown(schema, { kind: 'b', payload: { x: 'x' } }), ['/payload/x'])
  })

  test('closing never makes an alternative match that would not', () => {
    const schema = { oneOf: [object({ a: object({ x: text }) }), object({ a: object({ y: text }) })] }
    assert.ok(compileSchema(schema).check({ a: { x: 'x' } }).length > 0)
    assert.ok(unknown(schema, { a: { x: 'x' } }).length > 0)
  })

  test('if, then, else and dependentSchemas declare where they apply', () => {
    const schema = object(
      { kind: text },
      {
        if: { properties: { kind: { const: 'a' } } },
        // biome-ignore lint/suspicious/noThenProperty: a keyword
        then: { properties: { x: text } },
        else: { properties: { y: text } },
        dependentSchemas: { extra: { properties: { extra: text, more: text } } },
      },
    )
    assert.deepEqual(unknown(schema, { kind: 'a', x: 'x' }), [])
    assert.deepEqual(unknown(schema, { kind: 'a', y: 'x' }), ['/y'])
    assert.deepEqual(unknown(schema, { kind: 'b', y: 'x' }), [])
    assert.deepEqual(unknown(schema, { kind: 'b', extra: 'x', more: 'x' }), [])
    assert.deepEqual(unknown(schema, { kind: 'b', more: 'x' }), ['/more'])
  })

  test('not declares nothing, and is not narrowed', () => {
    const schema = object(
      { a: object({ b: text }) },
      { not: { properties: { a: object({ b: { const: 'no' } }) }, required: ['a'] } },
    )
    assert.deepEqual(unknown(schema, { a: { b: 'yes' } }), [])
    assert.deepEqual(unknown(schema, { a: { b: 'no' } }), [''])
    assert.deepEqual(unknown(schema, { a: { b: 'yes', c: 1 } }), ['/a/c'])
  })

  test('recursion is closed at every level', () => {
    const schema = {
      $ref: '#/$defs/node',
      $defs: { node: object({ name: text, kids: { type: 'array', items: { $ref: '#/$defs/node' } } }) },
    }
    assert.deepEqual(unknown(schema, { name: 'x', kids: [{ kids: [{ name: 'y' }] }] }), [])
    assert.deepEqual(unknown(schema, { kids: [{ kids: [{ nam: 'y' }] }], z: 1 }), [
      '/kids/0/kids/0/nam',
      '/z',
    ])
    const self = object({ child: { $ref: '#' } })
    assert.deepEqual(unknown(self, { child: { child: { x: 1 } } }), ['/child/child/x'])
    const extended = {
      allOf: [{ $ref: '#/$defs/node' }],
      properties: { kids: { items: { $ref: '#' } }, tag: text },
      $defs: { node: object({ name: text, kids: { type: 'array' } }) },
    }
    assert.deepEqual(unknown(extended, { name: 'x', tag: 'y', kids: [{ tag: 'z', kids: [{ q: 1 }] }] }), [
      '/kids/0/kids/0/q',
    ])
  })

  test('inherited names are fields like any other', () => {
    const schema = { anyOf: [object({ a: text }), object({ b: text })] }
    assert.deepEqual(unknown(schema, { a: 'x', toString: 1, valueOf: 1 }), ['/toString', '/valueOf'])
  })

  test('an invalid value is told of its unknown fields as well', () => {
    assert.deepEqual(unknown(object({ a: text }), { a: 1, b: 1 }), ['/a', '/b'])
  })

  test('closed accepts nothing that open refuses, and refuses a fresh field wherever an object is described', () => {
    const shape = fc.letrec<{ shape: JsonObject }>((tie) => ({
      shape: fc.oneof(
        { maxDepth: 4 },
        fc.constant(text),
        fc
          .dictionary(fc.constantFrom('a', 'b', 'c'), tie('shape'), { maxKeys: 3 })
          .map((fields) => object(fields)),
        fc
          .array(fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('shape'), { maxKeys: 2 }), {
            minLength: 1,
            maxLength: 2,
          })
          .map((parts) => ({ allOf: parts.map((fields) => object(fields)) })),
        tie('shape').map((inner) => ({ type: 'array', items: inner })),
        tie('shape').map((inner) => ({ $defs: { x: inner }, anyOf: [inner] })),
      ),
    })).shape
    const value: fc.Arbitrary<Json> = fc.letrec<{ value: Json }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.constant('x'),
        fc.array(tie('value'), { maxLength: 2 }),
        fc.dictionary(fc.constantFrom('a', 'b', 'c', 'q'), tie('value'), {
          maxKeys: 3,
        }) as fc.Arbitrary<JsonObject>,
      ),
    })).value
    fc.assert(
      fc.property(shape, value, (schema, one) => {
        const closed = compileSchema(schema, { closed: true })
        if (closed.check(one).length > 0) return
        assert.deepEqual(compileSchema(schema).check(one), [])
        assert.ok(!JSON.stringify(one).includes('"q"'), 'q is declared nowhere')
      }),
      { numRuns: 400 },
    )
  })
})
