// How the input of a call looks to Cedar: types from the schema, exact numbers, and what hostile input can do.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inputType, typeToJson } from '../../../src/governance/cedar/cedar-type.ts'
import type { Json, JsonObject } from '../../../src/util/json.ts'
import { asked, findings, lines, object, policy, said, setOf, tool } from './support.ts'

const FORBID = 'forbid (principal, action, resource)'

function holds(schema: JsonObject, input: Json, condition: string): boolean {
  const made = tool('x', schema)
  const text = `${FORBID} when { ${condition} };`
  assert.deepEqual(lines(findings(text, [made])), [], condition)
  return said(text, { tool: made, input }).length === 1
}

function type(property: Json): unknown {
  const json = typeToJson(inputType(object({ x: property }, ['x']))) as { attributes: JsonObject }
  return json.attributes.x
}

test('types come from the schema, and what Cedar cannot express is not in reach', () => {
  const text = { type: 'String', required: true }
  assert.deepEqual(type({ type: 'string' }), text)
  assert.deepEqual(type({ type: 'integer' }), { type: 'Long', required: true })
  assert.deepEqual(type({ type: 'boolean' }), { type: 'Boolean', required: true })
  assert.deepEqual(type({ type: 'number' }), { type: 'Extension', name: 'decimal', required: true })
  assert.deepEqual(type({ enum: ['a', 'b'] }), text)
  assert.deepEqual(type({ const: 5 }), { type: 'Long', required: true })
  assert.deepEqual(type({ enum: ['a', null] }), { type: 'String', required: false })
  assert.deepEqual(type({ type: ['string', 'null'] }), { type: 'String', required: false })
  assert.deepEqual(type({ type: ['integer', 'number'] }), {
    type: 'Extension',
    name: 'decimal',
    required: true,
  })
  assert.deepEqual(type({ anyOf: [{ type: 'string' }, { type: 'null' }] }), {
    type: 'String',
    required: false,
  })
  assert.deepEqual(type({ oneOf: [{ type: 'string', maxLength: 3 }, { const: 'none' }] }), text)
  assert.deepEqual(type({ allOf: [{ type: 'string' }, { minLength: 3 }] }), text)
  assert.deepEqual(type({ type: 'array', items: { type: 'string' } }), {
    type: 'Set',
    element: { type: 'String' },
    required: true,
  })
  assert.deepEqual(type(object({ y: { type: 'string' }, z: {} }, ['y'])), {
    type: 'Record',
    attributes: { y: text },
    required: true,
  })
  for (const unknown of [
    {},
    true,
    { type: 'null' },
    { type: ['string', 'integer'] },
    { enum: ['a', 1] },
    { anyOf: [{ type: 'string' }, { type: 'integer' }] },
    { anyOf: [{ type: 'string' }, {}] },
    { allOf: [{ type: 'string' }, { type: 'integer' }] },
    { type: 'array' },
    { type: 'array', items: { type: ['string', 'null'] } },
    { type: 'array', prefixItems: [{ type: 'string' }], items: { type: 'string' } },
  ]) {
    assert.equal(type(unknown as Json), undefined, JSON.stringify(unknown))
  }
})

test('references are followed, and recursion ends', () => {
  const schema = {
    $defs: {
      money: object({ value: { type: 'number' } }, ['value']),
      tree: object({ tree: { $ref: '#/$defs/tree' } }),
    },
    ...object({ price: { $ref: '#/$defs/money' }, tree: { $ref: '#/$defs/tree' } }, ['price']),
  }
  assert.equal(holds(schema, { price: { value: 2.5 } }, 'context.input.price.value == decimal("2.5")'), true)
  assert.equal(
    holds(
      schema,
      { price: { value: 1 }, tree: { tree: {} } },
      'context.input has tree.tree && context.input.tree.tree has tree',
    ),
    false,
  )
})

test('numbers are decimals, compared by their decimal value', () => {
  const schema = object({ amount: { type: 'number' } }, ['amount'])
  const over = (amount: number, limit: string) =>
    holds(schema, { amount }, `context.input.amount.greaterThan(decimal("${limit}"))`)
  assert.equal(over(12.5, '12.4999'), true)
  assert.equal(over(12.5, '12.5'), false)
  assert.equal(over(0.3, '0.3'), false)
  assert.equal(over(0.1 + 0.2 - 4e-17, '0.3'), false)
  assert.equal(over(-0.0001, '-0.0002'), true)
  assert.equal(over(-0, '0.0'), false)
  assert.equal(over(1e12, '999999999999.9999'), true)
  assert.equal(over(922_337_203_685_477, '922337203685476.9999'), true)
})

test('nothing is truncated: a value that Cedar cannot hold exactly is denied where a policy reads it', () => {
  const schema = object({ amount: { type: 'number' }, count: { type: 'integer' }, note: { type: 'string' } })
  const made = tool('x', schema)
  const reading = (field: string) => `@id("p") ${FORBID} when { context.input has ${field} };`
  const unjudged = ['deny cedar-unjudged cedar:1:1#p']
  for (const amount of [0.00001, 12.345_67, 1e15, -1e300, 5e-324, 1e21]) {
    assert.deepEqual(said(reading('amount'), { tool: made, input: { amount } }), unjudged, String(amount))
    // A policy that reads something else is not concerned.
    assert.deepEqual(said(reading('count'), { tool: made, input: { amount } }), [])
  }
  for (const count of [2 ** 53, -(2 ** 53), 1e300, 1.5]) {
    assert.deepEqual(said(reading('count'), { tool: made, input: { count } }), unjudged, String(count))
  }
  assert.deepEqual(said(reading('note'), { tool: made, input: { note: 'a\ud800b' } }), unjudged)
  // A permit that cannot be judged lets nothing through either.
  const permit = 'permit (principal, action, resource) when { context.input has amount };'
  assert.deepEqual(said(permit, { tool: made, input: { amount: 0.00001 } }), [
    'deny cedar-not-permitted cedar',
    'deny cedar-unjudged cedar:1:1#0',
  ])
  const [match] = asked(setOf([policy(reading('amount'))]), { tool: made, input: { amount: 0.00001 } })
  assert.doesNotMatch(match?.reason ?? '', /0001|1e-5/)
})

test('policies hold numbers up to 64 bits without losing a digit', () => {
  const schema = object({ count: { type: 'integer' } }, ['count'])
  const input = { count: 9_007_199_254_740_991 }
  assert.equal(holds(schema, input, 'context.input.count + 2 == 9007199254740993'), true)
  assert.equal(holds(schema, input, 'context.input.count + 2 == 9007199254740992'), false)
})

test('texts, flags, sets and records are in reach', () => {
  const schema = object(
    {
      to: { type: 'string' },
      urgent: { type: 'boolean' },
      tags: { type: 'array', items: { type: 'string' } },
      lines: { type: 'array', items: object({ sku: { type: 'string' } }, ['sku']) },
      card: object({ country: { type: 'string' } }, ['country']),
    },
    ['to', 'urgent', 'tags', 'lines', 'card'],
  )
  const input = {
    to: 'eve@evil.example',
    urgent: true,
    tags: ['a', 'b', 'a'],
    lines: [{ sku: '7', more: 1 }],
    card: { country: 'DE', number: '4111' },
    unknown: 1,
  }
  assert.equal(holds(schema, input, '!(context.input.to like "*@corp.example")'), true)
  assert.equal(holds(schema, input, 'context.input.urgent'), true)
  assert.equal(holds(schema, input, 'context.input.tags.containsAll(["b", "a"])'), true)
  assert.equal(holds(schema, input, 'context.input.tags == ["a", "b"]'), true)
  assert.equal(holds(schema, input, 'context.input.lines.contains({sku: "7"})'), true)
  assert.equal(holds(schema, input, 'context.input.card.country != "FR"'), true)
  assert.equal(holds(schema, input, 'context.input["card"]["country"] == "DE"'), true)
  assert.equal(holds(schema, input, '[context.input.card].contains({country: "DE"})'), true)
})

test('a null is not there, and neither is what the schema does not declare', () => {
  const schema = object({ note: { type: ['string', 'null'] } }, ['note'])
  assert.equal(holds(schema, { note: null }, 'context.input has note'), false)
  assert.equal(holds(schema, { note: '' }, 'context.input has note'), true)
  const made = tool('x', schema)
  const reaching = `${FORBID} when { context.input.other == 1 };`
  assert.deepEqual(lines(findings(reaching, [made])), [
    'error 1:45 attribute `input.other` in context for Writ::Action::"invoke" not found (tool x, operation invoke)',
  ])
})

test('without a schema nothing of the input is in reach, whatever the input is', () => {
  const bare = tool('x')
  for (const input of [undefined, null, 'text', [1], { a: 1 }]) {
    const whole = `${FORBID} when { context.input == {} };`
    assert.equal(said(whole, { tool: bare, ...(input === undefined ? {} : { input }) }).length, 1)
  }
})

test('fields that the engine would take for something else are not in reach', () => {
  const looksLikeOne = { type: 'object', properties: { type: { type: 'string' }, id: { type: 'string' } } }
  const schema = object(
    { __entity: looksLikeOne, __extn: looksLikeOne, __expr: { type: 'string' }, plain: { type: 'string' } },
    ['plain'],
  )
  const input = {
    plain: 'x',
    __entity: { type: 'Writ::Role', id: 'admin' },
    __extn: { fn: 'decimal', arg: '1.0' },
    __expr: 'principal',
  }
  assert.equal(holds(schema, input, 'context.input == {plain: "x"}'), true)
})

test('the prototype of an object is no field', () => {
  const made = tool('x', object({ plain: { type: 'string' } }))
  const input = JSON.parse('{"__proto__": {"plain": "evil"}}') as Json
  const has = (field: string) => said(`${FORBID} when { context.input has ${field} };`, { tool: made, input })
  for (const field of ['plain', 'toString', 'constructor', '__proto__']) assert.deepEqual(has(field), [])
})

test('huge and deeply nested input cannot hurt: only declared fields that are read reach the engine', () => {
  const made = tool(
    'x',
    object({ text: { type: 'string' }, list: { type: 'array', items: { type: 'string' } }, deep: {} }),
  )
  let deep: Json = 'x'
  for (let depth = 0; depth < 100_000; depth++) deep = [deep]
  const input = { text: 'a'.repeat(4_000_000), list: Array<string>(9_999).fill('b'), deep }
  const call = { tool: made, input }
  assert.equal(said(`${FORBID} when { context.risk == "none" };`, call).length, 0)
  assert.equal(
    said(`${FORBID} when { context.input has text && context.input.text like "*b" };`, call).length,
    0,
  )
  assert.equal(
    said(`${FORBID} when { context.input has list && context.input.list.contains("b") };`, call).length,
    1,
  )
  const more = { ...call, input: { list: [...input.list, 'c'] } }
  assert.deepEqual(said(`${FORBID} when { context.input has list };`, more), [
    'deny cedar-unjudged cedar:1:1#0',
  ])
  assert.equal(said(`${FORBID} when { context.input has text };`, call).length, 1, 'the engine is well')
})
