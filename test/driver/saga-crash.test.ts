// An abort survives the death of its process at every write, and two processes that share a store undo once (S29, S35).
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { settleUnknown } from '../../src/pipeline/settle-unknown.ts'
import type { LedgerWrite, Store } from '../../src/store/store.ts'
import type { Json, JsonObject } from '../../src/util/json.ts'
import { book, cancel, type Life, OWNER, pause, type Shared, sharedStore, takeOver } from './undo-harness.ts'

const ALL = ['flight', 'room', 'car']
const REVERSED = ['car', 'room', 'flight']

const undone = (log: readonly Json[]) => log.map((input) => (input as JsonObject).what)

interface Death {
  /** How many writes there were before. */
  writes: number
  /** The one it dies over: it is not on disk, or is and was never acknowledged. */
  readonly on: { readonly write: number; readonly kept: boolean }
}

/** A store whose process hangs at one write for good, as if it had been killed there. */
function dying(store: Store, death: Death): Store {
  const at =
    (run: (write: LedgerWrite) => ReturnType<Store['ledger']['settle']>) => async (write: LedgerWrite) => {
      const number = death.writes++
      if (number > death.on.write || (number === death.on.write && !death.on.kept)) return forever()
      const result = await run(write)
      return number === death.on.write ? forever() : result
    }
  const ledger = { ...store.ledger, intend: at(store.ledger.intend), settle: at(store.ledger.settle) }
  return Object.create(store, { ledger: { value: ledger } }) as Store
}

function forever(): Promise<never> {
  return new Promise(() => {})
}

async function threeMembers(life: Life): Promise<void> {
  await life.as(OWNER).openSaga('trip')
  for (const what of ALL) {
    await life.call({ tool: 'book', input: { what }, saga: 'trip', idempotencyKey: what })
  }
}

/** A person looks into the tool's own log and says what became of each undoing that nobody knows of. */
async function settleByLog(life: Life, log: readonly Json[]): Promise<number> {
  const unknown = await life.store.entries.list({
    namespace: OWNER.namespace,
    states: ['unknown'],
    limit: 100,
  })
  for (const entry of unknown) {
    const input = entry.payload !== undefined && 'inline' in entry.payload ? entry.payload.inline : null
    const happened = undone(log).includes((input as JsonObject).what ?? '')
    await settleUnknown(entry, { as: happened ? 'done' : 'not-done', by: 'person' }, life.kit)
  }
  return unknown.length
}

async function untilEnded(life: Life, shared: Shared, log: readonly Json[]): Promise<string> {
  for (let round = 0; round < 20; round++) {
    await life.drive()
    await settleByLog(life, log)
    const saga = await life.store.sagas.get(OWNER.namespace, 'trip')
    if (saga?.state !== 'aborting') return saga?.state ?? 'gone'
    shared.advance(60_000)
  }
  return 'still aborting'
}

async function dieAt(t: TestContext, write: number, kept: boolean): Promise<'died' | 'survived'> {
  const undo = cancel()
  const shared = await sharedStore(t, [book(), undo])
  await threeMembers(await shared.life())
  const death: Death = { writes: 0, on: { write, kept } }
  const first = await shared.life({ through: (store) => dying(store, death) })
  const aborting = first.as(OWNER).abortSaga('trip', 'no')
  const seen = () => death.writes > write
  const isOver = async () => (await first.store.sagas.get(OWNER.namespace, 'trip'))?.state === 'aborted'
  while (!seen() && !(await isOver())) await pause(1)
  await Promise.race([aborting, pause(1)])

  // The life that hangs is over as soon as the next one begins: it can write nothing any more.
  const next = await takeOver(shared)
  await next.as(OWNER).abortSaga('trip', 'asked again')
  assert.equal(await untilEnded(next, shared, undo.log), 'aborted', `write ${write}, kept: ${kept}`)
  assert.deepEqual(undone(undo.log), REVERSED, `write ${write}, kept: ${kept}`)
  await first.stop()
  await next.stop()
  return seen() ? 'died' : 'survived'
}

for (const kept of [false, true]) {
  const how = kept ? 'is kept and not acknowledged' : 'is lost'
  test(`S29: an abort whose process dies over any write, which ${how}, undoes every member once`, async (t) => {
    let deaths = 0
    while ((await dieAt(t, deaths, kept)) === 'died') deaths++
    // The abort, for each member begin, intent, outcome and end, and the end of the saga.
    assert.ok(deaths >= 1 + 3 * 4 + 1, `only ${deaths} writes were seen`)
  })
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

test('S29: a call whose saga is aborted after it was let in sends nothing: the intent is refused', async (t) => {
  const booking = book()
  const shared = await sharedStore(t, [booking, cancel()])
  const life: Life = await shared.life({
    through: (store) =>
      before(
        store,
        (write) => write.entry?.kind === 'insert',
        () => life.as(OWNER).abortSaga('trip', 'no'),
      ),
  })
  await life.as(OWNER).openSaga('trip')
  const late = await life.call({ tool: 'book', input: { what: 'late' }, saga: 'trip' })
  assert.deepEqual([late.state, late.failure?.id, late.effect], ['invalid', 'saga-closed', 'none'])
  assert.deepEqual(booking.log, [])
})

test('S29: a saga that a call joins while it is being completed stays open', async (t) => {
  const booking = book()
  const shared = await sharedStore(t, [booking, cancel()])
  const { promise, resolve } = Promise.withResolvers<Json>()
  let joined: Promise<unknown> | undefined
  const life: Life = await shared.life({
    through: (store) =>
      before(
        store,
        (write) => write.saga?.kind === 'update' && write.saga.state === 'blocked',
        async () => {
          booking.behave(() => promise)
          joined = life.call({ tool: 'book', input: { what: 'late' }, saga: 'trip', idempotencyKey: 'l' })
          while (booking.log.length < 1) await pause(1)
        },
      ),
  })
  const door = life.as(OWNER)
  await door.openSaga('trip')
  const result = await door.completeSaga('trip')
  assert.equal(result.kind === 'refused' && result.failure.id, 'saga-unfinished')
  assert.equal((await door.getSaga('trip'))?.state, 'open')
  resolve({ id: 1 })
  await joined
  assert.equal((await door.completeSaga('trip')).kind, 'ok')
})

test('S29: a completion whose process dies over any write is finished or forgotten, never stuck', async (t) => {
  for (const write of [0, 1]) {
    for (const kept of [false, true]) {
      const shared = await sharedStore(t, [book(), cancel()])
      await threeMembers(await shared.life())
      const death: Death = { writes: 0, on: { write, kept } }
      const first = await shared.life({ through: (store) => dying(store, death) })
      const completing = first.as(OWNER).completeSaga('trip')
      while (death.writes <= write) await pause(1)
      await Promise.race([completing, pause(1)])
      const next = await takeOver(shared)
      shared.advance(60_000)
      await next.drive()
      const state = (await next.store.sagas.get(OWNER.namespace, 'trip'))?.state
      const lost = write === 0 && !kept
      assert.equal(state, lost ? 'open' : 'completed', `write ${write}, kept: ${kept}`)
    }
  }
})

test('S35: two processes that share a store undo each member once', async (t) => {
  const undo = cancel()
  const shared = await sharedStore(t, [book(), undo])
  const a = await shared.life({ leaseMs: 3_600_000 })
  const b = await shared.life({ leaseMs: 3_600_000 })
  await threeMembers(a)
  undo.behave(async () => {
    await pause(5)
    return 'ok'
  })
  const [first, second] = await Promise.all([
    a.as(OWNER).abortSaga('trip', 'a'),
    b.as(OWNER).abortSaga('trip', 'b'),
  ])
  assert.deepEqual([first.kind, second.kind], ['ok', 'ok'])
  const end = Date.now() + 20_000
  while ((await a.store.sagas.get(OWNER.namespace, 'trip'))?.state !== 'aborted' && Date.now() < end) {
    shared.advance(15_000)
    await pause(5)
  }
  assert.equal((await a.store.sagas.get(OWNER.namespace, 'trip'))?.state, 'aborted')
  assert.deepEqual(undone(undo.log), REVERSED)
})

test('S35: two processes that are asked to undo one call undo it once', async (t) => {
  const undo = cancel()
  const shared = await sharedStore(t, [book(), undo])
  const a = await shared.life({ leaseMs: 3_600_000 })
  const b = await shared.life({ leaseMs: 3_600_000 })
  const done = await a.call({ tool: 'book', input: { what: 'room' } })
  const both = await Promise.all([a.as(OWNER).compensate(done.callId), b.as(OWNER).compensate(done.callId)])
  assert.deepEqual(
    both.map(({ kind }) => kind),
    ['ok', 'ok'],
  )
  shared.advance(60_000)
  await a.drive()
  assert.equal((await b.entry(done.callId)).state, 'compensated')
  assert.deepEqual(undone(undo.log), ['room'])
})
