// Checking values: the right answer, held against a second implementation of the rules.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import Type from 'typebox'
import type { Json, JsonObject } from '../../src/util/json.ts'
import { compileSchema } from '../../src/util/json-schema.ts'
import { DEFINITIONS, text, told } from './check-schema.ts'
import { isValid } from './reference-schema.ts'

const fieldName = fc.constantFrom('a', 'b', 'c')
const fields = <T>(value: fc.Arbitrary<T>) =>
  fc.dictionary(fieldName, value, { maxKeys: 3, noNullPrototype: true })

const anyValue = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom<Json>(null, true, 0, 1, 2.5, '', 'a', 'b'),
    fc.array(tie('value'), { maxLength: 3 }),
    fields(tie('value')) as fc.Arbitrary<JsonObject>,
  ),
})).value

/** At most three keywords at a time, so that values have a chance. */
const anySchema = fc.letrec<{ schema: Json }>((tie) => {
  const schema = tie('schema')
  const schemas = fc.array(schema, { minLength: 1, maxLength: 2 })
  const keywords: Record<string, fc.Arbitrary<unknown>> = {
    type: fc.constantFrom('object', 'array', 'string', ['object', 'array']),
    properties: fields(schema),
    patternProperties: fc.dictionary(fc.constantFrom('^a', 'b$'), schema, {
      maxKeys: 2,
      noNullPrototype: true,
    }),
    additionalProperties: schema,
    unevaluatedProperties: schema,
    required: fc.uniqueArray(fieldName, { maxLength: 2 }),
    items: schema,
    prefixItems: schemas,
    contains: schema,
    unevaluatedItems: schema,
    uniqueItems: fc.boolean(),
    allOf: schemas,
    anyOf: schemas,
    oneOf: schemas,
    not: schema,
    dependentSchemas: fields(schema),
    enum: fc.array(anyValue, { minLength: 1, maxLength: 3 }),
    $ref: fc.constantFrom('#/$defs/leaf', '#/$defs/list'),
  }
  const condition = fc.tuple(schema, schema, schema).map(([test, yes, no]) => [
    ['if', test],
    ['then', yes],
    ['else', no],
  ])
  const keyword = fc.oneof(
    ...Object.entries(keywords).map(([name, value]) => value.map((one) => [[name, one]])),
    condition,
  )
  return {
    schema: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom<Json>(
        true,
        false,
        {},
        { type: 'string' },
        { type: ['object', 'null'] },
        { minimum: 1 },
      ),
      fc.array(keyword, { maxLength: 3 }).map((entries) => Object.fromEntries(entries.flat()) as JsonObject),
    ),
  }
}).schema

describe('the right answer', () => {
  test('boolean schemas', () => {
    assert.deepEqual(told(true, { a: 1 }), [])
    assert.equal(told(false, null).length, 1)
  })

  test('recursive schemas', () => {
    const { check } = compileSchema({
      type: 'object',
      properties: { kids: { type: 'array', items: { $ref: '#' } }, n: { type: 'integer' } },
    })
    assert.deepEqual(check({ n: 1, kids: [{ n: 2, kids: [] }] }), [])
    assert.deepEqual(check({ kids: [{ kids: [{ n: 'x' }] }] }), [
      { path: '/kids/0/kids/0/n', message: 'must be an integer' },
    ])
  })

  test('an unknown format or keyword is an annotation', () => {
    assert.deepEqual(
      told({ format: 'no-such-format', 'x-note': { $ref: 'https://example.com' }, id: 'x' }, 'a'),
      [],
    )
    assert.deepEqual(told({ $schema: 'http://json-schema.org/draft-07/schema#', type: 'string' }, 'a'), [])
  })

  test('keys that every object inherits are keys like any other', () => {
    assert.equal(told({ required: ['toString', 'hasOwnProperty'] }, {}).length, 2)
    assert.deepEqual(told({ properties: { toString: { type: 'number' } } }, {}), [])
    const closed = {
      anyOf: [{ properties: { b: { type: 'string' } } }, { required: ['c'] }],
      unevaluatedProperties: false,
    }
    assert.equal(told(closed, { b: 'x', toString: 1, valueOf: 2 }).length, 2)
    assert.equal(told({ const: { a: 1 } }, { valueOf: 1, toString: 2 }).length, 1)
    assert.equal(told({ uniqueItems: true }, [{ valueOf: 1 }, { valueOf: 2 }]).length, 0)
    assert.equal(told({ dependentRequired: { toString: ['x'] } }, {}).length, 0)
  })

  test('equality is by JSON value', () => {
    assert.deepEqual(told({ enum: [{ a: 1, b: [2] }, [1]] }, { b: [2], a: 1 }), [])
    assert.equal(told({ enum: ['1', [1], {}] }, 1).length, 1)
    assert.equal(told({ uniqueItems: true }, [1, '1', true, null, [1], ['1'], {}, []]).length, 0)
    assert.equal(told({ uniqueItems: true }, [0, -0]).length, 1)
    assert.deepEqual(told({ multipleOf: 0.01 }, 19.99), [])
  })

  test('a TypeBox schema works as it is', () => {
    const schema = Type.Object(
      { a: Type.String(), b: Type.Optional(Type.Union([Type.Literal('x'), Type.Null()])) },
      { additionalProperties: false },
    )
    const { check } = compileSchema(schema as unknown as JsonObject)
    assert.deepEqual(check({ a: 'x', b: null }), [])
    const paths = check({ a: 1, c: 2 }).map(({ path }) => path)
    assert.deepEqual(paths.sort(), ['/a', '/c'])
  })

  test('nothing of a schema or a value reaches a prototype', () => {
    const value = JSON.parse(
      '{"__proto__":{"polluted":1},"a":{"constructor":{"prototype":{"polluted":1}}}}',
    ) as Json
    compileSchema({ properties: { a: { type: 'object' } } }, { closed: true }).check(value)
    assert.equal(({} as Record<string, unknown>).polluted, undefined)
  })

  test('random schemas and values get the answer that the specification gives', () => {
    fc.assert(
      fc.property(anySchema, fc.array(anyValue, { minLength: 1, maxLength: 6 }), (body, values) => {
        const whole = typeof body === 'boolean' ? body : { ...(body as JsonObject), $defs: DEFINITIONS }
        const { check } = compileSchema(whole)
        for (const value of values) {
          assert.equal(
            check(value).length === 0,
            isValid(whole, value),
            `${JSON.stringify(whole)} ${JSON.stringify(value)}`,
          )
        }
      }),
      { numRuns: 400 },
    )
  })

  const unevaluated: [string, JsonObject, Json, Json][] = [
    [
      'fields beside a pattern and an alternative that fails',
      {
        anyOf: [{ properties: { b: text } }, {}],
        patternProperties: { '^a': true },
        unevaluatedProperties: false,
      },
      { a: 1 },
      { a: 1, b: 1 },
    ],
    ['items that contains has found', { contains: { const: 1 }, unevaluatedItems: false }, [1, 1], [1, 2]],
    [
      'items of an alternative',
      { anyOf: [{ prefixItems: [text] }, { prefixItems: [true, text] }], unevaluatedItems: false },
      ['x', 'y'],
      ['x', 1],
    ],
    [
      'fields of a condition',
      { if: { properties: { a: { const: 1 } }, required: ['a'] }, unevaluatedProperties: false },
      { a: 1 },
      { a: 2 },
    ],
    [
      'fields through a reference',
      { $ref: '#/$defs/x', $defs: { x: { properties: { a: {} } } }, unevaluatedProperties: text },
      { a: 1, b: 'x' },
      { a: 1, b: 1 },
    ],
    [
      'nothing that only not has seen',
      { not: { properties: { a: text }, required: ['a'] }, unevaluatedProperties: false },
      {},
      { a: 1 },
    ],
  ]
  for (const [name, schema, good, bad] of unevaluated) {
    test(`evaluated are ${name}`, () => {
      assert.deepEqual(told(schema, good), [])
      assert.equal(told(schema, bad).length, 1)
    })
  }
})
