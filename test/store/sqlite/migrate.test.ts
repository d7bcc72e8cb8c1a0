// A database that an earlier version filled goes on working: schema-1.sql holds rows that version 0.1.0 wrote.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { it, type TestContext } from 'node:test'
import { latestSchema } from '../../../src/store/sqlite/migrations.ts'
import { createSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { verifyChain } from '../case/evidence-cases.ts'
import {
  insertOf,
  makeApproval,
  makeEntry,
  makeEvidence,
  makeSaga,
  makeSpend,
  newLife,
  SCOPE,
  updateOf,
} from '../fixture.ts'
import { temporaryFolder } from './process.ts'

function makeOldDatabase(t: TestContext): string {
  const path = join(temporaryFolder(t), 'writ.db')
  const db = new DatabaseSync(path)
  db.exec('pragma journal_mode = wal')
  db.exec('create table writ_schema (version integer primary key, name text not null) strict')
  for (const file of ['../../../src/store/sqlite/migration/0001-init.sql', './schema-1.sql'])
    db.exec(readFileSync(new URL(file, import.meta.url), 'utf8'))
  db.exec("insert into writ_schema (version, name) values (1, '0001-init.sql')")
  db.close()
  return path
}

it('a database of schema 1 is brought to the newest schema, and what is in it is found as it was', async (t) => {
  const path = makeOldDatabase(t)
  const world = newLife()
  const store = await createSqliteStore({ world, path })
  const done = await store.entries.find(SCOPE, 'done')
  assert.equal(done?.state, 'done')
  assert.equal(done.settledAt, 2_000)
  assert.equal(done.approvalId, 'approval-1')
  assert.deepEqual(done.outcome?.output, { inline: { id: 'm-1' } })
  assert.deepEqual(done.payload, { inline: { to: 'a@example.com', text: 'hello \u{1f600} \u0000 "quoted"' } })
  assert.equal(done.saga, undefined)
  assert.equal(done.request, undefined)
  assert.equal((await store.entries.find(SCOPE, 'not-done'))?.erased, true)
  assert.equal((await store.entries.findByIdentity('identity-unknown', 0))?.key, 'unknown')
  assert.equal((await store.entries.findByIdentity('identity-unknown', 1_000))?.identityAt, 1_000)
  assert.equal(await store.entries.findByIdentity('identity-unknown', 1_001), undefined)
  const unknown = await store.entries.list({ namespace: 'default', states: ['unknown'], limit: 10 })
  assert.deepEqual(
    unknown.map((entry) => entry.key),
    ['unknown'],
  )
  assert.deepEqual(await store.entries.countOpen(), { intended: 1, sent: 1, unknown: 1 })
  assert.equal(
    (await store.calls.list({ namespace: 'default', requestId: 'request-9', limit: 10 })).length,
    1,
  )
  assert.deepEqual((await store.calls.get('default', 'call-ended'))?.answer?.output, {
    id: 'm-1',
    nothing: null,
  })
  assert.deepEqual(
    (await store.evidence.forCall('default', 'call-ended')).map((record) => record.type),
    ['call.intended', 'call.ended'],
  )
  assert.equal((await store.resources.list({ name: 'mail' })).length, 1)
  await store.close()
  const db = new DatabaseSync(path)
  const { version } = db.prepare('select max(version) as version from writ_schema').get() as {
    version: number
  }
  assert.equal(version, latestSchema())
  assert.equal(db.prepare('pragma integrity_check').get()?.integrity_check, 'ok')
  db.close()
})

it('S36: what a life of schema 1 left behind is adopted, and its chain is closed and still verifies', async (t) => {
  const world = newLife()
  const store = await createSqliteStore({ world, path: makeOldDatabase(t) })
  assert.deepEqual(
    (await store.entries.adopt(10)).map((entry) => [entry.key, entry.epoch, entry.revision]),
    [
      ['intended', world.epoch, 2],
      ['sent', world.epoch, 2],
    ],
  )
  assert.deepEqual(
    (await store.calls.adopt(10)).map((call) => call.id),
    ['call-running'],
  )
  const old = await store.evidence.links('life-1', 1, 100)
  verifyChain(old)
  const [end] = await store.evidence.ends()
  assert.deepEqual(end, { epoch: 'life-1', batch: 8, seq: 9, hash: old.at(-1)!.hash, closed: true })
  const [start] = await store.evidence.links(world.epoch, 1, 1)
  assert.equal(start!.records[0]!.body.previous_hash, old.at(-1)!.hash)
  assert.equal(await store.evidence.prune('life-1', 3, 10), 3)
  await store.close()
})

it('a database of schema 1 takes everything that is new, and erases and forgets what is old', async (t) => {
  const world = newLife()
  const store = await createSqliteStore({ world, path: makeOldDatabase(t) })
  const saga = makeSaga(world)
  const narrowed = { payload: { inline: {} }, hash: 'cc' }
  const entry = makeEntry(world, { saga: saga.id, request: { agent: 'planner' }, narrowed })
  await store.ledger.intend({ namespace: 'default', saga: { kind: 'insert', saga } })
  const write = {
    ...insertOf(entry),
    openSaga: saga.id,
    timers: [{ kind: 'reconcile', subject: entry.id, inMs: 0 } as const],
    evidence: [makeEvidence(entry.callId)],
    approval: { kind: 'insert', approval: makeApproval(world, { entryId: entry.id }) } as const,
    spends: [makeSpend()],
    unless: [{ stop: 'all' }],
  }
  assert.deepEqual(await store.ledger.intend(write), { kind: 'written' })
  assert.deepEqual(await store.budgets.spent('default', [makeSpend()]), [40])
  assert.deepEqual(await store.entries.find(entry.scope, entry.key), entry)
  assert.equal((await store.timers.claim(10)).length, 1)
  const unknown = (await store.entries.find(SCOPE, 'unknown'))!
  assert.deepEqual(await store.ledger.settle(updateOf(unknown, ['done'], { settledAt: 3_000 })), {
    kind: 'written',
  })
  const again = await store.ledger.intend(insertOf(makeEntry(world, { key: 'not-done' })))
  assert.ok(again.kind === 'conflict' && again.entry?.erased)
  assert.equal(await store.entries.erase(9_000, 10), 3, 'two entries, one call')
  assert.equal(await store.entries.forget(9_000, 10), 5, 'three entries, two calls')
  assert.equal(await store.entries.find(SCOPE, 'done'), undefined)
  await store.close()
})
