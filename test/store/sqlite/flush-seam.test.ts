// The seam where a simulator crashes: before the commit, and after it before the acknowledgement.
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { it, type TestContext } from 'node:test'
import type { Batch } from '../../../src/store/sqlite/codec.ts'
import { createEngine } from '../../../src/store/sqlite/engine.ts'
import type { Flusher } from '../../../src/store/sqlite/flusher.ts'
import { createInlineFlusher } from '../../../src/store/sqlite/inline-flusher.ts'
import { migrate } from '../../../src/store/sqlite/migrations.ts'
import { createSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { StoreUnavailable } from '../../../src/store/store.ts'
import { verifyChain } from '../case/evidence-cases.ts'
import { insertOf, makeEntry, makeEvidence, newLife } from '../fixture.ts'

function openDatabase(t: TestContext): DatabaseSync {
  const database = new DatabaseSync(':memory:')
  migrate(database)
  t.after(() => database.close())
  return database
}

/** Works until `crash` is set; then its promises never settle, as those of a process that is gone. */
function createCrashingFlusher(database: DatabaseSync) {
  const engine = createEngine(database)
  const state: { crash?: 'before-commit' | 'after-commit' } = {}
  const flusher: Flusher = {
    async flush(batch) {
      if (state.crash === 'before-commit') return new Promise(() => undefined)
      const results = engine.apply(batch)
      if (state.crash === 'after-commit') return new Promise(() => undefined)
      return results
    },
    close: async () => undefined,
  }
  return { flusher, state }
}

for (const crash of ['before-commit', 'after-commit'] as const) {
  it(`S35: what a crash ${crash} leaves is found by the next life`, async (t) => {
    const database = openDatabase(t)
    const first = newLife()
    const { flusher, state } = createCrashingFlusher(database)
    const store = await createSqliteStore({ world: first, database, flusher })
    const kept = makeEntry(first)
    await store.ledger.intend({ ...insertOf(kept), evidence: [makeEvidence('kept')] })
    state.crash = crash
    const last = makeEntry(first)
    let acknowledged = false
    const lost = store.ledger.intend({ ...insertOf(last), evidence: [makeEvidence('last')] })
    lost.then(() => (acknowledged = true))
    await new Promise((resolve) => setImmediate(resolve))
    const second = newLife(first)
    const next = await createSqliteStore({ world: second, database, flusher: createInlineFlusher(database) })
    assert.equal(acknowledged, false)
    assert.deepEqual(await next.entries.find(kept.scope, kept.key), kept)
    assert.deepEqual(
      await next.entries.find(last.scope, last.key),
      crash === 'after-commit' ? last : undefined,
    )
    assert.deepEqual(await next.evidence.epochs(), [first.epoch, second.epoch])
    const links = await next.evidence.links(first.epoch, 1, 10)
    verifyChain(links)
    const [start] = await next.evidence.links(second.epoch, 1, 1)
    assert.equal(start!.records[0]!.body.previous_hash, links.at(-1)!.hash)
    await next.close()
  })
}

it('S37: a flusher that rejects fails the store once', async (t) => {
  const database = openDatabase(t)
  const inline = createInlineFlusher(database)
  let broken = false
  let flushes = 0
  const flusher: Flusher = {
    async flush(batch) {
      flushes += 1
      if (broken) throw new Error('fsync: input/output error')
      return inline.flush(batch)
    },
    close: inline.close,
  }
  const failures: Error[] = []
  const world = newLife()
  const store = await createSqliteStore({
    world,
    database,
    flusher,
    onFailed: (error) => failures.push(error),
  })
  broken = true
  flushes = 0
  const noted = store.ledger.note({ namespace: 'default', evidence: [makeEvidence('a')] })
  const results = await Promise.allSettled([noted, store.ledger.intend(insertOf(makeEntry(world)))])
  for (const result of results)
    assert.ok(result.status === 'rejected' && result.reason instanceof StoreUnavailable)
  broken = false
  await assert.rejects(store.ledger.settle({ namespace: 'default' }), /fsync: input\/output error/)
  await assert.rejects(store.resources.list({}), StoreUnavailable)
  assert.equal(flushes, 1)
  assert.equal(failures.length, 1)
  await store.close()
})

it('a store whose first flush fails does not open', async (t) => {
  const database = openDatabase(t)
  let closed = 0
  const flusher: Flusher = {
    flush: async () => {
      throw new Error('read-only file system')
    },
    close: async () => {
      closed += 1
    },
  }
  await assert.rejects(createSqliteStore({ world: newLife(), database, flusher }), /read-only file system/)
  assert.equal(closed, 1)
})

it('a value that breaks the schema is refused alone, and leaves nothing half written', (t) => {
  const database = openDatabase(t)
  const engine = createEngine(database)
  const evidence = (callId: string) => ['default', callId, 'type', 1, '{}']
  const results = engine.apply({
    epoch: 'e',
    at: 1_000,
    leaseMs: null,
    ops: [
      ['write', null, [], [evidence('first')]],
      ['write', null, [['default', 'call', null]], [evidence('second')]],
      ['write', null, [], [evidence('third'), ['default', 'third', null, 1, '{}']]],
      ['write', null, [], [evidence('fourth')]],
    ],
  } satisfies Batch)
  assert.deepEqual(
    results.map((result) => (typeof result === 'object' && 'kind' in result ? result.kind : result)),
    [0, 'refused', 'refused', 0],
  )
  const kept = database.prepare('select seq, call_id from evidence order by seq').all()
  assert.deepEqual(
    kept.map((row) => [row.seq, row.call_id]),
    [
      [1, 'first'],
      [2, 'fourth'],
    ],
  )
})

it('an engine goes on with the chain that another engine of the same life began', async (t) => {
  const database = openDatabase(t)
  const world = newLife()
  for (const callId of ['a', 'b']) {
    const store = await createSqliteStore({ world, database, flusher: createInlineFlusher(database) })
    await store.ledger.settle({ namespace: 'default', evidence: [makeEvidence(callId)] })
    await store.close()
  }
  const store = await createSqliteStore({ world, database, flusher: createInlineFlusher(database) })
  const links = await store.evidence.links(world.epoch, 1, 10)
  assert.equal(links.length, 5)
  verifyChain(links)
  await store.close()
})
