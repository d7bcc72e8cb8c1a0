// The full product of role, permission, operation rule, policy, risk, effect, input and profile equals a second reading of
// the rules that shares no code with the first.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CallerIdentity } from '../../src/contract/caller.ts'
import { createRules } from '../../src/governance/create-rules.ts'
import type {
  OperationVerdict,
  ResolvedPolicy,
  ResolvedRole,
  ResolvedToolPermission,
} from '../../src/resource/resolved-governance.ts'
import { RISK_LEVELS } from '../../src/resource/resolved-tool.ts'
import type { ToolSpec } from '../../src/resource/tool.ts'
import type { Json } from '../../src/util/json.ts'
import { referenceDecision, VOICES } from './reference.ts'
import { facts, permission, policy, role, rule, scopedTo, setOf, tool } from './support.ts'

const ROLES: readonly ResolvedRole[] = [
  role('payer', { permissions: ['tool:pay:invoke', 'finance:pay'] }),
  role('wild', { permissions: ['tool:pa*:invoke', 'finance:*'] }),
  role('boss', { inherits: ['payer'], clearance: 'confidential' }),
  role('dangling', { permissions: ['tool:pay:invoke'], inherits: ['gone'] }),
]

const CALLERS: Readonly<Record<string, Omit<CallerIdentity, 'actor'>>> = {
  'no role': {},
  'a role that permits': { roles: ['payer'] },
  'a role with wildcards': { roles: ['wild'] },
  'a role that inherits': { roles: ['boss'] },
  'a role that does not exist': { roles: ['payer', 'gone'] },
  'a role that inherits from nothing': { roles: ['dangling'] },
  'a permission of its own': { permissions: ['tool:pay:invoke'] },
  'a scope that covers': { roles: ['payer'], scopes: ['tool:*:invoke', 'finance:pay'] },
  'a scope that does not': { roles: ['payer'], scopes: ['tool:look:invoke'] },
  'a wildcard, scoped to the name': { roles: ['wild'], scopes: ['tool:pay:invoke'] },
}

const verdicts = (...rules: [OperationVerdict['operationClass'], OperationVerdict['verdict']][]) =>
  rules.map(([operationClass, verdict]) => ({ operationClass, verdict }))

const PERMISSIONS: Readonly<Record<string, readonly ResolvedToolPermission[]>> = {
  none: [],
  'allow all': [permission({ operationRules: verdicts(['*', 'allow']) })],
  'deny delete': [permission({ operationRules: verdicts(['delete', 'deny']) })],
  'approve write': [permission({ operationRules: verdicts(['write', 'approval_required']) })],
  'allow write beside deny all': [
    permission({ operationRules: verdicts(['write', 'allow'], ['*', 'deny']) }),
  ],
  'deny read, in another resource': [
    permission({ operationRules: verdicts(['*', 'allow']) }),
    permission({ name: 'more', operationRules: verdicts(['read', 'deny']) }),
  ],
  'demands a permission': [permission({ requiredPermissions: ['finance:pay'] })],
  'demands any of two': [permission({ requiredPermissions: ['finance:pay', 'x:y'], matchMode: 'any' })],
  'demands both of two': [permission({ requiredPermissions: ['finance:pay', 'x:y'] })],
  'deny, for others': [permission({ targets: scopedTo('agent-8'), operationRules: verdicts(['*', 'deny']) })],
  'approve, for this one': [
    permission({ targets: scopedTo('agent-*'), operationRules: verdicts(['*', 'approval_required']) }),
  ],
  'about another tool': [permission({ tool: 'look', operationRules: verdicts(['*', 'deny']) })],
}

const over = { field: '/amount', op: 'gt', value: 100 } as const

const POLICIES: Readonly<Record<string, readonly ResolvedPolicy[]>> = {
  none: [],
  blocks: [policy({ blockedTools: ['pa*'] })],
  'blocks another tool': [policy({ blockedTools: ['look'] })],
  'denies critical risk': [policy({ rules: [rule('deny', { riskLevels: ['critical'] })] })],
  'approves from high risk on': [
    policy({ rules: [rule('require-approval', { riskLevels: ['high', 'critical'] })] }),
  ],
  'escalates writes over 100': [
    policy({ rules: [rule('escalate', { operationClasses: ['write'], when: [over] })] }),
  ],
  'denies over 100, allows all': [policy({ rules: [rule('allow'), rule('deny', { when: [over] })] })],
  'would deny': [policy({ mode: 'monitor', rules: [rule('deny')], blockedTools: ['pay'] })],
  'denies others': [policy({ targets: scopedTo('agent-8'), rules: [rule('deny')] })],
  'denies nobody': [policy({ targets: scopedTo(), rules: [rule('deny')] })],
  'denies this system': [
    policy({
      targets: { applyMode: 'scoped', agents: [], systems: ['books'], tasks: [] },
      rules: [rule('require-approval', { tools: ['pay'] })],
    }),
  ],
  'two that differ': [
    policy({ rules: [rule('require-approval')] }),
    policy({ name: 'second', targetTools: ['look'], rules: [rule('deny')] }),
    policy({ name: 'third', rules: [rule('escalate', { operations: ['inv*'], when: [over] })] }),
  ],
}

const EFFECTS: readonly ToolSpec[] = [
  { effect: { class: 'read-only' } },
  { effect: { class: 'external-communication' } },
  { effect: { class: 'irreversible', identity: ['/amount'] } },
  { effect: { class: 'read-only' }, data_classification: 'confidential' },
]

const INPUTS: readonly Json[] = [{ amount: 50 }, { amount: 500 }, { amount: '500' }, {}]

test('S41, S42: role x permission x operation rule x policy x risk equals an independent reading of the rules', () => {
  const tools = RISK_LEVELS.flatMap((risk_level) => EFFECTS.map((effect) => tool({ risk_level, ...effect })))
  const counts = new Map<string, number>()
  for (const [who, identity] of Object.entries(CALLERS)) {
    for (const [demanded, permissions] of Object.entries(PERMISSIONS)) {
      for (const [ruled, policies] of Object.entries(POLICIES)) {
        const set = setOf({ roles: ROLES, permissions, policies })
        for (const profile of ['local', 'production'] as const) {
          const rules = createRules(set, { profile })
          for (const asked of tools) {
            for (const input of INPUTS) {
              const caller = { actor: 'agent-7', system: 'books', ...identity }
              const these = facts({ caller, tool: asked, input })
              const expected = referenceDecision(set, these, profile)
              const { kind } = rules.decide(these)
              counts.set(kind, (counts.get(kind) ?? 0) + 1)
              if (kind === expected) continue
              const about = `${who} | ${demanded} | ${ruled} | ${profile} | ${asked.riskLevel} | ${asked.operations.invoke?.effect.class} | ${JSON.stringify(input)}`
              assert.equal(kind, expected, about)
            }
          }
        }
      }
    }
  }
  // The product is worth its name only where it has every answer that these rules can give.
  const seen = VOICES.filter((voice) => (counts.get(voice) ?? 0) > 1_000)
  assert.deepEqual(seen, ['allow', 'require-approval', 'escalate', 'deny'])
})
