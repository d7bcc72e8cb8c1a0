// What a broken connection, a killed or a frozen PostgreSQL does to writes: nothing is lost, nothing is done twice.
import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { after, before, describe, it } from 'node:test'
import { hashRecord } from '../../../src/store/evidence-chain.ts'
import { Fenced, type Store, StoreUnavailable } from '../../../src/store/store.ts'
import type { World } from '../../../src/util/world.ts'
import { type PostgresServer, startPostgres } from '../../postgres/server.ts'
import { startWire, type Wire } from '../../postgres/wire.ts'
import { insertOf, makeEntry, makeEvidence, OUTCOME, SCOPE, updateOf } from '../fixture.ts'
import { chainOf, withPlace } from './place.ts'

let server: PostgresServer
let wire: Wire

before(async () => {
  server = await startPostgres()
  wire = await startWire(server.port)
})
after(async () => {
  await wire.close()
  await server.stop()
})

const through = (url: string) => url.replace(`:${server.port}/`, `:${wire.port}/`)

/** The chain is whole: numbers follow each other, each link names the one before, each record has its hash. */
async function assertChain(store: Store, epoch: string): Promise<number> {
  const links = await chainOf(store, epoch)
  let prev = ''
  let seq = 0
  for (const [index, link] of links.entries()) {
    assert.equal(link.batch, index + 1)
    assert.equal(link.prev, prev)
    prev = link.hash
    for (const record of link.records) {
      seq += 1
      assert.equal(record.seq, seq)
      assert.equal(
        record.hash,
        hashRecord(epoch, seq, { ...record, body: JSON.stringify(record.body) }),
        `record ${seq}`,
      )
    }
  }
  return seq
}

/** Intends and settles entry after entry until it is told to stop. Gives those whose outcome was acknowledged. */
async function load(store: Store, world: World, until: () => boolean): Promise<string[]> {
  const acknowledged: string[] = []
  while (!until()) {
    const entry = makeEntry(world)
    try {
      await store.ledger.intend({ ...insertOf(entry), evidence: [makeEvidence(entry.callId)] })
    } catch (error) {
      assert.ok(error instanceof StoreUnavailable && !(error instanceof Fenced), String(error))
      await new Promise((resolve) => setTimeout(resolve, 5))
      continue
    }
    const settled = await store.ledger.settle({
      ...updateOf(entry, ['sent', 'done'], { outcome: OUTCOME, settledAt: 2_000 }),
      evidence: [makeEvidence(entry.callId, { type: 'tool.completed' })],
    })
    assert.equal(settled.kind, 'written', 'an outcome that was applied twice would conflict with itself')
    acknowledged.push(entry.key)
  }
  return acknowledged
}

async function assertAll(store: Store, keys: readonly string[]): Promise<void> {
  for (const key of keys) {
    const entry = await store.entries.find(SCOPE, key)
    assert.equal(entry?.state, 'done', key)
    assert.equal(entry?.revision, 2)
    const types = (await store.evidence.forCall('default', key)).map(({ type }) => type)
    assert.deepEqual(types, ['tool.started', 'tool.completed'])
  }
}

describe('a connection that is cut around a commit', () => {
  for (const when of ['before', 'after'] as const) {
    it(`S35: ${when === 'after' ? 'a commit whose acknowledgement is lost is read back' : 'a batch whose commit never arrived is applied again'}: once`, () =>
      withPlace(server, async (place) => {
        const { store, world } = await place.open({ url: through(place.url) })
        const entry = makeEntry(world)
        const cut = wire.cutCommit(when)
        const result = await store.ledger.intend({
          ...insertOf(entry),
          evidence: [makeEvidence(entry.callId)],
        })
        await cut
        assert.equal(result.kind, 'written')
        assert.deepEqual(await store.entries.find(SCOPE, entry.key), entry)
        assert.equal((await store.evidence.forCall('default', entry.callId)).length, 1)
        assert.equal(store.failed, undefined)
        await assertChain(store, world.epoch)
      }))
  }

  it('S35: what a batch came to beside plain writes is read back as it was: conflicts, refusals, adopted entries, timers', () =>
    withPlace(server, async (place) => {
      const other = await place.open({ leaseMs: 60_000 })
      const taken = makeEntry(other.world)
      const due = { kind: 'reconcile', subject: taken.id, inMs: 0, data: { tries: 1 } } as const
      await other.store.ledger.intend({ ...insertOf(taken), timers: [due] })
      await other.store.lives.end()
      const { store, world } = await place.open({ url: through(place.url) })
      const cut = wire.cutCommit('after')
      const again = makeEntry(world, { key: taken.key })
      const [adopted, conflict, illegal, timers, written] = await Promise.allSettled([
        store.entries.adopt(10),
        store.ledger.intend(insertOf(again)),
        store.ledger.intend(updateOf({ ...taken, revision: 2 }, ['compensated'])),
        store.timers.claim(10),
        store.ledger.intend(insertOf(makeEntry(world))),
      ])
      await cut
      const now = { ...taken, epoch: world.epoch, revision: 2 }
      assert.deepEqual(adopted, { status: 'fulfilled', value: [now] })
      assert.deepEqual(conflict, {
        status: 'fulfilled',
        value: { kind: 'conflict', on: 'key', entry: now },
      })
      assert.equal(illegal.status === 'rejected' && illegal.reason.name, 'IllegalWrite')
      assert.ok(timers.status === 'fulfilled')
      assert.deepEqual(
        timers.value.map(({ subject, data }) => ({ subject, data })),
        [{ subject: taken.id, data: { tries: 1 } }],
      )
      assert.deepEqual(written, { status: 'fulfilled', value: { kind: 'written' } })
    }))

  it('S35: a batch that was committed before its life was ended is answered; the next one is fenced', () =>
    withPlace(server, async (place) => {
      const failures: Error[] = []
      const { store, world } = await place.open({
        url: through(place.url),
        onFailed: (error) => failures.push(error),
      })
      const reaper = await place.open()
      const entry = makeEntry(world)
      const cut = wire.cutCommit('after', async () => {
        await place.query('update writ.life set expires = 0 where epoch = $1', [world.epoch])
        assert.deepEqual(await reaper.store.lives.reap(), [world.epoch])
      })
      assert.equal((await store.ledger.intend(insertOf(entry))).kind, 'written')
      await cut
      await assert.rejects(store.ledger.settle(updateOf(entry, ['sent'])), Fenced)
      assert.equal(failures.length, 1)
      assert.ok(store.failed instanceof Fenced)
      assert.equal((await reaper.store.entries.find(SCOPE, entry.key))?.state, 'intended')
    }))

  it('S35: a batch whose commit did not arrive before its life was ended is refused whole', () =>
    withPlace(server, async (place) => {
      const { store, world } = await place.open({ url: through(place.url) })
      const reaper = await place.open()
      const entry = makeEntry(world)
      const cut = wire.cutCommit('before', async () => {
        await place.query('update writ.life set expires = 0 where epoch = $1', [world.epoch])
        // The server may not have noticed yet that the connection is gone: until then the life counts as writing.
        while ((await reaper.store.lives.reap()).length === 0);
      })
      await assert.rejects(store.ledger.intend(insertOf(entry)), Fenced)
      await cut
      assert.equal(await reaper.store.entries.find(SCOPE, entry.key), undefined)
    }))
})

describe('a PostgreSQL that goes', () => {
  it('S35: backends that are ended in the middle of flushes lose nothing and repeat nothing', () =>
    withPlace(server, async (place) => {
      const { store, world } = await place.open()
      let ended = false
      const loads = Promise.all(Array.from({ length: 8 }, () => load(store, world, () => ended)))
      let terminated = 0
      while (terminated < 40) {
        const rows = await server.query(
          `select pg_terminate_backend(pid) from pg_stat_activity
           where datname = $1 and application_name = 'writ' and (xact_start is not null or random() < 0.2)`,
          [place.database],
        )
        terminated += rows.length
      }
      ended = true
      const keys = (await loads).flat()
      assert.ok(keys.length > 0)
      await assertAll(store, keys)
      await assertChain(store, world.epoch)
      assert.equal(store.failed, undefined)
    }))

  it('S37: a server that is killed and comes back has every outcome that was acknowledged; meanwhile only outcomes are taken', () =>
    withPlace(server, async (place) => {
      const told = new EventEmitter()
      const { store, world } = await place.open({
        onAway: (cause) => told.emit('away', cause),
        onBack: () => told.emit('back'),
      })
      const entry = makeEntry(world)
      await store.ledger.intend(insertOf(entry))
      let ended = false
      const loads = Promise.all(Array.from({ length: 8 }, () => load(store, world, () => ended)))
      const away = once(told, 'away')
      await server.kill()
      await away
      assert.equal(store.away, true)
      assert.ok(store.failed instanceof StoreUnavailable)
      await assert.rejects(store.ledger.intend(insertOf(makeEntry(world))), StoreUnavailable)
      await assert.rejects(store.entries.find(SCOPE, entry.key), StoreUnavailable)
      assert.throws(() => store.ledger.note(insertOf(makeEntry(world))), StoreUnavailable)
      const outcome = store.ledger.settle(updateOf(entry, ['sent', 'unknown']))
      const back = once(told, 'back')
      await server.start()
      await back
      assert.equal((await outcome).kind, 'written')
      assert.equal(store.away, false)
      ended = true
      await assertAll(store, (await loads).flat())
      await assertChain(store, world.epoch)
      assert.equal((await store.entries.find(SCOPE, entry.key))?.state, 'unknown')
    }))

  it('a server that stands still is noticed in time, reads do not hang, and everything goes on when it wakes', () =>
    withPlace(server, async (place) => {
      const told = new EventEmitter()
      const { store, world } = await place.open({
        timeoutMs: 500,
        onAway: () => told.emit('away'),
        onBack: () => told.emit('back'),
      })
      const entry = makeEntry(world)
      await store.ledger.intend(insertOf(entry))
      const away = once(told, 'away')
      server.freeze()
      try {
        const from = performance.now()
        const read = assert.rejects(store.entries.find(SCOPE, entry.key), StoreUnavailable)
        const outcome = store.ledger.settle(updateOf(entry, ['sent', 'unknown']))
        await away
        await read
        assert.ok(performance.now() - from < 10_000, `${performance.now() - from} ms`)
        assert.equal(store.away, true)
        const back = once(told, 'back')
        server.thaw()
        await back
        assert.equal((await outcome).kind, 'written')
        assert.equal((await store.entries.find(SCOPE, entry.key))?.revision, 2)
      } finally {
        server.thaw()
      }
    }))

  it('a batch that the server cannot end in time is given longer, until it comes through: once', () =>
    withPlace(server, async (place) => {
      const { store, world } = await place.open({ timeoutMs: 300 })
      const entry = makeEntry(world)
      await store.ledger.intend(insertOf(entry))
      await place.query(`
        create function writ.slow() returns trigger language plpgsql
        as $$ begin perform pg_sleep(0.8); return new; end $$`)
      await place.query('create trigger slow before update on writ.entry execute function writ.slow()')
      const settled = await store.ledger.settle({
        ...updateOf(entry, ['sent', 'unknown']),
        evidence: [makeEvidence(entry.callId)],
      })
      assert.equal(settled.kind, 'written')
      assert.equal((await store.entries.find(SCOPE, entry.key))?.revision, 2)
      assert.equal((await store.evidence.forCall('default', entry.callId)).length, 1)
      assert.equal(store.away, false)
    }))

  it('a connection that breaks while nothing is written is noticed and replaced', () =>
    withPlace(server, async (place) => {
      const told = new EventEmitter()
      const { store, world } = await place.open({ onBack: () => told.emit('back') })
      const back = once(told, 'back')
      await place.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and application_name = 'writ'`,
        [place.database],
      )
      await back
      assert.equal(store.away, false)
      assert.equal((await store.ledger.intend(insertOf(makeEntry(world)))).kind, 'written')
    }))

  it('closing does not wait for ever for a database that is away', () =>
    withPlace(server, async (place) => {
      const { store, world } = await place.open({ closeMs: 50 })
      const entry = makeEntry(world)
      await store.ledger.intend(insertOf(entry))
      await server.kill()
      try {
        const outcome = assert.rejects(
          store.ledger.settle(updateOf(entry, ['sent', 'unknown'])),
          StoreUnavailable,
        )
        await store.close()
        await outcome
      } finally {
        await server.start()
      }
    }))

  it('a database that was set back is not written to any more', () =>
    withPlace(server, async (place) => {
      const { store, world } = await place.open()
      await store.ledger.intend(insertOf(makeEntry(world)))
      await place.query('update writ.life set batch = batch - 1 where epoch = $1', [world.epoch])
      await assert.rejects(store.ledger.intend(insertOf(makeEntry(world))), /was set back/)
      assert.equal(store.away, false)
      assert.ok(store.failed)
    }))
})
