// What people agreed to is this very call, by these very rules: whatever has changed when it goes on is seen (S36, S45).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../src/util/json.ts'
import { approvalPlace, ask, endOf, KINDS, type Life, ok, payTool, role } from './approval-harness.ts'
import { EVERYTHING } from './harness.ts'
import { until } from './until.ts'

const policy = (name: string, spec: JsonObject): JsonObject => ({
  kind: 'AgentPolicy',
  metadata: { name },
  spec: { apply_mode: 'global', ...spec },
})

/** Agreed to by the one of two who have to, so that what changes is there before the last one agrees. */
const TWO = { approval: { quorum: 2 } }

async function changedBeforeTheEnd(
  life: Life,
  change: () => Promise<void>,
): Promise<{ callId: string; id: string }> {
  const { answer, id } = await ask(life)
  ok(await life.person('ann').approve(id))
  await change()
  ok(await life.person('bob').approve(id))
  return { callId: answer.callId, id }
}

for (const kind of KINDS) {
  test(`S45: another policy makes an approval stale, and frees the key (${kind})`, async (t) => {
    const pay = payTool(TWO)
    const life = await approvalPlace(t, kind).open([pay])
    const { callId, id } = await changedBeforeTheEnd(life, () =>
      life.apply(
        policy('more', { rules: [{ tools: ['pay'], decision: 'require-approval', reason: 'new rule' }] }),
      ),
    )
    const end = await endOf(life, callId)
    assert.deepEqual([end.state, end.effect, end.failure?.id], ['denied', 'not-done', 'approval-stale'])
    assert.deepEqual(end.failure?.details.changed, ['policy'])
    assert.equal((await life.person('ann').getApproval(id))?.state, 'stale')
    assert.equal(pay.sends.length, 0)
    const again = await ask(life)
    assert.notEqual(again.id, id, 'asked anew, with the same key')
  })

  test(`S43, S45: an approval never fits another payload, though it is policy that makes it another (${kind})`, async (t) => {
    const pay = payTool(TWO)
    const life = await approvalPlace(t, kind).open([pay])
    const { callId } = await changedBeforeTheEnd(life, () =>
      life.apply(
        policy('clamp', { transforms: [{ tools: ['pay'], clamp: { field: '/amount', max: 200 } }] }),
      ),
    )
    const end = await endOf(life, callId)
    assert.equal(end.failure?.id, 'approval-stale')
    assert.match(JSON.stringify(end.failure?.details.changed), /payload/)
    assert.equal(pay.sends.length, 0)
    const next = await ask(life)
    const shown = await life.person('ann').getApproval(next.id)
    assert.deepEqual([shown?.shown, shown?.asked], [{ inline: { amount: 200 } }, { inline: { amount: 500 } }])
    ok(await life.person('ann').approve(next.id))
    ok(await life.person('bob').approve(next.id))
    assert.equal((await endOf(life, next.answer.callId)).state, 'succeeded')
    assert.deepEqual(
      pay.sends.map(({ input }) => input),
      [{ amount: 200 }],
      'what was shown is what is sent',
    )
  })

  test(`S45: a policy about something else leaves an approval as it is (${kind})`, async (t) => {
    const pay = payTool(TWO)
    const life = await approvalPlace(t, kind).open([pay])
    const { callId } = await changedBeforeTheEnd(life, () =>
      life.apply(policy('other', { target_tools: ['mail'], rules: [{ tools: ['mail'], decision: 'deny' }] })),
    )
    assert.equal((await endOf(life, callId)).state, 'succeeded')
    assert.equal(pay.sends.length, 1)
  })

  test(`S36: a caller who may no longer is denied when its call goes on, and nothing is sent (${kind})`, async (t) => {
    const pay = payTool(TWO)
    const life = await approvalPlace(t, kind).open([pay])
    await life.apply(role('payer', EVERYTHING))
    const payer = life.as({ actor: 'agent-a', kind: 'agent', roles: ['payer'] })
    const answer = await payer.call({ tool: 'pay', input: { amount: 500 }, idempotencyKey: 'k' })
    const id = String(answer.failure?.details.approval_id)
    ok(await life.person('ann').approve(id))
    await life.apply(role('payer', ['tool:other:invoke']))
    ok(await life.person('bob').approve(id))
    const end = await endOf(life, answer.callId)
    assert.deepEqual([end.state, end.failure?.id], ['denied', 'permission-denied'])
    assert.equal((await life.person('ann').getApproval(id))?.state, 'stale')
    assert.equal(pay.sends.length, 0)
    await life.apply(role('payer', EVERYTHING))
    const again = await payer.call({ tool: 'pay', input: { amount: 500 }, idempotencyKey: 'k' })
    assert.equal(again.state, 'awaiting-approval', 'S16: a denial is not remembered')
  })

  test(`where nobody has to agree any more, the call goes on and uses its approval up all the same (${kind})`, async (t) => {
    const pay = payTool({ approval_triggers: [] })
    const life = await approvalPlace(t, kind).open([pay])
    const ask2 = { tools: ['pay'], decision: 'require-approval' }
    await life.apply(policy('asks', { rules: [ask2], approval: { quorum: 2 } }))
    const { answer, id } = await ask(life)
    ok(await life.person('ann').approve(id))
    await life.apply(policy('asks', { rules: [{ ...ask2, decision: 'allow' }], approval: { quorum: 2 } }))
    ok(await life.person('bob').approve(id))
    assert.equal((await endOf(life, answer.callId)).state, 'succeeded')
    assert.equal((await life.person('ann').getApproval(id))?.state, 'used')
    assert.equal(pay.sends.length, 1)
  })

  test(`an escalation is decided by the role that it names, and answers with its own row (${kind})`, async (t) => {
    const pay = payTool({ approval_triggers: [] })
    const life = await approvalPlace(t, kind).open([pay])
    await life.apply(
      role('specialist'),
      policy('asks', { rules: [{ tools: ['pay'], decision: 'escalate' }], escalate_to: 'specialist' }),
    )
    const { answer, id } = await ask(life)
    assert.equal(answer.failure?.id, 'escalated')
    assert.equal((await life.person('ann').approve(id)).kind, 'refused')
    ok(await life.person('sam', ['specialist']).approve(id))
    assert.equal((await endOf(life, answer.callId)).state, 'succeeded')
  })
}

test('S49: another build of the tool makes an approval stale', async (t) => {
  const place = approvalPlace(t, 'memory')
  const pay = payTool(TWO)
  const first = await place.open([pay])
  const { answer, id } = await ask(first)
  ok(await first.person('ann').approve(id))
  first.kill()
  const other = payTool({ ...TWO, runtime: { timeout: '7s' } })
  const second = await place.open([other])
  ok(await second.person('bob').approve(id))
  const end = await endOf(second, answer.callId)
  assert.equal(end.failure?.id, 'approval-stale')
  assert.deepEqual([pay.sends.length, other.sends.length], [0, 0])
})

test('S16: what only stands in the way for now does not cost the approval', async (t) => {
  const pay = payTool({ limits: { concurrency: 1 } })
  const life = await approvalPlace(t, 'memory').open([pay])
  const busy = Promise.withResolvers<string>()
  pay.behave(() => busy.promise)
  const small = life.agent.start({ tool: 'pay', input: { amount: 1 }, idempotencyKey: 'small' })
  await until(() => pay.sends.length === 1)
  const { answer, id } = await ask(life)
  ok(await life.person('ann').approve(id))
  pay.behave(() => 'paid')
  busy.resolve('small')
  assert.equal((await small.answer()).output, 'small')
  assert.equal((await endOf(life, answer.callId)).output, 'paid')
  assert.equal(pay.sends.length, 2)
})
