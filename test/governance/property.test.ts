// What holds for any rules at all: a deny more never allows more, a role less never allows more, order never matters,
// scopes and transforms only narrow, an approval fits nothing else.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { ApprovalBinding } from '../../src/contract/approval.ts'
import type { CallerIdentity } from '../../src/contract/caller.ts'
import { DECISIONS, type Decision } from '../../src/contract/decision.ts'
import { bindingOf, isStale } from '../../src/governance/approval-rule.ts'
import { common, covers } from '../../src/governance/covers.ts'
import { createRules } from '../../src/governance/create-rules.ts'
import { hasPermission } from '../../src/governance/held.ts'
import type {
  Condition,
  GovernanceSet,
  Narrow,
  PolicyRule,
  ResolvedPolicy,
} from '../../src/resource/resolved-governance.ts'
import { DATA_CLASSIFICATIONS, OPERATION_CLASSES, RISK_LEVELS } from '../../src/resource/resolved-tool.ts'
import type { Json, JsonObject } from '../../src/util/json.ts'
import { readPointer } from '../../src/util/pointer.ts'
import { budget, facts, permission, policy, role, rule, setOf, tool, transform } from './support.ts'

const RUNS = { numRuns: 400 }
const NAMES = ['r0', 'r1', 'r2', 'r3']
const FIELDS = ['/a', '/b', '/c/d', '/list/1']
const PERMISSIONS = [
  'tool:pay:invoke',
  'tool:*:invoke',
  'tool:pa*:invoke',
  'capability:net.read',
  'capability:*',
  'x:y',
  'x:*',
]

const TOOLS = RISK_LEVELS.flatMap((risk_level) => [
  tool({ risk_level, effect: { class: 'read-only' }, data_classification: 'confidential' }),
  tool({ risk_level, capabilities: ['net.read'] }),
  tool({ risk_level, effect: { class: 'irreversible', identity: ['/a'] } }),
])

const some = <T>(values: readonly T[], maxLength = 2) =>
  fc.subarray([...values], { maxLength: Math.min(maxLength, values.length) })
const value = fc.oneof(fc.integer({ min: -5, max: 5 }), fc.constantFrom('x', null, true))
const condition: fc.Arbitrary<Condition> = fc.oneof(
  fc.record({ field: fc.constantFrom(...FIELDS), op: fc.constantFrom('eq', 'ne', 'gt', 'lte'), value }),
  fc.record({
    field: fc.constantFrom(...FIELDS),
    op: fc.constantFrom('in', 'not_in'),
    value: fc.array(value),
  }),
)
const targets = fc.oneof(
  fc.constant({ applyMode: 'global' as const, agents: [], systems: [], tasks: [] }),
  fc.record({
    applyMode: fc.constant('scoped' as const),
    agents: some(['agent-7', 'agent-*', 'other']),
    systems: some(['books']),
    tasks: some(['t-1']),
  }),
)
const toolNames = some(['pay', 'p*', 'look'])
const approval = fc.record({
  role: fc.constantFrom('finance', 'security'),
  quorum: fc.integer({ min: 1, max: 3 }),
  ttlMs: fc.integer({ min: 1_000, max: 9_000 }),
})
const anyRule: fc.Arbitrary<PolicyRule> = fc
  .record({
    decision: fc.constantFrom('allow', 'require-approval', 'escalate', 'deny'),
    tools: toolNames,
    operations: some(['invoke', 'other']),
    operationClasses: some(OPERATION_CLASSES),
    riskLevels: some(RISK_LEVELS),
    when: fc.array(condition, { maxLength: 2 }),
  })
  .map(({ decision, ...more }) => rule(decision, more))
const narrow: fc.Arbitrary<Narrow> = fc.oneof(
  fc
    .tuple(fc.constantFrom(...FIELDS), fc.integer({ min: -3, max: 0 }), fc.integer({ min: 0, max: 3 }))
    .map(([field, min, max]) => ({ kind: 'clamp' as const, field, min, max })),
  some(FIELDS).map((fields) => ({ kind: 'drop' as const, fields })),
  fc.constant({ kind: 'dry_run' as const }),
)
const anyPolicy = (name: string): fc.Arbitrary<ResolvedPolicy> =>
  fc
    .record({
      mode: fc.constantFrom('enforce', 'enforce', 'monitor'),
      targets,
      targetTools: toolNames,
      blockedTools: fc.oneof({ weight: 4, arbitrary: fc.constant([]) }, toolNames),
      rules: fc.array(anyRule, { maxLength: 3 }),
      transforms: fc.array(
        fc
          .tuple(narrow, fc.array(condition, { maxLength: 1 }))
          .map(([one, when]) => transform(one, { when })),
        { maxLength: 2 },
      ),
      budgets: fc.array(fc.constantFrom(budget(), budget({ sum: '/a' })), { maxLength: 1 }),
      approval,
    })
    .map((more) => policy({ name, version: `1-${name}`, ...more }))
const anyPermission = (name: string) =>
  fc
    .record({
      targets,
      requiredPermissions: some(['x:y', 'tool:pay:invoke']),
      matchMode: fc.constantFrom('all', 'any'),
      operationRules: fc.array(
        fc.record({
          operationClass: fc.constantFrom('*', ...OPERATION_CLASSES),
          verdict: fc.constantFrom('allow', 'deny', 'approval_required'),
        }),
        { maxLength: 2 },
      ),
      approval,
    })
    .map((more) => permission({ name, version: `1-${name}`, ...more }))
const anySet: fc.Arbitrary<GovernanceSet> = fc.record({
  roles: fc.tuple(
    ...NAMES.map((name) =>
      fc
        .record({
          permissions: some(PERMISSIONS, 4),
          inherits: some(NAMES),
          clearance: fc.constantFrom(...DATA_CLASSIFICATIONS.slice(1)),
        })
        .map((more) => role(name, more)),
    ),
  ),
  permissions: fc.tuple(...['p0', 'p1'].map(anyPermission)),
  policies: fc.tuple(...['g0', 'g1', 'g2'].map(anyPolicy)),
})
const anyCaller: fc.Arbitrary<CallerIdentity> = fc.record(
  {
    actor: fc.constantFrom('agent-7', 'alice'),
    roles: some(NAMES, 3),
    permissions: fc.oneof(
      fc.constant(['tool:pay:invoke', 'capability:net.read', 'x:y']),
      some(PERMISSIONS, 4),
    ),
    system: fc.constant('books'),
  },
  { requiredKeys: ['actor', 'roles', 'permissions'] },
)
const anyInput: fc.Arbitrary<Json> = fc.record(
  { a: value, b: value, c: fc.record({ d: value }), list: fc.array(value, { maxLength: 3 }) },
  { requiredKeys: [] },
)
const anyCall = fc.record({ caller: anyCaller, tool: fc.constantFrom(...TOOLS), input: anyInput })
const profile = fc.constantFrom('local' as const, 'production' as const)

const strictness = ({ kind }: Decision) => DECISIONS.indexOf(kind)

test('S42: adding a deny never allows more', () => {
  fc.assert(
    fc.property(anySet, anyCall, profile, anyPolicy('new'), (set, call, profile, added) => {
      const denies = {
        ...added,
        rules: added.rules.map((one) => ({ ...one, decision: 'deny' as const })),
        transforms: [],
        budgets: [],
      }
      const before = createRules(set, { profile }).decide(facts(call))
      const more = { ...set, policies: [...set.policies, denies] }
      const after = createRules(more, { profile }).decide(facts(call))
      assert.ok(strictness(after) >= strictness(before))
      const all = { ...set, policies: [...set.policies, policy({ name: 'all', rules: [rule('deny')] })] }
      assert.equal(createRules(all, { profile }).decide(facts(call)).kind, 'deny')
    }),
    RUNS,
  )
})

test('S41: taking a role from a caller never allows more, nor does deleting it or taking away what it grants', () => {
  fc.assert(
    fc.property(anySet, anyCall, fc.nat(), (set, call, pick) => {
      const roles = call.caller.roles ?? []
      fc.pre(roles.length > 0)
      const before = strictness(createRules(set, { profile: 'local' }).decide(facts(call)))
      const gone = roles[pick % roles.length]
      const without = { ...call, caller: { ...call.caller, roles: roles.filter((one) => one !== gone) } }
      const taken = createRules(set, { profile: 'local' }).decide(facts(without))
      assert.ok(strictness(taken) >= before, 'the caller has one role less')
      const fewer = { ...set, roles: set.roles.filter(({ name }) => name !== gone) }
      const deleted = createRules(fewer, { profile: 'local' }).decide(facts(call))
      assert.equal(deleted.kind, 'deny', 'a role that does not exist denies')
      const emptied = set.roles.map((one) => (one.name === gone ? { ...one, permissions: [] } : one))
      const poorer = createRules({ ...set, roles: emptied }, { profile: 'local' }).decide(facts(call))
      assert.ok(strictness(poorer) >= before, 'the role grants nothing any more')
    }),
    RUNS,
  )
})

/** Without the numbers of rules, which are what an order changes. */
function withoutPlaces(decision: Decision): unknown {
  const place = (text: string) => text.replace(/\[\d+\]|#\d+/g, '')
  const told = <T extends { readonly rule: string }>(all: readonly T[]) =>
    all.map((one) => JSON.stringify({ ...one, rule: place(one.rule) })).sort()
  return {
    ...decision,
    matches: told(decision.matches),
    narrowings: told(decision.narrowings),
    near: told(decision.near),
    spends: decision.spends.map((one) => JSON.stringify({ ...one, budget: place(one.budget) })).sort(),
    fields: decision.fields.toSorted(),
  }
}

test('S42: no order of roles, permissions, policies, rules, transforms or budgets changes a decision', () => {
  fc.assert(
    fc.property(anySet, anyCall, (set, call) => {
      const turned: GovernanceSet = {
        roles: set.roles.toReversed(),
        permissions: set.permissions
          .map((one) => ({ ...one, operationRules: one.operationRules.toReversed() }))
          .reverse(),
        policies: set.policies
          .map((one) => ({
            ...one,
            rules: one.rules.toReversed(),
            transforms: one.transforms.toReversed(),
            budgets: one.budgets.toReversed(),
          }))
          .reverse(),
      }
      const one = createRules(set, { profile: 'local' })
      const other = createRules(turned, { profile: 'local' })
      const these = facts(call)
      assert.deepEqual(
        withoutPlaces(other.decide(these, { explain: true })),
        withoutPlaces(one.decide(these, { explain: true })),
      )
      assert.deepEqual(other.narrowed(these), one.narrowed(these))
      assert.equal(other.version, one.version)
    }),
    RUNS,
  )
})

test('Monitor mode changes no decision: without such policies it is the same', () => {
  fc.assert(
    fc.property(anySet, anyCall, (set, call) => {
      const enforced = { ...set, policies: set.policies.filter(({ mode }) => mode === 'enforce') }
      const told = (of: GovernanceSet) => {
        const { matches, fields: _, ...rest } = createRules(of, { profile: 'local' }).decide(facts(call))
        return { ...rest, matches: matches.filter(({ monitored }) => monitored !== true) }
      }
      assert.deepEqual(told(set), told(enforced))
    }),
    RUNS,
  )
})

const somePermission = fc
  .tuple(
    fc.constantFrom('tool:', 'capability:', 'x:'),
    fc.constantFrom('', 'p', 'pa', 'pay', 'look'),
    fc.boolean(),
  )
  .map(([kind, stem, star]) => `${kind}${stem}${star ? '*' : ''}${kind === 'tool:' ? ':invoke' : ''}`)

test('S41: scopes only narrow, and never turn a wildcard into a name', () => {
  const held = fc.array(somePermission, { maxLength: 4 })
  fc.assert(
    fc.property(held, held, somePermission, fc.boolean(), (permissions, scopes, wanted, wildcards) => {
      fc.pre(!wanted.includes('*'))
      const { held: holds } = createRules(setOf(), { profile: 'local' })
      const ask = (more: Partial<CallerIdentity>) =>
        hasPermission(
          holds(facts({ caller: { actor: 'a', permissions, ...more } }).caller),
          wanted,
          wildcards,
        )
      const expected = ask({}) && scopes.some((scope) => covers(scope, wanted))
      assert.equal(ask({ scopes }), expected)
    }),
    { numRuns: 2_000 },
  )
})

test('S41: what two permissions have in common is covered by both', () => {
  fc.assert(
    fc.property(somePermission, somePermission, somePermission, (one, other, wanted) => {
      fc.pre(!wanted.includes('*'))
      const shared = common(one, other)
      const both = covers(one, wanted) && covers(other, wanted)
      assert.equal(shared !== undefined && covers(shared, wanted), both)
      assert.equal(common(other, one), shared)
    }),
    { numRuns: 2_000 },
  )
})

test('S43: a transform never widens: what is sent has no field that was not asked for, and no number out of bounds', () => {
  fc.assert(
    fc.property(fc.array(narrow, { maxLength: 4 }), anyInput, (narrows, input) => {
      const set = setOf({ policies: [policy({ transforms: narrows.map((one) => transform(one)) })] })
      const rules = createRules(set, { profile: 'local' })
      const these = facts({ input })
      const decision = rules.decide(these)
      const sent = rules.narrowed(these)
      if (decision.kind === 'deny') return
      assert.ok(isPartOf(sent, input))
      const dropped = new Set(narrows.flatMap((one) => (one.kind === 'drop' ? one.fields : [])))
      for (const one of narrows) {
        if (one.kind !== 'clamp' || dropped.size > 0) continue
        const { field, min = 0, max = 0 } = one
        const bounded = readPointer(sent, field)
        assert.ok(typeof bounded === 'number' && bounded >= min && bounded <= max, field)
      }
      for (const field of dropped)
        if (!field.startsWith('/list')) assert.equal(readPointer(sent, field), undefined)
      assert.equal(
        sent === input,
        decision.narrowings.every(({ kind }) => kind === 'dry_run'),
      )
    }),
    { numRuns: 1_000 },
  )
})

/** Every field is one of the other's; numbers may differ, nothing else. */
function isPartOf(part: Json | undefined, whole: Json | undefined): boolean {
  if (typeof part === 'number') return typeof whole === 'number'
  if (Array.isArray(part)) return Array.isArray(whole) && part.length <= whole.length
  if (typeof part !== 'object' || part === null) return part === whole
  return Object.entries(part).every(([name, inner]) => isPartOf(inner, (whole as JsonObject)[name]))
}

test('S45: an approval never fits another payload, tool, policy or limit', () => {
  const text = fc.constantFrom('a', 'b', 'c')
  const binding: fc.Arbitrary<ApprovalBinding> = fc
    .record({
      version: text,
      digest: text,
      payloadHash: text,
      policyVersion: text,
      timeoutMs: fc.nat(2),
      maxAttempts: fc.nat(2),
    })
    .map(({ version, digest, payloadHash, policyVersion, timeoutMs, maxAttempts }) => {
      const { operation, tool: asked } = facts()
      const of = { ...asked, version, digest }
      return bindingOf({
        tool: of,
        operation,
        payloadHash,
        policyVersion,
        limits: { timeoutMs, maxAttempts },
      })
    })
  fc.assert(
    fc.property(binding, binding, (one, other) => {
      assert.equal(isStale(one, other), JSON.stringify(one) !== JSON.stringify(other))
    }),
    { numRuns: 2_000 },
  )
})
