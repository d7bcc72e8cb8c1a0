// What makes an approval stale: the version of what governs a call, and that of all rules.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRules } from '../../src/governance/create-rules.ts'
import type { GovernanceSet } from '../../src/resource/resolved-governance.ts'
import { budget, facts, permission, policy, role, rule, scopedTo, setOf, tool, transform } from './support.ts'

const over = { field: '/amount', op: 'gt', value: 100 } as const

test('S45: only what governs this caller, tool and operation makes another policy version', () => {
  const related = policy({ rules: [rule('require-approval', { tools: ['pay'] })] })
  const scoped = policy({
    name: 'scoped',
    targets: scopedTo('agent-7'),
    blockedTools: ['pa*'],
    mode: 'enforce',
    rules: [],
  })
  const base = setOf({ permissions: [permission()], policies: [related] })
  const versionOf = (set: GovernanceSet, ask = {}) =>
    createRules(set, { profile: 'local' }).decide(facts(ask)).policyVersion
  const first = versionOf(base)
  const unrelated: Partial<GovernanceSet>[] = [
    { policies: [related, policy({ name: 'other', rules: [rule('deny', { tools: ['look'] })] })] },
    { policies: [related, policy({ name: 'other', rules: [rule('deny', { operations: ['other'] })] })] },
    { policies: [related, policy({ name: 'other', targets: scopedTo('agent-8'), rules: [rule('deny')] })] },
    { policies: [related, policy({ name: 'other', mode: 'monitor', rules: [rule('deny')] })] },
    { permissions: [permission(), permission({ name: 'other', tool: 'look' })] },
    { roles: [role('new')] },
  ]
  for (const more of unrelated) assert.equal(versionOf({ ...base, ...more }), first, JSON.stringify(more))
  const changed: Partial<GovernanceSet>[] = [
    { policies: [{ ...related, version: '2-guard' }] },
    { policies: [] },
    { policies: [related, policy({ name: 'other', rules: [rule('allow', { when: [over] })] })] },
    { policies: [related, policy({ name: 'counts', budgets: [budget()] })] },
    { policies: [related, policy({ name: 'dry', transforms: [transform({ kind: 'dry_run' })] })] },
    { policies: [related, scoped] },
    { permissions: [permission({ version: '2-pay' })] },
    { permissions: [permission(), permission({ name: 'more', targets: scopedTo('agent-7') })] },
  ]
  const seen = new Set([first])
  for (const more of changed) {
    const version = versionOf({ ...base, ...more })
    assert.equal(seen.has(version), false, JSON.stringify(more))
    seen.add(version)
  }
  // Not what is asked, nor who decides it now; but who has to decide what the tool itself asks for.
  assert.equal(versionOf(base, { input: { amount: 7 }, now: 5 }), first)
  assert.notEqual(versionOf(base, { tool: { ...tool(), approval: { quorum: 2, ttlMs: 1 } } }), first)
})

test('The version of the rules is another one whenever anything changes', () => {
  const base = setOf({ roles: [role('a')], permissions: [permission()], policies: [policy()] })
  const version = (set: GovernanceSet) => createRules(set, { profile: 'local' }).version
  const others = [
    setOf(),
    { ...base, roles: [role('a', { version: '2' })] },
    { ...base, permissions: [permission({ version: '2' })] },
    { ...base, policies: [policy({ version: '2' })] },
  ].map(version)
  assert.equal(new Set([version(base), ...others]).size, 5)
})
