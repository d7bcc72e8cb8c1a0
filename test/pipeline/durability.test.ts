// What waits for the disk and what does not (S34), and what a store that fails means for calls (S37).
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createLocalAdmin } from '../../src/contract/caller.ts'
import { createRuntime, createWorld } from '../../src/runtime.ts'
import { createMemoryStore } from '../../src/store/memory/memory-store.ts'
import { type LedgerStore, type Store, StoreUnavailable } from '../../src/store/store.ts'
import { failingStore } from './failing-store.ts'
import { EVERYTHING, READ, runtimeWith, settleDown, steeredTool, WRITE } from './harness.ts'

/** A real store whose write verbs are counted, and fail when told to. */
async function watchedStore(t: TestContext) {
  const world = createWorld()
  const store = await createMemoryStore({ world })
  t.after(() => world.network.destroy())
  const seen: string[] = []
  const failing = new Set<string>()
  const watch =
    (verb: keyof LedgerStore): LedgerStore[typeof verb] =>
    (write) => {
      // A timer that is set anew belongs to no call.
      if (write.entry !== undefined || write.calls !== undefined) seen.push(verb)
      if (failing.has(verb)) throw new StoreUnavailable(`${verb} fails`)
      return store.ledger[verb](write)
    }
  const watched: Store = {
    ...store,
    get behind() {
      return store.behind
    },
    get failed() {
      return failing.has('all') ? new Error('disk gone') : undefined
    },
    ledger: { intend: watch('intend'), settle: watch('settle'), note: watch('note') },
  }
  return { world, store: watched, seen, failing }
}

async function watchedRuntime(t: TestContext, ...tools: ReturnType<typeof steeredTool>[]) {
  const watched = await watchedStore(t)
  const runtime = await createRuntime({
    world: watched.world,
    store: { kind: 'given', store: watched.store },
    tools: tools.map((tool) => tool.definition),
  })
  t.after(() => runtime.close({ drainMs: 0 }))
  await settleDown()
  watched.seen.length = 0
  return { ...watched, runtime, door: runtime.as({ actor: 'a', permissions: EVERYTHING }) }
}

test('S34: a write waits for the disk exactly twice, a read and a refusal not at all', async (t) => {
  const write = steeredTool('write', WRITE)
  const read = steeredTool('read', READ)
  const { door, seen } = await watchedRuntime(t, write, read)
  write.behave(() => {
    seen.push('sent')
    return 1
  })
  await door.call({ tool: 'write' })
  assert.deepEqual(seen.splice(0), ['intend', 'sent', 'settle'])
  await door.call({ tool: 'read' })
  assert.deepEqual(seen.splice(0), ['note'])
  await door.call({ tool: 'nope' })
  assert.deepEqual(seen.splice(0), ['note'])
})

test('S34: audit strict makes a read wait for its outcome', async (t) => {
  const read = steeredTool('read', { ...READ, audit: 'strict' })
  const confidential = steeredTool('confidential', { ...READ, data_classification: 'confidential' })
  const { runtime, seen } = await watchedRuntime(t, read, confidential)
  // Cleared for it.
  const door = runtime.as(createLocalAdmin())
  for (const tool of ['read', 'confidential']) {
    await door.call({ tool })
    assert.deepEqual(seen.splice(0), ['intend'], `${tool} waits for the disk once`)
  }
})

test('S40: when the intent cannot be written, nothing is sent, and the key is free', async (t) => {
  const write = steeredTool('write', WRITE)
  const { door, failing } = await watchedRuntime(t, write)
  failing.add('intend')
  const refused = await door.call({ tool: 'write', idempotencyKey: 'k' })
  assert.deepEqual(
    [refused.failure?.id, refused.failure?.retryable, refused.effect],
    ['intent-not-recorded', true, 'none'],
  )
  assert.equal(write.sends.length, 0)
  failing.clear()
  assert.equal((await door.call({ tool: 'write', idempotencyKey: 'k' })).state, 'succeeded')
})

test('When the outcome of an effect cannot be written, the caller is told that it is unknown', async (t) => {
  const write = steeredTool('write', WRITE)
  const { door, failing } = await watchedRuntime(t, write)
  failing.add('settle')
  const answer = await door.call({ tool: 'write' })
  assert.deepEqual(
    [answer.failure?.id, answer.failure?.retryable, answer.effect, answer.final],
    ['outcome-not-recorded', false, 'unknown', false],
  )
})

test('S37: an intent or a suspension of which nobody knows whether it is on disk leaves its call open', async (t) => {
  const world = createWorld()
  t.after(() => world.network.destroy())
  const { store, failing } = await failingStore(world)
  const write = steeredTool('write', WRITE)
  const asks = steeredTool('asks', {
    ...WRITE,
    approval_triggers: [{ field: '/amount', op: 'gt', value: 1 }],
  })
  const { door } = await runtimeWith(t, [write, asks], { world, store: { kind: 'given', store } })
  for (const [tool, kept] of [
    ['write', 'intended'],
    ['asks', 'awaiting-approval'],
  ] as const) {
    failing.add('unheard')
    const answer = await door.call({ tool, input: { amount: 2 } })
    failing.clear()
    assert.deepEqual([answer.state, answer.final, answer.failure], ['running', false, undefined], tool)
    const [entry] = await store.entries.list({ namespace: 'default', states: [kept], limit: 1 })
    assert.equal(entry?.callId, answer.callId, `${tool}: it was there`)
  }
  assert.deepEqual([write.sends, asks.sends], [[], []])
})

test('S37: once the store has failed, reads are refused, too, and the runtime is not ready', async (t) => {
  const read = steeredTool('read', READ)
  const { runtime, door, failing } = await watchedRuntime(t, read)
  failing.add('all')
  assert.equal((await door.call({ tool: 'read' })).failure?.id, 'intent-not-recorded')
  assert.equal(read.sends.length, 0)
  assert.equal((await runtime.health()).ready, false)
})

test('A runtime that closes lets calls end, refuses new ones, and leaves what it must abort as unknown', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'writ-close-'))
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  const path = join(folder, 'writ.db')
  const slow = steeredTool('slow', WRITE)
  const stuck = steeredTool('stuck', WRITE)
  const first = await createRuntime({
    store: { kind: 'sqlite', path },
    tools: [slow.definition, stuck.definition],
  })
  const door = first.as({ actor: 'a', permissions: EVERYTHING })
  slow.behave(async () => {
    await settleDown(40)
    return 'ended'
  })
  stuck.behave(() => new Promise(() => {}))
  const ending = door.call({ tool: 'slow', idempotencyKey: 'slow' })
  const hanging = door.call({ tool: 'stuck', idempotencyKey: 'stuck' })
  await settleDown(20)
  const closed = first.close({ drainMs: 150 })
  const late = await door.call({ tool: 'slow' })
  assert.equal(late.failure?.id, 'tool-unhealthy')
  await closed
  assert.equal((await ending).state, 'succeeded')
  const aborted = await hanging
  assert.deepEqual([aborted.failure?.id, aborted.effect], ['interrupted', 'unknown'])

  const second = await createRuntime({
    store: { kind: 'sqlite', path },
    tools: [slow.definition, stuck.definition],
  })
  t.after(() => second.close({ drainMs: 0 }))
  const again = second.as({ actor: 'a', permissions: EVERYTHING })
  assert.equal((await again.call({ tool: 'slow', idempotencyKey: 'slow' })).replayed, true)
  assert.equal((await again.call({ tool: 'stuck', idempotencyKey: 'stuck' })).failure?.id, 'outcome-unknown')
  assert.equal(stuck.sends.length, 1)
  assert.equal((await second.health()).unknownEntries, 1)
})

test('S34: calls that leave the event loop no time still get their notes written, and none is refused', async (t) => {
  const read = steeredTool('read', READ)
  const { door } = await watchedRuntime(t, read)
  for (let index = 0; index < 25_000; index++) {
    const answer = await door.call({ tool: index % 2 === 0 ? 'read' : 'nope' })
    assert.notEqual(answer.failure?.id, 'intent-not-recorded')
  }
})
