// Several lives on one database: who gets a key, an identity, an orphan, a timer; who is fenced; how they wake each other.
import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { after, before, describe, it } from 'node:test'
import pg from 'pg'
import { Fenced, type WriteResult } from '../../../src/store/store.ts'
import { type PostgresServer, startPostgres } from '../../postgres/server.ts'
import { insertOf, makeEntry, OUTCOME, SCOPE, updateOf } from '../fixture.ts'
import { type Place, withPlace } from './place.ts'

let server: PostgresServer

before(async () => {
  server = await startPostgres()
})
after(() => server.stop())

const wins = (results: readonly WriteResult[]) => results.filter(({ kind }) => kind === 'written').length

/** Brings about that the lease of a life is over. */
const expire = (place: Place, epoch: string) =>
  place.query('update writ.life set expires = 0 where epoch = $1', [epoch])

describe('replicas that race', () => {
  it('S13: of many that claim one key at once exactly one gets it, and all others see its entry', () =>
    withPlace(server, async (place) => {
      const replicas = await Promise.all([place.open(), place.open(), place.open()])
      for (let round = 0; round < 20; round += 1) {
        const key = `key-${round}`
        const results = await Promise.all(
          replicas.flatMap(({ store, world }) =>
            [1, 2].map(() => store.ledger.intend(insertOf(makeEntry(world, { key })))),
          ),
        )
        assert.equal(wins(results), 1)
        const kept = await replicas[0]?.store.entries.find(SCOPE, key)
        for (const result of results)
          if (result.kind === 'conflict')
            assert.deepEqual({ on: result.on, id: result.entry?.id }, { on: 'key', id: kept?.id })
      }
    }))

  it('S14: of many with one identity and keys of their own exactly one is written', () =>
    withPlace(server, async (place) => {
      const replicas = await Promise.all([place.open(), place.open(), place.open()])
      for (let round = 0; round < 20; round += 1) {
        const identity = `identity-${round}`
        const results = await Promise.all(
          replicas.flatMap(({ store, world }) =>
            [1, 2].map(() => store.ledger.intend(insertOf(makeEntry(world, { identity }), 0))),
          ),
        )
        assert.equal(wins(results), 1)
        for (const result of results) if (result.kind === 'conflict') assert.equal(result.on, 'identity')
      }
    }))

  it('an entry that all change from one revision is changed by one', () =>
    withPlace(server, async (place) => {
      const replicas = await Promise.all([place.open(), place.open(), place.open()])
      const [first] = replicas
      const entries = Array.from({ length: 20 }, () => makeEntry(first?.world as never))
      await Promise.all(entries.map((entry) => first?.store.ledger.intend(insertOf(entry))))
      // Each in an order of its own: they would wait for each other in a circle if the store took them so.
      const results = await Promise.all(
        replicas.flatMap(({ store }, index) =>
          (index === 1 ? entries.toReversed() : entries).map((entry) =>
            store.ledger.settle(updateOf(entry, ['sent', 'done'], { outcome: OUTCOME, settledAt: 1 })),
          ),
        ),
      )
      assert.equal(wins(results), entries.length)
    }))

  it('S35: timers that are due go to one replica each, and each goes to somebody', () =>
    withPlace(server, async (place) => {
      const replicas = await Promise.all([place.open(), place.open()])
      const subjects = Array.from({ length: 200 }, (_, index) => `subject-${index}`)
      await replicas[0]?.store.ledger.settle({
        namespace: 'default',
        timers: subjects.map((subject) => ({ kind: 'reconcile', subject, inMs: 0 })),
      })
      const claimed = await Promise.all(
        replicas.map(async ({ store }) => {
          const mine: string[] = []
          for (;;) {
            const timers = await store.timers.claim(7)
            if (timers.length === 0) return mine
            mine.push(...timers.map(({ subject }) => subject))
          }
        }),
      )
      assert.deepEqual(claimed.flat().sort(), subjects.toSorted())
    }))

  it('S36: orphans go to one replica each, and each goes to somebody', () =>
    withPlace(server, async (place) => {
      const gone = await place.open()
      const entries = Array.from({ length: 100 }, () => makeEntry(gone.world))
      await Promise.all(entries.map((entry) => gone.store.ledger.intend(insertOf(entry))))
      await gone.store.lives.end()
      const replicas = await Promise.all([place.open(), place.open()])
      const adopted = await Promise.all(
        replicas.map(async ({ store }) => {
          const mine: string[] = []
          for (;;) {
            const found = await store.entries.adopt(7)
            if (found.length === 0) return mine
            mine.push(...found.map(({ id }) => id))
          }
        }),
      )
      assert.deepEqual(adopted.flat().sort(), entries.map(({ id }) => id).sort())
    }))

  it('S29: nobody joins a saga that another replica aborts', () =>
    withPlace(server, async (place) => {
      const [one, two] = await Promise.all([place.open(), place.open()])
      for (let round = 0; round < 20; round += 1) {
        const entry = makeEntry(one.world)
        const saga = {
          namespace: 'default',
          id: one.world.id(),
          caller: entry.caller,
          state: 'open',
          revision: 1,
          reason: '',
          createdAt: 1,
        } as const
        await one.store.ledger.intend({ namespace: 'default', saga: { kind: 'insert', saga } })
        const joining = one.store.ledger.intend({
          ...insertOf({ ...entry, saga: saga.id }),
          openSaga: saga.id,
        })
        const aborting = two.store.ledger.settle({
          namespace: 'default',
          saga: { kind: 'update', id: saga.id, revision: 1, state: 'aborting' },
        })
        assert.equal((await aborting).kind, 'written')
        const members = await two.store.entries.list({ namespace: 'default', saga: saga.id, limit: 10 })
        const joined = await joining
        assert.equal(members.length, joined.kind === 'written' ? 1 : 0)
      }
    }))
})

describe('lives', () => {
  it('S35: a life whose lease is over is ended by another, and may write nothing more', () =>
    withPlace(server, async (place) => {
      const failed: Error[] = []
      const zombie = await place.open({ onFailed: (error) => failed.push(error) })
      const entry = makeEntry(zombie.world)
      await zombie.store.ledger.intend(insertOf(entry))
      const other = await place.open()
      assert.deepEqual(await other.store.lives.reap(), [], 'its lease lasts')
      await expire(place, zombie.world.epoch)
      assert.deepEqual(await other.store.lives.reap(), [zombie.world.epoch])
      assert.deepEqual(
        (await other.store.entries.adopt(10)).map(({ id, epoch }) => ({ id, epoch })),
        [{ id: entry.id, epoch: other.world.epoch }],
      )
      await assert.rejects(zombie.store.ledger.settle(updateOf(entry, ['sent'])), Fenced)
      assert.ok(zombie.store.failed instanceof Fenced)
      assert.equal(zombie.store.away, false)
      assert.equal(failed.length, 1)
      await assert.rejects(zombie.store.entries.find(SCOPE, entry.key), Fenced)
    }))

  it('S35: a lease that is over harms nobody as long as no other has ended the life; its next write renews it', () =>
    withPlace(server, async (place) => {
      const { store, world } = await place.open()
      const other = await place.open()
      await expire(place, world.epoch)
      assert.equal((await store.ledger.intend(insertOf(makeEntry(world)))).kind, 'written')
      assert.deepEqual(await other.store.lives.reap(), [])
    }))

  it('S35: a life that is writing at this moment is not ended, whatever its lease says', () =>
    withPlace(server, async (place) => {
      const { world } = await place.open()
      const other = await place.open()
      await expire(place, world.epoch)
      const writing = new pg.Client({ connectionString: place.url })
      await writing.connect()
      try {
        await writing.query('begin')
        await writing.query('select 1 from writ.life where epoch = $1 for update', [world.epoch])
        assert.deepEqual(await other.store.lives.reap(), [])
        await writing.query('rollback')
      } finally {
        await writing.end()
      }
      assert.deepEqual(await other.store.lives.reap(), [world.epoch])
    }))

  it('S12: leases run on the clock of the database: one whose own clock is an hour wrong is no less alive', () =>
    withPlace(server, async (place) => {
      const { world } = await place.open()
      const wrong = {
        ...world,
        epoch: world.id(),
        clock: { now: () => world.clock.now() + 3_600_000, monotonic: world.clock.monotonic },
      }
      const other = await place.open({ world: wrong })
      assert.deepEqual(await other.store.lives.reap(), [])
      const lives = await other.store.lives.renew({}, 0)
      assert.deepEqual(
        lives.map(({ epoch, ordinal }) => ({ epoch, ordinal })),
        [
          { epoch: world.epoch, ordinal: 1 },
          { epoch: wrong.epoch, ordinal: 2 },
        ],
      )
    }))

  it('S36: timers that an ended life had in hand are free again', () =>
    withPlace(server, async (place) => {
      const gone = await place.open()
      const other = await place.open()
      await gone.store.ledger.settle({
        namespace: 'default',
        timers: [{ kind: 'rollback', subject: 'a', inMs: 0 }],
      })
      assert.equal((await gone.store.timers.claim(10)).length, 1)
      assert.equal((await other.store.timers.claim(10)).length, 0)
      await expire(place, gone.world.epoch)
      await other.store.lives.reap()
      assert.equal((await other.store.timers.claim(10)).length, 1)
    }))
})

describe('peers', () => {
  it('S38: whoever waits for an entry hears when another replica settles it', () =>
    withPlace(server, async (place) => {
      const [owner, waiter] = await Promise.all([place.open(), place.open()])
      const entry = makeEntry(owner.world)
      await owner.store.ledger.intend(insertOf(entry))
      const heard = new EventEmitter()
      waiter.store.peers?.onChanged((id) => heard.emit('changed', id))
      await listening(place, 2)
      await waiter.store.peers?.await('default', entry.id)
      assert.equal((await waiter.store.entries.get('default', entry.id))?.revision, 1, 'waiting costs none')
      const changed = once(heard, 'changed')
      await owner.store.ledger.settle(updateOf(entry, ['sent', 'done'], { settledAt: 1 }))
      assert.deepEqual(await changed, [entry.id])
    }))

  it('S38: nobody is told of entries that nobody waits for', () =>
    withPlace(server, async (place) => {
      const owner = await place.open()
      const spy = new pg.Client({ connectionString: place.url })
      await spy.connect()
      try {
        const heard: string[] = []
        spy.on('notification', ({ payload }) => heard.push(payload ?? ''))
        await spy.query('listen writ_changed')
        const [quiet, loud] = [makeEntry(owner.world), makeEntry(owner.world)]
        for (const entry of [quiet, loud]) await owner.store.ledger.intend(insertOf(entry))
        await owner.store.peers?.await('default', loud.id)
        const told = once(spy, 'notification')
        for (const entry of [quiet, loud])
          await owner.store.ledger.settle(updateOf(entry, ['sent', 'done'], { settledAt: 1 }))
        await told
        assert.deepEqual(heard, [JSON.stringify({ a: [loud.id] })])
      } finally {
        await spy.end()
      }
    }))

  it('S11: a cancel request reaches the replica that owns the entry', () =>
    withPlace(server, async (place) => {
      const [owner, other] = await Promise.all([place.open(), place.open()])
      const entry = makeEntry(owner.world)
      await owner.store.ledger.intend(insertOf(entry))
      const heard = new EventEmitter()
      owner.store.peers?.onChanged((id) => heard.emit('changed', id))
      other.store.peers?.onChanged(() => assert.fail('it does not own the entry'))
      await listening(place, 2)
      const changed = once(heard, 'changed')
      assert.equal(await other.store.entries.requestCancel('default', entry.id), true)
      assert.deepEqual(await changed, [entry.id])
      assert.deepEqual(await owner.store.entries.cancelRequests(10), [{ namespace: 'default', id: entry.id }])
      assert.deepEqual(await other.store.entries.cancelRequests(10), [])
    }))

  it('S38: what somebody else says on the channel is no hint, and harms nobody', () =>
    withPlace(server, async (place) => {
      const [owner, waiter] = await Promise.all([place.open(), place.open()])
      const entry = makeEntry(owner.world)
      await owner.store.ledger.intend(insertOf(entry))
      const heard: string[] = []
      const woken = new EventEmitter()
      waiter.store.peers?.onChanged((id) => {
        heard.push(id)
        woken.emit('changed')
      })
      await listening(place, 2)
      await waiter.store.peers?.await('default', entry.id)
      const strange = [
        'hello',
        '',
        '[]',
        'null',
        '7',
        '{"a":7,"c":{}}',
        '{"a":[null,7]}',
        '{"c":[7,["x"],[1,2]]}',
      ]
      const changed = once(woken, 'changed')
      for (const text of strange) await place.query('select pg_notify($1, $2)', ['writ_changed', text])
      // It comes after them on the same connection.
      await owner.store.ledger.settle(updateOf(entry, ['sent', 'done'], { settledAt: 1 }))
      await changed
      assert.deepEqual(heard, [entry.id])
    }))

  it('S38: a listener whose connection broke listens again, and looks at what it waited for', () =>
    withPlace(server, async (place) => {
      const [owner, waiter] = await Promise.all([place.open(), place.open()])
      const entry = makeEntry(owner.world)
      await owner.store.ledger.intend(insertOf(entry))
      const heard = new EventEmitter()
      waiter.store.peers?.onChanged((id) => heard.emit('changed', id))
      await listening(place, 2)
      await waiter.store.peers?.await('default', entry.id)
      const woken = once(heard, 'changed')
      await place.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and query like 'listen%'`,
        [place.database],
      )
      assert.deepEqual(await woken, [entry.id])
      await listening(place, 2)
      const changed = once(heard, 'changed')
      await owner.store.ledger.settle(updateOf(entry, ['sent', 'done'], { settledAt: 1 }))
      assert.deepEqual(await changed, [entry.id])
    }))
})

/** Resolves when so many replicas listen. */
async function listening(place: Place, count: number): Promise<void> {
  for (;;) {
    const rows = await place.query(
      `select 1 from pg_stat_activity where datname = $1 and query like 'listen%' and state = 'idle'`,
      [place.database],
    )
    if (rows.length === count) return
  }
}
