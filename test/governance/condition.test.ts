// Literal comparisons on the input. One that cannot be made fires where it restricts, and does not hold where it permits.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fires as firesFor, holds } from '../../src/governance/condition.ts'
import type { Comparison } from '../../src/resource/resolved-tool.ts'
import type { Json } from '../../src/util/json.ts'
import { loose } from '../resource/support.ts'
import { decide, tool } from './support.ts'

function conditionOf(op: Comparison, value: Json | undefined) {
  return { field: '/x', op, ...(value === undefined ? {} : { value }) }
}

function fires(op: Comparison, value: Json | undefined, input: Json | undefined): boolean {
  return firesFor(conditionOf(op, value), input)
}

function table(
  op: Comparison,
  value: Json | undefined,
  firing: readonly (Json | undefined)[],
  silent: readonly (Json | undefined)[],
): void {
  for (const [inputs, expected] of [
    [firing, true],
    [silent, false],
  ] as const) {
    for (const x of inputs) {
      const input = x === undefined ? {} : { x }
      assert.equal(
        fires(op, value, input),
        expected,
        `${op} ${JSON.stringify(value)} on ${JSON.stringify(input)}`,
      )
    }
  }
}

test('Numbers and texts are ordered among themselves; another type or nothing there fires', () => {
  const others = ['100', '', null, true, [], [101], {}, undefined]
  table('gt', 100, [100.5, 101, 1e9, ...others], [100, 99, -1, 0])
  table('gte', 100, [100, 101, ...others], [99.999, 0])
  table('lt', 100, [99, 0, -1, ...others], [100, 101])
  table('lte', 100, [100, 99, ...others], [100.001])
  table('gt', 'm', ['n', 'z', 5, null, undefined, ['z']], ['m', 'a', ''])
  table('lte', 'm', ['m', 'a', '', 0, false, {}], ['n'])
})

test('eq and ne compare whole values: the type counts, the order of fields does not, that of items does', () => {
  const value = { a: 1, b: { c: [1, 2], d: null } }
  const reordered = { b: { d: null, c: [1, 2] }, a: 1 }
  const others: Json[] = [
    { a: 1, b: { c: [2, 1], d: null } },
    { a: 1, b: { c: [1, 2] } },
    { a: '1', b: { c: [1, 2], d: null } },
    { ...value, more: 1 },
    JSON.stringify(value),
    [],
    1,
  ]
  table('eq', value, [value, reordered], others)
  table('ne', value, [...others, null, undefined], [value, reordered])
  table('eq', 5, [5, 5.0], ['5', [5], null, true, 6])
  table('ne', 5, ['5', [5], null, undefined, 6], [5])
  table('eq', null, [null], [0, '', false, {}, []])
  table('eq', false, [false], [0, '', null, 'false'])
  table('eq', [1, { a: 1, b: 2 }], [[1, { b: 2, a: 1 }]], [[{ a: 1, b: 2 }, 1], [1]])
})

test('in and not_in look for a whole value in a list', () => {
  const list = ['EU', 7, null, { a: 1, b: 2 }]
  const there: Json[] = ['EU', 7, null, { b: 2, a: 1 }]
  const notThere: Json[] = ['eu', 'E', '7', 0, false, { a: 1 }, ['EU'], list]
  table('in', list, there, notThere)
  table('not_in', list, [...notThere, undefined], there)
})

test('Domains are those of plain mail addresses, one or each of a list; what could be of two domains restricts', () => {
  const inside = [
    'bob@example.com',
    'Bob@EXAMPLE.com',
    "o'neil+x@example.org",
    ['a@example.com', 'b@example.org'],
  ]
  const outside = [
    'bob@evil.tld',
    'bob@example.com.evil.tld',
    'bob@evilexample.com',
    'bob@mail.example.com',
    ['bob@example.com', 'bob@evil.tld'],
    ['bob@evil.tld', 5],
  ]
  const open = [
    'example.com',
    '@example.com',
    'bob@evil.tld,bob@example.com',
    'bob@evil.tld bob@example.com',
    'bob@evil.tld\n@example.com',
    '"bob@evil.tld"@example.com',
    '<bob@evil.tld>bob@example.com',
    'bob%evil.tld@example.com',
    'evil.tld!bob@example.com',
    '=?utf-8?q?bob=40evil.tld?=@example.com',
    'bob@example.com\u0000',
    `${'x'.repeat(400)}@example.com`,
    ['bob@example.com', null],
    [],
    5,
    null,
    {},
    undefined,
  ]
  const domains = ['example.com', 'example.org']
  table('not_in_domain', domains, [...outside, ...open], inside)
  table('in_domain', domains, [...inside, ...open], outside)
  for (const x of [...outside, ...open])
    assert.equal(holds(conditionOf('in_domain', domains), x === undefined ? {} : { x }), false)
  for (const x of inside) assert.equal(holds(conditionOf('in_domain', domains), { x }), true)
})

test('exists asks whether anything is there, null included; false turns it round', () => {
  const there: Json[] = [1, 0, '', false, null, {}, []]
  table('exists', undefined, there, [undefined])
  table('exists', true, there, [undefined])
  table('exists', false, [undefined], there)
})

test('Fields are found through objects and lists, and never on a prototype; input that has none counts as missing', () => {
  const on = (field: string, input: Json | undefined) => firesFor({ field, op: 'exists' }, input)
  assert.equal(on('/a/0/b', { a: [{ b: 1 }] }), true)
  assert.equal(on('/a/1/b', { a: [{ b: 1 }] }), false)
  assert.equal(on('/a~1b', { 'a/b': 1 }), true)
  for (const field of ['/constructor', '/__proto__', '/toString', '/a/length'])
    assert.equal(on(field, { a: [1] }), false, field)
  for (const input of [undefined, null, 7, 'text', []]) {
    assert.equal(on('/x', input), false)
    assert.equal(fires('gt', 100, input), true, `gt on ${JSON.stringify(input)}`)
    assert.equal(fires('ne', 100, input), true, `ne on ${JSON.stringify(input)}`)
    assert.equal(fires('not_in', [100], input), true, `not_in on ${JSON.stringify(input)}`)
  }
})

test('What permits has to be certain: what is missing or of another type does not hold', () => {
  const cases: readonly [Comparison, Json, readonly (Json | undefined)[], readonly (Json | undefined)[]][] = [
    ['lt', 50, [49, 0, -1], [50, 51, '1', null, true, [], {}, undefined]],
    ['gte', 'm', ['m', 'z'], ['a', 5, null, undefined]],
    ['eq', 'EU', ['EU'], ['eu', 1, null, undefined]],
    ['ne', 'EU', ['US', ''], ['EU', 1, null, [], undefined]],
    ['in', ['EU', 7], ['EU', 7], ['US', '7', null, undefined]],
    ['not_in', ['EU', 7], ['US', 8], ['EU', 7, null, true, [], undefined]],
    ['exists', true, [1, null, ''], [undefined]],
    ['exists', false, [undefined], [1, null, '']],
  ]
  for (const [op, value, holding, not] of cases) {
    for (const [inputs, expected] of [
      [holding, true],
      [not, false],
    ] as const) {
      for (const x of inputs) {
        const input = x === undefined ? {} : { x }
        const about = `${op} ${JSON.stringify(value)} on ${JSON.stringify(input)}`
        assert.equal(holds(conditionOf(op, value), input), expected, about)
        // Whatever is certain enough to permit is certain enough to restrict.
        if (expected) assert.equal(fires(op, value, input), true, about)
      }
    }
  }
  // A list that is none cannot be judged, either way.
  for (const op of ['in', 'not_in', 'in_domain', 'not_in_domain'] as const) {
    assert.equal(fires(op, 'EU', { x: 'EU' }), true)
    assert.equal(holds(conditionOf(op, 'EU'), { x: 'EU' }), false)
  }
})

test('S42: every trigger that fires is a reason, and one is enough', () => {
  const pay = tool(
    loose({
      approval_triggers: [
        { field: '/amount', op: 'gt', value: 100, reason: 'large payment' },
        { field: '/country', op: 'in', value: ['XX', 'YY'] },
        { field: '/urgent', op: 'exists' },
      ],
    }),
  )
  const asked = (input: Json) => {
    const { kind, matches } = decide({}, { tool: pay, input })
    return [
      kind,
      ...matches.filter((one) => one.decision === kind && kind !== 'allow').map((one) => one.reason),
    ]
  }
  assert.deepEqual(asked({ amount: 1, country: 'DE' }), ['allow'])
  assert.deepEqual(asked({ amount: 1, country: 'XX' }), ['require-approval', '/country in ["XX","YY"]'])
  assert.deepEqual(asked({ amount: 101, country: 'YY', urgent: false }), [
    'require-approval',
    'large payment',
    '/country in ["XX","YY"]',
    '/urgent exists',
  ])
})

test('S5: a reason does not show what a field of a tool with sensitive fields is compared with', () => {
  const pay = tool(
    loose({
      input_schema: { type: 'object', properties: { pin: { type: 'string', writeOnly: true } } },
      approval_triggers: [{ field: '/pin', op: 'eq', value: '1234' }],
    }),
  )
  const { matches } = decide({}, { tool: pay, input: { pin: '1234' } }, { explain: true })
  const { near } = decide({}, { tool: pay, input: { pin: '1' } }, { explain: true })
  assert.equal(matches[0]?.reason, '/pin eq')
  assert.equal(near[0]?.missed, '/pin eq')
})
