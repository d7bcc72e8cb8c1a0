// What is refused when a schema is read: unsound, foreign, endless or backtracking ones.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import type { Json } from '../../src/util/json.ts'
import { compileSchema, SchemaError } from '../../src/util/json-schema.ts'

type Loose = Parameters<typeof compileSchema>[0]

function problems(schema: unknown): string[] {
  try {
    compileSchema(schema as Loose)
  } catch (error) {
    assert.ok(error instanceof SchemaError, String(error))
    return error.violations.map(({ path, message }) => `${path} ${message}`)
  }
  return []
}

function assertProblem(schema: unknown, expected: RegExp): void {
  const found = problems(schema)
  assert.equal(found.length, 1, found.join('\n'))
  assert.match(found[0] ?? '', expected)
}

describe('references', () => {
  test('a reference to the network is refused and never fetched', () => {
    assertProblem(
      { properties: { a: { $ref: 'https://127.0.0.1:1/x.json' } } },
      /^\/properties\/a\/\$ref refers to .* outside/,
    )
    assertProblem({ $ref: 'file:///etc/passwd' }, /outside/)
    assertProblem({ $ref: 'other.json#/$defs/a' }, /outside/)
    assertProblem({ $ref: 'http://json-schema.org/draft-07/schema#' }, /outside/)
  })

  test('a reference to nothing, or to something that is no schema, is refused', () => {
    assertProblem({ $ref: '#/$defs/a' }, /not there/)
    assertProblem({ $ref: '#nope' }, /not there/)
    assertProblem({ title: 'x', $ref: '#/title' }, /not there/)
    assertProblem({ $ref: '#/__proto__' }, /not there/)
    assertProblem({ $ref: '#/%' }, /not there/)
  })

  test('local references work by pointer, anchor, and the own $id', () => {
    const schema = {
      $id: 'https://example.com/person.json',
      $defs: {
        'a b/c~d': { type: 'string' },
        named: { $anchor: 'named', type: 'integer' },
        inner: { $id: 'inner.json', $defs: { deep: { type: 'boolean' } }, $ref: '#/$defs/deep' },
      },
      components: { schemas: { odd: { const: 1 } } },
      properties: {
        pointer: { $ref: '#/$defs/a%20b~1c~0d' },
        anchor: { $ref: '#named' },
        absolute: { $ref: 'https://example.com/person.json#/$defs/named' },
        inner: { $ref: 'inner.json' },
        odd: { $ref: '#/components/schemas/odd' },
        self: { $ref: '#' },
      },
    }
    const { check } = compileSchema(schema)
    assert.deepEqual(
      check({ pointer: 'x', anchor: 1, absolute: 2, inner: true, odd: 1, self: { anchor: 3 } }),
      [],
    )
    const wrong = check({ pointer: 1, anchor: 'x', absolute: 'x', inner: 1, odd: 2, self: { anchor: 'x' } })
    assert.deepEqual(wrong.map(({ path }) => path).sort(), [
      '/absolute',
      '/anchor',
      '/inner',
      '/odd',
      '/pointer',
      '/self/anchor',
    ])
  })

  test('a reference to a place outside of every keyword is checked as a schema too', () => {
    assertProblem({ $ref: '#/x/bad', x: { bad: { type: 'text' } } }, /^\/x\/bad\/type must be one of/)
  })

  test('a dynamic reference in one resource is a plain one, across resources it is refused', () => {
    const tree = {
      $dynamicAnchor: 'node',
      type: 'object',
      properties: { kids: { items: { $dynamicRef: '#node' } } },
    }
    assert.equal(compileSchema(tree).check({ kids: [{ kids: [1] }] }).length, 1)
    assertProblem({ ...tree, $defs: { a: { $id: 'a.json' } } }, /nested \$id/)
  })

  test('$ref and $dynamicRef side by side both count', () => {
    const { check } = compileSchema({
      $defs: { a: { required: ['a'] }, b: { $dynamicAnchor: 'b', required: ['b'] } },
      $ref: '#/$defs/a',
      $dynamicRef: '#b',
    })
    assert.equal(check({}).length, 2)
    assert.deepEqual(check({ a: 1, b: 1 }), [])
  })

  test('two schemas with the same $id do not meet', () => {
    const one = compileSchema({ $id: 'https://example.com/s', type: 'string' })
    const two = compileSchema({ $id: 'https://example.com/s', type: 'number' })
    assert.deepEqual(
      [one.check('x').length, one.check(1).length, two.check('x').length, two.check(1).length],
      [0, 1, 1, 0],
    )
  })
})

describe('schemas without end or bounds', () => {
  test('a schema that applies itself to the same value is refused', () => {
    assertProblem({ $ref: '#' }, /without end/)
    assertProblem({ allOf: [{ anyOf: [{ not: { $ref: '#' } }] }] }, /without end/)
    assertProblem({ $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } }, /without end/)
  })

  test('a schema that doubles at every step is refused at once', () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 25 }, (_, i) => {
        const next = { $ref: `#/$defs/a${i - 1}` }
        return [`a${i}`, i === 0 ? { type: 'string' } : { allOf: [next, next] }]
      }),
    )
    assertProblem({ $defs, $ref: '#/$defs/a24' }, /applies more than 10000 schemas/)
  })

  test('a long chain of references is refused', () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 3000 }, (_, i) => [`a${i}`, { $ref: `#/$defs/a${i + 1}` }]),
    )
    assertProblem({ $defs: { ...$defs, a3000: {} } }, /chains more than 64/)
  })

  test('a long chain through properties ends in an answer, not in a crash', () => {
    const chain = (length: number) => ({
      $ref: '#/$defs/a0',
      $defs: Object.fromEntries(
        Array.from({ length }, (_, i) => [
          `a${i}`,
          { properties: { x: { $ref: `#/$defs/a${(i + 1) % length}` } } },
        ]),
      ),
    })
    assert.deepEqual(problems(chain(100)), [])
    const long = problems(chain(3000))
    assert.ok(long.length === 0 || /too deeply/.test(long[0] ?? ''), long.join())
  })

  test('more than 64 levels or 256 KiB are refused', () => {
    let deep: Record<string, unknown> = {}
    for (let i = 0; i < 70; i++) deep = { not: deep }
    assertProblem(deep, /deeper than 64/)
    assertProblem({ description: 'x'.repeat(300_000) }, /larger than 262144 bytes/)
  })

  test('what is no JSON is refused with its path', () => {
    assertProblem({ default: new Date(0) }, /^\/default is an instance of Date/)
    assertProblem(
      { properties: { constructor: { type: 'string' } } },
      /^\/properties\/constructor uses the reserved key/,
    )
    assertProblem({ properties: JSON.parse('{"__proto__":{}}') }, /reserved key/)
    assertProblem('string', /must be a schema/)
    assertProblem([], /must be a schema/)
  })
})

describe('patterns', () => {
  const unable: [string, RegExp][] = [
    ['(?=a)b', /lookahead/],
    ['(?<!a)b', /lookahead and lookbehind/],
    ['(a)\\1', /backreference/],
    ['(?<x>a)\\k<x>', /backreference/],
    ['a{2,5000}', /1000 times/],
    ['\\Z', /unknown escape/],
    ['(', /missing closing/],
    ['[z-a]', /range/],
  ]
  for (const [pattern, why] of unable) {
    test(`S50: ${pattern} is refused, with the reason`, () => {
      assertProblem({ items: { pattern } }, why)
      assertProblem({ patternProperties: { [pattern]: {} } }, why)
    })
  }

  test('what JavaScript and RE2 share is understood', () => {
    const matching: [string, string][] = [
      ['^[A-Z]{2}\\d+$', 'DE123'],
      ['^\\p{L}+$', 'ßö'],
      ['^\\u0041\\x42\\/\\-$', 'AB/-'],
      ['^(?<year>\\d{4})$', '2024'],
      ['^.$', '😀'],
    ]
    for (const [pattern, text] of matching)
      assert.deepEqual(compileSchema({ pattern }).check(text), [], pattern)
  })
})

describe('the shape of a schema', () => {
  test('all mistakes are listed, with paths', () => {
    const found = problems({
      type: 'text',
      properties: { a: { minLength: -1, required: 'b', items: [{}] } },
      anyOf: [],
    })
    assert.deepEqual(found.map((problem) => problem.split(' ')[0]).sort(), [
      '/anyOf',
      '/properties/a/items',
      '/properties/a/minLength',
      '/properties/a/required',
      '/type',
    ])
  })

  test('the given schema is neither changed nor kept', () => {
    const schema = { type: 'object', properties: { a: { type: 'string' } }, additionalProperties: false }
    const before = structuredClone(schema)
    const frozen = Object.freeze({ ...schema })
    const { check } = compileSchema(frozen, { closed: true })
    assert.deepEqual(schema, before)
    schema.properties.a.type = 'number'
    assert.deepEqual(check({ a: 'x' }), [])
  })

  test('it is refused exactly when the metaschema of 2020-12 refuses it', () => {
    const meta = new Ajv2020({ strict: false, logger: false })
    const value: fc.Arbitrary<unknown> = fc.oneof(
      fc.constantFrom(
        true,
        false,
        null,
        0,
        1,
        -1,
        1.5,
        'string',
        'x',
        '#',
        '',
        [],
        {},
        ['a'],
        ['a', 'a'],
        [{}],
        [true],
        { a: {} },
        { a: ['b'] },
        { a: 1 },
        ['string', 'null'],
        ['x'],
      ),
    )
    const keyword = fc.constantFrom(
      ...[
        'type',
        'enum',
        'const',
        'multipleOf',
        'maximum',
        'exclusiveMaximum',
        'minimum',
        'exclusiveMinimum',
        'maxLength',
        'minLength',
      ],
      ...[
        'maxItems',
        'minItems',
        'uniqueItems',
        'maxContains',
        'minContains',
        'prefixItems',
        'items',
        'contains',
        'unevaluatedItems',
      ],
      ...[
        'maxProperties',
        'minProperties',
        'required',
        'dependentRequired',
        'properties',
        'patternProperties',
        'additionalProperties',
      ],
      ...[
        'unevaluatedProperties',
        'propertyNames',
        'allOf',
        'anyOf',
        'oneOf',
        'not',
        'if',
        'then',
        'else',
        'dependentSchemas',
        'dependencies',
      ],
      ...[
        'title',
        'description',
        'default',
        'deprecated',
        'readOnly',
        'writeOnly',
        'examples',
        'contentEncoding',
        'contentMediaType',
      ],
      ...[
        'contentSchema',
        'format',
        'pattern',
        '$defs',
        'definitions',
        '$comment',
        '$anchor',
        '$vocabulary',
        'somethingElse',
      ],
    )
    const schema = fc.dictionary(keyword, value, { maxKeys: 3 })
    fc.assert(
      fc.property(
        schema,
        fc.constantFrom('properties', 'items', 'allOf', '$defs', 'not'),
        (inner, holder) => {
          const outer = {
            [holder]:
              holder === 'allOf'
                ? [inner]
                : holder === 'properties' || holder === '$defs'
                  ? { x: inner }
                  : inner,
          }
          assert.equal(
            problems(outer).length === 0,
            meta.validateSchema(outer as Json as object) === true,
            JSON.stringify(outer),
          )
        },
      ),
      { numRuns: 600 },
    )
  })
})
