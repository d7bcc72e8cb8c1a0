// What members come to while their saga is being completed, was stopped, or lost its process: all of it counts (S29).
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { settleUnknown } from '../../src/pipeline/settle-unknown.ts'
import type { SagaResult } from '../../src/runtime-api.ts'
import type { LedgerWrite, Store } from '../../src/store/store.ts'
import { ToolError } from '../../src/transport/tool-error.ts'
import type { Json, JsonObject } from '../../src/util/json.ts'
import { until } from '../pipeline/until.ts'
import {
  cancel,
  type Life,
  OWNER,
  pause,
  type Shared,
  sharedStore,
  takeOver,
  undoTool,
} from './undo-harness.ts'

/** What `book` is told to do comes with its input; `natural` makes its repeat harmless. */
type How = 'works' | 'fails' | 'busy' | 'lost' | 'hangs'

const NATURAL = { determinism: 'idempotent', idempotency: 'natural' }

async function trip(t: TestContext, { natural = false, through = (store: Store) => store } = {}) {
  const effect = { class: 'external-communication', compensation: { tool: 'cancel' } }
  const booking = undoTool('book', { ...effect, ...(natural ? NATURAL : {}) })
  const undo = cancel()
  const held = Promise.withResolvers<never>()
  held.promise.catch(() => {})
  let mended = false
  booking.behave((input) => {
    const { how, what } = input as { how: How; what: string }
    if (how === 'works' || mended) return { id: what }
    if (how === 'fails') throw new ToolError('sold out', { effect: 'none', retryable: false })
    if (how === 'busy') throw new ToolError('busy', { effect: 'none', retryable: true })
    if (how === 'hangs') return held.promise
    throw new Error('lost')
  })
  const shared = await sharedStore(t, [booking, undo])
  const life = await shared.life({ through })
  await life.as(OWNER).openSaga('trip')
  return {
    shared,
    life,
    door: life.as(OWNER),
    booking,
    undo,
    /** From now on it works, whatever it is told. */
    mend() {
      mended = true
    },
    failHeld: () => held.reject(new ToolError('sold out', { effect: 'none', retryable: false })),
  }
}

const member = (life: Life, what: string, how: How = 'works') =>
  life.call({ tool: 'book', input: { what, how }, saga: 'trip', idempotencyKey: what })

const saga = async (life: Life) => (await life.as(OWNER).getSaga('trip')) ?? assert.fail('no such saga')

const undone = (log: readonly Json[]) => log.map((input) => ((input as JsonObject).input as JsonObject).what)

const failureOf = (result: SagaResult) =>
  result.kind === 'refused' ? result.failure : assert.fail(`it was ${result.kind}`)

async function driveOn(life: Life, shared: Shared): Promise<void> {
  for (let round = 0; round < 3; round++) {
    await life.drive()
    shared.advance(60_000)
  }
  await life.drive()
}

/** The life that began these is gone; nobody knows what became of them. */
async function leftUnknown(t: TestContext, names: readonly string[]) {
  const begun = await trip(t, { natural: true })
  const { life, booking, mend, shared } = begun
  for (const what of names) void member(life, what, 'hangs')
  while (booking.log.length < names.length) await pause(1)
  await life.stop()
  mend()
  return { ...begun, life: await takeOver(shared) }
}

test('S29: a saga is not completed past a member that failed for good a moment before', async (t) => {
  const { life, door, undo, shared } = await trip(t)
  await member(life, 'flight')
  const busy = holdTimers(life)
  const failed = await member(life, 'room', 'fails')
  const refused = failureOf(await door.completeSaga('trip'))
  busy.release()
  assert.equal(refused.id, 'saga-closed')
  assert.ok(refused.message.includes(failed.callId))
  await driveOn(life, shared)
  assert.equal((await saga(life)).state, 'aborted')
  assert.deepEqual(undone(undo.log), ['flight'])
})

test('S29: a failure a moment before that may be tried again stops a completion once', async (t) => {
  const { life, door } = await trip(t, { natural: true })
  await member(life, 'flight')
  const busy = holdTimers(life)
  await member(life, 'room', 'busy')
  assert.equal(failureOf(await door.completeSaga('trip')).details.saga_state, 'blocked')
  busy.release()
  await life.drive()
  assert.equal((await saga(life)).state, 'blocked')
  assert.equal((await door.completeSaga('trip')).kind, 'ok', 'somebody takes it as it is')
})

test('S29: a member that joins and fails while its saga is being completed is not lost', async (t) => {
  let life: Life | undefined
  const begun = await trip(t, {
    through: (store) =>
      before(
        store,
        (write) => write.saga?.kind === 'update' && write.saga.state === 'blocked',
        async () => life && member(life, 'room', 'fails'),
      ),
  })
  life = begun.life
  await member(life, 'flight')
  const refused = failureOf(await begun.door.completeSaga('trip'))
  assert.deepEqual([refused.id, refused.details.saga_state], ['saga-closed', 'aborting'])
  await driveOn(life, begun.shared)
  assert.equal((await saga(life)).state, 'aborted')
  assert.deepEqual(undone(begun.undo.log), ['flight'])
})

test('S29: a member whose intent is on record too late to be sent is not lost', async (t) => {
  const late = Promise.withResolvers<void>()
  const { life, booking } = await trip(t, {
    through: (store) =>
      before(
        store,
        (write) => write.entry?.kind === 'insert',
        () => late.promise,
      ),
  })
  const answer = await life.call({
    tool: 'book',
    input: { what: 'flight', how: 'works' },
    saga: 'trip',
    timeoutMs: 100,
  })
  assert.equal(answer.state, 'running', 'nobody knows yet whether it is on record')
  late.resolve()
  const closed = { namespace: OWNER.namespace, saga: 'trip', states: ['not-done'], limit: 1 } as const
  await until(async () => (await life.store.entries.list(closed)).length === 1)
  await life.drive()
  const { state, reason } = await saga(life)
  assert.deepEqual([state, booking.log], ['blocked', []])
  assert.match(reason, /timeout-before-send/)
})

test('S29: a member that fails for good while its saga is stopped aborts it once that is decided', async (t) => {
  const { life, door, booking, undo, shared, failHeld } = await trip(t)
  await member(life, 'flight')
  const running = member(life, 'room', 'hangs')
  while (booking.log.length < 2) await pause(1)
  const lost = await member(life, 'car', 'lost')
  await life.drive()
  assert.equal((await saga(life)).state, 'blocked')
  failHeld()
  assert.equal((await running).state, 'failed')
  await driveOn(life, shared)
  assert.equal((await saga(life)).state, 'blocked', 'a person is asked about another call')
  assert.deepEqual(undo.log, [])
  await settleUnknown(await life.entry(lost.callId), { as: 'not-done', by: 'person' }, life.kit)
  assert.equal(failureOf(await door.openSaga('trip')).details.saga_state, 'aborting')
  await driveOn(life, shared)
  assert.equal((await saga(life)).state, 'aborted')
  assert.deepEqual(undone(undo.log), ['flight'])
})

test('S29: whoever lets a stopped saga go on has decided about all that may be tried again', async (t) => {
  const { life, door, shared, mend } = await trip(t, { natural: true })
  await Promise.all([
    member(life, 'flight', 'busy'),
    member(life, 'room', 'busy'),
    member(life, 'car', 'busy'),
  ])
  await driveOn(life, shared)
  assert.equal((await saga(life)).state, 'blocked')
  const opened = await door.openSaga('trip')
  assert.equal(opened.kind === 'ok' && opened.saga.reason, '')
  await driveOn(life, shared)
  assert.equal((await saga(life)).state, 'open')
  mend()
  assert.equal((await member(life, 'flight', 'busy')).state, 'succeeded')
})

test('S22: a member that is harmless to repeat is sent again after a crash, and its saga goes on', async (t) => {
  const { life, booking, shared } = await leftUnknown(t, ['flight', 'room'])
  await driveOn(life, shared)
  const { state, reason, members } = await saga(life)
  assert.deepEqual(
    members.map((one) => one.state),
    ['done', 'done'],
  )
  assert.deepEqual([state, reason, booking.log.length], ['open', '', 4])
  assert.equal((await member(life, 'car')).state, 'succeeded')
})

test('S29: a saga that several unknown members have stopped goes on when the last of them is known', async (t) => {
  const { life, shared } = await trip(t)
  const lost = await Promise.all([member(life, 'flight', 'lost'), member(life, 'room', 'lost')])
  await life.drive()
  const { reason } = await saga(life)
  // The one that it was stopped for comes first.
  const inTurn = lost.toSorted(
    (a, b) => Number(reason.includes(b.callId)) - Number(reason.includes(a.callId)),
  )
  const states = []
  for (const { callId } of inTurn) {
    await settleUnknown(await life.entry(callId), { as: 'done', by: 'status-query' }, life.kit)
    await driveOn(life, shared)
    states.push((await saga(life)).state)
  }
  assert.deepEqual(states, ['blocked', 'open'])
  const facts = await life.store.evidence.forCall(OWNER.namespace, 'trip')
  assert.deepEqual(
    facts.map(({ type }) => type),
    ['saga.opened', 'saga.blocked', 'saga.open'],
    'no call could join in between',
  )
})

test('S22: the caller of an unknown member may send it again itself, though its saga was stopped', async (t) => {
  const { life, booking, mend } = await trip(t, { natural: true })
  await member(life, 'flight', 'lost')
  await life.drive()
  assert.equal((await saga(life)).state, 'blocked')
  mend()
  const sent = booking.log.length
  assert.equal((await member(life, 'flight', 'lost')).state, 'succeeded')
  assert.equal(booking.log.length, sent + 1)
  assert.equal((await member(life, 'room')).failure?.id, 'saga-closed', 'nobody else joins by that')
})

test('S29: a saga that was to be undone when it met an unknown member stays stopped', async (t) => {
  const { life, booking, undo, shared } = await trip(t, { natural: true })
  void member(life, 'flight', 'hangs')
  while (booking.log.length < 1) await pause(1)
  await life.as(OWNER).abortSaga('trip', 'no')
  await life.stop()
  // Nothing is sent again before the abort has met it.
  const next = await takeOver(shared, { having: [undo] })
  await driveOn(next, shared)
  const { state, reason, members } = await saga(next)
  assert.deepEqual([state, members.map((one) => one.state)], ['blocked', ['unknown']])
  await settleUnknown(
    await next.entry(members[0]?.callId ?? ''),
    { as: 'done', by: 'status-query' },
    next.kit,
  )
  await driveOn(next, shared)
  assert.deepEqual([(await saga(next)).state, (await saga(next)).reason], ['blocked', reason])
})

test('S28: a member that a person settles leaves its saga to that person', async (t) => {
  const { life, door, shared } = await trip(t)
  const lost = await member(life, 'flight', 'lost')
  await life.drive()
  await settleUnknown(await life.entry(lost.callId), { as: 'done', by: 'person' }, life.kit)
  await driveOn(life, shared)
  assert.equal((await saga(life)).state, 'blocked')
  assert.equal((await door.openSaga('trip')).kind, 'ok')
})

/** Until released, whatever becomes due here waits: the timers of this process are slow. */
function holdTimers(life: Life): { release(): void } {
  const { claim } = life.store.timers
  let held = true
  Object.assign(life.store.timers, {
    claim: (limit: number) => (held ? Promise.resolve([]) : claim(limit)),
  })
  return {
    release() {
      held = false
    },
  }
}

/** A store that lets something else happen first, once, before a write that `is` the one. */
function before(store: Store, is: (write: LedgerWrite) => boolean, happen: () => Promise<unknown>): Store {
  let happened = false
  const intend: Store['ledger']['intend'] = async (write) => {
    if (!happened && is(write)) {
      happened = true
      await happen()
    }
    return store.ledger.intend(write)
  }
  return Object.create(store, { ledger: { value: { ...store.ledger, intend } } }) as Store
}
