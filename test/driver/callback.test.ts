// Whoever asked is called back when the call that had waited for people has ended: signed, and only where it is allowed.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { createCall } from '../../src/contract/call-options.ts'
import { createRuntime } from '../../src/runtime.ts'
import { startReceiver } from '../notify/fixture.ts'
import { approvalIdOf, payTool } from '../pipeline/approval-harness.ts'
import { EVERYTHING } from '../pipeline/harness.ts'
import { until } from '../pipeline/until.ts'

const SECRET = 'a-secret-that-both-sides-know-0123456789'

async function place(t: TestContext, allow: readonly string[]) {
  const pay = payTool()
  const runtime = await createRuntime({
    tools: [pay.definition],
    callback: { allow, secret: SECRET },
    onWarning: () => {},
  })
  t.after(() => runtime.close({ drainMs: 0 }))
  const agent = runtime.as({ actor: 'agent-a', kind: 'agent', permissions: EVERYTHING })
  const ann = runtime.as({ actor: 'ann', kind: 'person', permissions: ['approval:read', 'approval:decide'] })
  const ask = (callback: string, key: string) => {
    const made = createCall({ tool: 'pay', input: { amount: 500 }, idempotencyKey: key }, () =>
      runtime.mint(),
    )
    assert.ok(made.ok)
    return agent.call({ ...made.call, callback })
  }
  return { runtime, pay, ann, ask }
}

test('S45: the end of an approved and of a denied call is told where its caller asked for it', async (t) => {
  const receiver = await startReceiver(t, () => ({ status: 204 }))
  const origin = new URL(receiver.url).origin
  const { ann, ask } = await place(t, [origin])
  const url = `${origin}/ended`
  const first = await ask(url, 'k1')
  const id = approvalIdOf(first)
  assert.equal(receiver.received.length, 0)
  assert.equal((await ann.approve(id)).kind, 'ok')
  const [told] = await until(() => receiver.received.length === 1 && receiver.received)
  const body = JSON.parse(told?.body ?? '{}')
  assert.equal(body.type, 'call.ended')
  assert.deepEqual(
    [body.call.id, body.call.state, body.approval],
    [first.callId, 'succeeded', { id, state: 'used' }],
  )
  const [, time, mac] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(told?.headers['writ-signature'])) ?? []
  assert.equal(mac, createHmac('sha256', SECRET).update(`${time}.${told?.body}`).digest('hex'))

  const second = await ask(url, 'k2')
  assert.equal((await ann.deny(approvalIdOf(second), { reason: 'no' })).kind, 'ok')
  const [, denied] = await until(() => receiver.received.length === 2 && receiver.received)
  const said = JSON.parse(denied?.body ?? '{}')
  assert.deepEqual([said.call.state, said.call.failure], ['denied', 'approval-denied'])
  assert.notEqual(denied?.headers['writ-event-id'], told?.headers['writ-event-id'])
})

test('a callback to anywhere else is refused with what to do, and nothing is kept of it', async (t) => {
  const { ask, ann, pay } = await place(t, ['https://hooks.example.com'])
  for (const callback of [
    'http://127.0.0.1:9/x',
    'https://hooks.example.com.evil.example/x',
    'https://user:pass@hooks.example.com/x',
    'file:///etc/passwd',
    'nothing',
  ]) {
    const answer = await ask(callback, 'k')
    assert.equal(answer.failure?.id, 'envelope-invalid', callback)
    assert.match(answer.failure?.message ?? '', /Writ-Callback/)
  }
  assert.deepEqual(await ann.listApprovals({ limit: 10 }), [])
  assert.equal(pay.sends.length, 0)
})
