// Budgets: exact amounts in whole millionths, fixed windows, and no call for nothing (S38).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { millionths } from '../../src/governance/budget.ts'
import type { Json } from '../../src/util/json.ts'
import { budget, decide, PAYER, policy, said, tool, transform } from './support.ts'

test('S38: amounts are exact by the digits that they are written in; what is finer is rounded up', () => {
  const cases: [number, number][] = [
    [0, 0],
    [1, 1_000_000],
    [0.1, 100_000],
    [19.99, 19_990_000],
    [1.15, 1_150_000],
    [0.000001, 1],
    [1e-7, 1],
    [5e-324, 1],
    [0.0000019, 2],
    [12.3456789, 12_345_679],
    [9_007_199_254, 9_007_199_254_000_000],
  ]
  for (const [value, expected] of cases) assert.equal(millionths(value), expected, String(value))
})

test('S38: the sum of many amounts is exactly the amount of the sum', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 10_000_000 }), { maxLength: 50 }), (cents) => {
      const sum = cents.reduce((so, one) => so + (millionths(one / 100) ?? Number.NaN), 0)
      assert.equal(sum, cents.reduce((so, one) => so + one, 0) * 10_000)
    }),
  )
})

test('S38: rounding never takes less than the amount', () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1e6, noNaN: true }), (value) => {
      const taken = millionths(value) ?? Number.NaN
      assert.ok(Number.isSafeInteger(taken))
      assert.ok(taken / 1e6 >= value * (1 - 1e-15) && taken - value * 1e6 < 1.001, String(value))
    }),
  )
})

test('S38: what is no amount denies: missing, negative, another type, or too large to be counted', () => {
  const policies = [policy({ budgets: [budget({ sum: '/amount' })] })]
  for (const amount of [undefined, -1, -0.001, '5', null, true, [5], {}, 9_007_199_255, 1e300] as (
    | Json
    | undefined
  )[]) {
    const decision = decide({ policies }, { input: amount === undefined ? {} : { amount } })
    assert.deepEqual(
      [decision.kind, said(decision)[0], decision.spends],
      ['deny', 'deny budget-unjudged AgentPolicy/guard budgets[0]', []],
      JSON.stringify(amount),
    )
  }
})

test('S38: windows begin at the epoch, so that all replicas agree', () => {
  const policies = [policy({ budgets: [budget({ periodMs: 60_000 })] })]
  for (const [now, from] of [
    [0, 0],
    [59_999, 0],
    [60_000, 60_000],
    [1_700_000_000_123, 1_699_999_980_000],
  ] as const) {
    const { spends } = decide({ policies }, { now })
    assert.deepEqual(spends, [
      {
        budget: 'guard#0',
        subject: 'agent-7',
        from,
        until: from + 60_000,
        amount: 1_000_000,
        max: 1_000_000,
      },
    ])
  }
})

test('Calls or sums, per caller or tool, of the tools that are named; each budget of each policy takes its own', () => {
  const policies = [
    policy({
      budgets: [
        budget({ per: 'tool' }),
        budget({ tools: ['look'] }),
        budget({ tools: ['p*'], sum: '/amount', max: 7 }),
      ],
    }),
    policy({ name: 'second', targetTools: ['look'], budgets: [budget()] }),
    policy({ name: 'third', targetTools: ['pay'], budgets: [budget()] }),
  ]
  const { kind, spends } = decide({ policies }, { input: { amount: 2.5 } })
  assert.equal(kind, 'allow')
  assert.deepEqual(
    spends.map(({ budget: name, subject, amount, max }) => [name, subject, amount, max]),
    [
      ['guard#0', 'pay', 1_000_000, 1_000_000],
      ['guard#2', 'agent-7', 2_500_000, 7],
      ['third#0', 'agent-7', 1_000_000, 1_000_000],
    ],
  )
})

test('S43: a sum takes what is sent, not what was asked for', () => {
  const policies = [
    policy({
      transforms: [transform({ kind: 'clamp', field: '/amount', max: 10 })],
      budgets: [budget({ sum: '/amount', max: 50_000_000 })],
    }),
  ]
  assert.equal(decide({ policies }, { input: { amount: 1e12 } }).spends[0]?.amount, 10_000_000)
})

test('What waits for approval has its spends with it: they are taken when it is sent', () => {
  const pay = tool({ approval_triggers: [{ field: '/amount', op: 'gt', value: 1 }] })
  const policies = [policy({ budgets: [budget({ sum: '/amount' })] })]
  const { kind, spends } = decide({ policies }, { tool: pay, caller: PAYER, input: { amount: 2 } })
  assert.deepEqual([kind, spends.length], ['require-approval', 1])
})
