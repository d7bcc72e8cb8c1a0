// One decision out of many rules: what it names, who has to agree, and when to come back.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCaller } from '../../src/contract/caller.ts'
import type { RuleMatch } from '../../src/contract/decision.ts'
import { createRules } from '../../src/governance/create-rules.ts'
import type { Facts } from '../../src/governance/rules.ts'
import { lacksApprovalRule } from '../../src/resource/approval-cover.ts'
import type { GovernanceSet, ResolvedPolicy } from '../../src/resource/resolved-governance.ts'
import type { ToolSpec } from '../../src/resource/tool.ts'
import {
  budget,
  decide,
  facts,
  permission,
  policy,
  role,
  rule,
  said,
  scopedTo,
  setOf,
  tool,
  transform,
} from './support.ts'

const PERMITTED = 'allow permitted permissions tool:pay:invoke'
const over = { field: '/amount', op: 'gt', value: 100 } as const

test('S41: nothing that governs: whoever holds the permission may, everybody else may not', () => {
  assert.deepEqual(said(decide({})), [PERMITTED])
  const stranger = decide({}, { caller: { actor: 'b' } })
  assert.deepEqual(
    [stranger.kind, ...said(stranger)],
    ['deny', 'deny permission-missing permissions tool:pay:invoke'],
  )
})

test('S41: who may not call a tool learns nothing of its rules, not even in an explanation', () => {
  const set = { policies: [policy({ rules: [rule('deny', { reason: 'secret reason', when: [over] })] })] }
  for (const input of [{ amount: 1 }, { amount: 500 }]) {
    const decision = decide(set, { caller: { actor: 'b' }, input }, { explain: true })
    assert.deepEqual([decision.matches.length, decision.near, decision.fields], [1, [], []])
  }
})

test('W20: a blocked tool is a denial of the call, with the policy that blocks it; target_tools takes nothing back', () => {
  const decision = decide({ policies: [policy({ blockedTools: ['pay'], targetTools: ['look'] })] })
  assert.deepEqual(
    [decision.kind, ...said(decision)],
    ['deny', 'deny tool-blocked AgentPolicy/guard blocked_tools', PERMITTED],
  )
  assert.equal(decision.matches[0]?.policyVersion, '1-guard')
})

test('Monitor mode says what it would have done, and does nothing of it', () => {
  const watching = policy({
    mode: 'monitor',
    blockedTools: ['pay'],
    rules: [rule('require-approval')],
    transforms: [
      transform({ kind: 'drop', fields: ['/amount'] }),
      transform({ kind: 'clamp', field: '/none', max: 1 }),
    ],
    budgets: [budget({ sum: '/amount', max: 1_000_000 }), budget({ sum: '/none' })],
  })
  const decision = decide({ policies: [watching] }, { input: { amount: 5 } })
  assert.equal(decision.kind, 'allow')
  assert.deepEqual(said(decision), [
    PERMITTED,
    'would deny tool-blocked AgentPolicy/guard blocked_tools',
    'would deny budget-exceeded AgentPolicy/guard budgets[0]',
    'would deny budget-unjudged AgentPolicy/guard budgets[1]',
    'would deny transform-unjudged AgentPolicy/guard transforms[1]',
    'would require-approval policy-approval AgentPolicy/guard rules[0]',
    'would transform input-dropped AgentPolicy/guard transforms[0]',
  ])
  assert.deepEqual([decision.needs, decision.narrowings, decision.spends], [[], [], []])
})

test('S45: all who are asked for have to agree: one need per role, the highest quorum, the shortest time', () => {
  const decision = decide({
    permissions: [
      permission({
        operationRules: [{ operationClass: 'write', verdict: 'approval_required' }],
        approval: { role: 'finance', quorum: 1, ttlMs: 300_000 },
      }),
    ],
    policies: [
      policy({ rules: [rule('require-approval')], approval: { role: 'finance', quorum: 2, ttlMs: 900_000 } }),
      policy({ name: 'open', rules: [rule('require-approval')] }),
      policy({
        name: 'up',
        rules: [rule('escalate')],
        escalateTo: 'security',
        approval: { role: 'finance', quorum: 1, ttlMs: 600_000 },
      }),
      policy({
        name: 'up-too',
        rules: [rule('escalate')],
        approval: { role: 'finance', quorum: 1, ttlMs: 600_000 },
      }),
    ],
  })
  assert.equal(decision.kind, 'escalate')
  assert.deepEqual(decision.needs, [
    { quorum: 1 },
    { role: 'finance', quorum: 2 },
    { role: 'finance', quorum: 1, escalated: true },
    { role: 'security', quorum: 1, escalated: true },
  ])
  assert.equal(decision.ttlMs, 300_000)
})

test('A denial asks nobody, spends nothing and narrows nothing', () => {
  const all = policy({
    rules: [rule('require-approval'), rule('deny')],
    transforms: [transform({ kind: 'drop', fields: ['/amount'] })],
    budgets: [budget()],
  })
  const { kind, needs, spends, narrowings, ttlMs } = decide({ policies: [all] }, { input: { amount: 1 } })
  assert.deepEqual([kind, needs, spends, narrowings, ttlMs], ['deny', [], [], [], 600_000])
})

test('S45: a denial says when to come back only where every denial passes, and then the latest of them', () => {
  const later = (retryAfterMs: number) => rule('deny', { retryAfterMs })
  const retry = (...rules: ReturnType<typeof rule>[]) =>
    decide({ policies: [policy({ rules })] }).retryAfterMs
  assert.equal(retry(later(1_000), later(60_000)), 60_000)
  assert.equal(retry(later(1_000), rule('deny')), undefined)
  assert.equal(retry(rule('require-approval', { retryAfterMs: 5 })), undefined)
})

test('What is asked for besides is decided by whom the tool names', () => {
  const asked: RuleMatch = {
    policyId: 'compensation',
    policyVersion: '1',
    rule: 'requires_approval',
    decision: 'require-approval',
    code: 'compensation-approval',
    reason: 'undo',
  }
  const pay = { ...tool(), approval: { role: 'ops', quorum: 2, ttlMs: 1_000 } }
  const decision = decide({}, { tool: pay, also: [asked] })
  assert.deepEqual(
    [decision.kind, decision.needs, decision.ttlMs],
    ['require-approval', [{ role: 'ops', quorum: 2 }], 1_000],
  )
})

test('Clearance: a read above it is denied, a write runs and its output is said to be withheld', () => {
  const secret = { data_classification: 'confidential' } as const
  const read = decide({}, { tool: tool({ effect: { class: 'read-only' }, ...secret }) })
  assert.deepEqual([read.kind, said(read)[0]], ['deny', 'deny output-withheld permissions clearance'])
  const write = decide({}, { tool: tool(secret) })
  assert.deepEqual([write.kind, said(write)[0]], ['allow', 'allow output-withheld permissions clearance'])
  const roles = [role('cleared', { clearance: 'confidential' })]
  const caller = { actor: 'a', roles: ['cleared'], permissions: ['tool:pay:invoke'] }
  assert.deepEqual(said(decide({ roles }, { tool: tool(secret), caller })), [PERMITTED])
})

const IRREVERSIBLE: ToolSpec = { effect: { class: 'irreversible', identity: ['/id'] } }

test('Production: what cannot be undone needs an approval rule for this caller, or a waiver', () => {
  const danger = tool(IRREVERSIBLE)
  const refused = (set: Partial<GovernanceSet>, of = danger) => {
    const { matches } = decide(set, { tool: of }, { profile: 'production' })
    return matches.some(({ code, decision }) => code === 'approval-rule-missing' && decision === 'deny')
  }
  const asks = rule('require-approval', { when: [over] })
  assert.equal(refused({}), true)
  assert.equal(
    refused({ policies: [policy({ rules: [rule('allow'), rule('deny', { when: [over] })] })] }),
    true,
  )
  assert.equal(refused({ policies: [policy({ rules: [asks], mode: 'monitor' })] }), true)
  assert.equal(refused({ policies: [policy({ rules: [asks], targets: scopedTo('agent-8') })] }), true)
  assert.equal(refused({ policies: [policy({ rules: [asks], targetTools: ['look'] })] }), true)
  assert.equal(refused({ policies: [policy({ rules: [{ ...asks, operations: ['other'] }] })] }), true)
  assert.equal(refused({ policies: [policy({ rules: [asks] })] }), false)
  assert.equal(refused({ policies: [policy({ rules: [asks], targets: scopedTo('agent-7') })] }), false)
  assert.equal(refused({ policies: [policy({ rules: [rule('escalate', { when: [over] })] })] }), false)
  const verdict = (operationClass: 'write' | 'delete') =>
    permission({ operationRules: [{ operationClass, verdict: 'approval_required' }] })
  assert.equal(refused({ permissions: [verdict('write')] }), false)
  assert.equal(refused({ permissions: [verdict('delete')] }), true)
  assert.equal(refused({}, { ...danger, approvalWaiver: 'reviewed by the board' }), false)
  assert.equal(refused({}, tool({ ...IRREVERSIBLE, approval_triggers: [over] })), false)
  assert.equal(refused({}, tool()), false, 'other classes need none')
  assert.equal(decide({}, { tool: danger }).kind, 'allow', 'nor does profile local')
})

test('Production, at apply: an operation that nothing asks approval for is found; Cedar says of itself', () => {
  const lacks = (set: Partial<GovernanceSet>, of = tool(IRREVERSIBLE)) => {
    const { operation } = facts({ tool: of })
    return lacksApprovalRule(of, operation, setOf(set), (one) => one.cedar === 'asks')
  }
  const cedar = (more: Partial<ResolvedPolicy> = {}) =>
    lacks({ policies: [policy({ cedar: 'asks', ...more })] })
  assert.equal(cedar(), false)
  assert.equal(cedar({ cedar: 'does not' }), true)
  assert.equal(cedar({ mode: 'monitor' }), true)
  assert.equal(cedar({ targetTools: ['look'] }), true)
  assert.equal(cedar({ targets: scopedTo() }), true)
  const all = permission({ operationRules: [{ operationClass: '*', verdict: 'approval_required' }] })
  assert.equal(lacks({ permissions: [all] }), false)
  assert.equal(lacks({ policies: [policy({ rules: [rule('escalate', { operations: ['inv*'] })] })] }), false)
  assert.equal(lacks({}, tool()), false)
})

test('Explain: what was one clause away, and which; what was further away is not listed', () => {
  const set = {
    permissions: [permission({ operationRules: [{ operationClass: 'delete', verdict: 'deny' }] })],
    policies: [
      policy({
        rules: [
          rule('deny', { when: [over] }),
          rule('escalate', { riskLevels: ['high', 'critical'] }),
          rule('deny', { operations: ['other'] }),
          rule('deny', { operationClasses: ['admin'] }),
          rule('deny', { operations: ['other'], riskLevels: ['high'] }),
          rule('deny', { tools: ['look'] }),
          rule('allow', { when: [{ field: '/none', op: 'lt', value: 5 }] }),
        ],
        transforms: [transform({ kind: 'dry_run' }, { when: [over] })],
      }),
      policy({ name: 'others', targets: scopedTo('agent-8'), blockedTools: ['pay'] }),
      policy({ name: 'nobody', targets: scopedTo(), rules: [rule('deny')] }),
    ],
  }
  const { near, kind } = decide(set, { input: { amount: 1 } }, { explain: true })
  assert.equal(kind, 'allow')
  assert.deepEqual(
    near.map(({ policyId, rule: place, decision, missed }) => `${policyId} ${place} ${decision}: ${missed}`),
    [
      'ToolPermission/pay operation_rules[0] deny: the operation is of class delete',
      'AgentPolicy/guard rules[0] deny: /amount gt 100',
      'AgentPolicy/guard rules[1] escalate: the risk level of the tool is high or critical',
      'AgentPolicy/guard rules[2] deny: the operation is other',
      'AgentPolicy/guard rules[3] deny: the operation is of class admin',
      'AgentPolicy/guard rules[6] allow: /none lt 5',
      'AgentPolicy/guard transforms[0] transform: /amount gt 100',
      'AgentPolicy/others blocked_tools deny: the call is of agent agent-8',
      'AgentPolicy/nobody rules[0] deny: the policy names somebody: it is scoped and names nobody',
    ],
  )
  assert.deepEqual(decide(set, { input: { amount: 1 } }).near, [], 'only where somebody asks')
})

test('Targets: the actor, the agent that is spoken for, the system or the task; one of them is enough', () => {
  const named = policy({
    targets: { applyMode: 'scoped', agents: ['bot-*', 'agent-9'], systems: ['books'], tasks: ['t-1'] },
    rules: [rule('deny')],
  })
  const hit = (ask: Partial<Facts>, caller = {}) => {
    const made = createCaller({ actor: 'svc', permissions: ['tool:pay:invoke'], ...caller })
    return createRules(setOf({ policies: [named] }), { profile: 'local' }).decide({
      ...facts(),
      ...ask,
      caller: made,
    }).kind
  }
  assert.equal(hit({}), 'allow')
  assert.equal(hit({ agent: 'agent-8', taskId: 't-2' }, { system: 'sales' }), 'allow')
  assert.equal(hit({ agent: 'bot-1' }), 'deny')
  assert.equal(hit({ agent: 'agent-9' }), 'deny')
  assert.equal(hit({}, { actor: 'agent-9' }), 'deny')
  assert.equal(hit({}, { system: 'books' }), 'deny')
  assert.equal(hit({ taskId: 't-1' }), 'deny')
})
