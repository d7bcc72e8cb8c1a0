// A caller that was stopped does not go on under another name, nor by its own hand (S44).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { approvalPlace, KINDS, payTool, refusal } from './approval-harness.ts'
import { EVERYTHING, steeredTool, WRITE } from './harness.ts'

for (const kind of KINDS) {
  test(`S44: an agent that is frozen is so behind a service, too, and others of that service are not (${kind})`, async (t) => {
    const tool = steeredTool('note', WRITE)
    tool.behave(() => 'ok')
    const life = await approvalPlace(t, kind).open([tool])
    const gateway = life.as({ actor: 'gateway', kind: 'service', agents: ['*'], permissions: EVERYTHING })
    const call = (agent: string) => gateway.call({ tool: 'note', input: {}, agent })
    assert.equal((await life.admin.freeze({ what: 'caller', name: 'bot' }, { reason: 'loop' })).kind, 'ok')
    assert.equal((await call('bot')).failure?.id, 'frozen')
    assert.equal(tool.sends.length, 0)
    assert.equal((await call('other')).state, 'succeeded')
    assert.equal((await call('nul\0')).state, 'succeeded', 'a name that no stop can have')
    assert.equal((await life.admin.thaw({ what: 'caller', name: 'bot' }, { reason: 'mended' })).kind, 'ok')
    assert.equal((await call('bot')).state, 'succeeded')
  })
}

test('S44: whoever is frozen thaws nothing, though it may freeze and thaw', async (t) => {
  const life = await approvalPlace(t, 'memory').open([])
  const op = life.as({ actor: 'op', kind: 'person', permissions: ['freeze:write'] })
  await life.admin.freeze({ what: 'caller', name: 'op' }, { reason: 'leaked' })
  assert.equal(refusal(await op.thaw({ what: 'caller', name: 'op' }, { reason: 'me' })), 'frozen')
  assert.equal((await op.freeze({ what: 'tool', name: 'pay' }, { reason: 'careful' })).kind, 'ok')
  assert.equal(refusal(await op.thaw({ what: 'tool', name: 'pay' }, { reason: 'me' })), 'frozen')
  await life.admin.thaw({ what: 'caller', name: 'op' }, { reason: 'new token' })
  assert.equal((await op.thaw({ what: 'tool', name: 'pay' }, { reason: 'fine' })).kind, 'ok')
})

test('S44: a grant of somebody who is frozen by now covers nothing; after the thaw it does again', async (t) => {
  const pay = payTool()
  const life = await approvalPlace(t, 'memory').open([pay])
  assert.equal((await life.person('ann').makeGrant({ tool: 'pay', ttlMs: 60_000 })).kind, 'ok')
  const call = async () => (await life.agent.call({ tool: 'pay', input: { amount: 500 } })).state
  assert.equal(await call(), 'succeeded')
  await life.admin.freeze({ what: 'caller', name: 'ann' }, { reason: 'left' })
  assert.equal(await call(), 'awaiting-approval')
  await life.admin.thaw({ what: 'caller', name: 'ann' }, { reason: 'back' })
  assert.equal(await call(), 'succeeded')
})
