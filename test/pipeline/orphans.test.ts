// S10: who stopped waiting for a call that left nothing behind is closed on record, so that every process tells the same.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createWorld } from '../../src/runtime.ts'
import { createMemoryStore } from '../../src/store/memory/memory-store.ts'
import { type Store, StoreUnavailable, type WriteResult } from '../../src/store/store.ts'
import { gate, runtimeWith, steeredTool, WRITE } from './harness.ts'
import { until } from './until.ts'

/** A runtime whose intents wait for the test; reads can be refused, as those of a database that is away. */
async function held(t: TestContext) {
  const world = createWorld()
  t.after(() => world.network.destroy())
  const real = await createMemoryStore({ world })
  const answer = gate<'written' | 'refused'>()
  let away = false
  const refused = () => Promise.reject(new StoreUnavailable('the database cannot be reached'))
  const store: Store = Object.create(real, {
    ledger: {
      value: {
        ...real.ledger,
        intend: async (write: Parameters<Store['ledger']['intend']>[0]): Promise<WriteResult> => {
          if (write.entry === undefined || (await answer.opened) === 'written')
            return real.ledger.intend(write)
          return refused()
        },
      },
    },
    entries: {
      value: {
        ...real.entries,
        get: (namespace: string, id: string) => (away ? refused() : real.entries.get(namespace, id)),
      },
    },
  })
  const tool = steeredTool('t', WRITE)
  const { door } = await runtimeWith(t, [tool], { world, store: { kind: 'given', store } })
  const owner = door.call({ tool: 't', idempotencyKey: 'same' })
  const joined = await door.call({ tool: 't', idempotencyKey: 'same', deadlineUnixMs: Date.now() + 200 })
  assert.equal(joined.state, 'running')
  return {
    tool,
    door,
    owner,
    joined,
    answer,
    onRecord: () => real.calls.get('default', joined.callId),
    beAway: (now: boolean) => {
      away = now
    },
  }
}

test('S10: a call that left nothing behind closes who no longer waits for it, on record and for good', async (t) => {
  const { tool, door, owner, joined, answer, onRecord } = await held(t)
  answer.open('refused')
  assert.equal((await owner).state, 'failed')
  const record = await until(async () => {
    const now = await onRecord()
    return now?.state === 'running' ? undefined : now
  })
  assert.equal(record.state, 'failed')
  assert.equal(record.effect, 'none')
  assert.equal(record.answer?.failure?.id, 'interrupted')
  assert.deepEqual((await door.getCall(joined.callId))?.answer, record.answer)
  assert.equal(tool.sends.length, 0)
})

test('S10: while nobody could ask the database, it is closed when somebody asks for it', async (t) => {
  const { door, owner, joined, answer, onRecord, beAway } = await held(t)
  beAway(true)
  answer.open('refused')
  await owner
  await assert.rejects(door.getCall(joined.callId), StoreUnavailable)
  await until(async () => (await onRecord())?.state === 'running')
  beAway(false)
  const shown = await door.getCall(joined.callId)
  assert.equal(shown?.state, 'failed')
  assert.deepEqual((await onRecord())?.answer, shown?.answer)
})

test('S10: who no longer waits for a call that came to something learns what it came to', async (t) => {
  const { tool, door, owner, joined, answer } = await held(t)
  assert.equal((await door.getCall(joined.callId))?.state, 'running', 'it is under way')
  answer.open('written')
  assert.equal((await owner).state, 'succeeded')
  assert.equal((await door.getCall(joined.callId))?.state, 'succeeded')
  assert.equal(tool.sends.length, 1)
})

test('S10: who left is told what came of the key when another one took the call over', async (t) => {
  const world = createWorld()
  t.after(() => world.network.destroy())
  const real = await createMemoryStore({ world })
  const first = gate()
  let intents = 0
  const intend: Store['ledger']['intend'] = async (write) => {
    if (write.entry === undefined || ++intents > 1) return real.ledger.intend(write)
    await first.opened
    throw new StoreUnavailable('away for a moment')
  }
  const store: Store = Object.create(real, { ledger: { value: { ...real.ledger, intend } } })
  const tool = steeredTool('t', WRITE)
  const { door } = await runtimeWith(t, [tool], { world, store: { kind: 'given', store } })
  const same = { tool: 't', idempotencyKey: 'same' }
  const owner = door.call(same)
  const leaving = door.call({ ...same, deadlineUnixMs: Date.now() + 200 })
  const staying = door.call(same)
  const left = await leaving
  assert.equal(left.state, 'running')
  first.open()
  assert.equal((await owner).failure?.id, 'intent-not-recorded')
  assert.equal((await staying).state, 'succeeded')
  await until(async () => (await door.getCall(left.callId))?.state === 'succeeded')
  assert.equal(tool.sends.length, 1)
})
