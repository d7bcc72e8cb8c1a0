// Checking values: what is said of them, in words for people.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Json, JsonObject } from '../../src/util/json.ts'
import { told } from './check-schema.ts'

describe('messages', () => {
  const cases: [JsonObject | boolean, Json, string[]][] = [
    [{ type: 'integer' }, 1.5, [' must be an integer']],
    [{ type: ['string', 'null'] }, 1, [' must be a string or null']],
    [{ required: ['a', 'b'] }, { a: 1 }, [" is missing the field 'b'"]],
    [
      { enum: ['metric', 'imperial', null] },
      'metrc',
      [' must be one of "metric", "imperial", null: did you mean "metric"?'],
    ],
    [{ const: { a: 1 } }, { a: 2 }, [' must be {"a":1}']],
    [{ minimum: 1 }, 0, [' must be at least 1']],
    [{ exclusiveMaximum: 1 }, 1, [' must be less than 1']],
    [{ multipleOf: 0.01 }, 0.015, [' must be a multiple of 0.01']],
    [{ minLength: 1 }, '', [' must have at least 1 character']],
    [{ maxLength: 2 }, '😀😀😀', [' must have at most 2 characters']],
    [{ pattern: '^a' }, 'b', [" must match the pattern '^a'"]],
    [{ format: 'email' }, 'b', [' must be a valid email']],
    [{ minItems: 2 }, [1], [' must have at least 2 items']],
    [{ prefixItems: [true], items: false }, [1, 2], [' must have at most 1 item']],
    [
      { uniqueItems: true },
      [{ a: 1, b: 2 }, 3, { b: 2, a: 1 }],
      [' must not have equal items, but those at 0 and 2 are'],
    ],
    [{ contains: { const: 1 } }, [2], [' must have at least 1 of the items that are asked for']],
    [{ maxProperties: 1 }, { a: 1, b: 1 }, [' must have at most 1 field']],
    [{ dependentRequired: { a: ['b'] } }, { a: 1 }, [" is missing the field 'b', which 'a' needs"]],
    [
      { propertyNames: { maxLength: 1 } },
      { ab: 1 },
      [" has the key 'ab', which must have at most 1 character"],
    ],
    [
      { properties: { colour: {} }, additionalProperties: false },
      { color: 1 },
      ["/color is not a known field: did you mean 'colour'?"],
    ],
    [
      { properties: { a: {}, b: {} }, additionalProperties: false },
      { zzz: 1 },
      ["/zzz is not a known field: the known ones are 'a', 'b'"],
    ],
    [
      { allOf: [{ properties: { a: {} } }], unevaluatedProperties: false },
      { b: 1 },
      ['/b is not a known field'],
    ],
    [{ properties: { a: false } }, { a: 1 }, ['/a must not be there']],
    [{ not: { type: 'string' } }, 'x', [' has a shape that is excluded']],
    [{ anyOf: [{ type: 'string' }, { type: 'null' }] }, 1, [' must be a string or null']],
    [
      { oneOf: [{ type: 'integer' }, { minimum: 0 }] },
      1,
      [' matches more than one of the allowed shapes, and must match exactly one'],
    ],
    // biome-ignore lint/suspicious/noThenProperty: a keyword
    [{ if: { required: ['a'] }, then: { required: ['b'] } }, { a: 1 }, [" is missing the field 'b'"]],
    [false, 1, [' must not be there']],
    [{ items: { properties: { 'a/b': { type: 'string' } } } }, [{ 'a/b': 1 }], ['/0/a~1b must be a string']],
  ]
  for (const [schema, value, expected] of cases) {
    test(`${JSON.stringify(schema)} says: ${expected.join('; ')}`, () =>
      assert.deepEqual(told(schema, value), expected))
  }

  test('of alternatives only the one that was meant is spoken of', () => {
    const card = {
      type: 'object',
      properties: { kind: { const: 'card' }, number: { type: 'string' } },
      required: ['kind', 'number'],
    }
    const bank = {
      type: 'object',
      properties: { kind: { const: 'bank' }, iban: { type: 'string' } },
      required: ['kind', 'iban'],
    }
    const schema = { oneOf: [card, { $ref: '#/$defs/bank' }, { type: 'null' }], $defs: { bank } }
    assert.deepEqual(told(schema, { kind: 'card' }), [" is missing the field 'number'"])
    assert.deepEqual(told(schema, { kind: 'bank', iban: 1 }), ['/iban must be a string'])
    assert.ok(told(schema, { kind: 'cash' }).includes('/kind must be one of "card", "bank"'))
    assert.deepEqual(told(schema, 7), [' must be an object or null'])
  })

  test('all violations are listed, not the first only', () => {
    const schema = {
      type: 'object',
      properties: { a: { type: 'string' }, b: { minimum: 5 } },
      required: ['c'],
      additionalProperties: false,
    }
    assert.equal(told(schema, { a: 1, b: 2, d: 3 }).length, 4)
  })

  test('at most a hundred are listed, and the rest is counted', () => {
    const found = told({ items: { type: 'string' } }, Array(250).fill(1))
    assert.equal(found.length, 101)
    assert.equal(found.at(-1), ' has at least 150 more problems than these')
  })

  test('no message holds a value of the input', () => {
    const secret = 'hunter2-hunter2'
    const schema = {
      properties: {
        a: { type: 'number' },
        b: { pattern: '^x' },
        c: { enum: [1] },
        d: { format: 'uuid' },
        e: { maxLength: 2 },
      },
    }
    const found = told(schema, { a: secret, b: secret, c: secret, d: secret, e: secret })
    assert.equal(found.length, 5)
    assert.ok(!found.join().includes('hunter2'))
  })
})
