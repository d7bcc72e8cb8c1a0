// Checking values: the right answer, in bounded time and memory, in words for people.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import Type from 'typebox'
import type { Json, JsonObject } from '../../src/util/json.ts'
import { compileSchema } from '../../src/util/json-schema.ts'
import { isValid } from './reference-schema.ts'

const told = (schema: JsonObject | boolean, value: Json) =>
  compileSchema(schema)
    .check(value)
    .map(({ path, message }) => `${path} ${message}`)

/** Generous: the machine may be busy. What must not happen takes minutes. */
const BOUND_MS = 20_000

function inTime<T>(run: () => T): T {
  const started = performance.now()
  const result = run()
  assert.ok(performance.now() - started < BOUND_MS, 'took too long')
  return result
}

/** A value in 120 levels of others. */
function nested(innermost: Json, wrap: (inner: Json, level: number) => Json): Json {
  return Array.from({ length: 120 }).reduce<Json>((inner, _, level) => wrap(inner, level), innermost)
}

const DEFINITIONS = {
  leaf: { type: ['object', 'string'], properties: { a: { type: 'string' } } },
  list: {
    anyOf: [
      { type: 'array', items: { $ref: '#/$defs/leaf' } },
      { type: 'object', properties: { b: true } },
    ],
  },
}

const text = { type: 'string' }

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
