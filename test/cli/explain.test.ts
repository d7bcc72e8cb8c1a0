// writ explain call and POST /v1/explain: what decided, what nearly did, and what would have to change.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import {
  AGENT,
  type GovernanceHarness,
  NOBODY,
  startGovernanceHarness,
} from '../server/governance-harness.ts'
import { type ServerCommands, serverCommands } from './server-commands.ts'

const POLICIES = `
apiVersion: writ.dev/v1
kind: AgentPolicy
metadata: { name: payments }
spec:
  apply_mode: global
  escalate_to: treasury
  rules:
    - { tools: [transfer], when: [{ field: /amount, op: gt, value: 5000 }], decision: deny, reason: nothing over 5000 }
    - { tools: [transfer], when: [{ field: /to, op: eq, value: mallory }], decision: escalate, reason: a known name }
  transforms:
    - { tools: [transfer], when: [{ field: /to, op: eq, value: charity }], clamp: { field: /amount, max: 20 } }
---
apiVersion: writ.dev/v1
kind: AgentPolicy
metadata: { name: soon }
spec:
  apply_mode: global
  mode: monitor
  rules:
    - { tools: [transfer], when: [{ field: /amount, op: gt, value: 50 }], decision: deny, reason: soon nothing over 50 }
---
apiVersion: writ.dev/v1
kind: AgentRole
metadata: { name: treasury }
spec: { permissions: ['approval:decide'] }
`

const CEDAR = `
apiVersion: writ.dev/v1
kind: AgentPolicy
metadata: { name: reading }
spec:
  apply_mode: global
  target_tools: [look]
  cedar: |
    @id("people")
    permit (principal is Writ::Person, action, resource);
    @id("late")
    @reason("nobody looks after the end of time")
    forbid (principal, action, resource) when { context.time.unix_ms < 0 && principal.id == "agent-1" };
    @id("far")
    forbid (principal, action, resource) when { context.time.unix_ms < 0 && principal.id == "agent-9" };
`

let commands: ServerCommands<GovernanceHarness>
let h: GovernanceHarness
before(async () => {
  h = await startGovernanceHarness()
  commands = serverCommands(h)
  const applied = await h.runtime.resources.apply([{ text: `${POLICIES}---${CEDAR}`, file: 'policies.yaml' }])
  assert.equal(applied.ok, true, JSON.stringify(applied.problems))
})
after(() => commands.close())

const explain = (to: string, amount: number, token = AGENT) =>
  h.request('POST', '/v1/explain', {
    token,
    body: { request_id: 'why', tool: { name: 'transfer' }, input: { to, amount } },
  })
const writ = (line: string, token = AGENT) =>
  commands.writ(line, { env: { WRIT_URL: h.url, WRIT_TOKEN: token } })
// biome-ignore lint/suspicious/noExplicitAny: what a body holds is the question of each test
const rules = (list: any[]) => list.map(({ policy_id, rule }) => `${policy_id} ${rule}`)

describe('POST /v1/explain', () => {
  it('S42: a denial names every rule that matched, with version, code and reason', async () => {
    const { body } = await explain('acme', 9000)
    assert.equal(body.decision, 'deny')
    const [first] = body.governing.matched
    assert.equal(`${first.policy_id} ${first.rule}`, 'AgentPolicy/payments rules[0]')
    assert.deepEqual(
      [first.decision, first.code, first.reason],
      ['deny', 'policy-denied', 'nothing over 5000'],
    )
    assert.ok(first.policy_version.length > 0)
    assert.ok(
      rules(body.governing.matched).some((rule) => rule.startsWith('Tool/transfer')),
      'the trigger, too',
    )
    assert.deepEqual(body.changes, ['AgentPolicy/payments rules[0] must no longer deny: nothing over 5000'])
    assert.equal(body.error.details.failure, 'permission-denied')
    assert.equal(body.error.details.policy_ref.policy_id, 'AgentPolicy/payments')
    assert.ok(body.error.details.policy_ref.decision_id)
    assert.equal(body.sends, undefined)
    assert.deepEqual(h.transferred, [])
  })

  it('names rules that were one clause away, and what monitor mode would have done', async () => {
    const { body } = await explain('acme', 60)
    assert.equal(body.decision, 'allow')
    assert.deepEqual(body.changes, [])
    assert.ok(rules(body.governing.near).includes('AgentPolicy/payments rules[0]'))
    for (const { missed } of body.governing.near) assert.ok(missed.length > 0)
    const watched = body.governing.matched.filter((match: { monitored?: true }) => match.monitored)
    assert.deepEqual(rules(watched), ['AgentPolicy/soon rules[0]'])
    assert.equal(watched[0].decision, 'deny')
    assert.deepEqual(body.sends, { to: 'acme', amount: 60 })
  })

  it('S43: approvals, escalations and transforms say what they are', async () => {
    const waits = (await explain('acme', 500)).body
    assert.equal(waits.decision, 'require-approval')
    assert.deepEqual(waits.governing.needs, [{ quorum: 1 }])
    assert.ok(waits.changes.some((change: string) => change.startsWith('or 1 who may decide')))
    const escalated = (await explain('mallory', 5)).body
    assert.equal(escalated.decision, 'escalate')
    assert.deepEqual(escalated.governing.needs, [{ quorum: 1, role: 'treasury', escalated: true }])
    const narrowed = (await explain('charity', 90)).body
    assert.equal(narrowed.decision, 'transform')
    assert.deepEqual(narrowed.sends, { to: 'charity', amount: 20 })
    assert.deepEqual(
      narrowed.governing.narrowed.map(({ kind, field }: { kind: string; field: string }) => [kind, field]),
      [['clamp', '/amount']],
    )
  })

  it('S41: who may not call the tool at all learns nothing of it but what is missing', async () => {
    const { body, text } = await explain('acme', 5, NOBODY)
    assert.equal(body.decision, 'deny')
    assert.equal(body.governing, undefined)
    assert.deepEqual(body.changes, ['give the caller tool:transfer:invoke, by a role or in its token'])
    assert.doesNotMatch(text, /1\.0\.0|sha256|payments/)
  })

  it('Cedar, too: permits and forbids that were one clause away, and what would have permitted it', async () => {
    const { body } = await h.request('POST', '/v1/explain', {
      token: AGENT,
      body: { request_id: 'why', tool: { name: 'look' } },
    })
    assert.equal(body.decision, 'deny')
    assert.equal(body.governing.matched[0].code, 'cedar-not-permitted')
    const near = body.governing.near.filter((one: { rule: string }) => one.rule.startsWith('cedar:'))
    const missing = 'principal is Writ::Person (principal was Writ::Agent::"agent-1")'
    assert.deepEqual(
      near.map((one: { rule: string; decision: string }) => `${one.decision} ${one.rule}`),
      ['allow cedar:1:1#people', 'deny cedar:3:1#late'],
    )
    assert.equal(near[0].missed, missing)
    assert.match(near[1].missed, /^context\.time\.unix_ms < 0 \(context\.time\.unix_ms was \d+\)$/)
    assert.equal(body.governing.near_unchecked, undefined)
    assert.deepEqual(body.changes, [
      'AgentPolicy/reading cedar must no longer deny: no Cedar permit of AgentPolicy reading matches',
      `or AgentPolicy/reading cedar:1:1#people must match: ${missing}`,
    ])
  })

  it('what is frozen says what to thaw', async () => {
    await h.request('POST', '/v1/freezes', { body: { what: 'tool', name: 'transfer', reason: 'x' } })
    assert.deepEqual((await explain('acme', 5)).body.changes, ['thaw tool transfer'])
    await h.request('DELETE', '/v1/freezes/tool/transfer?reason=x')
  })
})

describe('writ explain call', () => {
  it('tells people what matched, what was near and what would have to change', async () => {
    const { code, out } = await writ('explain call transfer --set to=acme --set amount=9000')
    assert.equal(code, 4)
    assert.match(out, /^Decision: deny$/m)
    assert.match(out, /^authorize +end +nothing over 5000$/m)
    assert.match(out, /^ {2}deny +AgentPolicy\/payments rules\[0\] +\S+ +policy-denied +nothing over 5000$/m)
    assert.match(out, /^What would have to change\n {2}AgentPolicy\/payments rules\[0\] must no longer deny/m)
    const near = await writ('explain call transfer --set to=acme --set amount=60')
    assert.equal(near.code, 0)
    assert.match(near.out, /^One clause away\n/m)
    assert.match(near.out, /^Only monitored: it would have\n.*\n {2}deny +AgentPolicy\/soon rules\[0\]/m)
    assert.equal((await writ('explain call transfer --set to=mallory --set amount=5')).code, 5)
    const narrowed = await writ('explain call transfer --set to=charity --set amount=90')
    assert.match(narrowed.out, /^Narrowed\n {2}AgentPolicy\/payments transforms\[0\]\S*: clamp \/amount$/m)
    const look = await writ('explain call look')
    assert.match(
      look.out,
      /^ {2}allow +AgentPolicy\/reading cedar:1:1#people +\S+ +principal is Writ::Person/m,
    )
    const data = JSON.parse((await writ('explain call transfer --set to=acme --set amount=9000 -o json')).out)
    assert.equal(data.governing.matched[0].decision, 'deny')
    const nobody = await writ('explain call transfer --set to=acme --set amount=5', NOBODY)
    assert.match(nobody.out, /give the caller tool:transfer:invoke/)
  })

  it('says how many Cedar policies were too many to look at', async () => {
    const one = 'forbid (principal, action, resource) when { principal.id == "agent-9" };'
    const lines = Array.from({ length: 205 }, () => `    ${one}`).join('\n')
    const text = `apiVersion: writ.dev/v1\nkind: AgentPolicy\nmetadata: { name: many }\nspec:\n  apply_mode: global\n  target_tools: [look]\n  cedar: |\n${lines}\n`
    const applied = await h.runtime.resources.apply([{ text, file: 'many.yaml' }])
    assert.equal(applied.ok, true, JSON.stringify(applied.problems))
    const { out } = await writ('explain call look')
    assert.match(out, /^ {2}\d+ more Cedar policies were not looked at: there are too many$/m)
    const data = JSON.parse((await writ('explain call look -o json')).out)
    assert.ok(data.governing.near_unchecked >= 5, String(data.governing.near_unchecked))
  })
})
