// What a program can do with the client about effects after the call.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Client, ClientError, createClient } from '../../src/client/index.ts'
import { ALICE, type EffectHarness, startEffectHarness } from '../server/effect-harness.ts'
import { TOKEN } from '../server/harness.ts'

let h: EffectHarness
let client: Client
let admin: Client
let ids = 0
before(async () => {
  h = await startEffectHarness()
  client = createClient({ url: h.url, token: ALICE })
  admin = createClient({ url: h.url, token: TOKEN })
})
after(async () => {
  await client.close()
  await admin.close()
  await h.close()
})

async function call(tool: string, input: object = {}, more: object = {}) {
  const reply = await client.call({
    request_id: `client-${++ids}`,
    tool: { name: tool },
    input,
    ...more,
  } as never)
  return { ...reply, id: reply.callId ?? assert.fail('no call') }
}

test('S26: a prepared call is committed with the token of its reply, or rolled back', async () => {
  const first = await call('reserve')
  assert.equal(first.state, 'prepared')
  const done = await client.commitCall(first.id, first.commitToken ?? '')
  assert.deepEqual([done.goesOn, done.call.state], [false, 'succeeded'])
  await assert.rejects(client.commitCall(first.id, first.commitToken ?? ''), (error: ClientError) => {
    assert.deepEqual([error.kind, error.failure, error.status], ['refused', 'commit-repeated', 409])
    return true
  })
  const second = await call('reserve')
  assert.equal((await client.rollbackCall(second.id)).call.effect, 'not-done')
})

test('S28: unknown effects are listed and settled, and a waiter hears of it', async () => {
  const { id, state } = await call('mail')
  assert.equal(state, 'unknown')
  const page = await client.listEntries({ states: ['unknown', 'reconciling'], limit: 1 })
  assert.deepEqual([page.entries[0]?.call_id, page.next_cursor], [id, null])
  assert.deepEqual((await client.listEntries({ states: ['prepared'] })).entries, [])
  await assert.rejects(client.settleCall(id, { as: 'done', reason: 'x' }), ClientError)
  const waiting = client.getCall(id, { waitMs: 20_000 })
  const settled = await admin.settleCall(id, { as: 'done', reason: 'seen', output: { sent: true } })
  assert.equal(settled.call.state, 'succeeded')
  assert.equal((await waiting).state, 'succeeded')
})

test('S29: calls are undone one by one, or together as a saga', async () => {
  const { id } = await call('book', { seat: '1A' })
  assert.deepEqual((await client.compensateCall(id)).call.effect, 'compensated')
  const saga = await client.openSaga('client/trip:1')
  await call('book', { seat: '1B' }, { saga: saga.id })
  assert.equal((await client.getSaga(saga.id)).members.length, 1)
  assert.equal((await client.listSagas({ state: 'open' })).sagas[0]?.id, saga.id)
  assert.ok(['aborting', 'aborted'].includes((await client.abortSaga(saga.id, 'changed my mind')).state))
  const other = await client.openSaga()
  assert.equal((await client.completeSaga(other.id)).state, 'completed')
  await assert.rejects(client.getSaga('nobody'), (error: ClientError) => error.status === 404)
})

test('a tool is verified', async () => {
  const reply = await client.verifyTool('keyed', { input: {}, accept: true })
  assert.deepEqual([reply.verdict, reply.version], ['verified', '1.0.0'])
  await assert.rejects(client.verifyTool('keyed'), ClientError)
})
