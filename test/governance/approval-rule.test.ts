// Who may decide, what decisions come to, and what a standing grant stands for (S45, W18).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Approval, ApprovalDecision, Delegation } from '../../src/contract/approval.ts'
import { type CallerIdentity, createCaller, createLocalAdmin } from '../../src/contract/caller.ts'
import type { ApprovalNeed } from '../../src/contract/decision.ts'
import {
  bindingOf,
  changedSince,
  coversNeeds,
  type Decider,
  mayDecide,
  mayDelegate,
  tally,
} from '../../src/governance/approval-rule.ts'
import { type ApprovalGrant, coveredBy } from '../../src/governance/grant.ts'
import { createHeld } from '../../src/governance/held.ts'
import { facts, PAYER, role, tool } from './support.ts'

const held = createHeld([
  role('finance'),
  role('security'),
  role('approver', { permissions: ['approval:decide'] }),
])

function decider(actor: string, more: Omit<CallerIdentity, 'actor'> = {}): Decider {
  const caller = createCaller({ actor, kind: 'person', ...more })
  return { ...caller, ...held(caller) }
}

const BINDING = bindingOf({
  tool: tool(),
  operation: facts().operation,
  payloadHash: 'h',
  policyVersion: 'p',
  limits: { timeoutMs: 1, maxAttempts: 1 },
})

function approval(needs: readonly ApprovalNeed[], more: Partial<Approval> = {}): Approval {
  return {
    namespace: 'default',
    id: 'a',
    state: 'pending',
    revision: 1,
    entryId: 'e',
    callId: 'c',
    requestId: 'r',
    requester: 'svc',
    requesterKind: 'service',
    agent: 'agent-7',
    binding: BINDING,
    operationClasses: ['write'],
    riskLevel: 'low',
    effectClass: 'external-communication',
    readOnly: false,
    reasons: [],
    rules: [],
    needs,
    decisions: [],
    delegations: [],
    usedLinks: [],
    createdAt: 0,
    expiresAt: 600_000,
    ...more,
  }
}

const FINANCE: ApprovalNeed = { role: 'finance', quorum: 1 }
const ANYBODY: ApprovalNeed = { quorum: 1 }
const by = (actor: string, more: Partial<ApprovalDecision> = {}): ApprovalDecision => ({
  by: actor,
  kind: 'person',
  roles: ['finance'],
  decision: 'approved',
  at: 0,
  via: 'api',
  ...more,
})
const delegation = (from: string, to: string, roles = ['finance']): Delegation => ({ from, to, roles, at: 0 })

/** `ok`, with the roles that count, or the code. */
function answer(of: Approval, who: Decider): string {
  const may = mayDecide(of, who)
  if (!may.ok) return `${may.failure} ${may.code}`
  return ['ok', ...may.roles, ...(may.onBehalfOf === undefined ? [] : [`for ${may.onBehalfOf}`])].join(' ')
}

test('S45: whoever asked never decides, nor the agent it spoke for, whatever it holds', () => {
  const all = { roles: ['finance', 'approver'] }
  for (const actor of ['svc', 'agent-7'])
    assert.equal(answer(approval([FINANCE, ANYBODY]), decider(actor, all)), 'approval-self approval-self')
  const admin = createLocalAdmin()
  const own = approval([FINANCE], { requester: 'local-admin' })
  assert.equal(answer(own, { ...admin, ...held(admin) }), 'approval-self approval-self')
})

test('Agents never decide; people and services do', () => {
  assert.equal(
    answer(approval([FINANCE]), decider('bot', { kind: 'agent', roles: ['finance'] })),
    'permission-denied approver-agent',
  )
  assert.equal(
    answer(approval([FINANCE]), decider('desk', { kind: 'service', roles: ['finance'] })),
    'ok finance',
  )
})

test('A need with a role is for its holders; one without is for whoever holds approval:decide', () => {
  const finance = decider('ann', { roles: ['finance'] })
  const approver = decider('bob', { roles: ['approver'] })
  assert.equal(answer(approval([FINANCE]), finance), 'ok finance')
  assert.equal(answer(approval([FINANCE]), approver), 'permission-denied approver-unqualified')
  assert.equal(answer(approval([ANYBODY]), approver), 'ok')
  assert.equal(answer(approval([ANYBODY]), finance), 'permission-denied approver-unqualified')
  assert.equal(
    answer(
      approval([FINANCE, { role: 'security', quorum: 1, escalated: true }]),
      decider('cy', { roles: ['security', 'finance'] }),
    ),
    'ok finance security',
  )
  const admin = createLocalAdmin()
  assert.equal(
    answer(approval([FINANCE]), { ...admin, ...held(admin) }),
    'ok finance',
    'the local admin stands in',
  )
})

test('A token that was narrowed to something else decides nothing, whatever its owner may; nor does one with a lost role', () => {
  const narrow = decider('ann', { roles: ['finance'], scopes: ['tool:pay:invoke'] })
  assert.equal(answer(approval([FINANCE]), narrow), 'permission-denied approver-unqualified')
  assert.equal(
    answer(approval([FINANCE]), decider('ann', { roles: ['finance'], scopes: ['approval:*'] })),
    'ok finance',
  )
  assert.equal(
    answer(approval([FINANCE]), decider('ann', { roles: ['finance', 'gone'] })),
    'permission-denied role-missing',
  )
})

test('Nobody counts twice: not for oneself, not for somebody, not as a delegate beside oneself', () => {
  const two = { role: 'finance', quorum: 2 }
  const ann = decider('ann', { roles: ['finance'] })
  const dan = decider('dan')
  const twice = 'permission-denied approver-decided'
  assert.equal(answer(approval([two], { decisions: [by('ann')] }), ann), twice)
  const handed = approval([two], { delegations: [delegation('ann', 'dan')] })
  assert.equal(answer(handed, dan), 'ok finance for ann')
  assert.equal(answer({ ...handed, decisions: [by('dan', { onBehalfOf: 'ann' })] }, ann), twice)
  assert.equal(answer({ ...handed, decisions: [by('ann')] }, dan), twice)
  const both = { ...handed, delegations: [delegation('ann', 'dan'), delegation('eve', 'dan')] }
  assert.equal(answer({ ...both, decisions: [by('dan', { onBehalfOf: 'ann' })] }, dan), twice)
})

test('Whoever may decide by itself and for somebody else decides by the right that counts for more', () => {
  const both = approval([FINANCE, ANYBODY], { delegations: [delegation('ann', 'bob')] })
  assert.equal(answer(both, decider('bob', { roles: ['approver'] })), 'ok finance for ann')
  assert.equal(answer(both, decider('bob', { roles: ['finance'] })), 'ok finance')
  const taken = { ...both, decisions: [by('ann')] }
  assert.equal(answer(taken, decider('bob', { roles: ['approver'] })), 'ok', 'its own is left')
})

test('A delegate counts with the roles of who delegated; the requester hands nothing over and is handed nothing', () => {
  assert.equal(
    answer(approval([FINANCE], { delegations: [delegation('svc', 'dan')] }), decider('dan')),
    'permission-denied approver-unqualified',
  )
  assert.equal(
    answer(approval([FINANCE], { delegations: [delegation('ann', 'agent-7')] }), decider('agent-7')),
    'approval-self approval-self',
  )
  const told = (may: ReturnType<typeof mayDelegate>) => (may.ok ? 'ok' : may.code)
  const ann = decider('ann', { roles: ['finance'] })
  assert.equal(told(mayDelegate(approval([FINANCE]), ann, 'dan')), 'ok')
  assert.equal(told(mayDelegate(approval([FINANCE]), ann, 'svc')), 'approval-self')
  assert.equal(told(mayDelegate(approval([FINANCE]), ann, 'ann')), 'approver-unqualified')
  const handed = approval([FINANCE], { delegations: [delegation('ann', 'dan')] })
  assert.equal(told(mayDelegate(handed, decider('dan'), 'eve')), 'approver-unqualified', 'not further')
})

test('All needs are met by their quorum; one denial denies; nothing asked is nothing approved', () => {
  const needs = [
    { role: 'finance', quorum: 2 },
    { role: 'security', quorum: 1, escalated: true as const },
    ANYBODY,
  ]
  const so = (...decisions: ApprovalDecision[]) => tally({ needs, decisions })
  const cy = by('cy', { roles: ['security'], decides: true })
  assert.equal(so(), 'pending')
  assert.equal(so(by('ann'), by('bob')), 'pending')
  assert.equal(so(by('ann'), cy), 'pending')
  assert.equal(so(by('ann'), by('bob'), cy), 'approved')
  assert.equal(
    so(by('ann', { roles: ['finance', 'security'], decides: true }), by('bob')),
    'approved',
    'one hand may meet two needs',
  )
  assert.equal(
    so(by('ann'), by('bob'), by('cy', { roles: ['security'] })),
    'pending',
    'a role alone meets no need that is for holders of approval:decide',
  )
  assert.equal(so(by('ann'), by('ann'), cy), 'pending', 'the same one twice')
  assert.equal(so(by('ann'), by('dan', { onBehalfOf: 'ann' }), cy), 'pending', 'nor through a delegate')
  assert.equal(
    so(by('dan', { onBehalfOf: 'ann' }), by('dan', { onBehalfOf: 'bob' }), cy),
    'pending',
    'nor one hand for two',
  )
  assert.equal(so(by('ann'), by('bob'), cy, by('eve', { decision: 'denied' })), 'denied')
  assert.equal(tally({ needs: [], decisions: [] }), 'pending')
})

test('A decision counts for a need without a role only where its maker, or who delegated, holds approval:decide', () => {
  const both = approval([FINANCE, ANYBODY])
  const decides = (of: Approval, who: Decider) => {
    const may = mayDecide(of, who)
    return may.ok && may.decides === true
  }
  assert.equal(decides(both, decider('ann', { roles: ['finance'] })), false)
  assert.equal(decides(both, decider('ann', { roles: ['finance', 'approver'] })), true)
  const handed = (more: Partial<Delegation>) =>
    approval([FINANCE, ANYBODY], { delegations: [{ ...delegation('ann', 'dan'), ...more }] })
  assert.equal(decides(handed({}), decider('dan')), false)
  assert.equal(decides(handed({ decides: true }), decider('dan')), true)
})

test('What people agreed to stands for what is asked of them now: the same roles, by as many, escalated alike', () => {
  assert.equal(coversNeeds([FINANCE, ANYBODY], [ANYBODY]), true)
  assert.equal(coversNeeds([{ ...FINANCE, quorum: 2 }], [FINANCE]), true)
  assert.equal(coversNeeds([FINANCE], [{ ...FINANCE, quorum: 2 }]), false)
  assert.equal(coversNeeds([FINANCE], [{ ...FINANCE, escalated: true }]), false)
  assert.equal(coversNeeds([FINANCE], [FINANCE, ANYBODY]), false)
})

test('What makes an approval stale is named', () => {
  assert.deepEqual(changedSince(BINDING, { ...BINDING }), [])
  assert.deepEqual(changedSince(BINDING, { ...BINDING, payloadHash: 'x', policyVersion: 'y' }), [
    'payload',
    'policy',
  ])
  assert.deepEqual(changedSince(BINDING, { ...BINDING, digest: 'x', operation: 'y' }), [
    'tool',
    'tool version',
  ])
  assert.deepEqual(changedSince(BINDING, { ...BINDING, limits: { timeoutMs: 2, maxAttempts: 1 } }), [
    'limits',
  ])
})

test('A grant stands for one need of exactly the calls that it describes, and for nothing that cannot be judged', () => {
  const grant: ApprovalGrant = {
    id: 'g',
    tool: 'pay',
    digest: tool().digest,
    operation: 'invoke',
    when: [{ field: '/amount', op: 'lt', value: 50 }],
    role: 'finance',
    by: 'ann',
    until: 1_000,
  }
  const covered = (more: Partial<ApprovalGrant> = {}, ask = {}, need = FINANCE) =>
    coveredBy({ ...grant, ...more }, facts({ input: { amount: 49 }, now: 999, ...ask }), need)
  assert.equal(covered(), true)
  assert.equal(covered({ caller: 'agent-7' }), true)
  for (const more of [
    { tool: 'look' },
    { digest: 'other' },
    { operation: 'other' },
    { caller: 'agent-8' },
    { until: 999 },
    { by: 'agent-7' },
    { role: 'security' },
  ])
    assert.equal(covered(more), false, JSON.stringify(more))
  for (const input of [{ amount: 50 }, { amount: '1' }, {}, null, undefined])
    assert.equal(covered({}, { input }), false)
  assert.equal(covered({ by: 'boss' }, { agent: 'boss', caller: PAYER }), false)
  const { role: _, ...open } = grant
  assert.equal(coveredBy(open, facts({ input: { amount: 1 } }), FINANCE), false, 'it stands for another need')
  assert.equal(coveredBy(open, facts({ input: { amount: 1 } }), ANYBODY), true)
  for (const need of [
    { ...FINANCE, quorum: 2 },
    { ...FINANCE, escalated: true as const },
  ])
    assert.equal(covered({}, {}, need), false, 'that needs people')
})
