// The memory store is the spec: whatever is done to both, SQLite answers the same.
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { it } from 'node:test'
import fc from 'fast-check'
import { ENTRY_STATES } from '../../src/contract/entry.ts'
import { createMemoryStore } from '../../src/store/memory/memory-store.ts'
import { createInlineFlusher } from '../../src/store/sqlite/inline-flusher.ts'
import { migrate } from '../../src/store/sqlite/migrations.ts'
import { createSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import type { LedgerWrite, ResourceChange, Store } from '../../src/store/store.ts'
import { makeEndedCall, makeEntry, makeEvidence, newLife, OUTCOME, SCOPE } from './fixture.ts'

const world = { ...newLife(), clock: { now: () => 5_000, monotonic: () => 0 } }
const epochs = [world.epoch, 'another-life']
const ids = Array.from({ length: 4 }, () => world.id())
const states = fc.constantFrom(...ENTRY_STATES)
const key = fc.constantFrom('k1', 'k2', 'k3')
const time = fc.integer({ min: 1, max: 6 })

const insert = fc
  .record({
    key,
    id: fc.constantFrom(...ids),
    state: states,
    identity: fc.option(fc.constantFrom('i1', 'i2'), { nil: undefined }),
    createdAt: time,
    settledAt: fc.option(time, { nil: undefined }),
    epoch: fc.constantFrom(...epochs),
    uniqueSince: fc.option(time, { nil: undefined }),
  })
  .map(({ identity, settledAt, uniqueSince, ...rest }): LedgerWrite => {
    const entry = makeEntry(world, {
      ...rest,
      callId: 'call',
      ...(identity === undefined ? {} : { identity }),
      ...(settledAt === undefined ? {} : { settledAt, outcome: OUTCOME }),
    })
    return {
      namespace: 'default',
      entry: { kind: 'insert', entry, ...(uniqueSince === undefined ? {} : { uniqueSince }) },
      evidence: [makeEvidence(rest.key)],
    }
  })

const update = fc
  .record({
    key,
    revision: fc.integer({ min: 1, max: 3 }),
    path: fc.array(states, { maxLength: 2 }),
    settledAt: fc.option(time, { nil: undefined }),
    attempts: fc.option(fc.nat(3), { nil: undefined }),
  })
  .map(({ settledAt, attempts, ...rest }): LedgerWrite => {
    const set = {
      ...(settledAt === undefined ? {} : { settledAt, outcome: OUTCOME }),
      ...(attempts === undefined ? {} : { attempts }),
    }
    return {
      namespace: 'default',
      entry: { kind: 'update', scope: SCOPE, set, ...rest },
      evidence: [makeEvidence(rest.key, { type: 'moved' })],
    }
  })

const call = fc
  .record({
    id: fc.constantFrom(...ids),
    state: fc.constantFrom('succeeded', 'running', 'unknown'),
    endedAt: time,
  })
  .map(({ id, state, endedAt }): LedgerWrite => {
    const record = makeEndedCall(world, { id, endedAt, state: state as 'succeeded' })
    return { namespace: 'default', calls: [record] }
  })

const change = fc
  .record({
    name: fc.constantFrom('mail', 'pay'),
    put: fc.option(fc.constantFrom('d1', 'd2'), { nil: undefined }),
    note: fc.constantFrom('x', 'y'),
    expect: fc.option(fc.nat(3), { nil: undefined }),
  })
  .map(
    ({ name, put, note, expect }): ResourceChange => ({
      kind: 'Tool',
      name,
      version: '1.0.0',
      ...(put === undefined ? {} : { put: { digest: put, body: { note } } }),
      ...(expect === undefined ? {} : { expect }),
    }),
  )

type Step = (store: Store) => Promise<unknown>

const write = fc.oneof(insert, update, call)
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: write.map(
      (one): Step =>
        (store) =>
          store.ledger.intend(one),
    ),
  },
  {
    weight: 3,
    arbitrary: fc.array(write, { minLength: 2, maxLength: 4 }).map(
      (many): Step =>
        (store) =>
          Promise.allSettled(many.map((one) => store.ledger.settle(one))),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.array(change, { maxLength: 3 }).map(
      (changes): Step =>
        (store) =>
          store.resources.apply('default', changes, 7, [makeEvidence('apply')]),
    ),
  },
  {
    weight: 1,
    arbitrary: time.map(
      (before): Step =>
        (store) =>
          store.entries.erase(before, 100),
    ),
  },
  {
    weight: 1,
    arbitrary: time.map(
      (before): Step =>
        (store) =>
          store.entries.forget(before, 100),
    ),
  },
)

/** What a step came to; a refusal's wording is the engine's own. */
async function outcomeOf(run: Promise<unknown>): Promise<unknown> {
  const [result] = await Promise.allSettled([run])
  return JSON.parse(JSON.stringify(result, (_key, value) => (value instanceof Error ? value.name : value)))
}

async function everything(store: Store): Promise<unknown> {
  const found = await Promise.all(['k1', 'k2', 'k3'].map((one) => store.entries.find(SCOPE, one)))
  return {
    found,
    byId: await Promise.all(ids.map((id) => store.entries.get('default', id))),
    identities: await Promise.all(['i1', 'i2'].map((identity) => store.entries.findByIdentity(identity, 2))),
    orphans: await store.entries.orphans(world.epoch, 10),
    counts: await Promise.all(ENTRY_STATES.map((state) => store.entries.countByState(state))),
    calls: await store.calls.list({ namespace: 'default', limit: 10 }),
    callOrphans: await store.calls.orphans('third-life', 10),
    resources: await store.resources.list({}),
    links: await store.evidence.links(world.epoch, 1, 1_000),
    evidence: await store.evidence.forCall('default', 'k1'),
  }
}

it('SQLite and memory answer every sequence of writes alike, down to the hashes of the evidence chain', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
      const database = new DatabaseSync(':memory:')
      migrate(database)
      const memory = await createMemoryStore({ world })
      const sqlite = await createSqliteStore({ world, database, flusher: createInlineFlusher(database) })
      for (const run of steps) assert.deepEqual(await outcomeOf(run(sqlite)), await outcomeOf(run(memory)))
      assert.deepEqual(await everything(sqlite), await everything(memory))
      await Promise.all([memory.close(), sqlite.close()])
      database.close()
    }),
    { numRuns: 150 },
  )
})
