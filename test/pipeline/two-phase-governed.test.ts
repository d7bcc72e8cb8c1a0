// What governs a commit is what holds when it is asked for, not what held when its effect was prepared (S44, S45).
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Answer } from '../../src/contract/answer.ts'
import { defineOperation, defineTool } from '../../src/define-tool.ts'
import type { JsonObject } from '../../src/util/json.ts'
import { approvalIdOf, approvalPlace, KINDS, type Kind, type Life, ok, role } from './approval-harness.ts'
import { WRITE } from './harness.ts'
import { until } from './until.ts'

interface Scene extends Life {
  /** What the tool was asked for. */
  readonly done: string[]
}

async function scene(t: TestContext, kind: Kind = 'memory'): Promise<Scene> {
  const done: string[] = []
  const phase = (name: string) =>
    defineOperation({
      ...WRITE,
      handler: () => {
        done.push(name)
        return null
      },
    })
  const definition = defineTool({
    name: 'pay',
    effect: { ...WRITE.effect, two_phase: { commit: 'confirm', rollback: 'forget' } },
    operations: { confirm: phase('commit'), forget: phase('rollback') },
    handler: (input) => ({ commit_token: 'theirs', preview: input }),
  })
  return { ...(await approvalPlace(t, kind).open([{ definition }])), done }
}

const policy = (name: string, spec: JsonObject): JsonObject => ({
  kind: 'AgentPolicy',
  metadata: { name },
  spec: { apply_mode: 'global', target_tools: ['pay'], ...spec },
})
const asking = (value: number, more: JsonObject = {}) =>
  policy('large', {
    rules: [{ when: [{ field: '/amount', op: 'gt', value }], decision: 'require-approval' }],
    ...more,
  })

const pay = (life: Life, amount = 500) =>
  life.agent.call({ tool: 'pay', input: { amount }, idempotencyKey: 'k' })

function tokenOf(answer: Answer): string {
  assert.equal(answer.state, 'prepared', JSON.stringify(answer.failure))
  return answer.commitToken ?? ''
}

/** `ok`, or the code and the state that a refusal names. */
async function commit({ agent }: Life, answer: Answer): Promise<unknown> {
  const result = await agent.commit(answer.callId, tokenOf(answer))
  if (result.kind !== 'refused') return result.kind
  const { id, details } = result.failure
  return [id, details.code, details.effect_state]
}

const HELD = ['permission-denied', 'policy-changed', 'prepared']

for (const kind of KINDS) {
  test(`S45: a commit that needs an approval by now, which nobody gave, is not sent; it stays prepared (${kind})`, async (t) => {
    const life = await scene(t, kind)
    const answer = await pay(life)
    await life.apply(asking(100))
    assert.deepEqual(await commit(life, answer), HELD)
    assert.equal((await life.agent.getCall(answer.callId))?.state, 'prepared')
    await life.apply(asking(1_000))
    assert.equal(await commit(life, answer), 'ok', 'it asks for others only')
    assert.deepEqual(life.done, ['commit'])
  })
}

for (const rules of ['the same', { role: 'lead' }, { quorum: 2 }] as const) {
  const named = JSON.stringify(rules)
  test(`S45: what people agreed to at the prepare holds for the commit under the same rules only: ${named}`, async (t) => {
    const life = await scene(t)
    await life.apply(asking(100), role('lead', ['approval:read', 'approval:decide']))
    const asked = await pay(life)
    ok(await life.person('ann').approve(approvalIdOf(asked)))
    const answer = await until(async () => {
      const call = await life.agent.getCall(asked.callId)
      return call?.state === 'prepared' && pay(life)
    })
    if (rules === 'the same') return assert.equal(await commit(life, answer), 'ok')
    await life.apply(asking(100, { approval: rules }))
    assert.deepEqual(await commit(life, answer), HELD)
    assert.deepEqual(life.done, [])
  })
}

test('S45: the last use of a grant is enough for the prepare and its commit', async (t) => {
  const life = await scene(t)
  await life.apply(asking(100))
  const made = await life.person('ann').makeGrant({ tool: 'pay', ttlMs: 3_600_000, maxUses: 1 })
  assert.equal(made.kind, 'ok', JSON.stringify(made))
  assert.equal(await commit(life, await pay(life)), 'ok')
  assert.deepEqual(life.done, ['commit'])
})

test('S45: what is held can be given up, and asked for anew: then people are asked', async (t) => {
  const life = await scene(t)
  const answer = await pay(life)
  await life.apply(asking(100))
  const result = await life.agent.commit(answer.callId, tokenOf(answer))
  assert.match(result.kind === 'refused' ? (result.failure.fix ?? '') : '', /Roll it back and call anew/)
  assert.equal((await life.agent.rollback(answer.callId)).kind, 'ok')
  assert.deepEqual(life.done, ['rollback'])
  const anew = await life.agent.call({ tool: 'pay', input: { amount: 500 }, idempotencyKey: 'another' })
  assert.equal(anew.state, 'awaiting-approval')
})

test('S43: what policy would make something else of by now is not committed', async (t) => {
  const life = await scene(t)
  const clamp = (max: number) => policy('clamp', { transforms: [{ clamp: { field: '/amount', max } }] })
  await life.apply(clamp(200))
  const answer = await pay(life)
  assert.deepEqual(answer.output, { amount: 200 })
  await life.apply(clamp(100))
  assert.deepEqual(await commit(life, answer), HELD)
  await life.apply(policy('clamp', { transforms: [{ dry_run: true }] }))
  assert.deepEqual(await commit(life, answer), HELD)
  await life.apply(clamp(200))
  assert.equal(await commit(life, answer), 'ok')
})

test('S38: rules that read what was spent count for a commit, without what it has taken itself', async (t) => {
  const life = await scene(t)
  await life.apply(
    policy('limit', { budgets: [{ per: 'tool', period: '24h', sum: '/amount', max: 100_000 }] }),
    policy('enough', {
      cedar:
        'forbid(principal, action, resource == Writ::Tool::"pay") when { context.spend["limit#0"] >= 800000000 };',
    }),
  )
  const first = await pay(life)
  const second = await life.agent.call({ tool: 'pay', input: { amount: 500 }, idempotencyKey: 'second' })
  assert.equal(await commit(life, first), 'ok', 'of the two, each has the other one against it')
  const third = await life.agent.call({ tool: 'pay', input: { amount: 1 }, idempotencyKey: 'third' })
  assert.equal(third.state, 'denied')
  assert.equal(await commit(life, second), 'ok')
})
