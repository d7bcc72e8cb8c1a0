// Rules that hold in rare moments: an outage of the store, an approval that nobody decides, a sweep of one among several.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startLives } from '../../src/driver/lives.ts'
import type { DriverKit } from '../../src/driver/timers.ts'
import { createEvents } from '../../src/event/event.ts'
import { createShare } from '../../src/pipeline/share.ts'
import { createRuntime, createWorld } from '../../src/runtime.ts'
import { createMemoryData } from '../../src/store/memory/memory-data.ts'
import { createMemoryStore } from '../../src/store/memory/memory-store.ts'
import { isTombstone, type LifeStore, type Store, StoreUnavailable } from '../../src/store/store.ts'
import { collect } from '../ledger/audit-fixture.ts'
import { gate, runtimeWith, steeredTool, WRITE } from '../pipeline/harness.ts'
import { until } from '../pipeline/until.ts'
import { keep, makeEntry, newLife } from '../store/fixture.ts'

const LEASE_MS = 60_000
/** As often as a life renews its lease. */
const TICK_MS = LEASE_MS / 5

/** Time that passes only when the test says so; what has to be done at once is. */
function createHands() {
  let now = 1_000_000
  const due: { at: number; run: () => void }[] = []
  const system = newLife()
  const clock = { now: () => now, monotonic: () => now }
  return {
    life: () => ({
      ...newLife(system),
      clock,
      after(ms: number, run: () => void) {
        const one = { at: now + ms, run }
        due.push(one)
        return { cancel: () => void due.splice(due.indexOf(one) >>> 0, 1) }
      },
    }),
    async pass(ms: number) {
      now += ms
      for (const one of due.filter(({ at }) => at <= now)) {
        due.splice(due.indexOf(one), 1)
        one.run()
      }
      // What that set going goes through the queue of the store, which takes some turns of the loop.
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
    },
  }
}

/** Two lives: one renews its lease by itself through a database that can be made to go away, one when told to. */
async function openTwo(t: TestContext) {
  const hands = createHands()
  const data = createMemoryData()
  const [world, other] = [hands.life(), hands.life()]
  const options = { data, leaseMs: LEASE_MS }
  const [own, theirs] = [
    await createMemoryStore({ world, ...options }),
    await createMemoryStore({ world: other, ...options }),
  ]
  let outage: 'waits' | 'fails' | undefined
  let waiting: (() => void)[] = []
  const lives: LifeStore = {
    ...own.lives,
    sendUntil: Number.POSITIVE_INFINITY,
    async renew(over, seen) {
      if (outage === 'fails') throw new StoreUnavailable('the database cannot be reached')
      if (outage === 'waits') await new Promise<void>((resolve) => waiting.push(resolve))
      return own.lives.renew(over, seen)
    },
  }
  const store = Object.create(own, { lives: { value: lives } }) as Store
  const events = createEvents()
  const ended: string[] = []
  events.on('life:ended', ({ epoch }) => ended.push(epoch))
  const kit = { world, store, events, admission: { over: () => ({}) } } as unknown as DriverKit
  const loop = startLives(kit, {
    share: createShare(world.epoch),
    refresh: async () => undefined,
    recover: async () => ({ unknown: 0, closed: 0 }),
    sweep: async () => undefined,
    onCancel: () => {},
  })
  await loop.ready
  t.after(async () => {
    await loop.stop()
    await own.close()
    await theirs.close()
  })
  return {
    pass: hands.pass,
    other: other.epoch,
    ended,
    renewOther: () => theirs.lives.renew({}, 0),
    goAway(how: 'waits' | 'fails') {
      outage = how
    },
    async comeBack() {
      outage = undefined
      for (const resolve of waiting) resolve()
      waiting = []
      await hands.pass(0)
    },
  }
}

for (const how of ['waits', 'fails'] as const) {
  test(`S35: an outage that ${how === 'waits' ? 'holds' : 'fails'} renewals ends nobody's life: whoever is back first gives the others a whole lease`, async (t) => {
    const { pass, goAway, comeBack, renewOther, ended } = await openTwo(t)
    // It is steady: it has kept its own lease for a whole one.
    for (let tick = 0; tick < 7; tick++) {
      await pass(TICK_MS)
      await renewOther()
    }
    goAway(how)
    for (let tick = 0; tick < 10; tick++) await pass(TICK_MS)
    await comeBack()
    for (let tick = 0; tick < 4; tick++) await pass(TICK_MS)
    assert.deepEqual(ended, [], 'the other could not renew its lease either')
    await renewOther()
    for (let tick = 0; tick < 4; tick++) await pass(TICK_MS)
    assert.deepEqual(ended, [])
    assert.ok((await renewOther()).length === 2, 'both are alive')
  })

  test(`S35: after an outage that ${how === 'waits' ? 'holds' : 'fails'} renewals, a life that does not come back within a whole lease is ended`, async (t) => {
    const { pass, goAway, comeBack, other, ended } = await openTwo(t)
    goAway(how)
    for (let tick = 0; tick < 10; tick++) await pass(TICK_MS)
    await comeBack()
    for (let tick = 0; tick < 8; tick++) await pass(TICK_MS)
    assert.deepEqual(ended, [other])
  })
}

test('S16, S45: an approval that nobody decides ends its call, and frees its key', async (t) => {
  const asking = steeredTool('asking', { ...WRITE, approval_triggers: [{ field: '/to', op: 'exists' }] })
  const { runtime, door } = await runtimeWith(t, [asking])
  const call = (more: object) =>
    door.call({ tool: 'asking', input: { to: 'ann' }, idempotencyKey: 'k', ...more })
  const first = await call({ deadlineUnixMs: Date.now() + 150 })
  assert.equal(first.state, 'awaiting-approval')
  const record = await until(async () => {
    const now = await door.getCall(first.callId)
    return now?.answer?.final ? now : undefined
  })
  assert.deepEqual(
    [record.state, record.effect, record.answer?.failure?.id],
    ['denied', 'not-done', 'approval-expired'],
  )
  const lines = (await collect(runtime.audit.export())).map((line) => JSON.parse(line))
  const expired = lines.filter(({ type }) => type === 'approval.expired')
  assert.deepEqual(
    expired.map(({ body }) => JSON.parse(body).entry_id),
    [record.entryId],
  )
  const second = await call({})
  assert.equal(second.state, 'awaiting-approval')
  assert.notEqual(second.failure?.details.approval_id, first.failure?.details.approval_id, 'asked anew')
  assert.equal(asking.sends.length, 0)
})

test('S29: a saga hears that the approval of its member has expired, and asks for a person', async (t) => {
  const asking = steeredTool('asking', { ...WRITE, approval_triggers: [{ field: '/to', op: 'exists' }] })
  const { door } = await runtimeWith(t, [asking])
  assert.equal((await door.openSaga('trip')).kind, 'ok')
  const until150 = { saga: 'trip', deadlineUnixMs: Date.now() + 150 }
  const answer = await door.call({ tool: 'asking', input: { to: 'ann' }, ...until150 })
  assert.equal(answer.state, 'awaiting-approval')
  const state = await until(async () => {
    const now = (await door.getSaga('trip'))?.state
    return now === 'open' ? undefined : now
  })
  assert.equal(state, 'blocked')
})

test('S18: of two replicas one sweeps, and the other leaves it to that one', async (t) => {
  const data = createMemoryData()
  const world = createWorld()
  const sweeps: string[] = []
  const looks = new Map<string, number>()
  let slow = gate()
  slow.open()
  const earlier = newLife()
  const filled = await createMemoryStore({ world: earlier, data, leaseMs: LEASE_MS })
  const settledAt = earlier.clock.now() - 8 * 86_400_000
  const old = await keep(filled, makeEntry(earlier, { state: 'done', settledAt }))
  await filled.lives.end()
  await filled.close()

  async function start(name: string): Promise<Store> {
    const life = { ...world, epoch: world.id() }
    const own = await createMemoryStore({ world: life, data, leaseMs: LEASE_MS })
    const entries = {
      ...own.entries,
      async erase(before: number, limit: number) {
        sweeps.push(name)
        await slow.opened
        return own.entries.erase(before, limit)
      },
    }
    const timers = {
      ...own.timers,
      nextIn() {
        looks.set(name, (looks.get(name) ?? 0) + 1)
        return own.timers.nextIn()
      },
    }
    const store = Object.create(own, { entries: { value: entries }, timers: { value: timers } }) as Store
    const runtime = await createRuntime({
      world: life,
      store: { kind: 'given', store },
      onWarning: () => {},
    })
    t.after(() => runtime.close({ drainMs: 0 }))
    return store
  }
  /** Every replica has looked for timers, and more than once. */
  function looked(): Promise<unknown> {
    const before = new Map(looks)
    return until(() => ['a', 'b'].every((name) => (looks.get(name) ?? 0) > (before.get(name) ?? 0) + 1))
  }

  const a = await start('a')
  await until(() => sweeps.length > 0)
  await start('b')
  await looked()
  assert.deepEqual(sweeps, ['a'], 'a start does not sweep once more')
  const found = await a.entries.find(old.scope, old.key)
  assert.ok(found !== undefined && isTombstone(found))
  slow = gate()
  await a.ledger.settle({ namespace: '', timers: [{ kind: 'retention', subject: '', inMs: 0 }] })
  await until(() => sweeps.length > 1)
  await looked()
  slow.open()
  await until(async () => ((await a.timers.nextIn()) ?? 0) > 1_800_000)
  await looked()
  assert.equal(sweeps.length, 2, 'the next one is in an hour')
  await world.network.destroy()
})
