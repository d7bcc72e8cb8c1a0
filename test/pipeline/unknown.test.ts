// Effects in question: asked about, heard of late, or settled by a person (S22, S27, S28).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLocalAdmin } from '../../src/contract/caller.ts'
import { createEvents, type EventMap } from '../../src/event/event.ts'
import type { Json, JsonObject } from '../../src/util/json.ts'
import { FENCING, QUERYABLE, runtimeWith, steeredTool, WRITE } from './harness.ts'
import { until } from './until.ts'

const lost = () => {
  throw new Error('the connection broke')
}

test('S27: the tool is asked about the very call, and a done one is answered with its output, sent once', async (t) => {
  const pay = steeredTool('pay', FENCING)
  const { door } = await runtimeWith(t, [pay])
  pay.behave(lost)
  pay.say(() => ({ state: 'done', output: { receipt: 7 } }))
  const answer = await door.call({ tool: 'pay', input: { amount: 1 }, idempotencyKey: 'k' })
  assert.deepEqual([answer.state, answer.effect, answer.output], ['succeeded', 'done', { receipt: 7 }])
  assert.equal(pay.sends.length, 1)
  assert.deepEqual(pay.questions, [{ idempotency_key: pay.sends[0]?.key, input: { amount: 1 } }])
  const replay = await door.call({ tool: 'pay', input: { amount: 1 }, idempotencyKey: 'k' })
  assert.deepEqual([replay.output, replay.replayed], [{ receipt: 7 }, true])
})

test('S27: a done effect of which the tool no longer knows the output says so in a warning', async (t) => {
  const pay = steeredTool('pay', FENCING)
  const { door } = await runtimeWith(t, [pay])
  pay.behave(lost)
  pay.say(() => ({ state: 'done' }))
  const answer = await door.call({ tool: 'pay', input: 1 })
  assert.deepEqual([answer.state, answer.effect, answer.output], ['succeeded', 'done', null])
  assert.match(answer.warnings.join(), /what it returned is not known/)
})

test('S22: not_done of a fencing tool is believed at once, and the call goes on with its next attempt', async (t) => {
  const pay = steeredTool('pay', { ...FENCING, runtime: { retry: { max_attempts: 2, backoff: '1ms' } } })
  const { door } = await runtimeWith(t, [pay])
  let tries = 0
  pay.behave(() => (tries++ === 0 ? lost() : 'paid'))
  pay.say(() => ({ state: 'not_done' }))
  const answer = await door.call({ tool: 'pay', input: 1 })
  assert.deepEqual([answer.state, answer.output, answer.usage.attempt], ['succeeded', 'paid', 2])
})

test('S22: not_done without fencing counts only once the quiet time after the deadline of the send has passed', async (t) => {
  const pay = steeredTool('pay', {
    ...QUERYABLE,
    runtime: { timeout: '250ms', retry: { max_attempts: 4, backoff: '1ms' } },
  })
  const { door } = await runtimeWith(t, [pay])
  let tries = 0
  const at: number[] = []
  pay.behave(() => {
    at.push(performance.now())
    return tries++ === 0 ? lost() : 'paid'
  })
  pay.say(() => ({ state: 'not_done' }))
  const answer = await door.call({ tool: 'pay', input: 1 })
  assert.deepEqual([answer.state, answer.output], ['succeeded', 'paid'])
  const [first = 0, second = 0] = at
  assert.ok(
    second - first >= 545,
    `sent again after ${second - first} ms: 250 of the attempt and 300 of quiet`,
  )
})

test('S27: an answer that cannot be read leaves the effect unknown, and the driver settles it when the tool can say', async (t) => {
  const pay = steeredTool('pay', { ...FENCING, runtime: { timeout: '200ms' } })
  const events = createEvents()
  const settled: EventMap['entry:settled'][] = []
  events.on('entry:settled', (event) => settled.push(event))
  const { door } = await runtimeWith(t, [pay], { events })
  pay.behave(lost)
  pay.say(() => ({ state: 'who knows' }))
  const answer = await door.call({ tool: 'pay', input: 1, idempotencyKey: 'k' })
  assert.deepEqual([answer.state, answer.effect, answer.final], ['unknown', 'unknown', false])
  const [open] = await door.listOpen({ limit: 10 })
  assert.deepEqual([open?.callId, open?.tool, open?.next?.kind], [answer.callId, 'pay', 'reconcile'])
  const blocked = await door.call({ tool: 'pay', input: 1, idempotencyKey: 'k' })
  assert.equal(blocked.failure?.id, 'outcome-unknown')
  pay.say(() => ({ state: 'done', output: 'paid' }))
  const call = await until(async () => {
    const now = await door.getCall(answer.callId)
    return now?.answer?.final ? now : undefined
  })
  assert.deepEqual([call.state, call.effect, call.answer?.output], ['succeeded', 'done', 'paid'])
  assert.deepEqual(
    settled.map((event) => [event.call_id, event.state, event.by]),
    [[answer.callId, 'done', 'status-query']],
  )
  assert.equal(
    (await door.getCall(blocked.callId))?.state,
    'succeeded',
    'and whoever asked meanwhile hears it',
  )
  assert.equal(pay.sends.length, 1)
  assert.deepEqual(await door.listOpen({ limit: 10 }), [])
})

test('S28: a person settles an unknown effect as done or not done, with a reason, and nobody settles it again', async (t) => {
  const pay = steeredTool('pay', WRITE)
  const { runtime, door } = await runtimeWith(t, [pay])
  const admin = runtime.as(createLocalAdmin())
  pay.behave(lost)
  const first = await door.call({ tool: 'pay', input: 1, idempotencyKey: 'done' })
  const second = await door.call({ tool: 'pay', input: 1, idempotencyKey: 'not' })
  assert.deepEqual([first.state, second.state], ['unknown', 'unknown'])
  const done = { as: 'done', reason: 'it is on the statement', output: { receipt: 1 } } as const
  const refused = await door.settle(first.callId, done)
  assert.ok(
    refused.kind === 'refused' && refused.failure.id === 'permission-denied',
    'not by the agent itself',
  )
  const settled = await admin.settle(first.callId, done)
  assert.ok(settled.kind === 'ok')
  assert.deepEqual([settled.record.state, settled.record.effect], ['succeeded', 'done'])
  assert.deepEqual(settled.record.answer?.output, { receipt: 1 })
  assert.match(settled.record.answer?.warnings.join() ?? '', /settled as done by local-admin/)
  const twice = await admin.settle(first.callId, { as: 'not-done', reason: 'no' })
  assert.ok(twice.kind === 'refused' && twice.failure.id === 'not-unknown')
  const replay = await door.call({ tool: 'pay', input: 1, idempotencyKey: 'done' })
  assert.deepEqual([replay.state, replay.output, replay.replayed], ['succeeded', { receipt: 1 }, true])

  const not = await admin.settle(second.callId, { as: 'not-done', reason: 'it is not there' })
  assert.ok(not.kind === 'ok')
  assert.deepEqual(
    [not.record.state, not.record.effect, not.record.answer?.failure?.retryable],
    ['failed', 'not-done', true],
  )
  pay.behave(() => 'paid')
  const again = await door.call({ tool: 'pay', input: 1, idempotencyKey: 'not' })
  assert.deepEqual([again.output, again.usage.attempt], ['paid', 2])
  const empty = await admin.settle(second.callId, { as: 'done', reason: ' ' })
  assert.ok(empty.kind === 'refused' && empty.failure.id === 'input-invalid')
  assert.equal((await admin.settle('nothing', done)).kind, 'not-found')
})

test('S28: a reply that comes after its attempt was given up settles the unknown effect, while no later one was sent', async (t) => {
  const pay = steeredTool('pay', { ...WRITE, runtime: { timeout: '50ms' } })
  const { door } = await runtimeWith(t, [pay])
  const reply = Promise.withResolvers<unknown>()
  pay.behave(() => reply.promise)
  const answer = await door.call({ tool: 'pay', input: 1, idempotencyKey: 'k' })
  assert.deepEqual([answer.state, answer.failure?.id], ['unknown', 'timeout-unknown-commit'])
  reply.resolve('paid after all')
  const call = await until(async () => {
    const now = await door.getCall(answer.callId)
    return now?.answer?.final ? now : undefined
  })
  assert.deepEqual([call.state, call.effect, call.answer?.output], ['succeeded', 'done', 'paid after all'])
  assert.equal(pay.sends.length, 1)
})

test('A tool that is verified gave the same output for one key twice; one that counts is refuted', async (t) => {
  const keyed = {
    class: 'external-communication',
    idempotency: { keyed: { retention: '1h' } },
  }
  const good = steeredTool('good', { effect: keyed as JsonObject })
  const bad = steeredTool('bad', { effect: keyed as JsonObject })
  const write = steeredTool('write', WRITE)
  const { runtime, door } = await runtimeWith(t, [good, bad, write])
  const seen = new Map<string, Json>()
  good.behave((input, context) => {
    const known = seen.get(context.key) ?? { n: seen.size, input: input ?? null }
    seen.set(context.key, known)
    return known
  })
  let count = 0
  bad.behave(() => count++)
  const unsure = await door.verifyTool('good', { input: 1, accept: false })
  assert.ok(unsure.kind === 'refused')
  assert.match(unsure.failure.message, /brings its effect about once/)
  const verified = await door.verifyTool('good', { input: 1, accept: true })
  assert.ok(verified.kind === 'verified', JSON.stringify(verified))
  assert.deepEqual(
    good.sends.map((send) => send.attempt),
    [1, 2],
  )
  const refuted = await door.verifyTool('bad', { input: 1, accept: true })
  assert.equal(refuted.kind, 'refuted')
  const nobody = runtime.as({ actor: 'nobody' })
  for (const name of ['good', 'no-such-tool']) {
    const hidden = await nobody.verifyTool(name, { input: 1, accept: true })
    assert.ok(hidden.kind === 'refused' && hidden.failure.id === 'permission-denied', name)
  }
  const never = await door.verifyTool('write', { input: 1, accept: true })
  assert.ok(never.kind === 'refused')
  assert.equal(write.sends.length, 0)
})
