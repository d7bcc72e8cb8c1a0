// The index of rules finds what asking every rule finds, and spares a call the rules that its input cannot match.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Found } from '../../src/governance/found.ts'
import { type CompiledRule, compileRules, ruleMatches } from '../../src/governance/policy-rule.ts'
import { createFieldList, type Reader } from '../../src/governance/reading.ts'
import { indexRules } from '../../src/governance/rule-index.ts'
import { indexTargets } from '../../src/governance/targets.ts'
import type { Condition, PolicyRule } from '../../src/resource/resolved-governance.ts'
import { COMPARISONS } from '../../src/resource/resolved-tool.ts'
import type { Json } from '../../src/util/json.ts'
import { facts, policy, rule, scopedTo } from './support.ts'

const FIELDS = ['', '/a', '/b', '/a/c']
const OPS = COMPARISONS
const plain = fc.constantFrom<Json>(-1, -0, 0, 1, 2, 'x', 'y', 'a@x.io', '', '1', null, true, false)
const value: fc.Arbitrary<Json> = fc.oneof(
  { weight: 4, arbitrary: plain },
  fc.array(plain, { maxLength: 3 }),
  fc.record({ c: plain }),
)
const condition: fc.Arbitrary<Condition> = fc.record(
  { field: fc.constantFrom(...FIELDS), op: fc.constantFrom(...OPS), value },
  { requiredKeys: ['field', 'op'] },
)
const anyRule: fc.Arbitrary<PolicyRule> = fc
  .record({
    decision: fc.constantFrom('allow', 'require-approval', 'escalate', 'deny'),
    when: fc.array(condition, { maxLength: 3 }),
  })
  .map(({ decision, when }) => rule(decision, { when }))
const input = fc.oneof(
  { weight: 4, arbitrary: fc.record({ a: value, b: value }, { requiredKeys: [] }) },
  value,
  fc.constant(undefined),
)

function compiled(rules: readonly PolicyRule[]) {
  const fields = createFieldList()
  const { tool, operation } = facts()
  return { fields, rules: compileRules(policy({ rules }), tool, operation, fields) }
}

function oneByOne(rules: readonly CompiledRule[], reader: Reader): Set<Found> {
  return new Set(rules.filter((one) => ruleMatches(one, reader)).map(({ found }) => found))
}

test('The index finds exactly the rules that match, whatever they compare (S42)', () => {
  fc.assert(
    fc.property(fc.array(anyRule, { minLength: 5, maxLength: 60 }), fc.array(input), (some, inputs) => {
      const { fields, rules } = compiled(some)
      const index = indexRules(rules)
      for (const one of inputs) {
        const found = new Set<Found>()
        index.match(fields.reader(one), found)
        assert.deepEqual(found, oneByOne(rules, fields.reader(one)))
      }
    }),
    { numRuns: 600 },
  )
})

/** How many conditions were judged for one input. */
function judged(some: readonly PolicyRule[], asked: Json): number {
  const { fields, rules } = compiled(some)
  let count = 0
  const counting = rules.map((one) => ({
    ...one,
    when: one.when.map((each) => ({
      ...each,
      judge: (actual: Json | undefined) => {
        count++
        return each.judge(actual)
      },
    })),
  }))
  indexRules(counting).match(fields.reader(asked), new Set())
  return count
}

test('A call does not ask the rules about its tool that its input cannot match (S44)', () => {
  const thousand = (when: (index: number) => readonly Condition[]) =>
    Array.from({ length: 1_000 }, (_, index) => rule('deny', { when: when(index) }))
  const above = thousand((index) => [{ field: '/amount', op: 'gt', value: 100 + index }])
  assert.equal(judged(above, { amount: 50 }), 0)
  assert.equal(judged(above, { amount: 103 }), 4)
  const below = thousand((index) => [{ field: '/day', op: 'lte', value: `2026-01-${index}` }])
  assert.equal(judged(below, { day: '2027' }), 0)
  const equal = thousand((index) => [
    { field: '/currency', op: 'eq', value: 'EUR' },
    { field: '/to', op: 'in', value: [`x-${index}`, `y-${index}`] },
  ])
  assert.equal(judged(equal, { currency: 'USD', to: 'x-7' }), 0)
  assert.equal(judged(equal, { currency: 'EUR', to: 'x-7' }), 2)
  const nested = thousand((index) => [
    { field: '/amount', op: 'gt', value: index },
    { field: '/currency', op: 'eq', value: 'EUR' },
  ])
  assert.equal(judged(nested, { currency: 'EUR', amount: -1 }), 0)
  const common = thousand(() => [{ field: '/to', op: 'ne', value: 'home' }])
  assert.equal(judged(common, { to: 'home' }), 1)
})

test('What cannot be compared restricts: every rule that asks for it is found, and no rule that allows is', () => {
  const rules = (['deny', 'allow'] as const).flatMap((decision) =>
    Array.from({ length: 10 }, (_, index) =>
      rule(decision, { when: [{ field: '/amount', op: 'gt', value: index }] }),
    ),
  )
  for (const asked of [{}, { amount: '5' }, { amount: null }, undefined]) {
    const { fields, rules: all } = compiled(rules)
    const found = new Set<Found>()
    indexRules(all).match(fields.reader(asked), found)
    assert.deepEqual([...new Set([...found].map(({ match }) => match.decision))], ['deny'])
    assert.equal(found.size, 10)
  }
})

test('Callers that the same rules name get the very same list, and no name passes for others', () => {
  const targeted = indexTargets(
    [scopedTo('a', 'b'), scopedTo('agent-*'), { ...scopedTo(), tasks: ['t'] }],
    (targets) => targets,
  )
  const of = (actor: string, taskId?: string) =>
    targeted.scoped({ ...facts({ caller: { actor } }), ...(taskId === undefined ? {} : { taskId }) })
  assert.equal(of('a'), of('b'))
  assert.equal(of('agent-1'), of('agent-2'))
  assert.deepEqual([of('a').length, of('a', 't').length, of('c').length, of('c', 't').length], [1, 2, 0, 1])
  assert.equal(of('c","t').length, 0)
  for (let index = 0; index < 3_000; index++) assert.equal(of(`agent-${index}`).length, 1)
})
