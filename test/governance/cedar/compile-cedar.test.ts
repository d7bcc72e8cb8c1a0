// What Cedar policies answer about a call: permits, forbids, annotations, failures, and who and what they are about.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { CedarFailed } from '../../../src/governance/cedar/cedar.ts'
import { createCedarEngine } from '../../../src/governance/cedar/cedar-engine.ts'
import { compileCedar } from '../../../src/governance/cedar/compile-cedar.ts'
import { asked, engine, facts, object, policy, role, said, setOf, tool } from './support.ts'

const pay = tool('pay', object({ amount: { type: 'number' }, to: { type: 'string' } }, ['amount']))
const look = tool('look', object({ path: { type: 'string' } }), { effect: { class: 'read-only' } })

const FORBID = 'forbid (principal, action, resource)'
const PERMIT = 'permit (principal, action, resource)'

test('S42: a forbid denies what it matches, and says where it stands', () => {
  const text = `// payments\n  ${FORBID} when { context.input.amount.greaterThan(decimal("100.0")) };`
  const over = said(text, { tool: pay, input: { amount: 100.01 } })
  assert.deepEqual(over, ['deny cedar-denied cedar:2:3#0'])
  assert.deepEqual(said(text, { tool: pay, input: { amount: 100 } }), [])
})

test('@decision, @reason, @retry_after and @id say what a forbid asks for', () => {
  const text = `
@id("four-eyes") @decision("require-approval") @reason("Payments need a second pair of eyes.")
${FORBID};
@decision("escalate") ${FORBID};
@decision("deny") @retry_after("10m") @reason("Come back later.")
${FORBID};`
  const matches = asked(setOf([policy(text)]), { tool: pay, input: { amount: 1 } })
  assert.deepEqual(matches, [
    {
      policyId: 'AgentPolicy/rules',
      policyVersion: '1-abc',
      rule: 'cedar:2:1#four-eyes',
      decision: 'require-approval',
      code: 'cedar-approval',
      reason: 'Payments need a second pair of eyes.',
    },
    {
      policyId: 'AgentPolicy/rules',
      policyVersion: '1-abc',
      rule: 'cedar:4:1#1',
      decision: 'escalate',
      code: 'cedar-escalated',
      reason: 'Cedar policy 1 of AgentPolicy rules hands it to a specialist',
    },
    {
      policyId: 'AgentPolicy/rules',
      policyVersion: '1-abc',
      rule: 'cedar:5:1#2',
      decision: 'deny',
      code: 'cedar-denied',
      reason: 'Come back later.',
      retryAfterMs: 600_000,
    },
  ])
})

test('a text with a permit is an allowlist: what none of them permits is denied', () => {
  const text = `permit (principal, action, resource == Writ::Tool::"look");`
  assert.deepEqual(said(text, { tool: look }), ['allow cedar-permitted cedar:1:1#0'])
  assert.deepEqual(said(text, { tool: pay, input: { amount: 1 } }), ['deny cedar-not-permitted cedar'])
})

test('an allowlist is about its own text: another one permits nothing for it', () => {
  const set = setOf([
    policy(`permit (principal, action, resource == Writ::Tool::"look");`, { name: 'one' }),
    policy(`${PERMIT};`, { name: 'other' }),
  ])
  assert.deepEqual(said(set, { tool: pay, input: { amount: 1 } }), [
    'allow cedar-permitted cedar:1:1#0',
    'deny cedar-not-permitted cedar',
  ])
})

test('a permit and a forbid that match are both named: the strictest wins elsewhere', () => {
  const text = `${PERMIT};\n@decision("require-approval")\n${FORBID};`
  assert.deepEqual(said(text, { tool: look }), [
    'allow cedar-permitted cedar:1:1#0',
    'require-approval cedar-approval cedar:2:1#1',
  ])
})

test('S42: an evaluation error is an error, never a denial, and tells no value of the input', () => {
  const count = tool('count', object({ many: { type: 'integer' } }, ['many']))
  const text = `${FORBID} when { context.input.many * 9007199254740991 > 5 };`
  const call = { tool: count, input: { many: 9_007_199_254_740_991 } }
  assert.throws(
    () => asked(setOf([policy(text, { name: 'sums' })]), call),
    (error) => {
      assert.ok(error instanceof CedarFailed)
      assert.equal(error.policyId, 'AgentPolicy/sums')
      assert.equal(error.rule, 'cedar:1:1#0')
      assert.equal(error.message, 'AgentPolicy/sums cedar:1:1#0: a sum, difference or product is too large')
      return true
    },
  )
})

test('an evaluation error is not hidden by another policy that denies', () => {
  const count = tool('count', object({ many: { type: 'integer' } }, ['many']))
  const text = `${FORBID};\n${FORBID} when { context.input.many * 9007199254740991 > 5 };`
  assert.throws(() => said(text, { tool: count, input: { many: 9_007_199_254_740_991 } }), CedarFailed)
})

test('a monitored policy is marked, and neither its denials nor its failures stop anything', () => {
  const count = tool('count', object({ many: { type: 'integer' } }, ['many']))
  const failing = `${FORBID} when { context.input.many * 9007199254740991 > 5 };`
  const set = setOf([
    policy(`${FORBID};`, { name: 'watch', mode: 'monitor' }),
    policy(failing, { name: 'fails', mode: 'monitor' }),
    policy('forbid (', { name: 'broken', mode: 'monitor' }),
    policy(`permit (principal, action, resource == Writ::Tool::"look");`, { name: 'list', mode: 'monitor' }),
    policy(`${PERMIT};`, { name: 'real' }),
  ])
  const matches = asked(set, { tool: count, input: { many: 9_007_199_254_740_991 } })
  assert.deepEqual(matches.map((one) => `${one.policyId} ${one.code} ${one.monitored === true}`).sort(), [
    'AgentPolicy/broken cedar-failed true',
    'AgentPolicy/fails cedar-failed true',
    'AgentPolicy/list cedar-not-permitted true',
    'AgentPolicy/real cedar-permitted false',
    'AgentPolicy/watch cedar-denied true',
  ])
})

test('a text that cannot be read fails closed, and only for calls that it is about', () => {
  const set = setOf([policy('forbid (', { targetTools: ['pay'] })])
  assert.throws(() => asked(set, { tool: pay, input: { amount: 1 } }), CedarFailed)
  assert.deepEqual(asked(set, { tool: look }), [])
})

test('an AgentPolicy is about its targets and its tools only', () => {
  const scoped = (agents: string[]) =>
    setOf([policy(`${FORBID};`, { targets: { applyMode: 'scoped', agents, systems: [], tasks: ['t-1'] } })])
  assert.equal(said(scoped(['ada']), { tool: look }).length, 1)
  assert.equal(said(scoped(['bob']), { tool: look }).length, 0)
  assert.equal(said(scoped(['bob']), { tool: look, agent: 'bob' }).length, 1)
  assert.equal(said(scoped([]), { tool: look, taskId: 't-1' }).length, 1)
  const aimed = setOf([policy(`${PERMIT};`, { targetTools: ['pa*'] })])
  assert.equal(said(aimed, { tool: pay, input: { amount: 1 } }).length, 1)
  assert.equal(said(aimed, { tool: look }).length, 0)
})

test('principals are agents, people and services, in their roles and in what these inherit from', () => {
  const roles = [role('cfo', 'finance'), role('finance', 'staff'), role('staff', 'cfo')]
  const is = (scope: string, caller: object) =>
    said(setOf([policy(`forbid (${scope}, action, resource);`)], ...roles), { tool: look, caller }).length ===
    1
  assert.equal(is('principal == Writ::Agent::"ada"', {}), true)
  assert.equal(is('principal == Writ::Person::"ada"', {}), false)
  assert.equal(is('principal is Writ::Person', { kind: 'person' }), true)
  assert.equal(is('principal is Writ::Service', { kind: 'service' }), true)
  assert.equal(is('principal in Writ::Role::"staff"', { roles: ['cfo'] }), true)
  assert.equal(is('principal in Writ::Role::"staff"', { roles: ['other'] }), false)
  assert.equal(is('principal is Writ::Agent in Writ::Role::"finance"', { roles: ['finance'] }), true)
  assert.equal(
    is('principal is Writ::Agent in Writ::Role::"finance"', { kind: 'person', roles: ['finance'] }),
    false,
  )
})

test('attributes of the principal and the tool are in reach', () => {
  const holds = (condition: string, call = {}) =>
    said(`${FORBID} when { ${condition} };`, {
      tool: tool('x', undefined, {
        risk_level: 'high',
        capabilities: ['net.read'],
        permission_class: 'money',
      }),
      ...call,
    }).length === 1
  assert.equal(holds('principal.id == "ada" && principal.namespace == "default"'), true)
  assert.equal(holds('principal.roles.contains("ops")', { caller: { roles: ['ops'] } }), true)
  assert.equal(
    holds('principal has system && principal.system == "crm"', { caller: { system: 'crm' } }),
    true,
  )
  assert.equal(holds('principal has system && principal.system == "crm"'), false)
  assert.equal(holds('principal has agent && principal.agent == "bot"', { agent: 'bot' }), true)
  assert.equal(holds('context has task && context.task == "t"', { taskId: 't' }), true)
  assert.equal(
    holds('resource.name == "x" && resource.type == "http" && resource.owner == resource.owner'),
    true,
  )
  assert.equal(
    holds('resource.capabilities.contains("net.read") && resource.classification == "internal"'),
    true,
  )
  assert.equal(holds('resource has permission_class && resource.permission_class == "money"'), true)
  assert.equal(holds('resource.risk == "high" && ["high", "critical"].contains(context.risk)'), true)
  assert.equal(
    holds('context.effect_class == "external-communication" && context.operation == "invoke"'),
    true,
  )
})

test('an operation is an action, in a group for each of its classes', () => {
  const files = tool('files', undefined, {
    operations: {
      fetch: { operation_classes: ['read'], effect: { class: 'read-only' } },
      delete: { operation_classes: ['delete', 'write'] },
      admin: { operation_classes: ['write'] },
    },
  })
  const is = (scope: string, operation: string) =>
    said(`forbid (principal, ${scope}, resource);`, { tool: files, operation }).length === 1
  assert.equal(is('action == Writ::Action::"fetch"', 'fetch'), true)
  assert.equal(is('action == Writ::Action::"fetch"', 'delete'), false)
  assert.equal(is('action in Writ::Action::"read"', 'fetch'), true)
  assert.equal(is('action in [Writ::Action::"write", Writ::Action::"admin"]', 'delete'), true)
  assert.equal(is('action in Writ::Action::"delete"', 'delete'), true)
  assert.equal(is('action in Writ::Action::"read"', 'delete'), false)
  // An operation with the name of a class that it is not of is not taken for that class.
  assert.equal(is('action in Writ::Action::"admin"', 'admin'), false)
  assert.equal(is('action in Writ::Action::"write"', 'admin'), true)
  assert.equal(is('action == Writ::Action::"operation:admin"', 'admin'), true)
})

test('time is the time of the decision, in UTC, and is read anew for each', () => {
  const compiled = compileCedar(
    setOf([
      policy(`@id("weekend") ${FORBID} when { context.time.weekday >= 6 };
@id("night") ${FORBID} when { context.time.hour >= 22 || context.time.hour < 6 };
@id("ms") ${FORBID} when { context.time.unix_ms == 1000 };
@id("until") ${FORBID} when { context.time.at < datetime("1970-01-01T01:00:00Z") && context.time.minute == 0 };`),
    ]),
    engine,
  )
  assert.ok(compiled)
  const at = (time: string | number) =>
    compiled
      .matches(facts({ tool: look, now: new Date(time).getTime() }))
      .map(({ rule }) => rule.split('#')[1])
      .sort()
  assert.deepEqual(at('2026-11-14T12:00:00Z'), ['weekend'])
  assert.deepEqual(at('2026-11-15T23:59:59.999Z'), ['night', 'weekend'])
  assert.deepEqual(at('2026-11-16T06:00:00Z'), [])
  assert.deepEqual(at(1000), ['ms', 'night', 'until'])
})

test('spend is what budgets have taken, in millionths, and never guessed', () => {
  const budget = { tools: [], per: 'caller', periodMs: 60_000, max: 5_000_000 } as const
  const text = `${FORBID} when { context.spend["rules#0"] >= 3000000 };`
  const compiled = compileCedar(setOf([policy(text, { budgets: [budget] })]), engine)
  assert.ok(compiled)
  const call = { tool: look }
  assert.equal(compiled.readsSpend(facts(call)), true)
  const spent = (amount: number) => facts({ ...call, spent: new Map([['rules#0', amount]]) })
  assert.equal(compiled.matches(spent(3_000_000)).length, 1)
  assert.equal(compiled.matches(spent(2_999_999)).length, 0)
  assert.equal(compiled.matches(facts({ ...call, spent: new Map() })).length, 0)
  assert.throws(() => compiled.matches(facts(call)), /what budgets have taken is not known/)
  const silent = compileCedar(setOf([policy(`${FORBID} when { context.risk == "low" };`)]), engine)
  assert.equal(silent?.readsSpend(facts(call)), false)
})

test('a namespace without Cedar does not load the engine', async () => {
  const own = createCedarEngine()
  const { cedar: _, ...plain } = policy('')
  assert.equal(compileCedar(setOf([plain]), own), undefined)
  assert.equal(own.loaded, false)
  // Neither does importing it.
  const program = `
    import { createCedarEngine } from './src/governance/cedar/cedar-engine.ts'
    import { compileCedar } from './src/governance/cedar/compile-cedar.ts'
    import { checkCedar } from './src/governance/cedar/check-cedar.ts'
    import { createRequire } from 'node:module'
    const instance = WebAssembly.Instance
    let made = 0
    WebAssembly.Instance = class extends instance { constructor(...all) { super(...all); made++ } }
    const set = { roles: [], permissions: [], policies: [] }
    const engine = createCedarEngine()
    const nothing = compileCedar(set, engine) === undefined && checkCedar(set, [], engine).length === 0
    const before = made
    engine.read('permit (principal, action, resource);')
    console.log(JSON.stringify({ nothing, before, after: made }))`
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module-typescript', '--eval', program]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  assert.deepEqual(JSON.parse(stdout), { nothing: true, before: 0, after: 1 })
})
