// Undoing one effect: a call like any other, at most once, whatever happens on the way (S29).
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createCaller, createLocalAdmin } from '../../src/contract/caller.ts'
import { compensate } from '../../src/pipeline/compensate.ts'
import { settleUnknown } from '../../src/pipeline/settle-unknown.ts'
import type { ActionResult } from '../../src/runtime-api.ts'
import { ToolError } from '../../src/transport/tool-error.ts'
import { book, cancel, type Life, OWNER, sharedStore, takeOver, undoTool } from './undo-harness.ts'

async function oneLife(t: TestContext, tools = [book(), cancel()]) {
  const [first, second] = tools
  assert.ok(first && second)
  const shared = await sharedStore(t, tools)
  return { shared, life: await shared.life(), book: first, cancel: second }
}

const facts = async (life: Life, callId: string): Promise<readonly string[]> =>
  (await life.store.evidence.forCall(OWNER.namespace, callId)).map(({ type }) => type)

function failureOf(result: ActionResult) {
  assert.equal(result.kind, 'refused')
  return result.kind === 'refused' ? result.failure : assert.fail()
}

test('S29: a done effect is undone by the declared tool, with input from input and output of the call', async (t) => {
  const { life, book: tool, cancel: undo } = await oneLife(t)
  tool.behave(() => ({ id: 'r-7' }))
  const done = await life.call({ tool: 'book', input: { what: 'room' } })
  const result = await life.as(OWNER).compensate(done.callId)
  assert.equal(result.kind, 'ok')
  assert.deepEqual(undo.log, [{ what: 'room', ref: 'r-7', why: 'undone' }])
  const entry = await life.entry(done.callId)
  assert.equal(entry.state, 'compensated')
  const record = await life.kit.ledger.call(OWNER.namespace, done.callId)
  assert.deepEqual(
    [record?.state, record?.effect, record?.answer?.effect],
    ['succeeded', 'compensated', 'compensated'],
  )
  const undoing = await life.kit.ledger.call(OWNER.namespace, entry.outcome?.compensation?.callId ?? '')
  assert.deepEqual([undoing?.tool, undoing?.actor, undoing?.state], ['cancel', 'agent-a', 'succeeded'])
  const kept = await facts(life, done.callId)
  assert.deepEqual(kept.slice(-2), ['compensation.started', 'compensation.completed'])
  assert.equal(await life.store.timers.get(OWNER.namespace, 'compensation', entry.id), undefined)
})

test('S29: what was undone is not undone again, and says so', async (t) => {
  const { life, cancel: undo } = await oneLife(t)
  const done = await life.call({ tool: 'book', input: { what: 'room' } })
  await life.as(OWNER).compensate(done.callId)
  const failure = failureOf(await life.as(OWNER).compensate(done.callId))
  assert.deepEqual([failure.id, failure.details.effect_state], ['not-compensable', 'compensated'])
  assert.equal(undo.log.length, 1)
})

test('S29: of two who ask at once one undoes, and both are told', async (t) => {
  const { life, cancel: undo } = await oneLife(t)
  const done = await life.call({ tool: 'book', input: { what: 'room' } })
  const both = await Promise.all([
    life.as(OWNER).compensate(done.callId),
    life.as(OWNER).compensate(done.callId),
  ])
  assert.deepEqual(
    both.map(({ kind }) => kind),
    ['ok', 'ok'],
  )
  assert.equal(undo.log.length, 1)
})

test('S41: whose call it is not does not find it; an admin undoes it in its own name', async (t) => {
  const { life, cancel: undo } = await oneLife(t)
  const done = await life.call({ tool: 'book', input: { what: 'room' } })
  const other = createCaller({ actor: 'agent-b', permissions: OWNER.permissions })
  assert.deepEqual(await life.as(other).compensate(done.callId), { kind: 'not-found' })
  assert.equal((await life.as(createLocalAdmin()).compensate(done.callId)).kind, 'ok')
  assert.equal(undo.log.length, 1)
  const { compensation } = (await life.entry(done.callId)).outcome ?? {}
  const undoing = await life.kit.ledger.call(OWNER.namespace, compensation?.callId ?? '')
  assert.equal(undoing?.actor, 'local-admin')
})

test('S29: what did nothing, only read, or declares no way back is not-compensable', async (t) => {
  const tools = [book(), cancel(), undoTool('look', { class: 'read-only' })]
  const { life, book: tool } = await oneLife(t, tools)
  const plain = await life.call({ tool: 'cancel', input: {} })
  const read = await life.call({ tool: 'look', input: {}, requestId: 'r', idempotencyKey: 'k' })
  tool.behave(() => {
    throw new ToolError('full', { effect: 'none' })
  })
  const failed = await life.call({ tool: 'book', input: { what: 'room' } })
  await life.store.flush()
  const states = []
  for (const { callId } of [plain, read, failed]) {
    const failure = failureOf(await life.as(OWNER).compensate(callId))
    states.push([failure.id, failure.details.effect_state])
  }
  assert.deepEqual(states, [
    ['not-compensable', 'done'],
    ['not-compensable', 'none'],
    ['not-compensable', 'not-done'],
  ])
})

test('S29: a pointer that finds nothing fails before anything is sent, and the effect stays done', async (t) => {
  const { life, book: tool, cancel: undo } = await oneLife(t)
  tool.behave(() => ({ other: 1 }))
  const done = await life.call({ tool: 'book', input: { what: 'room' } })
  const failure = failureOf(await life.as(OWNER).compensate(done.callId))
  assert.equal(failure.id, 'not-compensable')
  assert.deepEqual(failure.details.missing, ['/output/id'])
  assert.deepEqual([undo.log.length, (await life.entry(done.callId)).state], [0, 'done'])
})

test('S29: an undoing that fails for good asks for a person, who can have it tried again', async (t) => {
  const { life, cancel: undo } = await oneLife(t)
  const done = await life.call({ tool: 'book', input: { what: 'room' } })
  undo.behave(() => {
    throw new ToolError('too late', { effect: 'none', retryable: false })
  })
  const failure = failureOf(await life.as(OWNER).compensate(done.callId))
  assert.equal(failure.id, 'compensation-failed')
  assert.equal(failure.details.call_id, done.callId)
  const failed = await life.entry(done.callId)
  assert.equal(failed.state, 'compensation-failed')
  assert.equal(failed.outcome?.compensation?.failure?.id, 'compensation-failed')
  assert.equal((await life.call({ tool: 'book', input: { what: 'x' } })).state, 'succeeded')
  const record = await life.kit.ledger.call(OWNER.namespace, done.callId)
  assert.deepEqual([record?.state, record?.effect], ['succeeded', 'done'], 'its own outcome stays')
  undo.behave(() => 'ok')
  assert.equal((await life.as(OWNER).compensate(done.callId)).kind, 'ok')
  assert.equal((await life.entry(done.callId)).outcome?.compensation?.tries, 2)
  assert.equal(undo.log.length, 2)
  assert.ok((await facts(life, done.callId)).includes('compensation.failed'))
})

test('S36: whoever may no longer call the inverse tool is denied, and nothing is sent', async (t) => {
  const { life, cancel: undo } = await oneLife(t)
  const narrow = createCaller({ actor: 'agent-n', permissions: ['tool:book:invoke'] })
  const done = await life.call({ tool: 'book', input: { what: 'room' } }, narrow)
  const failure = failureOf(await life.as(narrow).compensate(done.callId))
  assert.deepEqual([failure.id, failure.details.failure], ['compensation-failed', 'permission-denied'])
  assert.equal(undo.log.length, 0)
})

test('S29: while nobody knows whether it was undone it stays compensating, until that is settled', async (t) => {
  const { life, shared, cancel: undo } = await oneLife(t)
  const done = await life.call({ tool: 'book', input: { what: 'room' } })
  undo.behave(() => {
    throw new Error('lost')
  })
  assert.equal((await life.as(OWNER).compensate(done.callId)).kind, 'ok')
  assert.equal((await life.entry(done.callId)).state, 'compensating')
  shared.advance(120_000)
  await life.drive()
  assert.equal((await life.entry(done.callId)).state, 'compensating')
  assert.equal(undo.log.length, 1, 'what may have happened is not sent again')
  const { compensation } = (await life.entry(done.callId)).outcome ?? {}
  const undoing = await life.entry(compensation?.callId ?? '')
  assert.equal(undoing.state, 'unknown')
  await settleUnknown(undoing, { as: 'done', by: 'person' }, life.kit)
  shared.advance(120_000)
  await life.drive()
  assert.equal((await life.entry(done.callId)).state, 'compensated')
  assert.equal(undo.log.length, 1)
})

test('S29: an undoing that may be tried again is, five times, and then asks for a person', async (t) => {
  const natural = undoTool('cancel', {
    class: 'external-communication',
    determinism: 'idempotent',
    idempotency: 'natural',
  })
  const { life, shared, cancel: undo } = await oneLife(t, [book(), natural])
  const done = await life.call({ tool: 'book', input: { what: 'room' } })
  undo.behave(() => {
    throw new ToolError('later', { effect: 'none', retryable: true })
  })
  await life.as(OWNER).compensate(done.callId)
  for (let round = 0; round < 8; round++) {
    shared.advance(120_000)
    await life.drive()
  }
  assert.equal((await life.entry(done.callId)).state, 'compensation-failed')
  assert.equal(undo.log.length, 5)
})

test('S29: compensation with requires_approval suspends the undoing, and the effect stays as it is', async (t) => {
  const tools = [
    undoTool('book', {
      class: 'external-communication',
      compensation: { tool: 'cancel', requires_approval: true },
    }),
    cancel(),
  ]
  const { life, shared, cancel: undo } = await oneLife(t, tools)
  const done = await life.call({ tool: 'book', input: { what: 'room' } })
  assert.equal((await life.as(OWNER).compensate(done.callId)).kind, 'ok')
  shared.advance(60_000)
  await life.drive()
  const entry = await life.entry(done.callId)
  assert.equal(entry.state, 'compensating')
  const undoing = await life.entry(entry.outcome?.compensation?.callId ?? '')
  assert.equal(undoing.state, 'awaiting-approval')
  assert.deepEqual(undoing.payload, {
    inline: { idempotency_key: undoing.request?.undoes?.toolKey, input: { what: 'room' } },
  })
  assert.equal(undo.log.length, 0)
})

test('S29: a process that dies before the undoing began leaves a timer from which another goes on', async (t) => {
  const { life, shared, cancel: undo } = await oneLife(t)
  const done = await life.call({ tool: 'book', input: { what: 'room' } })
  await life.stop()
  const dying = { ...life.kit, run: () => new Promise<never>(() => {}) }
  void compensate(await life.entry(done.callId), OWNER, dying)
  while ((await life.entry(done.callId)).state !== 'compensating') await life.store.flush()
  const next = await takeOver(shared)
  await next.drive()
  assert.equal((await next.entry(done.callId)).state, 'compensating', 'never early')
  shared.advance(10_000)
  await next.drive()
  assert.equal((await next.entry(done.callId)).state, 'compensated')
  assert.equal(undo.log.length, 1)
})
