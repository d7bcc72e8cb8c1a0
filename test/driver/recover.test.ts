// What a start makes of what an earlier life of the process left behind (S36, S18).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { recover } from '../../src/driver/recover.ts'
import { createEvents } from '../../src/event/event.ts'
import { createRuntime, createWorld } from '../../src/runtime.ts'
import { createMemoryStore } from '../../src/store/memory/memory-store.ts'
import { EVERYTHING, READ, settleDown, steeredTool, WRITE } from '../pipeline/harness.ts'

test('An entry that was intended and not settled becomes unknown, row interrupted, and is never sent again', async (t) => {
  const world = createWorld()
  const store = await createMemoryStore({ world })
  const pay = steeredTool('pay', WRITE)
  pay.behave(() => new Promise(() => {}))
  const first = await createRuntime({ world, store: { kind: 'given', store }, tools: [pay.definition] })
  const handle = first
    .as({ actor: 'a', permissions: EVERYTHING })
    .start({ tool: 'pay', input: 1, idempotencyKey: 'k' })
  await settleDown(20)
  assert.equal(pay.sends.length, 1)

  // The first runtime is left hanging, as a killed process would be; a new life opens the same data.
  const next = { ...world, epoch: world.id() }
  const recovered = await recover(next, store, createEvents())
  assert.deepEqual(recovered, { unknown: 1, closed: 0 })
  assert.deepEqual(await recover(next, store, createEvents()), { unknown: 0, closed: 0 })

  const second = await createRuntime({
    world: next,
    store: { kind: 'given', store },
    tools: [pay.definition],
  })
  const door = second.as({ actor: 'a', permissions: EVERYTHING })
  const kept = await door.getCall(handle.id)
  assert.deepEqual(
    [kept?.state, kept?.effect, kept?.answer?.failure?.id],
    ['unknown', 'unknown', 'interrupted'],
  )
  assert.notEqual(kept?.answer?.trace.traceId, '', 'the answer still belongs to its trace')
  const again = await door.call({ tool: 'pay', input: 1, idempotencyKey: 'k' })
  assert.equal(again.failure?.id, 'outcome-unknown')
  assert.equal(pay.sends.length, 1)
  t.after(async () => {
    await first.close({ drainMs: 0 })
    await second.close({ drainMs: 0 })
    await world.network.destroy()
  })
})

test('A call that was accepted and never got an entry is closed as retryable, since nothing was sent', async (t) => {
  const world = createWorld()
  const store = await createMemoryStore({ world })
  const read = steeredTool('read', READ)
  read.behave(() => new Promise(() => {}))
  const first = await createRuntime({ world, store: { kind: 'given', store }, tools: [read.definition] })
  const handle = first.as({ actor: 'a', permissions: EVERYTHING }).start({ tool: 'read', requestId: 'r' })
  await handle.accepted()
  const next = { ...world, epoch: world.id() }
  const second = await createRuntime({
    world: next,
    store: { kind: 'given', store },
    tools: [read.definition],
  })
  t.after(async () => {
    await first.close({ drainMs: 0 })
    await second.close({ drainMs: 0 })
    await world.network.destroy()
  })
  const kept = await second.as({ actor: 'a', permissions: EVERYTHING }).getCall(handle.id)
  assert.deepEqual([kept?.state, kept?.effect, kept?.answer?.failure?.retryable], ['failed', 'none', true])
})

test('S18: what is past its lifetime is erased, and its key answers key-expired until that is forgotten, too', async (t) => {
  const pay = steeredTool('pay', WRITE)
  const world = createWorld()
  const store = await createMemoryStore({ world })
  const runtime = await createRuntime({ world, store: { kind: 'given', store }, tools: [pay.definition] })
  t.after(async () => {
    await runtime.close({ drainMs: 0 })
    await world.network.destroy()
  })
  const door = runtime.as({ actor: 'a', permissions: EVERYTHING })
  const done = await door.call({ tool: 'pay', input: { amount: 1 }, idempotencyKey: 'done' })
  pay.behave(() => {
    throw new Error('lost')
  })
  await door.call({ tool: 'pay', input: { amount: 1 }, idempotencyKey: 'unknown' })
  assert.ok((await store.entries.erase(world.clock.now() + 1, 100)) > 0)
  const expired = await door.call({ tool: 'pay', input: { amount: 1 }, idempotencyKey: 'done' })
  assert.equal(expired.failure?.id, 'key-expired')
  assert.equal(expired.failure?.details.call_id, done.callId)
  const held = await door.call({ tool: 'pay', input: { amount: 1 }, idempotencyKey: 'unknown' })
  assert.equal(held.failure?.id, 'outcome-unknown', 'an unknown entry is never erased')
  assert.equal(pay.sends.length, 2)
  assert.ok((await store.entries.forget(world.clock.now() + 1, 100)) > 0)
  pay.behave(() => 'new')
  assert.equal((await door.call({ tool: 'pay', input: { amount: 1 }, idempotencyKey: 'done' })).output, 'new')
})
