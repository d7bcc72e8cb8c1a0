// Calls that stand or fall together: undone from the last to the first, each once, or left to a person (S29).
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createCaller, createLocalAdmin } from '../../src/contract/caller.ts'
import { settleUnknown } from '../../src/pipeline/settle-unknown.ts'
import type { SagaResult } from '../../src/runtime-api.ts'
import { ToolError } from '../../src/transport/tool-error.ts'
import type { Json, JsonObject } from '../../src/util/json.ts'
import { book, cancel, type Life, OWNER, type Shared, sharedStore, undoTool } from './undo-harness.ts'

const tools = () => ({ booking: book(), undo: cancel(), look: undoTool('look', { class: 'read-only' }) })

async function begin(t: TestContext, used = tools()) {
  const shared = await sharedStore(t, Object.values(used))
  const life = await shared.life()
  const door = life.as(OWNER)
  assert.equal((await door.openSaga('trip')).kind, 'ok')
  return { shared, life, door, ...used }
}

const member = (life: Life, what: string, caller = OWNER) =>
  life.call({ tool: 'book', input: { what }, saga: 'trip', idempotencyKey: what }, caller)

const undone = (log: readonly Json[]) => log.map((input) => (input as JsonObject).what)

const saga = async (life: Life) => (await life.as(OWNER).getSaga('trip')) ?? assert.fail('no such saga')

async function driveOn(life: Life, shared: Shared): Promise<void> {
  await life.drive()
  shared.advance(60_000)
  await life.drive()
}

function failureOf(result: SagaResult) {
  return result.kind === 'refused' ? result.failure : assert.fail(`it was ${result.kind}`)
}

test('S29: an aborted saga is undone from its last member to its first, reads aside', async (t) => {
  const { life, door, undo } = await begin(t)
  for (const what of ['flight', 'room', 'car']) await member(life, what)
  await life.call({ tool: 'look', input: {}, saga: 'trip', idempotencyKey: 'look' })
  const aborting = await door.abortSaga('trip', 'changed my mind')
  assert.equal(aborting.kind, 'ok')
  await life.drive()
  assert.deepEqual(undone(undo.log), ['car', 'room', 'flight'])
  const { state, reason, members, endedAt } = await saga(life)
  assert.deepEqual([state, reason], ['aborted', 'changed my mind'])
  assert.ok(endedAt)
  const writes = members.filter((one) => one.tool === 'book')
  assert.deepEqual(
    writes.map((one) => one.state),
    ['compensated', 'compensated', 'compensated'],
  )
  assert.ok(writes.every((one) => one.compensationCallId !== undefined))
})

test('S29: to abort twice is to abort once', async (t) => {
  const { life, door, undo } = await begin(t)
  await member(life, 'flight')
  const both = await Promise.all([door.abortSaga('trip', 'one'), door.abortSaga('trip', 'two')])
  assert.deepEqual(
    both.map(({ kind }) => kind),
    ['ok', 'ok'],
  )
  await life.drive()
  assert.equal((await door.abortSaga('trip', 'three')).kind, 'ok')
  await life.drive()
  assert.deepEqual(undone(undo.log), ['flight'])
  assert.equal((await saga(life)).reason, 'one')
})

test("S29: a member's final failure aborts its saga by itself", async (t) => {
  const { life, booking, undo } = await begin(t)
  await member(life, 'flight')
  booking.behave(() => {
    throw new ToolError('sold out', { effect: 'none', retryable: false })
  })
  const failed = await member(life, 'room')
  await life.drive()
  assert.deepEqual(undone(undo.log), ['flight'])
  const { state, reason } = await saga(life)
  assert.equal(state, 'aborted')
  assert.ok(reason.includes(failed.callId))
})

test('S29: an unknown member stops its saga; settled, it can be aborted, and what happened is undone', async (t) => {
  const { life, door, booking, undo, shared } = await begin(t)
  await member(life, 'flight')
  booking.behave(() => {
    throw new Error('lost')
  })
  const lost = await member(life, 'room')
  await life.drive()
  const blocked = await saga(life)
  assert.equal(blocked.state, 'blocked')
  assert.ok(blocked.reason.includes(lost.callId))
  const refused = failureOf(await door.completeSaga('trip'))
  assert.equal(refused.id, 'saga-unfinished')
  assert.deepEqual(refused.details.open, [{ call_id: lost.callId, tool: 'book', state: 'unknown' }])
  assert.equal((await door.abortSaga('trip', 'no')).kind, 'ok')
  await life.drive()
  assert.equal((await saga(life)).state, 'blocked', 'nothing is undone past what nobody knows')
  assert.deepEqual(undo.log, [])
  await settleUnknown(
    await life.entry(lost.callId),
    { as: 'done', by: 'person', output: { id: 'r' } },
    life.kit,
  )
  await door.abortSaga('trip', 'now')
  await driveOn(life, shared)
  assert.deepEqual(undone(undo.log), ['room', 'flight'])
  assert.equal((await saga(life)).state, 'aborted')
})

test('S29: a denied call stops its saga, and one of another caller that names it does not', async (t) => {
  const { life, door } = await begin(t)
  const other = createCaller({ actor: 'agent-b' })
  assert.equal((await member(life, 'flight', other)).state, 'denied')
  await life.store.flush()
  await life.drive()
  assert.equal((await saga(life)).state, 'open')
  const narrow = { ...OWNER, permissions: [] }
  const denied = await member(life, 'flight', narrow)
  await life.store.flush()
  await life.drive()
  const { state, reason } = await saga(life)
  assert.deepEqual([state, reason.includes(denied.callId)], ['blocked', true])
  assert.equal((await member(life, 'flight')).failure?.id, 'saga-closed')
  assert.equal((await door.openSaga('trip')).kind, 'ok', 'whoever has decided lets it go on')
  assert.equal((await member(life, 'flight')).state, 'succeeded')
})

test('S29: a failure that may be tried again stops its saga, which goes on when somebody says so', async (t) => {
  const natural = undoTool('book', {
    class: 'external-communication',
    determinism: 'idempotent',
    idempotency: 'natural',
    compensation: { tool: 'cancel' },
  })
  const { life, door } = await begin(t, { ...tools(), booking: natural })
  natural.behave(() => {
    throw new ToolError('busy', { effect: 'none', retryable: true })
  })
  assert.equal((await member(life, 'flight')).failure?.retryable, true)
  await life.drive()
  assert.equal((await saga(life)).state, 'blocked')
  natural.behave(() => ({ id: 1 }))
  assert.equal((await member(life, 'flight')).failure?.id, 'saga-closed')
  await door.openSaga('trip')
  assert.equal((await member(life, 'flight')).state, 'succeeded')
  assert.equal((await door.completeSaga('trip')).kind, 'ok')
})

test('S29: an undoing that fails in the middle stops there; abort again tries it once more', async (t) => {
  const { life, door, undo, shared } = await begin(t)
  for (const what of ['flight', 'room', 'car']) await member(life, what)
  undo.behave((input) => {
    if ((input as JsonObject).what === 'room') throw new ToolError('no', { effect: 'none', retryable: false })
    return 'ok'
  })
  await door.abortSaga('trip', 'no')
  await life.drive()
  const blocked = await saga(life)
  assert.equal(blocked.state, 'blocked')
  assert.deepEqual(
    blocked.members.map(({ state }) => state),
    ['done', 'compensation-failed', 'compensated'],
  )
  await door.abortSaga('trip', 'again')
  await driveOn(life, shared)
  assert.equal((await saga(life)).state, 'blocked', 'it failed again')
  undo.behave(() => 'ok')
  await door.abortSaga('trip', 'again')
  await driveOn(life, shared)
  assert.equal((await saga(life)).state, 'aborted')
  assert.deepEqual(undone(undo.log), ['car', 'room', 'room', 'room', 'flight'])
})

test('S29: what cannot be undone stops its saga, which can be given up as it is', async (t) => {
  const { life, door, undo } = await begin(t)
  await member(life, 'flight')
  await life.call({ tool: 'cancel', input: { what: 'x' }, saga: 'trip', idempotencyKey: 'x' })
  await door.abortSaga('trip', 'no')
  await life.drive()
  const { state, reason } = await saga(life)
  assert.equal(state, 'blocked')
  assert.match(reason, /declares no compensation/)
  assert.deepEqual(undone(undo.log), ['x'])
  assert.equal((await door.completeSaga('trip')).kind, 'ok')
  assert.equal((await saga(life)).state, 'completed')
})

test('S29: no call joins a saga that is not open, is another caller’s, or does not exist', async (t) => {
  const { life, door, booking } = await begin(t)
  const other = createCaller({ actor: 'agent-b', permissions: OWNER.permissions })
  assert.equal((await member(life, 'a', other)).failure?.id, 'saga-closed')
  const nowhere = await life.call({ tool: 'book', input: { what: 'a' }, saga: 'nowhere' })
  assert.equal(nowhere.failure?.id, 'saga-closed')
  await door.abortSaga('trip', 'no')
  const late = await member(life, 'a')
  assert.deepEqual([late.failure?.id, late.effect], ['saga-closed', 'none'])
  assert.deepEqual(booking.log, [])
  assert.deepEqual(await life.as(other).abortSaga('trip', 'no'), { kind: 'not-found' })
  assert.equal(await life.as(other).getSaga('trip'), undefined)
  assert.equal((await life.as(other).openSaga('trip')).kind, 'refused')
  assert.equal((await life.as(createLocalAdmin()).getSaga('trip'))?.caller.actor, 'agent-a')
})

test('S29: a call that was let in and joins while its saga is aborted sends nothing, or is undone', async (t) => {
  const { life, door, booking, undo, shared } = await begin(t)
  const [late, aborted] = await Promise.all([member(life, 'late'), door.abortSaga('trip', 'no')])
  assert.equal(aborted.kind, 'ok')
  await driveOn(life, shared)
  assert.equal((await saga(life)).state, 'aborted')
  if (late.state === 'succeeded') assert.deepEqual(undone(undo.log), ['late'])
  else assert.deepEqual([late.failure?.id, booking.log.length], ['saga-closed', 0])
})

test('S29: an abort waits for a member that is still running, and undoes it then', async (t) => {
  const { life, door, booking, undo, shared } = await begin(t)
  await member(life, 'flight')
  const { promise, resolve } = Promise.withResolvers<Json>()
  booking.behave(() => promise)
  const running = member(life, 'slow')
  while (booking.log.length < 2) await life.store.flush()
  await door.abortSaga('trip', 'no')
  await life.drive()
  assert.equal((await saga(life)).state, 'aborting')
  assert.deepEqual(undo.log, [])
  resolve({ id: 's' })
  assert.equal((await running).state, 'succeeded')
  await driveOn(life, shared)
  assert.deepEqual(undone(undo.log), ['slow', 'flight'])
})

test('S29: of abort and complete at once exactly one holds', async (t) => {
  for (let round = 0; round < 10; round++) {
    const { life, door, undo, shared } = await begin(t)
    await member(life, 'flight')
    const [completed, aborted] = await Promise.all([door.completeSaga('trip'), door.abortSaga('trip', 'no')])
    await driveOn(life, shared)
    const { state } = await saga(life)
    assert.ok(state === 'completed' || state === 'aborted', state)
    assert.equal(completed.kind, state === 'completed' ? 'ok' : 'refused')
    assert.equal(aborted.kind, state === 'aborted' ? 'ok' : 'refused')
    assert.equal(undo.log.length, state === 'aborted' ? 1 : 0)
    await life.stop()
  }
})

test('S29: a saga that a process died over while completing it is completed by the next', async (t) => {
  const { life, shared } = await begin(t)
  await member(life, 'flight')
  const found = await life.store.sagas.get(OWNER.namespace, 'trip')
  await life.store.ledger.intend({
    namespace: OWNER.namespace,
    saga: { kind: 'update', id: 'trip', revision: found?.revision ?? 0, state: 'blocked' },
    timers: [{ kind: 'saga', subject: 'trip', inMs: 10_000, data: { completing: true } }],
  })
  const next = await shared.life()
  await driveOn(next, shared)
  assert.equal((await saga(next)).state, 'completed')
})

test('S29: an open saga is opened again without harm, and ids that cannot be kept are refused', async (t) => {
  const { life, door } = await begin(t)
  await member(life, 'flight')
  const again = await door.openSaga('trip')
  assert.equal(again.kind === 'ok' && again.saga.members.length, 1)
  assert.equal(failureOf(await door.openSaga('a b')).id, 'envelope-invalid')
  const minted = await door.openSaga()
  assert.equal((await door.listSagas({ limit: 10 })).length, 2)
  assert.ok(minted.kind === 'ok' && minted.saga.id !== 'trip')
  assert.deepEqual(await door.completeSaga('nowhere'), { kind: 'not-found' })
})

test('S17: a dry run is no member of the saga it names', async (t) => {
  const { life, door } = await begin(t)
  await life.call({ tool: 'book', input: { what: 'a' }, saga: 'trip', dryRun: true })
  assert.deepEqual((await saga(life)).members, [])
  assert.equal((await door.completeSaga('trip')).kind, 'ok')
})

test('S29: an undoing that waits for approval holds its saga, and nothing older is undone', async (t) => {
  const guarded = undoTool('book', {
    class: 'external-communication',
    compensation: { tool: 'cancel', requires_approval: true },
  })
  const { life, door, undo, shared } = await begin(t, { ...tools(), booking: guarded })
  await member(life, 'flight')
  const last = await member(life, 'room')
  await door.abortSaga('trip', 'no')
  await driveOn(life, shared)
  const { state, members } = await saga(life)
  assert.equal(state, 'aborting')
  assert.deepEqual(
    members.map((one) => one.state),
    ['done', 'compensating'],
  )
  const undoing = (await life.entry(last.callId)).outcome?.compensation?.callId ?? ''
  assert.equal((await life.entry(undoing)).state, 'awaiting-approval')
  assert.deepEqual(undo.log, [])
})

test('S29: a member that waits for approval is canceled by the abort: nothing was sent for it', async (t) => {
  const asks = undoTool(
    'book',
    { class: 'external-communication', compensation: { tool: 'cancel' } },
    { approval_triggers: [{ field: '/what', op: 'eq', value: 'yacht' }] },
  )
  const { life, door, booking, undo } = await begin(t, { ...tools(), booking: asks })
  await member(life, 'flight')
  const waiting = await member(life, 'yacht')
  assert.equal(waiting.state, 'awaiting-approval')
  assert.equal(failureOf(await door.completeSaga('trip')).id, 'saga-unfinished')
  await door.abortSaga('trip', 'no')
  await life.drive()
  assert.equal((await life.entry(waiting.callId)).state, 'canceled')
  assert.deepEqual([booking.log.length, undo.log.length], [1, 1])
  assert.equal((await saga(life)).state, 'aborted')
})
