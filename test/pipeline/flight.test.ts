// What is known of a key between the end of a call and the moment its outcome can be read from the store (S20, S34).
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createRuntime, createWorld } from '../../src/runtime.ts'
import { createMemoryStore } from '../../src/store/memory/memory-store.ts'
import type { Store } from '../../src/store/store.ts'
import { EVERYTHING, gate, READ, type SteeredTool, settleDown, steeredTool } from './harness.ts'

/** A real store whose notes lie around until the test lets them be written. */
async function slowStore(t: TestContext, tool: SteeredTool) {
  const world = createWorld()
  t.after(() => world.network.destroy())
  const store = await createMemoryStore({ world })
  const hold = gate()
  let written = 0
  const slow: Store = {
    ...store,
    get behind() {
      return store.behind
    },
    get failed() {
      return store.failed
    },
    ledger: {
      ...store.ledger,
      async note(write) {
        await hold.opened
        const result = await store.ledger.note(write)
        written++
        return result
      },
    },
  }
  const runtime = await createRuntime({
    world,
    store: { kind: 'given', store: slow },
    tools: [tool.definition],
  })
  t.after(async () => {
    hold.open()
    await runtime.close({ drainMs: 0 })
  })
  const door = runtime.as({ actor: 'a', permissions: EVERYTHING })
  return { door, store, write: hold.open, written: () => written }
}

test('S20: a read is remembered from its end on, not only once its note is written', async (t) => {
  const read = steeredTool('read', READ)
  const { door, store, write, written } = await slowStore(t, read)
  read.behave(() => `answer ${read.sends.length}`)
  const ask = { tool: 'read', input: { a: 1 }, idempotencyKey: 'k' }
  const first = await door.call(ask)
  assert.deepEqual([first.output, first.replayed], ['answer 1', false])
  assert.equal(written(), 0, 'its note is still on the way')
  for (let index = 0; index < 3; index++) {
    const again = await door.call({ ...ask, requestId: `again-${index}` })
    assert.deepEqual([again.output, again.replayed, again.state], ['answer 1', true, 'succeeded'])
    await settleDown()
  }
  const other = await door.call({ ...ask, input: { a: 2 } })
  assert.equal(other.failure?.id, 'key-conflict', 'its payload, too, is remembered')
  assert.equal(read.sends.length, 1)

  write()
  await settleDown(120)
  await store.flush()
  assert.ok(written() > 0)
  const kept = await door.call(ask)
  assert.deepEqual([kept.output, kept.replayed], ['answer 1', true])
  assert.equal(read.sends.length, 1, 'the ledger answers now')
})

test('S16: a read that failed for good is remembered in the same way, a transient failure is not', async (t) => {
  const read = steeredTool('read', { ...READ, output_schema: { type: 'string' } })
  const { door } = await slowStore(t, read)
  read.behave(() => {
    throw new Error('crash')
  })
  const transient = { tool: 'read', idempotencyKey: 'transient' }
  assert.equal((await door.call(transient)).failure?.retryable, true)
  assert.equal((await door.call(transient)).replayed, false)
  assert.equal(read.sends.length, 2)
  read.behave(() => 7)
  const broken = { tool: 'read', idempotencyKey: 'broken' }
  const first = await door.call(broken)
  assert.deepEqual([first.failure?.id, first.failure?.retryable], ['output-invalid', false])
  const second = await door.call(broken)
  assert.deepEqual([second.failure?.id, second.replayed], ['output-invalid', true])
  assert.equal(read.sends.length, 3)
})
