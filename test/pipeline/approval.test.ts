// A call waits for people, and goes on by itself when they agree (S45).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { approvalPlace, ask, endOf, KINDS, ok, payTool, refusal } from './approval-harness.ts'
import { NATURAL, steeredTool, WRITE } from './harness.ts'

for (const kind of KINDS) {
  test(`S45: approving resumes the call by itself, and it runs once (${kind})`, async (t) => {
    const pay = payTool()
    const life = await approvalPlace(t, kind).open([pay])
    const { answer, id } = await ask(life)
    assert.equal(answer.effect, 'pending')
    const details = answer.failure?.details ?? {}
    assert.deepEqual(details.needs, [{ quorum: 1 }])
    assert.ok(Date.parse(String(details.expires_at)) > Date.now())
    assert.equal(pay.sends.length, 0)

    const approved = ok(await life.person('ann').approve(id, { comment: 'fine' }))
    assert.deepEqual(
      approved.decisions.map(({ by, decision, comment }) => [by, decision, comment]),
      [['ann', 'approved', 'fine']],
    )
    const end = await endOf(life, answer.callId)
    assert.deepEqual([end.state, end.output, end.effect], ['succeeded', 'paid', 'done'])
    assert.equal(pay.sends.length, 1)
    assert.equal((await life.person('ann').getApproval(id))?.state, 'used')
    const again = await life.agent.call({ tool: 'pay', input: { amount: 500 }, idempotencyKey: 'k' })
    assert.deepEqual([again.state, again.replayed, again.output], ['succeeded', true, 'paid'])
    assert.equal(pay.sends.length, 1)
    assert.equal(refusal(await life.person('bob').approve(id)), 'approval-closed')
  })
}

test('S22: what was agreed to may be repeated where that is harmless: it is the same effect, and nobody is asked twice', async (t) => {
  const pay = payTool(NATURAL)
  const undo = steeredTool('undo', WRITE)
  let sends = 0
  pay.behave(() => {
    sends += 1
    if (sends === 1) throw new Error('cut off')
    return 'paid'
  })
  const life = await approvalPlace(t, 'memory').open([pay, undo])
  const { answer, id } = await ask(life)
  ok(await life.person('ann').approve(id))
  const first = await endOf(life, answer.callId)
  assert.deepEqual([first.effect, first.failure?.retryable], ['unknown', true], JSON.stringify(first.failure))
  const again = await life.agent.call({ tool: 'pay', input: { amount: 500 }, idempotencyKey: 'k' })
  assert.deepEqual([again.state, again.output], ['succeeded', 'paid'])
  assert.equal((await life.person('ann').listApprovals({ limit: 5 })).length, 1)
})
