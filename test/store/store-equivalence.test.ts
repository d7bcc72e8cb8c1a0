// The memory store is the spec: whatever is done to both, SQLite answers the same.
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { it } from 'node:test'
import fc from 'fast-check'
import { SAGA_STATES } from '../../src/contract/saga.ts'
import { createMemoryData } from '../../src/store/memory/memory-data.ts'
import { createMemoryStore } from '../../src/store/memory/memory-store.ts'
import { createInlineFlusher } from '../../src/store/sqlite/inline-flusher.ts'
import { migrate } from '../../src/store/sqlite/migrations.ts'
import { createSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import {
  type LedgerWrite,
  type ResourceChange,
  type SagaWrite,
  type Store,
  TIMER_KINDS,
  type TimerChange,
} from '../../src/store/store.ts'
import { firstStates, paths } from './entry-states.ts'
import {
  makeCheckpoint,
  makeEndedCall,
  makeEntry,
  makeEvidence,
  makeSaga,
  newLife,
  OUTCOME,
  SCOPE,
} from './fixture.ts'
import { governedRows, governedWrite, stopChange } from './governed-write.ts'

const world = { ...newLife(), clock: { now: () => 5_000, monotonic: () => 0 } }
const epochs = ['first', 'second']
const ids = Array.from({ length: 4 }, () => world.id())
const key = fc.constantFrom('k1', 'k2', 'k3')
const time = fc.integer({ min: 1, max: 6 })
const NARROWED = { payload: { inline: { to: 'b@example.com' } }, hash: 'cc' }

const insert = fc
  .record({
    key,
    id: fc.constantFrom(...ids),
    state: firstStates,
    readOnly: fc.boolean(),
    identity: fc.option(fc.constantFrom('i1', 'i2'), { nil: undefined }),
    createdAt: time,
    settledAt: fc.option(time, { nil: undefined }),
    epoch: fc.constantFrom(...epochs, 'nobody'),
    saga: fc.option(fc.constantFrom('s1', 's2'), { nil: undefined }),
    request: fc.option(fc.constant({ agent: 'planner' }), { nil: undefined }),
    narrowed: fc.option(fc.constant(NARROWED), { nil: undefined }),
    uniqueSince: fc.option(time, { nil: undefined }),
  })
  .map(({ identity, settledAt, uniqueSince, saga: member, request, narrowed, ...rest }): LedgerWrite => {
    const entry = makeEntry(world, {
      ...rest,
      callId: 'call',
      ...(identity === undefined ? {} : { identity }),
      ...(member === undefined ? {} : { saga: member }),
      ...(request === undefined ? {} : { request }),
      ...(narrowed === undefined ? {} : { narrowed }),
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
    path: paths,
    settledAt: fc.option(time, { nil: undefined }),
    attempts: fc.option(fc.nat(3), { nil: undefined }),
    narrowed: fc.option(fc.constant({ ...NARROWED, hash: 'dd' }), { nil: undefined }),
    identityAt: fc.option(time, { nil: undefined }),
    cancelRequested: fc.option(fc.boolean(), { nil: undefined }),
  })
  .map(({ settledAt, attempts, identityAt, cancelRequested, narrowed, ...rest }): LedgerWrite => {
    const set = {
      ...(settledAt === undefined ? {} : { settledAt, outcome: OUTCOME }),
      ...(attempts === undefined ? {} : { attempts }),
      ...(narrowed === undefined ? {} : { narrowed }),
      ...(identityAt === undefined ? {} : { identityAt }),
      ...(cancelRequested === undefined ? {} : { cancelRequested }),
    }
    return {
      namespace: 'default',
      entry: { kind: 'update', scope: SCOPE, set, ...rest },
      evidence: [makeEvidence(rest.key, { type: 'tool.completed' })],
    }
  })

const call = fc
  .record({
    id: fc.constantFrom(...ids),
    state: fc.constantFrom('succeeded', 'running', 'unknown'),
    endedAt: time,
    epoch: fc.constantFrom(...epochs),
  })
  .map(({ id, state, endedAt, epoch }): LedgerWrite => {
    const record = makeEndedCall(world, { id, endedAt, epoch, state: state as 'succeeded' })
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

const timer = fc
  .record({
    kind: fc.constantFrom(...TIMER_KINDS),
    subject: fc.constantFrom('a', 'b'),
    inMs: fc.option(fc.integer({ min: -5, max: 300 }), { nil: undefined }),
    data: fc.option(fc.constant({ tries: 1 }), { nil: undefined }),
    // A time that timers have: at the first clock, or after one tick.
    ifDueAt: fc.option(fc.constantFrom(10_000, 10_001), { nil: undefined, freq: 2 }),
  })
  .map(
    ({ kind, subject, inMs, data, ifDueAt }): TimerChange => ({
      kind,
      subject,
      ...(inMs === undefined ? {} : { inMs }),
      ...(data === undefined ? {} : { data }),
      ...(ifDueAt === undefined ? {} : { ifDueAt }),
    }),
  )

const sagaId = fc.constantFrom('s1', 's2')
const sagaState = fc.constantFrom(...SAGA_STATES)
const saga: fc.Arbitrary<SagaWrite> = fc.oneof(
  fc.record({ id: sagaId, state: sagaState }).map(
    ({ id, state }): SagaWrite => ({
      kind: 'insert',
      saga: makeSaga(world, { id, state }),
    }),
  ),
  fc
    .record({ id: sagaId, revision: fc.integer({ min: 1, max: 3 }), state: sagaState, why: fc.boolean() })
    .map(
      ({ why, ...rest }): SagaWrite => ({
        kind: 'update',
        ...rest,
        ...(why ? { reason: 'because', endedAt: 9 } : {}),
      }),
    ),
)

const write = fc
  .record({
    main: fc.oneof(insert, update, call),
    timers: fc.option(fc.array(timer, { minLength: 1, maxLength: 3 }), { nil: undefined }),
    saga: fc.option(saga, { nil: undefined }),
    openSaga: fc.option(sagaId, { nil: undefined, freq: 4 }),
    govern: governedWrite(ids),
  })
  .map(
    ({ main, timers, saga: one, openSaga, govern }): LedgerWrite => ({
      ...govern('default', main),
      ...(timers === undefined ? {} : { timers }),
      ...(one === undefined ? {} : { saga: one }),
      ...(openSaga === undefined ? {} : { openSaga }),
    }),
  )

/** What one of the two lives does; or how much time passes. */
type Step =
  | { readonly by: number; readonly name: string; readonly run: (store: Store) => Promise<unknown> }
  | { readonly tick: number }

const by = fc.nat(1)
const limit = fc.integer({ min: 1, max: 4 })

function step<T>(
  weight: number,
  name: string,
  from: fc.Arbitrary<T>,
  run: (store: Store, one: T) => Promise<unknown>,
) {
  const arbitrary = fc.tuple(by, from).map(
    ([life, one]): Step => ({
      by: life,
      name: `${name} ${JSON.stringify(one)}`,
      run: (store) => run(store, one),
    }),
  )
  return { weight, arbitrary }
}

const nothing = fc.constant(null)
const steps: fc.Arbitrary<Step> = fc.oneof(
  step(8, 'write', write, (store, one) => store.ledger.intend(one)),
  step(4, 'writes', fc.array(write, { minLength: 2, maxLength: 4 }), (store, many) =>
    Promise.allSettled(many.map((one) => store.ledger.settle(one))),
  ),
  step(2, 'apply', fc.array(change, { maxLength: 3 }), (store, changes) =>
    store.resources.apply('default', changes, 7, [makeEvidence('apply')]),
  ),
  step(2, 'stop', fc.tuple(fc.constantFrom('default', '*'), stopChange), (store, [namespace, one]) =>
    store.resources.apply(namespace, [one], 7, []),
  ),
  step(1, 'erase', time, (store, before) => store.entries.erase(before, 100)),
  step(1, 'forget', time, (store, before) => store.entries.forget(before, 100)),
  step(2, 'adopt entries', limit, (store, most) => store.entries.adopt(most)),
  step(2, 'adopt calls', limit, (store, most) => store.calls.adopt(most)),
  step(3, 'claim', limit, (store, most) => store.timers.claim(most)),
  step(1, 'cancel', fc.constantFrom(...ids), (store, id) => store.entries.requestCancel('default', id)),
  step(2, 'renew', fc.nat(3), (store, n) => store.lives.renew({ limit: n }, n)),
  step(2, 'reap', nothing, (store) => store.lives.reap()),
  step(1, 'end', nothing, (store) => store.lives.end()),
  step(1, 'checkpoint', fc.integer({ min: 1, max: 5 }), (store, n) =>
    store.evidence.addCheckpoint(makeCheckpoint(n)),
  ),
  step(1, 'prune checkpoints', fc.integer({ min: 1, max: 5 }), (store, n) =>
    store.evidence.pruneCheckpoints(n, 2),
  ),
  step(1, 'prune', fc.tuple(by, fc.nat(4), limit), (store, [life, batch, most]) =>
    store.evidence.prune(epochs[life] as string, batch, most),
  ),
  { weight: 4, arbitrary: fc.constantFrom(1, 99, 100, 250).map((tick): Step => ({ tick })) },
)

/** What a step came to; a refusal's wording is the engine's own. */
async function outcomeOf(run: Promise<unknown>): Promise<unknown> {
  const [result] = await Promise.allSettled([run])
  return JSON.parse(JSON.stringify(result, (_key, value) => (value instanceof Error ? value.name : value)))
}

async function everything(store: Store): Promise<unknown> {
  const list = { namespace: 'default', limit: 10 }
  return {
    found: await Promise.all(['k1', 'k2', 'k3'].map((one) => store.entries.find(SCOPE, one))),
    byId: await Promise.all(ids.map((id) => store.entries.get('default', id))),
    identities: await Promise.all(['i1', 'i2'].map((identity) => store.entries.findByIdentity(identity, 2))),
    entries: await store.entries.list(list),
    unknown: await store.entries.list({ ...list, states: ['unknown', 'prepared'] }),
    some: await store.entries.list({ ...list, states: ['done', 'unknown'], actor: 'agent', before: ids[2]! }),
    members: await store.entries.list({ ...list, saga: 's1' }),
    open: await store.entries.countOpen(),
    canceling: await store.entries.cancelRequests(10),
    calls: await store.calls.list(list),
    resources: await store.resources.list({}),
    sagas: [await store.sagas.list(list), await store.sagas.list({ ...list, state: 'open', actor: 'agent' })],
    timers: await Promise.all(
      TIMER_KINDS.flatMap((kind) => ['a', 'b'].map((one) => store.timers.get('default', kind, one))),
    ),
    next: await store.timers.nextIn(),
    links: await Promise.all([...epochs, 'third'].map((epoch) => store.evidence.links(epoch, 1, 1_000))),
    ends: await store.evidence.ends(),
    epochs: await store.evidence.epochs(),
    checkpoints: await store.evidence.checkpoints(1, 10),
    evidence: await store.evidence.forCall('default', 'k1'),
    governed: await governedRows(store, 'default'),
  }
}

it('SQLite and memory answer every sequence of steps of two lives alike, down to the hashes of the evidence chains', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(steps, { minLength: 1, maxLength: 30 }), async (sequence) => {
      let clock = 10_000
      const now = () => clock
      const leaseMs = 200
      const database = new DatabaseSync(':memory:')
      migrate(database)
      const data = createMemoryData()
      const openBoth = async (epoch: string): Promise<readonly [Store, Store]> => {
        const life = { ...world, epoch }
        const flusher = createInlineFlusher(database)
        return [
          await createMemoryStore({ world: life, data, leaseMs, now }),
          await createSqliteStore({ world: life, database, flusher, leaseMs, now }),
        ]
      }
      const lives = [await openBoth(epochs[0]!), await openBoth(epochs[1]!)]
      for (const one of sequence) {
        if ('tick' in one) {
          clock += one.tick
          continue
        }
        const [memory, sqlite] = lives[one.by]!
        assert.deepEqual(await outcomeOf(one.run(sqlite)), await outcomeOf(one.run(memory)), one.name)
        assert.deepEqual(await outcomeOf(everything(sqlite)), await outcomeOf(everything(memory)), one.name)
      }
      const third = await openBoth('third')
      assert.deepEqual(await everything(third[1]), await everything(third[0]))
      await Promise.all([...lives, third].flat().map((store) => store.close()))
      database.close()
    }),
    { numRuns: 150 },
  )
})
