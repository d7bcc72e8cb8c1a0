// Transforms: into bounds, without a field, or a dry run. In any order, and never more than was asked for (S43).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRules } from '../../src/governance/create-rules.ts'
import type { Narrow, PolicyTransform } from '../../src/resource/resolved-governance.ts'
import type { Json } from '../../src/util/json.ts'
import { budget, decide, facts, policy, rule, said, setOf, transform } from './support.ts'

function sent(input: Json | undefined, ...transforms: readonly (Narrow | PolicyTransform)[]) {
  const all = transforms.map((one) => ('kind' in one ? transform(one) : one))
  const rules = createRules(setOf({ policies: [policy({ transforms: all })] }), { profile: 'local' })
  const { kind, matches, narrowings } = rules.decide(facts({ input }))
  const code = matches.find((one) => one.decision === kind)?.code
  return { kind, code, input: rules.narrowed(facts({ input })), narrowings }
}

const clamp = (field: string, min?: number, max?: number): Narrow => ({
  kind: 'clamp',
  field,
  ...(min === undefined ? {} : { min }),
  ...(max === undefined ? {} : { max }),
})
const drop = (...fields: string[]): Narrow => ({ kind: 'drop', fields })

test('S43: clamp moves a number to the bound that it is past, and leaves one inside alone', () => {
  const bounds = clamp('/n', 1, 10)
  for (const [n, expected] of [
    [50, 10],
    [10.0001, 10],
    [0, 1],
    [-7, 1],
  ] as const) {
    const { kind, input, narrowings } = sent({ n, other: 'x' }, bounds)
    assert.deepEqual([kind, input], ['transform', { n: expected, other: 'x' }])
    assert.deepEqual(narrowings, [
      {
        policyId: 'AgentPolicy/guard',
        policyVersion: '1-guard',
        rule: 'transforms[0]',
        kind: 'clamp',
        field: '/n',
        to: expected,
      },
    ])
  }
  for (const n of [1, 5, 10]) {
    const input = { n }
    const inside = sent(input, bounds)
    assert.deepEqual([inside.kind, inside.narrowings], ['allow', []])
    assert.equal(inside.input, input, 'the very one')
  }
})

test('S43: a clamp on something that is no number denies, also where nothing is there', () => {
  for (const input of [{ n: '5' }, { n: null }, { n: [5] }, {}, [], 'n', null, undefined]) {
    const { kind, code, input: left } = sent(input, clamp('/n', 1, 10))
    assert.deepEqual([kind, code], ['deny', 'transform-unjudged'], JSON.stringify(input))
    assert.equal(left, input)
  }
})

test('S42: several clamps of a field hold together; those that exclude each other deny', () => {
  assert.deepEqual(sent({ n: 50 }, clamp('/n', 0, 20), clamp('/n', 5, 10)).input, { n: 10 })
  assert.deepEqual(sent({ n: 15 }, clamp('/n', 0, 20), clamp('/n', 5, 10)).input, { n: 10 })
  assert.deepEqual(sent({ n: -5 }, clamp('/n', undefined, 20), clamp('/n', 5)).input, { n: 5 })
  const { kind, code } = sent({ n: 7 }, clamp('/n', 10), clamp('/n', 0, 5))
  assert.deepEqual([kind, code], ['deny', 'transform-conflict'])
})

test('S43: drop removes what is there, in objects and in lists, and shifts no other place', () => {
  assert.deepEqual(sent({ a: 1, b: { c: 2, d: 3 } }, drop('/a', '/b/c')).input, { b: { d: 3 } })
  assert.deepEqual(sent({ l: [0, 1, 2, 3] }, drop('/l/1', '/l/2')).input, { l: [0, 3] })
  assert.deepEqual(sent({ l: [[1, 2], [3]] }, drop('/l/0/0')).input, { l: [[2], [3]] })
  assert.deepEqual(sent({ 'a/b': 1, 'm~n': 2 }, drop('/a~1b', '/m~0n')).input, {})
  const input = { a: 1 }
  const { kind, input: same } = sent(input, drop('/none', '/a/b', '/constructor'))
  assert.equal(kind, 'allow')
  assert.equal(same, input)
})

test('S43: a field that is dropped is not bounded any more, whatever comes first', () => {
  for (const order of [
    [clamp('/a/n', 0, 5), drop('/a')],
    [drop('/a'), clamp('/a/n', 0, 5)],
  ])
    assert.deepEqual(sent({ a: { n: 9 }, b: 1 }, ...order).input, { b: 1 })
})

test('A name like __proto__ is a name: it is kept, bounded and dropped like any other', () => {
  const input = JSON.parse('{"__proto__": {"n": 9}, "a": 1}') as Json
  const bounded = sent(input, clamp('/__proto__/n', 0, 5)).input
  assert.equal(JSON.stringify(bounded), '{"__proto__":{"n":5},"a":1}')
  assert.equal(Object.getPrototypeOf(bounded), Object.prototype)
  assert.equal(JSON.stringify(sent(input, drop('/__proto__')).input), '{"a":1}')
})

test('S17: a dry run is a narrowing without a field, and takes nothing from budgets', () => {
  const dry = policy({ transforms: [transform({ kind: 'dry_run' })], budgets: [budget()] })
  const decision = decide({ policies: [dry] })
  assert.equal(decision.kind, 'transform')
  assert.deepEqual(
    decision.narrowings.map(({ kind, field }) => [kind, field]),
    [['dry_run', '']],
  )
  assert.deepEqual(decision.spends, [])
})

test('A transform applies where its conditions hold or cannot be judged', () => {
  const when = [{ field: '/to', op: 'gt', value: 'm' }] as const
  const dropping = transform(drop('/note'), { when })
  assert.deepEqual(sent({ note: 1, to: 'z' }, dropping).input, { to: 'z' })
  assert.deepEqual(sent({ note: 1, to: 5 }, dropping).input, { to: 5 })
  assert.deepEqual(sent({ note: 1, to: 'a' }, dropping).input, { note: 1, to: 'a' })
})

test('S43: raising a number into its bounds does not get it past a rule', () => {
  const raising = policy({
    transforms: [transform(clamp('/n', 100))],
    rules: [rule('deny', { when: [{ field: '/n', op: 'gt', value: 50 }] })],
  })
  const decision = decide({ policies: [raising] }, { input: { n: 1 } })
  assert.deepEqual(
    [decision.kind, said(decision)[0]],
    ['deny', 'deny policy-denied AgentPolicy/guard rules[0]'],
  )
})
