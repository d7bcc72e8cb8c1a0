// When checkpoints are made, what they list, how processes share them, and how old evidence goes.
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { createCheckpoints } from '../../src/driver/checkpoints.ts'
import { openAudit } from '../../src/driver/open-audit.ts'
import { createEvents } from '../../src/event/event.ts'
import { makeKeyText, readAuditKey } from '../../src/ledger/audit-key.ts'
import { readCheckpoint } from '../../src/ledger/checkpoint.ts'
import { createMemoryData, type MemoryData } from '../../src/store/memory/memory-data.ts'
import { createMemoryStore } from '../../src/store/memory/memory-store.ts'
import { type Store, StoreUnavailable } from '../../src/store/store.ts'
import type { World } from '../../src/util/world.ts'
import { collect, verify } from '../ledger/audit-fixture.ts'
import { newLife } from '../store/fixture.ts'

const DAY = 86_400_000
const KEY = readAuditKey(makeKeyText())

/** A life whose timers for checkpoints the test runs itself, at a time that it sets. */
function steeredLife(start = 1_800_000_000_000) {
  const system = newLife()
  const due: (() => void)[] = []
  const time = { now: start }
  const world: World = {
    ...system,
    clock: { ...system.clock, now: () => time.now },
    after: (ms, run) => {
      if (ms !== 1_000) return system.after(ms, run)
      due.push(run)
      return { cancel: () => due.splice(due.indexOf(run), 1) }
    },
  }
  return {
    world,
    time,
    timers: due,
    /** A second passes; resolves when the timer is set again. */
    async second() {
      time.now += 1_000
      const run = due.shift()
      assert.ok(run, 'no second is waited for')
      run()
      while (due.length === 0) await new Promise((resolve) => setImmediate(resolve))
    },
  }
}

interface Setup {
  readonly data?: MemoryData
  readonly leaseMs?: number
  readonly at?: number
}

async function setUp(t: TestContext, { data = createMemoryData(), leaseMs, at }: Setup = {}) {
  const life = steeredLife(at)
  const { world } = life
  const store = await createMemoryStore({ world, data, ...(leaseMs === undefined ? {} : { leaseMs }) })
  const events = createEvents()
  const failures: string[] = []
  events.on('audit:failed', ({ message }) => failures.push(message))
  const checkpoints = createCheckpoints({ world, store, events, key: KEY })
  t.after(async () => {
    await checkpoints.stop()
    await store.close()
  })
  const head = async () => (await checkpoints.vouched()).head
  return {
    ...life,
    data,
    store,
    checkpoints,
    head,
    failures,
    rows: () => store.evidence.checkpoints(1, 10_000),
  }
}

async function write(store: Store, at = 1_000): Promise<void> {
  const record = {
    namespace: 'default',
    callId: 'call',
    type: 'tool.started' as const,
    at,
    body: { actor: 'agent' },
  }
  await store.ledger.intend({ namespace: 'default', evidence: [record] })
}

describe('checkpoints', () => {
  it('S39: one is made in each second in which records came, and none in the others', async (t) => {
    const { store, second, rows } = await setUp(t)
    await second()
    assert.equal((await rows()).length, 1, 'the life began')
    await second()
    await second()
    assert.equal((await rows()).length, 1)
    await write(store)
    await write(store)
    await second()
    assert.deepEqual(
      (await rows()).map(({ number }) => number),
      [1, 2],
    )
  })

  it('S39: one lists where all chains end, names the one before, and is signed', async (t) => {
    const { store, head, rows, time } = await setUp(t)
    await head()
    await write(store)
    const made = await head()
    const [first] = await rows()
    assert.ok(made && first)
    const text = readCheckpoint(made.body)
    assert.deepEqual(text?.heads, await store.evidence.ends())
    assert.equal(text?.prev, first.hash)
    assert.equal(made.at, time.now)
    assert.ok(KEY.verifies(made.body, made.signature))
    assert.equal(KEY.verifies(`${made.body} `, made.signature), false)
  })

  it('S39: head makes no second one while nothing came', async (t) => {
    const { head } = await setUp(t)
    assert.deepEqual(await head(), await head())
  })

  it('S34: head counts what is noted and not on disk yet', async (t) => {
    const { store, head } = await setUp(t)
    const record = { namespace: 'default', callId: 'call', type: 'tool.completed' as const, at: 1, body: {} }
    const noted = store.ledger.note({ namespace: 'default', evidence: [record] })
    const made = await head()
    await noted
    assert.equal(readCheckpoint(made?.body ?? '')?.heads[0]?.seq, 2)
  })

  it('S39: the end makes the last one', async (t) => {
    const { store, checkpoints, rows, timers } = await setUp(t)
    await write(store)
    await checkpoints.stop()
    assert.deepEqual(readCheckpoint((await rows()).at(-1)?.body ?? '')?.heads, await store.evidence.ends())
    assert.equal(timers.length, 0)
  })

  it('S39: a chain is listed once as closed, then left out', async (t) => {
    const data = createMemoryData()
    const first = await setUp(t, { data })
    await first.checkpoints.stop()
    await first.store.close()
    const second = await setUp(t, { data })
    const listed = async () => readCheckpoint((await second.head())?.body ?? '')?.heads
    assert.deepEqual(
      (await listed())?.map(({ epoch, closed }) => [epoch, closed]),
      [
        [first.world.epoch, true],
        [second.world.epoch, false],
      ],
    )
    await write(second.store)
    assert.deepEqual(
      (await listed())?.map(({ epoch }) => epoch),
      [second.world.epoch],
    )
    // A later life knows it as well.
    await second.checkpoints.stop()
    await second.store.close()
    const third = await setUp(t, { data })
    const heads = readCheckpoint((await third.head())?.body ?? '')?.heads
    assert.deepEqual(
      heads?.map(({ epoch }) => epoch),
      [second.world.epoch, third.world.epoch],
    )
  })

  it('S39: processes that share a store share one row of checkpoints', async (t) => {
    const data = createMemoryData()
    const one = await setUp(t, { data, leaseMs: 60_000 })
    const two = await setUp(t, { data, leaseMs: 60_000 })
    for (let round = 0; round < 5; round++) {
      await Promise.all([write(one.store), write(two.store)])
      await Promise.all([one.head(), two.head()])
    }
    const rows = await one.rows()
    assert.deepEqual(
      rows.map(({ number }) => number),
      rows.map((_, index) => index + 1),
    )
    for (const [index, row] of rows.entries()) {
      assert.equal(readCheckpoint(row.body)?.prev, rows[index - 1]?.hash ?? '')
    }
    assert.deepEqual(readCheckpoint(rows.at(-1)?.body ?? '')?.heads, await two.store.evidence.ends())
    assert.deepEqual([...one.failures, ...two.failures], [])
  })

  it('S39: a number that is taken is not taken twice', async (t) => {
    const { store, world, rows } = await setUp(t)
    let raced = false
    const evidence = {
      ...store.evidence,
      async addCheckpoint(row: Parameters<typeof store.evidence.addCheckpoint>[0]) {
        if (!raced) {
          raced = true
          // It was written, but the answer got lost: the number is its own.
          await store.evidence.addCheckpoint(row)
          return false
        }
        return store.evidence.addCheckpoint(row)
      },
    }
    const kept: number[] = []
    const anchor = {
      name: '',
      problem: undefined,
      put: ({ number }: { number: number }) => void kept.push(number),
      close: async () => {},
    }
    const other = createCheckpoints({
      world,
      store: Object.create(store, { evidence: { value: evidence } }),
      events: createEvents(),
      key: KEY,
      anchor,
    })
    await other.vouched()
    await other.stop()
    assert.equal((await rows()).length, 1)
    assert.deepEqual(kept, [1], 'it is handed over all the same')
  })

  it('S37: a store that fails is no fault of its checkpoints', async (t) => {
    const { store, world } = await setUp(t)
    const life = steeredLife()
    const events = createEvents()
    const failures: string[] = []
    events.on('audit:failed', ({ message }) => failures.push(message))
    const gone = { ...store.evidence, lastCheckpoint: () => Promise.reject(new StoreUnavailable('gone')) }
    const checkpoints = createCheckpoints({
      world: { ...life.world, epoch: world.epoch },
      store: Object.create(store, { evidence: { value: gone } }),
      events,
      key: KEY,
    })
    await life.second()
    await checkpoints.stop()
    assert.deepEqual(failures, [])
  })

  it('S39: a new key is listed with the old one, and both are trusted', async (t) => {
    const data = createMemoryData()
    const first = await setUp(t, { data })
    await first.checkpoints.stop()
    await first.store.close()
    const world = newLife()
    const store = await createMemoryStore({ world, data })
    const audit = await openAudit(world, store, createEvents(), {})
    const lines = await collect(audit.export())
    await audit.close()
    await store.close()
    assert.equal(Object.keys(JSON.parse(lines[0] as string).public_keys).length, 2)
    const { ok, faults } = await verify(lines)
    assert.deepEqual(faults, [])
    assert.equal(ok, true)
  })
})

describe('dropping old evidence', () => {
  async function untilDone(
    prune: (before: number, limit: number) => Promise<number>,
    before: number,
    limit = 3,
  ) {
    let steps = 0
    for (; (await prune(before, limit)) > 0; steps++) assert.ok(steps < 1_000, 'it never ends')
    return steps
  }

  /** Five days with some links each, one life per day. */
  async function fiveDays(t: TestContext) {
    const data = createMemoryData()
    const start = 1_800_000_000_000
    for (let day = 0; day < 4; day++) {
      const { store, checkpoints, head, time } = await setUp(t, { data, at: start + day * DAY })
      for (let link = 0; link < 3; link++) {
        await write(store, time.now)
        await head()
      }
      await checkpoints.stop()
      await store.close()
    }
    const last = await setUp(t, { data, at: start + 4 * DAY })
    const { world, store } = last
    const audit = await openAudit(world, store, createEvents(), { key: { pem: makeKeyText() } })
    t.after(() => audit.close())
    await write(store, last.time.now)
    return { ...last, data, start, audit }
  }

  const linksOf = async ({ evidence }: Store) => {
    const pages = (await evidence.epochs()).map((epoch) => evidence.links(epoch, 1, 1_000))
    return (await Promise.all(pages)).flat()
  }

  it('S39: nothing goes that is not old enough', async (t) => {
    const { store, checkpoints, start } = await fiveDays(t)
    const before = await linksOf(store)
    assert.equal(await checkpoints.prune(start, 100), 0)
    assert.deepEqual(await linksOf(store), before)
  })

  it('S39: whole prefixes go, and what is left verifies after every step', async (t) => {
    const { store, audit, start } = await fiveDays(t)
    const all = (await linksOf(store)).length
    for (let steps = 0; (await audit.prune(start + 3 * DAY - 1, 1)) > 0; steps++) {
      const { faults, dropped } = await verify(await collect(audit.export()))
      assert.deepEqual(faults, [], `after step ${steps + 1}`)
      assert.ok(dropped)
    }
    const left = await linksOf(store)
    assert.ok(left.length < all)
    assert.ok(
      left.every(({ records }) =>
        records.every(({ type, at }) => type !== 'tool.started' || at > start + DAY),
      ),
    )
  })

  it('S39: a chain that still grows keeps its end', async (t) => {
    const { store, checkpoints, head, time } = await setUp(t)
    for (let link = 0; link < 3; link++) await write(store)
    await head()
    time.now += 3 * DAY
    await untilDone(checkpoints.prune, time.now)
    assert.deepEqual(
      (await linksOf(store)).map(({ batch }) => batch),
      [4],
    )
    await write(store)
    assert.deepEqual(
      (await linksOf(store)).map(({ batch }) => batch),
      [4, 5],
    )
  })

  it('S39: more than was dropped is still missed', async (t) => {
    const { audit, start } = await fiveDays(t)
    await untilDone(audit.prune, start + 2 * DAY)
    const lines = await collect(audit.export())
    const links = lines.flatMap((text, at) => (JSON.parse(text).kind === 'link' ? [at] : []))
    const [first, second] = links.slice(-2) as [number, number]
    const { faults } = await verify(lines.toSpliced(first, second - first))
    assert.ok(
      faults.some(({ kind }) => kind === 'link-missing'),
      JSON.stringify(faults),
    )
    const checkpoint = lines.findIndex((text) => JSON.parse(text).kind === 'checkpoint')
    const cut = await verify(lines.toSpliced(checkpoint, 1))
    assert.ok(
      cut.faults.some(({ kind }) => kind === 'checkpoint-missing'),
      JSON.stringify(cut.faults),
    )
  })

  it('S39: nothing goes while an export reads', async (t) => {
    const { audit, start, store } = await fiveDays(t)
    const before = (await linksOf(store)).length
    const reading = audit.export()[Symbol.asyncIterator]()
    await reading.next()
    assert.equal(await audit.prune(start + 3 * DAY, 100), 0)
    await reading.return?.()
    assert.equal((await linksOf(store)).length, before)
    assert.ok((await audit.prune(start + 3 * DAY, 100)) > 0)
  })
})
