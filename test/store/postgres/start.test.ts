// A database that goes away while a runtime starts: the start ends, one way or the other, and leaves nothing open.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createEvents } from '../../../src/event/event.ts'
import { createRuntime } from '../../../src/runtime.ts'
import { createMemoryStore } from '../../../src/store/memory/memory-store.ts'
import { type Store, StoreUnavailable } from '../../../src/store/store.ts'
import { createSystemWorld } from '../../../src/util/clock.ts'
import { until } from '../../pipeline/until.ts'
import { type PostgresServer, startPostgres } from '../../postgres/server.ts'
import { startWire } from '../../postgres/wire.ts'

let server: PostgresServer
before(async () => {
  server = await startPostgres()
})
after(() => server.stop())

/** A start sends fewer messages than this. */
const MOST = 200

test('whenever the database goes away while a runtime starts, it starts or fails, and holds no connection', async () => {
  const wire = await startWire(server.port)
  try {
    const url = new URL(await server.createDatabase())
    url.port = String(wire.port)
    const ends = { started: 0, failed: 0 }
    let at = 1
    for (; at < MOST; at += 1) {
      const reached = wire.cutAll(at, 60)
      const store = { kind: 'postgres' as const, url: url.href, leaseMs: 3_000 }
      try {
        const runtime = await createRuntime({ store, masterKey: Buffer.alloc(32, 7) })
        ends.started += 1
        // A connection that broke at the end of the start is opened again by itself; then the end is in order.
        await until(async () => (await runtime.health()).checks.store?.ok === true)
        await runtime.close()
      } catch (error) {
        assert.match(String(error), /cannot be reached|away/, `cut after ${at} messages: ${error}`)
        ends.failed += 1
      }
      await until(() => wire.open === 0)
      if (!reached()) break
    }
    assert.ok(at > 20 && at < MOST, `a start sent ${at} messages`)
    assert.ok(ends.started > 5 && ends.failed > 0, JSON.stringify(ends))
  } finally {
    await wire.close()
  }
})

test('S18: a runtime over PostgreSQL sweeps at its start, on the clock of the database', async () => {
  const events = createEvents()
  const failed: string[] = []
  events.on('timer:failed', ({ kind, error }) => failed.push(`${kind}: ${error}`))
  const url = await server.createDatabase()
  const runtime = await createRuntime({
    store: { kind: 'postgres', url },
    events,
    masterKey: Buffer.alloc(32, 7),
  })
  try {
    // The timer was due at once, and is due again in an hour when the sweep has come to its end.
    const database = new URL(url).pathname.slice(1)
    const next =
      "select due from writ.timer where kind = 'retention' and due > extract(epoch from now()) * 1000 + 3000000"
    await until(async () => failed.length > 0 || (await server.query(next, [], database)).length > 0)
    assert.deepEqual(failed, [])
  } finally {
    await runtime.close()
  }
})

test('whatever the store refuses while a runtime starts, the store is closed', async () => {
  const refused: string[] = []
  for (const room of ['evidence', 'resources', 'entries', 'calls', 'timers'] as const) {
    const world = createSystemWorld()
    const real = await createMemoryStore({ world })
    const names = Object.keys(real[room]).filter((name) => name !== 'onSet')
    for (const name of names) {
      const inner = await createMemoryStore({ world })
      let closed = 0
      let asked = 0
      const store: Store = Object.create(inner, {
        [room]: {
          value: {
            ...inner[room],
            [name]: () => {
              asked += 1
              return Promise.reject(new StoreUnavailable(`no ${room}.${name}`))
            },
          },
        },
        close: {
          value: () => {
            closed += 1
            return inner.close()
          },
        },
      })
      const runtime = await createRuntime({ world, store: { kind: 'given', store } }).catch(
        (error: Error) => {
          assert.match(error.message, new RegExp(`no ${room}.${name}`))
          refused.push(`${room}.${name}`)
        },
      )
      assert.equal(closed, runtime === undefined ? 1 : 0, `${room}.${name}, asked ${asked} times`)
      await runtime?.close()
      assert.equal(closed, 1)
    }
    await real.close()
  }
  assert.ok(refused.includes('evidence.lastCheckpoint'), refused.join())
  assert.ok(refused.length >= 4, refused.join())
})
