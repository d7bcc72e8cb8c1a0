// An undoing that another process began: looked up before anything is decided about it, and never made twice (S29, S35).
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createLocalAdmin } from '../../src/contract/caller.ts'
import { compensate, goOnUndoing } from '../../src/pipeline/compensate.ts'
import { runCall } from '../../src/pipeline/run-call.ts'
import { settleUnknown } from '../../src/pipeline/settle-unknown.ts'
import type { Json } from '../../src/util/json.ts'
import {
  book,
  cancel,
  type Life,
  OWNER,
  pause,
  type Shared,
  sharedStore,
  takeOver,
  undoTool,
} from './undo-harness.ts'

const HOUR = 3_600_000
const AWHILE = 600_000

/** Another build of `book`, as in the middle of a deploy. */
const otherBook = () => undoTool('book', { class: 'external-communication' })

async function booked(t: TestContext) {
  const tools = { booking: book(), undo: cancel() }
  const shared = await sharedStore(t, Object.values(tools))
  const life = await shared.life()
  const { callId } = await life.call({ tool: 'book', input: { what: 'room' } })
  return { shared, life, callId, ...tools }
}

const undoingOf = async (life: Life, callId: string) =>
  life.entry((await life.entry(callId)).outcome?.compensation?.callId ?? '')

async function driveFor(life: Life, shared: Shared, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 60_000) {
    await life.drive()
    shared.advance(60_000)
  }
  await life.drive()
}

/** A person has to decide, though nobody knows what the call that undoes came to. */
async function givenUpInQuestion(t: TestContext) {
  const found = await booked(t)
  const { life, undo, callId } = found
  undo.behave(() => {
    throw new Error('lost')
  })
  await life.as(OWNER).compensate(callId)
  const entry = await life.entry(callId)
  assert.equal(entry.state, 'compensating')
  await life.kit.ledger.move(entry, {
    path: ['compensation-failed'],
    timers: [{ kind: 'compensation', subject: entry.id }],
  })
  undo.behave(() => 'ok')
  return found
}

test('S29: a process that lacks the build waits for an undoing that may have happened, and hears its end', async (t) => {
  const { shared, life, undo, callId } = await booked(t)
  undo.behave(() => new Promise(() => {}))
  void life.as(OWNER).compensate(callId)
  while (undo.log.length === 0) await pause(1)
  await life.stop()
  const other = await takeOver(shared, { having: [otherBook(), undo] })
  await driveFor(other, shared, AWHILE)
  assert.equal((await other.entry(callId)).state, 'compensating', 'nobody knows, so it did not fail')
  const undoing = await undoingOf(other, callId)
  assert.equal(undoing.state, 'unknown')
  await settleUnknown(undoing, { as: 'done', by: 'person' }, other.kit)
  await driveFor(other, shared, AWHILE)
  assert.equal((await other.entry(callId)).state, 'compensated', 'to hear it, no build is needed')
  assert.equal(undo.log.length, 1)
})

test('S29: an undoing that was begun waits for the build that says how, and is then made once', async (t) => {
  const { shared, life, undo, callId } = await booked(t)
  await life.stop()
  const dying = { ...life.kit, run: () => new Promise<never>(() => {}) }
  void compensate(await life.entry(callId), OWNER, dying)
  while ((await life.entry(callId)).state !== 'compensating') await pause(1)
  const other = await takeOver(shared, { having: [otherBook(), undo] })
  await driveFor(other, shared, AWHILE)
  assert.deepEqual([(await other.entry(callId)).state, undo.log.length], ['compensating', 0])
  await other.stop()
  const back = await takeOver(shared)
  await driveFor(back, shared, AWHILE)
  assert.deepEqual([(await back.entry(callId)).state, undo.log.length], ['compensated', 1])
})

test('S29: an abort waits for the build that says how a member is undone', async (t) => {
  const { shared, life, undo, booking } = await booked(t)
  await life.as(OWNER).openSaga('trip')
  await life.call({ tool: 'book', input: { what: 'car' }, saga: 'trip', idempotencyKey: 'car' })
  await life.stop()
  const other = await takeOver(shared, { having: [otherBook(), undo] })
  await other.as(OWNER).abortSaga('trip', 'no')
  await driveFor(other, shared, AWHILE)
  assert.equal((await other.as(OWNER).getSaga('trip'))?.state, 'aborting')
  await other.stop()
  const back = await takeOver(shared, { having: [booking, undo] })
  await driveFor(back, shared, AWHILE)
  assert.equal((await back.as(OWNER).getSaga('trip'))?.state, 'aborted')
  assert.equal(undo.log.length, 1)
})

test('S29: no other try while nobody knows what the one before came to', async (t) => {
  const { life, undo, callId } = await givenUpInQuestion(t)
  const undoing = await undoingOf(life, callId)
  const again = await life.as(OWNER).compensate(callId)
  assert.ok(again.kind === 'refused')
  assert.equal(again.failure.id, 'not-compensable')
  assert.ok(again.failure.message.includes(undoing.callId))
  assert.equal(undo.log.length, 1)
  await settleUnknown(undoing, { as: 'not-done', by: 'person' }, life.kit)
  assert.equal((await life.as(OWNER).compensate(callId)).kind, 'ok')
  const entry = await life.entry(callId)
  assert.deepEqual([entry.state, entry.outcome?.compensation?.tries, undo.log.length], ['compensated', 2, 2])
})

test('S29: a try that undid it after all is not followed by another', async (t) => {
  const { life, undo, callId } = await givenUpInQuestion(t)
  await settleUnknown(await undoingOf(life, callId), { as: 'done', by: 'person' }, life.kit)
  assert.equal((await life.as(OWNER).compensate(callId)).kind, 'ok')
  const entry = await life.entry(callId)
  assert.deepEqual([entry.state, entry.outcome?.compensation?.tries, undo.log.length], ['compensated', 1, 1])
})

test('S36: whoever goes on with an undoing does so in the name of the one who asked', async (t) => {
  const { shared, life, undo, callId } = await booked(t)
  await life.stop()
  const dying = { ...life.kit, run: () => new Promise<never>(() => {}) }
  const entry = await life.entry(callId)
  void compensate(entry, createLocalAdmin(), dying)
  while ((await life.entry(callId)).state !== 'compensating') await pause(1)
  const next = await takeOver(shared)
  // The timer alone does not say it.
  await next.store.ledger.settle({
    namespace: entry.namespace,
    timers: [{ kind: 'compensation', subject: entry.id, inMs: 0, data: {} }],
  })
  await next.drive()
  assert.equal(undo.log.length, 1)
  const undoing = await next.kit.ledger.call(
    entry.namespace,
    (await next.entry(callId)).outcome?.compensation?.callId ?? '',
  )
  assert.equal(undoing?.actor, 'local-admin')
})

test('S35: whoever stops waiting for the undoing of another process has not seen it fail', async (t) => {
  const tools = { booking: book(), undo: cancel() }
  const shared = await sharedStore(t, Object.values(tools))
  const a = await shared.life({ leaseMs: HOUR })
  const b = await shared.life({ leaseMs: HOUR })
  const { callId } = await a.call({ tool: 'book', input: { what: 'room' } })
  const reply = Promise.withResolvers<Json>()
  tools.undo.behave(() => reply.promise)
  const undoing = a.as(OWNER).compensate(callId)
  while (tools.undo.log.length === 0) await pause(1)
  await b.stop()
  const entry = await b.entry(callId)
  // The store of this one has no entry of the try yet when it looks, so that it runs, joins and is canceled.
  const late = { ...b.kit.ledger, find: once(() => b.kit.ledger.find) }
  const canceling = {
    ...b.kit,
    ledger: late,
    run: (make: Parameters<typeof b.kit.run>[0]) => {
      const received = make(() => {})
      const answer = runCall(received, b.kit)
      void pause(20).then(() => received.abort.abort('canceled'))
      return answer
    },
  }
  const seen = await goOnUndoing(entry, { runs: 1, looks: 0 }, canceling)
  assert.equal(seen.kind, 'open')
  reply.resolve('ok')
  assert.equal((await undoing).kind, 'ok')
  assert.equal((await a.entry(callId)).state, 'compensated')
  assert.equal(tools.undo.log.length, 1)
})

/** Finds nothing the first time. */
function once(find: () => Life['kit']['ledger']['find']): Life['kit']['ledger']['find'] {
  let looked = false
  return async (scope, key) => {
    if (looked) return find()(scope, key)
    looked = true
    return undefined
  }
}
