// What governs a call changes while it is decided, or between two attempts: only what holds at the send counts (S43, S45).
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createRuntime, createWorld } from '../../src/runtime.ts'
import { createMemoryStore } from '../../src/store/memory/memory-store.ts'
import type { Store } from '../../src/store/store.ts'
import type { JsonObject } from '../../src/util/json.ts'
import { decisionFields } from '../governance/decision-fields.ts'
import { approvalPlace, ask, endOf, evidenceOf, ok, payTool, refusal } from './approval-harness.ts'
import { EVERYTHING, NATURAL, READ, type SteeredTool, steeredTool, WRITE } from './harness.ts'
import { until } from './until.ts'

const policy = (name: string, spec: JsonObject): JsonObject => ({
  kind: 'AgentPolicy',
  metadata: { name },
  spec: { apply_mode: 'global', ...spec },
})
const CLAMP = { transforms: [{ tools: ['pay'], clamp: { field: '/amount', max: 50 } }] }
const NOTHING = { blocked_tools: ['other'] }
const ASKS = { rules: [{ tools: ['pay'], decision: 'require-approval' }] }

/** A runtime where something happens after a call was decided about, and before it is sent. */
async function interrupted(t: TestContext, pay: SteeredTool) {
  const world = createWorld()
  const real = await createMemoryStore({ world })
  let between: (() => Promise<void>) | undefined
  async function pass() {
    const act = between
    between = undefined
    await act?.()
  }
  const findByIdentity: Store['entries']['findByIdentity'] = async (identity, since) => {
    await pass()
    return real.entries.findByIdentity(identity, since)
  }
  const spent: Store['budgets']['spent'] = async (namespace, keys) => {
    await pass()
    return real.budgets.spent(namespace, keys)
  }
  const store: Store = Object.create(real, {
    entries: { value: { ...real.entries, findByIdentity } },
    budgets: { value: { ...real.budgets, spent } },
  })
  const runtime = await createRuntime({
    world,
    store: { kind: 'given', store },
    tools: [pay.definition],
    onWarning: () => {},
  })
  t.after(async () => {
    await runtime.close({ drainMs: 0 })
    await world.network.destroy()
  })
  return {
    agent: runtime.as({ actor: 'agent-a', kind: 'agent', permissions: EVERYTHING }),
    ann: runtime.as({ actor: 'ann', kind: 'person', permissions: ['approval:decide', 'grant:write'] }),
    between(act: () => Promise<void>) {
      between = act
    },
    async apply(one: JsonObject) {
      const text = JSON.stringify({ apiVersion: 'writ.dev/v1', ...one })
      const applied = await runtime.resources.apply([{ text, file: 'x.yaml' }])
      assert.ok(applied.ok, JSON.stringify(applied.problems))
    },
  }
}

test('S43: what policy made of the input a moment ago is not sent where it no longer narrows it', async (t) => {
  const pay = payTool({ approval_triggers: [], effect: { ...WRITE.effect, identity: ['/id'] } })
  const h = await interrupted(t, pay)
  await h.apply(policy('p', CLAMP))
  h.between(() => h.apply(policy('p', NOTHING)))
  const answer = await h.agent.call({ tool: 'pay', input: { id: 'a', amount: 500 }, idempotencyKey: 'k' })
  assert.equal(answer.state, 'succeeded', JSON.stringify(answer.failure))
  assert.deepEqual(
    pay.sends.map(({ input }) => input),
    [{ id: 'a', amount: 500 }],
  )
})

test('S45: a grant is not used up where nobody has to agree any more', async (t) => {
  const pay = payTool({ approval_triggers: [] })
  const h = await interrupted(t, pay)
  await h.apply(policy('p', ASKS))
  const made = await h.ann.makeGrant({ tool: 'pay', ttlMs: 60_000, maxUses: 1 })
  assert.equal(made.kind, 'ok', JSON.stringify(made))
  h.between(() => h.apply(policy('p', NOTHING)))
  const answer = await h.agent.call({ tool: 'pay', input: { amount: 5 }, idempotencyKey: 'k' })
  assert.equal(answer.state, 'succeeded', JSON.stringify(answer.failure))
  const [grant] = await h.ann.listGrants()
  assert.equal(grant?.uses, 0)
})

const RETRIES = { ...NATURAL, runtime: { retry: { max_attempts: 3, backoff: '1ms' } } }

test('S45: other people would have to agree by now: there is no second attempt', async (t) => {
  const pay = payTool(RETRIES)
  const life = await approvalPlace(t, 'memory').open([pay])
  let tries = 0
  pay.behave(async () => {
    if (++tries > 1) return 'paid'
    await life.apply(policy('more', { ...ASKS, approval: { quorum: 2 } }))
    throw new Error('busy')
  })
  const { answer, id } = await ask(life)
  ok(await life.person('ann').approve(id))
  const end = await until(async () => {
    const call = await life.agent.getCall(answer.callId)
    return call?.state !== 'awaiting-approval' && call?.state !== 'running' && call?.answer
  })
  assert.deepEqual([tries, end.effect], [1, 'unknown'], 'S36: what was sent may have had its effect')
  assert.equal(end.failure?.details.code, 'policy-changed', JSON.stringify(end.failure))
})

for (const [how, stop, code] of [
  ['a policy', { blocked_tools: ['pay'] }, 'tool-blocked'],
  ['a freeze', undefined, 'frozen'],
] as const) {
  test(`S40: what ${how} denies between two attempts is on record with the decision that denied it`, async (t) => {
    const pay = payTool(RETRIES)
    const life = await approvalPlace(t, 'memory').open([pay])
    pay.behave(async () => {
      if (stop === undefined) await life.admin.freeze({ what: 'tool', name: 'pay' }, { reason: 'incident' })
      else await life.apply(policy('stop', stop))
      throw new Error('busy')
    })
    const answer = await life.agent.call({ tool: 'pay', input: { amount: 5 }, idempotencyKey: 'k' })
    assert.equal(answer.failure?.details.code, code, JSON.stringify(answer.failure))
    assert.equal(pay.sends.length, 1)
    const facts = await evidenceOf(life, answer.callId)
    const [started] = facts.filter(({ type }) => type === 'tool.started')
    const last = facts.at(-1)
    const decision = last?.body.decision as JsonObject | undefined
    const ref = answer.failure?.details.policy_ref as JsonObject | undefined
    const before = started?.body.decision as JsonObject | undefined
    assert.ok(decision?.decision_id, JSON.stringify(last))
    assert.equal(decision.decision_id, ref?.decision_id)
    assert.notEqual(decision.decision_id, before?.decision_id)
    assert.match(JSON.stringify(decision), new RegExp(`"deny".*${code}|${code}.*"deny"`))
  })
}

test('S43: a call that policy turns into a dry run is on record', async (t) => {
  const pay = payTool()
  const life = await approvalPlace(t, 'memory').open([pay])
  await life.apply(policy('dry', { transforms: [{ tools: ['pay'], dry_run: true }] }))
  const answer = await life.agent.call({ tool: 'pay', input: { amount: 5 }, idempotencyKey: 'k' })
  assert.equal(pay.sends.length, 0)
  assert.equal((await life.agent.getCall(answer.callId))?.state, 'succeeded')
  const [skipped, ...more] = await evidenceOf(life, answer.callId)
  assert.deepEqual([skipped?.type, skipped?.body.status, more], ['request.skipped', 'SKIPPED', []])
  assert.ok(skipped)
  const { decision, ...others } = decisionFields(skipped)
  assert.deepEqual([decision, Object.keys(others).length], ['transform', 15])
  const asked = await life.agent.call({ tool: 'pay', input: { amount: 5 }, dryRun: true })
  assert.equal(
    await life.agent.getCall(asked.callId),
    undefined,
    'S17: one that was asked for leaves nothing',
  )
})

test('every call that was allowed, asked about or denied has the sixteen fields of its decision on record', async (t) => {
  const pay = payTool({ approval_triggers: [] })
  const look = steeredTool('look', READ)
  const life = await approvalPlace(t, 'memory').open([pay, look])
  const when = (value: number) => [{ field: '/amount', op: 'gt', value }]
  await life.apply(
    policy('p', {
      rules: [
        { tools: ['pay'], when: when(100), decision: 'require-approval' },
        { tools: ['pay'], when: when(1_000), decision: 'deny' },
      ],
    }),
  )
  const decisionOf = async (tool: string, amount: number, door = life.agent) => {
    const { callId } = await door.call({ tool, input: { amount }, idempotencyKey: `${tool} ${amount}` })
    const records = (await evidenceOf(life, callId)).filter(({ body }) => body.decision !== undefined)
    const known = records.map(decisionFields)
    assert.deepEqual(
      known.map((one) => Object.keys(one).length),
      [16],
    )
    assert.equal(typeof known[0]?.request_id, 'string')
    assert.deepEqual(known[0]?.scope, { namespace: 'default', tool, operation: 'invoke' })
    return [known[0]?.decision, known[0]?.policy_id]
  }
  assert.deepEqual(await decisionOf('pay', 1), ['allow', 'permissions'])
  assert.deepEqual(await decisionOf('look', 1), ['allow', 'permissions'])
  assert.deepEqual(await decisionOf('pay', 500), ['require-approval', 'AgentPolicy/p'])
  assert.deepEqual(await decisionOf('pay', 5_000), ['deny', 'AgentPolicy/p'])
  const stranger = life.as({ actor: 'stranger', kind: 'agent', permissions: [] })
  assert.deepEqual(await decisionOf('pay', 2, stranger), ['deny', 'permissions'])
  const frozen = await life.admin.freeze({ what: 'tool', name: 'pay' }, { reason: 'test' })
  assert.equal(frozen.kind, 'ok', JSON.stringify(frozen))
  assert.deepEqual(await decisionOf('pay', 3), ['deny', 'Stop/tool:pay'])
})

test('S44: a frozen caller gives nobody anything: no grant, no decision, no override', async (t) => {
  const life = await approvalPlace(t, 'memory').open([payTool()])
  const { id } = await ask(life)
  // Her namespace is frozen, too: that alone would let people decide.
  for (const target of [{ what: 'namespace' }, { what: 'caller', name: 'ann' }] as const) {
    const frozen = await life.admin.freeze(target, { reason: 'stolen token' })
    assert.equal(frozen.kind, 'ok', JSON.stringify(frozen))
  }
  const ann = life.as({
    actor: 'ann',
    kind: 'person',
    permissions: ['approval:decide', 'approval:override', 'grant:write'],
  })
  assert.equal(refusal(await ann.approve(id)), 'frozen')
  assert.equal(refusal(await ann.delegate(id, { to: 'bob' })), 'frozen')
  assert.equal(refusal(await ann.makeGrant({ tool: 'pay', ttlMs: 60_000 })), 'frozen')
  ok(await life.person('bob').deny(id, { reason: 'no' }))
  assert.equal(refusal(await ann.overrideDenial(id, { reason: 'yes' })), 'frozen')
})

test('S43, S45: an approval is not used for another payload, though nobody has to agree to that one', async (t) => {
  const pay = payTool({ approval_triggers: [] })
  const life = await approvalPlace(t, 'memory').open([pay])
  await life.apply(policy('p', { ...ASKS, approval: { quorum: 2 } }))
  const { answer, id } = await ask(life)
  ok(await life.person('ann').approve(id))
  await life.apply(policy('p', CLAMP))
  ok(await life.person('bob').approve(id))
  const end = await endOf(life, answer.callId)
  assert.deepEqual([end.failure?.id, end.failure?.details.changed], ['approval-stale', ['payload']])
  assert.equal(pay.sends.length, 0)
  const again = await life.agent.call({ tool: 'pay', input: { amount: 500 }, idempotencyKey: 'k' })
  assert.equal(again.state, 'succeeded', JSON.stringify(again.failure))
  assert.deepEqual(
    pay.sends.map(({ input }) => input),
    [{ amount: 50 }],
  )
})
