// Which Cedar policies count as an approval rule in production: those whose scope is about the tool, operation and caller.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCedarAsks } from '../../../src/governance/cedar/cedar-asks.ts'
import { compileCedar } from '../../../src/governance/cedar/compile-cedar.ts'
import { createRules } from '../../../src/governance/create-rules.ts'
import { createRuntime } from '../../../src/index.ts'
import { lacksApprovalRule } from '../../../src/resource/approval-cover.ts'
import type { ResolvedPolicy } from '../../../src/resource/resolved-governance.ts'
import { document } from '../../resource/governance-support.ts'
import { type CallMade, engine, facts, policy, role, setOf, tool } from './support.ts'

const WIPE = tool('wipe', undefined, { effect: { class: 'irreversible' } })
const ASK = '@decision("require-approval")'

function lacks(cedar: string, more: Partial<ResolvedPolicy> = {}): boolean {
  const { operation } = facts({ tool: WIPE })
  return lacksApprovalRule(WIPE, operation, setOf([policy(cedar, more)]), createCedarAsks(engine))
}

function refused(cedar: string, call: Partial<CallMade> = {}, more: Partial<ResolvedPolicy> = {}): boolean {
  const set = setOf([policy(cedar, more)], role('ops'))
  const compiled = compileCedar(set, engine)
  assert.ok(compiled)
  const rules = createRules(set, { profile: 'production', cedar: compiled })
  const caller = { permissions: ['tool:wipe:invoke'], ...call.caller }
  const { matches } = rules.decide(facts({ tool: WIPE, input: {}, ...call, caller }))
  return matches.some(({ code }) => code === 'approval-rule-missing')
}

test('a policy about the tool, its operation or everything covers it; at apply and at the call', () => {
  const covering = [
    `${ASK} forbid (principal, action, resource);`,
    '@decision( "escalate" )\nforbid (principal, action, resource);',
    `@reason("https://x") ${ASK} forbid (principal, action, resource == Writ::Tool::"wipe");`,
    `${ASK} forbid (principal, action in Writ::Action::"write", resource is Writ::Tool);`,
    `${ASK} forbid (principal, action == Writ::Action::"invoke", resource) when { context.risk == "never" };`,
    `forbid (principal, action, resource == Writ::Tool::"x"); ${ASK} forbid (principal, action, resource);`,
  ]
  for (const text of covering) assert.deepEqual([lacks(text), refused(text)], [false, false], text)
})

test('a policy about another tool or operation, one that only denies, a comment or a text cover nothing', () => {
  const others = [
    `${ASK} forbid (principal, action, resource == Writ::Tool::"pay");`,
    `${ASK} forbid (principal, action == Writ::Action::"refund", resource);`,
    `${ASK} forbid (principal, action in Writ::Action::"read", resource);`,
    `${ASK} forbid (principal, action, resource == Writ::Tool::"pay"); forbid (principal, action, resource) when { false };`,
    `// ${ASK}\nforbid (principal, action, resource) when { false };`,
    `@reason("${ASK.replaceAll('"', '\\"')}") forbid (principal, action, resource) when { false };`,
  ]
  for (const text of others) assert.deepEqual([lacks(text), refused(text)], [true, true], text)
})

test('at the call a policy about other callers does not help this one; at apply nobody calls yet', () => {
  const text = `${ASK} forbid (principal in Writ::Role::"ops", action, resource) when { false };`
  assert.equal(lacks(text), false)
  assert.equal(refused(text), true)
  assert.equal(refused(text, { caller: { actor: 'ada', roles: ['ops'] } }), false)
  const all = `${ASK} forbid (principal, action, resource) when { false };`
  const bob = { applyMode: 'scoped', agents: ['bob'], systems: [], tasks: [] } as const
  assert.deepEqual([lacks(all, { targets: bob }), refused(all, {}, { targets: bob })], [false, true])
})

test('a policy that only monitors, or is about other tools, covers nothing', () => {
  const text = `${ASK} forbid (principal, action, resource);`
  for (const more of [{ mode: 'monitor' as const }, { targetTools: ['pay'] }])
    assert.deepEqual([lacks(text, more), refused(text, {}, more)], [true, true])
})

test('a production server refuses a tool that only the Cedar of another one asks approval for', async (t) => {
  const runtime = await createRuntime({ profile: 'production' })
  t.after(() => runtime.close())
  const wipe = document(
    'Tool',
    'wipe',
    `type: http
endpoint: https://a.example.com/x
effect: {class: irreversible, identity: [to]}
input_schema: {type: object, properties: {to: {type: string}}}
`,
  )
  const asking = (name: string) =>
    document(
      'AgentPolicy',
      'guard',
      `apply_mode: global\ncedar: |\n  ${ASK}\n  forbid (principal, action, resource == Writ::Tool::"${name}");\n`,
    )
  const apply = (...texts: string[]) =>
    runtime.resources.apply([{ text: texts.join('---\n'), file: 'set.yaml' }])
  const refusedSet = await apply(wipe, asking('pay'))
  assert.equal(refusedSet.ok, false)
  assert.match(JSON.stringify(refusedSet.problems), /no approval rule concerns it/)
  const { ok, problems } = await apply(wipe, asking('wipe'))
  assert.equal(ok, true, JSON.stringify(problems))
})
