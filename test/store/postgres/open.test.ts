// What a store says about a database that it cannot use, and how several replicas begin on an empty one.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, it } from 'node:test'
import { fixedPart } from '../../../src/store/entry-fixed.ts'
import { slotOf } from '../../../src/store/postgres/encode.ts'
import { createPostgresStore } from '../../../src/store/postgres/postgres-store.ts'
import { StoreUnavailable } from '../../../src/store/store.ts'
import { type PostgresServer, startPostgres } from '../../postgres/server.ts'
import { insertOf, makeEndedCall, makeEntry, makeSpend, newLife, SCOPE, updateOf } from '../fixture.ts'
import { withPlace } from './place.ts'

let server: PostgresServer

before(async () => {
  server = await startPostgres()
})
after(() => server.stop())

/** What opening says; it never holds the password. */
async function refusal(url: string, startMs = 0): Promise<string> {
  const error: unknown = await createPostgresStore({ world: newLife(), url, startMs }).then(
    async (store) => {
      await store.close()
      return assert.fail('it opened')
    },
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof StoreUnavailable, String(error))
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    assert.doesNotMatch(`${at.message} ${at.stack} ${JSON.stringify(at)}`, /a-secret|wrong-secret/)
  }
  return error.message
}

describe('a database that cannot be used is refused, with what to do', () => {
  it('a wrong password', async () => {
    assert.match(
      await refusal(server.url('postgres', { password: 'wrong-secret' })),
      /refuses the user or the password of postgres:\/\/writ@127\.0\.0\.1:\d+\/postgres: .* Correct them/,
    )
  })

  it('no password', async () => {
    assert.match(
      await refusal(server.url().replace(/:a-secret[^@]*/, '')),
      /refuses the user or the password/,
    )
  })

  it('a database that does not exist', async () => {
    assert.match(await refusal(server.url('nowhere')), /database "nowhere" does not exist: create it/)
  })

  it('a url that is none, or one of something else', async () => {
    assert.match(
      await refusal('postgres://writ:a-secret@[x/db'),
      /cannot be read: it must look like postgres:/,
    )
    assert.match(await refusal('mysql://writ:a-secret@host/db'), /begins with mysql:\/\//)
  })

  it('nobody listens there', async () => {
    const closed = server.url('postgres', { port: 1 })
    assert.match(
      await refusal(closed),
      /PostgreSQL at postgres:\/\/writ@127\.0\.0\.1:1\/postgres could not be reached for 0 s: .*Start it/,
    )
  })

  for (const value of ['off', 'local', 'remote_write']) {
    it(`S38: synchronous_commit ${value}`, () =>
      withPlace(server, async (place) => {
        await place.query(`alter database ${place.database} set synchronous_commit = ${value}`)
        assert.match(
          await refusal(place.url),
          new RegExp(`synchronous_commit is ${value}: .* alter role NAME set synchronous_commit = on`),
        )
      }))
  }

  it('S38: synchronous_commit remote_apply is more than is asked for', () =>
    withPlace(server, async (place) => {
      await place.query(`alter database ${place.database} set synchronous_commit = remote_apply`)
      await place.open()
    }))

  it('a database that only reads', () =>
    withPlace(server, async (place) => {
      await place.query(`alter database ${place.database} set default_transaction_read_only = on`)
      assert.match(await refusal(place.url), /takes no writes: give the url of the primary/)
    }))

  it('a user that may not create the schema', () =>
    withPlace(server, async (place) => {
      await place.query("create role guest login password 'wrong-secret'")
      const url = place.url.replace(/writ:[^@]*/, 'guest:wrong-secret')
      assert.match(await refusal(url), /may not do that: .*grant create on database/)
    }))

  it('a schema writ of another program', () =>
    withPlace(server, async (place) => {
      await place.query('create schema writ')
      await place.query('create table writ.poems (line text)')
      assert.match(await refusal(place.url), /schema writ of another program \(with poems in it\)/)
    }))

  it('the schema of a newer build', () =>
    withPlace(server, async (place) => {
      await place.open()
      await place.query("insert into writ.writ_schema (version, name) values (99, 'later')")
      assert.match(
        await refusal(place.url),
        /has schema 99, this build of Writ knows schemas up to \d+: start the newer/,
      )
    }))
})

describe('beginning', () => {
  it('many replicas that start at once on an empty database: one makes the schema, and each has its own place in the order', () =>
    withPlace(server, async (place) => {
      const replicas = await Promise.all(Array.from({ length: 6 }, () => place.open()))
      const lives = await replicas[0]?.store.lives.renew({}, 0)
      assert.deepEqual(
        lives?.map(({ ordinal }) => ordinal),
        [1, 2, 3, 4, 5, 6],
      )
      const versions = await place.query('select version from writ.writ_schema order by version')
      assert.deepEqual(versions, [{ version: 1 }, { version: 2 }])
    }))

  it('a database of schema 1 is brought to the newest schema, and what is in it goes on working', () =>
    withPlace(server, async (place) => {
      const sql = new URL('../../../src/store/postgres/migration/0001-init.sql', import.meta.url)
      await place.query('create schema writ')
      await place.query('create table writ.writ_schema (version integer primary key, name text not null)')
      await place.query(readFileSync(sql, 'utf8'))
      await place.query("insert into writ.writ_schema values (1, '0001-init.sql')")
      const old = makeEntry(newLife(), { key: 'old' })
      await place.query(
        `insert into writ.entry (slot, namespace, scope, key, id, state, open, revision, epoch, call_id, attempts,
           cancel_requested, created_at, actor, fixed, payload)
         values ($1, 'default', $2, 'old', $3, 'unknown', true, 1, 'gone', 'c', 1, false, 1000, 'agent', $4, $5)`,
        [
          slotOf(old.scope, old.key),
          old.scope,
          old.id,
          JSON.stringify(fixedPart(old)),
          JSON.stringify(old.payload),
        ],
      )
      const { store } = await place.open()
      const found = await store.entries.find(old.scope, 'old')
      assert.deepEqual(found?.payload, old.payload)
      assert.equal(found?.narrowed, undefined)
      const spends = [makeSpend()]
      const again = { ...updateOf(old, ['intended']), spends, unless: [{ stop: 'all' }] }
      assert.deepEqual(await store.ledger.intend(again), { kind: 'written' })
      assert.deepEqual(await store.budgets.spent('default', spends), [40])
    }))

  it('a database that is away at the start is waited for', async () => {
    const url = await server.createDatabase()
    await server.kill()
    const opening = createPostgresStore({ world: newLife(), url })
    await server.start()
    const store = await opening
    assert.equal(store.away, false)
    await store.close()
  })

  it('a user that may only use what is there already begins on it', () =>
    withPlace(server, async (place) => {
      await place.open()
      await place.query("create role worker login password 'wrong-secret'")
      await place.query('grant usage on schema writ to worker')
      await place.query('grant all on all tables in schema writ to worker')
      await place.query('grant all on all sequences in schema writ to worker')
      const url = place.url.replace(/writ:[^@]*/, 'worker:wrong-secret')
      const { store, world } = await place.open({ url })
      assert.equal((await store.ledger.intend(insertOf(makeEntry(world)))).kind, 'written')
    }))

  it('S38: a store whose settings became unsafe writes nothing more', () =>
    withPlace(server, async (place) => {
      const { store, world } = await place.open()
      await place.query(`alter database ${place.database} set synchronous_commit = off`)
      await place.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and application_name = 'writ'`,
        [place.database],
      )
      await assert.rejects(store.ledger.settle(insertOf(makeEntry(world))), /synchronous_commit is off/)
      assert.ok(store.failed)
    }))
})

describe('texts of any length', () => {
  it('keys and request ids that are longer than an index takes are kept, found and told apart', () =>
    withPlace(server, async (place) => {
      const { store, world } = await place.open()
      const long = '\u{1f600}x'.repeat(5_000)
      const entries = [`${long}a`, `${long}b`, ''].map((key) => makeEntry(world, { key }))
      for (const entry of entries) assert.equal((await store.ledger.intend(insertOf(entry))).kind, 'written')
      for (const entry of entries) assert.deepEqual(await store.entries.find(SCOPE, entry.key), entry)
      const again = await store.ledger.intend(insertOf(makeEntry(world, { key: `${long}a` })))
      assert.equal(again.kind === 'conflict' && again.entry?.id, entries[0]?.id)
      const call = makeEndedCall(world, { requestId: `${long}a` })
      const other = makeEndedCall(world, { requestId: `${long}b` })
      await store.ledger.settle({ namespace: 'default', calls: [call, other] })
      const filter = { namespace: 'default', requestId: `${long}b`, limit: 10 }
      assert.deepEqual(await store.calls.list(filter), [other])
    }))

  it('a write that the database does not take is refused alone; the rest of its batch is written', () =>
    withPlace(server, async (place) => {
      const { store, world } = await place.open()
      // A subject is part of an index, and this one cannot be packed into it.
      const subject = Array.from({ length: 400 }, () => world.id()).join('')
      const [good, bad, last] = [makeEntry(world), makeEntry(world), makeEntry(world)]
      const results = await Promise.allSettled([
        store.ledger.intend(insertOf(good)),
        store.ledger.intend({ ...insertOf(bad), timers: [{ kind: 'reconcile', subject, inMs: 1 }] }),
        store.ledger.intend(insertOf(last)),
      ])
      assert.deepEqual(
        results.map((result) => (result.status === 'fulfilled' ? result.value.kind : result.reason.name)),
        ['written', 'IllegalWrite', 'written'],
      )
      assert.equal(await store.entries.find(SCOPE, bad.key), undefined)
      assert.equal(store.failed, undefined)
    }))
})

it('S12: a claimed timer is known by its due time also where the database shows fewer digits of a number', () =>
  withPlace(server, async (place) => {
    await place.query(`alter database ${place.database} set extra_float_digits = 0`)
    const { store } = await place.open()
    const timer = { kind: 'reconcile', subject: 'a' } as const
    await store.ledger.settle({ namespace: 'default', timers: [{ ...timer, inMs: -0.12345 }] })
    const [claimed] = await store.timers.claim(1)
    const [shown] = await place.query('show extra_float_digits')
    assert.equal(shown?.extra_float_digits, '0')
    await store.ledger.settle({ namespace: 'default', timers: [{ ...timer, ifDueAt: claimed!.dueAt }] })
    assert.equal(await store.timers.get('default', 'reconcile', 'a'), undefined)
  }))
