// Cedar among the other rules of one decision. What Cedar itself says is in cedar/.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CedarFailed, type CedarMatch, type CompiledCedar } from '../../src/governance/cedar/cedar.ts'
import { createRules } from '../../src/governance/create-rules.ts'
import type { Facts } from '../../src/governance/rules.ts'
import { budget, decide, facts, policy, rule, scopedTo, setOf, transform } from './support.ts'

function cedarSaying(matches: (facts: Facts) => readonly CedarMatch[], readsSpend = false): CompiledCedar {
  return {
    readsSpend: () => readsSpend,
    matches,
    near: () => ({ near: [], unchecked: 0 }),
    asks: () => false,
  }
}

const cedarMatch: CedarMatch = {
  policyId: 'AgentPolicy/guard',
  policyVersion: '1-guard',
  rule: 'cedar:1:1#0',
  decision: 'escalate',
  code: 'cedar-escalated',
  reason: 'said so',
}

test('Cedar is one voice among the others; its policy says who decides', () => {
  const set = {
    policies: [policy({ cedar: 'text', escalateTo: 'security', rules: [rule('require-approval')] })],
  }
  const decision = decide(set, {}, { cedar: cedarSaying(() => [cedarMatch]) })
  assert.deepEqual([decision.kind, decision.fields], ['escalate', ['']])
  assert.deepEqual(decision.needs, [{ quorum: 1 }, { role: 'security', quorum: 1, escalated: true }])
  const denied = { ...cedarMatch, decision: 'deny', code: 'cedar-denied', retryAfterMs: 5_000 } as const
  const late = decide(set, {}, { cedar: cedarSaying(() => [denied]) })
  assert.deepEqual(
    [late.kind, late.retryAfterMs, late.matches[0]],
    ['deny', 5_000, { ...cedarMatch, decision: 'deny', code: 'cedar-denied' }],
  )
})

test('S43: rules and Cedar judge the input as it is asked for and as it would be sent', () => {
  const set = {
    policies: [
      policy({
        cedar: 'text',
        transforms: [transform({ kind: 'clamp', field: '/amount', max: 100 })],
        rules: [rule('require-approval', { when: [{ field: '/amount', op: 'eq', value: 100 }] })],
      }),
    ],
  }
  const asked: unknown[] = []
  const cedar = cedarSaying(({ input }) => {
    asked.push(input)
    return [cedarMatch]
  })
  const decision = decide(set, { input: { amount: 500 } }, { cedar })
  assert.deepEqual(asked, [{ amount: 500 }, { amount: 100 }])
  assert.deepEqual(
    decision.matches.map(({ code }) => code),
    ['cedar-escalated', 'policy-approval', 'input-clamped', 'permitted'],
  )
})

test('S42: Cedar that fails is no decision; Cedar that was not compiled makes no rules at all', () => {
  const set = setOf({ policies: [policy({ cedar: 'text' })] })
  const failing = cedarSaying(() => {
    throw new CedarFailed('AgentPolicy/guard', 'cedar:1:1', 'overflow')
  })
  assert.throws(() => decide(set, {}, { cedar: failing }), CedarFailed)
  assert.throws(() => createRules(set, { profile: 'local' }), /AgentPolicy guard has Cedar text\. Fix:/)
})

test('Budgets are read where Cedar reads spend, all that are counted; without any nothing was spent', () => {
  const seen: unknown[] = []
  const cedar = cedarSaying(({ spent }) => {
    seen.push(spent)
    return []
  }, true)
  const reading = policy({ cedar: 'text' })
  const other = policy({ name: 'other', targets: scopedTo('x'), budgets: [budget({ per: 'tool' })] })
  const watching = policy({ name: 'watching', mode: 'monitor', budgets: [budget()] })
  const rules = createRules(setOf({ policies: [reading, other, watching] }), { profile: 'local', cedar })
  assert.deepEqual(rules.reads(facts({ now: 3_600_001 })), [
    { budget: 'other#0', subject: 'pay', from: 3_600_000, until: 7_200_000, amount: 0, max: 1_000_000 },
  ])
  const spent = new Map([['other#0', 5]])
  rules.decide(facts({ spent }))
  const without = createRules(setOf({ policies: [reading] }), { profile: 'local', cedar })
  assert.deepEqual(without.reads(facts()), [])
  without.decide(facts())
  assert.deepEqual(seen, [spent, new Map()])
  assert.deepEqual(createRules(setOf({ policies: [other] }), { profile: 'local' }).reads(facts()), [])
})
