// Who has to agree is asked again when a call goes on, and everybody counts for the needs that are theirs (S42, S45).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../src/util/json.ts'
import { approvalIdOf, approvalPlace, ask, endOf, ok, payTool, role } from './approval-harness.ts'
import { NATURAL, steeredTool } from './harness.ts'

const policy = (name: string, spec: JsonObject): JsonObject => ({
  kind: 'AgentPolicy',
  metadata: { name },
  spec: { apply_mode: 'global', ...spec },
})

test('S45: rules that read what was spent may ask for more when a call goes on: then the approval is stale', async (t) => {
  const pay = payTool({ approval: { role: 'manager' } })
  const life = await approvalPlace(t, 'memory').open([pay])
  await life.apply(
    role('manager'),
    role('cfo'),
    policy('limit', {
      budgets: [{ tools: ['pay'], per: 'tool', period: '24h', sum: '/amount', max: 100_000 }],
    }),
    policy('large', {
      escalate_to: 'cfo',
      cedar:
        '@decision("escalate") forbid(principal, action, resource == Writ::Tool::"pay") when { context.spend["limit#0"] >= 500000000 };',
    }),
  )
  const manager = life.person('mia', ['manager'])
  // Both are asked about while nothing is spent.
  const first = await ask(life, { amount: 500 }, 'first')
  const second = await ask(life, { amount: 500 }, 'second')
  ok(await manager.approve(first.id))
  assert.equal((await endOf(life, first.answer.callId)).state, 'succeeded')
  ok(await manager.approve(second.id))
  const end = await endOf(life, second.answer.callId)
  assert.deepEqual([end.failure?.id, end.failure?.details.changed], ['approval-stale', ['set of approvers']])
  assert.equal(pay.sends.length, 1)
  const again = await life.agent.call({ tool: 'pay', input: { amount: 500 }, idempotencyKey: 'second' })
  assert.equal(again.failure?.id, 'escalated')
  ok(await manager.approve(approvalIdOf(again)))
  ok(await life.person('zoe', ['cfo']).approve(approvalIdOf(again)))
  assert.equal((await endOf(life, again.callId)).state, 'succeeded')
})

test('S45: a role meets no need that is for holders of approval:decide', async (t) => {
  const pay = payTool()
  const life = await approvalPlace(t, 'memory').open([pay])
  await life.apply(
    role('finance'),
    policy('money', {
      approval: { role: 'finance' },
      rules: [{ tools: ['pay'], decision: 'require-approval' }],
    }),
  )
  const { id, answer } = await ask(life)
  assert.deepEqual(answer.failure?.details.needs, [{ quorum: 1 }, { role: 'finance', quorum: 1 }])
  const said = ok(await life.person('fin', ['finance']).approve(id))
  assert.equal(said.state, 'pending')
  assert.equal(pay.sends.length, 0)
  assert.equal(ok(await life.person('ann').approve(id)).state, 'approved')
  assert.equal((await endOf(life, answer.callId)).state, 'succeeded')
})

test('S44: a policy that makes a dry run of a call while its first attempt runs stops the second', async (t) => {
  const tool = steeredTool('pay', {
    ...NATURAL,
    runtime: { retry: { max_attempts: 3, backoff: '1ms' } },
  })
  const life = await approvalPlace(t, 'memory').open([tool])
  tool.behave(async () => {
    await life.apply(policy('dry', { transforms: [{ tools: ['pay'], dry_run: true }] }))
    throw new Error('no')
  })
  const end = await life.agent.call({ tool: 'pay', input: { amount: 1 } })
  assert.deepEqual([tool.sends.length, end.failure?.details.code], [1, 'policy-changed'])
})
