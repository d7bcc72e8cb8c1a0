// The memory store is the spec: whatever is done to both, PostgreSQL answers the same.
import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import fc from 'fast-check'
import type { Entry } from '../../../src/contract/entry.ts'
import { SAGA_STATES } from '../../../src/contract/saga.ts'
import { createMemoryStore } from '../../../src/store/memory/memory-store.ts'
import { createPostgresStore } from '../../../src/store/postgres/postgres-store.ts'
import type { LedgerWrite, Store } from '../../../src/store/store.ts'
import { type PostgresServer, startPostgres } from '../../postgres/server.ts'
import { firstStates, paths } from '../entry-states.ts'
import { makeEndedCall, makeEntry, makeEvidence, newLife, OUTCOME } from '../fixture.ts'
import { governedRows, governedWrite, stopChange } from '../governed-write.ts'

let server: PostgresServer
let url: string

before(async () => {
  server = await startPostgres()
  url = await server.createDatabase()
})
after(() => server.stop())

const KEYS = ['k1', 'k2', 'k3']
const NUMBERS = [1, 2, 3, 4]
const key = fc.constantFrom(...KEYS)
const number = fc.constantFrom(...NUMBERS)
const time = fc.integer({ min: 1, max: 6 })
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined })

/** Everything of one run is in a namespace of its own: runs share the database. */
interface Run {
  readonly namespace: string
  readonly scope: string
  readonly epoch: string
  entry(over: Partial<Entry>): Entry
}

type MakeWrite = (run: Run) => LedgerWrite

const extras = fc.record({
  timer: maybe(fc.record({ subject: key, drop: fc.boolean(), data: fc.nat(9) })),
  openSaga: maybe(number),
  saga: maybe(
    fc.record({
      id: number,
      revision: maybe(fc.integer({ min: 1, max: 3 })),
      state: fc.constantFrom(...SAGA_STATES),
    }),
  ),
  govern: governedWrite(NUMBERS.map((id) => `entry-${id}`)),
})

function addExtras(
  run: Run,
  write: LedgerWrite,
  more: typeof extras extends fc.Arbitrary<infer T> ? T : never,
): LedgerWrite {
  const { timer, openSaga, saga, govern } = more
  return {
    ...govern(run.namespace, write),
    ...(timer === undefined
      ? {}
      : {
          timers: [
            {
              kind: 'reconcile' as const,
              subject: timer.subject,
              ...(timer.drop ? {} : { inMs: 3_600_000, data: { n: timer.data } }),
            },
          ],
        }),
    ...(openSaga === undefined ? {} : { openSaga: `saga-${openSaga}` }),
    ...(saga === undefined
      ? {}
      : {
          saga:
            saga.revision === undefined
              ? {
                  kind: 'insert' as const,
                  saga: {
                    namespace: run.namespace,
                    id: `saga-${saga.id}`,
                    caller: run.entry({}).caller,
                    state: saga.state,
                    revision: 1,
                    reason: '',
                    createdAt: 1,
                  },
                }
              : {
                  kind: 'update' as const,
                  id: `saga-${saga.id}`,
                  revision: saga.revision,
                  state: saga.state,
                  reason: 'because',
                },
        }),
  }
}

const insert = fc
  .record({
    key,
    id: number,
    state: firstStates,
    readOnly: fc.boolean(),
    identity: maybe(fc.constantFrom('i1', 'i2')),
    createdAt: time,
    settledAt: maybe(time),
    uniqueSince: maybe(time),
    extras,
  })
  .map(
    ({ id, identity, settledAt, uniqueSince, extras: more, ...rest }): MakeWrite =>
      (run) => {
        const entry = run.entry({
          ...rest,
          id: `entry-${id}`,
          ...(identity === undefined ? {} : { identity: `${run.namespace}-${identity}` }),
          ...(settledAt === undefined ? {} : { settledAt, outcome: OUTCOME }),
        })
        const write: LedgerWrite = {
          namespace: run.namespace,
          entry: { kind: 'insert', entry, ...(uniqueSince === undefined ? {} : { uniqueSince }) },
          evidence: [makeEvidence(rest.key, { namespace: run.namespace })],
        }
        return addExtras(run, write, more)
      },
  )

const update = fc
  .record({
    key,
    revision: fc.integer({ min: 1, max: 3 }),
    path: paths,
    settledAt: maybe(time),
    attempts: maybe(fc.nat(3)),
    identityAt: maybe(time),
    cancelRequested: maybe(fc.boolean()),
    uniqueSince: maybe(time),
    extras,
  })
  .map(
    ({ settledAt, attempts, identityAt, cancelRequested, uniqueSince, extras: more, ...rest }): MakeWrite =>
      (run) => {
        const set = {
          ...(settledAt === undefined ? {} : { settledAt, outcome: OUTCOME }),
          ...(attempts === undefined ? {} : { attempts }),
          ...(identityAt === undefined ? {} : { identityAt }),
          ...(cancelRequested === undefined ? {} : { cancelRequested }),
        }
        const write: LedgerWrite = {
          namespace: run.namespace,
          entry: {
            kind: 'update',
            scope: run.scope,
            set,
            ...rest,
            ...(uniqueSince === undefined ? {} : { uniqueSince }),
          },
          evidence: [makeEvidence(rest.key, { namespace: run.namespace, type: 'tool.completed' })],
        }
        return addExtras(run, write, more)
      },
  )

const call = fc
  .record({ id: number, state: fc.constantFrom('succeeded', 'running', 'unknown'), endedAt: time, extras })
  .map(
    ({ id, state, endedAt, extras: more }): MakeWrite =>
      (run) => {
        const { namespace, epoch } = run
        const record = makeEndedCall(newLife(), {
          namespace,
          id: `call-${id}`,
          epoch,
          endedAt,
          state: state as 'succeeded',
        })
        return addExtras(run, { namespace, calls: [record] }, more)
      },
  )

type Step = (store: Store, run: Run) => Promise<unknown>

const write = fc.oneof(insert, update, call)
/** Whether one takes the identity that another gives up in the same batch is for the store to say. */
const withoutIdentity = write.map(
  (make): MakeWrite =>
    (run) => {
      const made = make(run)
      if (made.entry?.uniqueSince === undefined) return made
      const { uniqueSince, ...entry } = made.entry
      return { ...made, entry }
    },
)
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: write.map(
      (make): Step =>
        (store, run) =>
          store.ledger.intend(make(run)),
    ),
  },
  {
    weight: 4,
    arbitrary: fc.array(withoutIdentity, { minLength: 2, maxLength: 5 }).map(
      (many): Step =>
        (store, run) =>
          Promise.allSettled(many.map((make) => store.ledger.settle(make(run)))),
    ),
  },
  {
    weight: 1,
    arbitrary: stopChange.map(
      (change): Step =>
        async (store, run) =>
          (await store.resources.apply(run.namespace, [change], 7, [])).kind,
    ),
  },
  {
    weight: 1,
    arbitrary: number.map(
      (id): Step =>
        (store, run) =>
          store.entries.requestCancel(run.namespace, `entry-${id}`),
    ),
  },
)

/** What a step came to; a refusal's wording is the engine's own. */
async function outcomeOf(run: Promise<unknown>): Promise<unknown> {
  const [result] = await Promise.allSettled([run])
  return JSON.parse(JSON.stringify(result, (_key, value) => (value instanceof Error ? value.name : value)))
}

async function everything(store: Store, { namespace, scope }: Run): Promise<unknown> {
  const all = <T, R>(of: readonly T[], read: (one: T) => Promise<R>) => Promise.all(of.map(read))
  return {
    found: await all(KEYS, (one) => store.entries.find(scope, one)),
    byId: await all(NUMBERS, (id) => store.entries.get(namespace, `entry-${id}`)),
    identities: await all(['i1', 'i2'], (one) => store.entries.findByIdentity(`${namespace}-${one}`, 2)),
    entries: await store.entries.list({ namespace, limit: 10 }),
    calls: await store.calls.list({ namespace, limit: 10 }),
    sagas: await store.sagas.list({ namespace, limit: 10 }),
    timers: (await all(KEYS, (one) => store.timers.get(namespace, 'reconcile', one))).map(
      (timer) => timer && { subject: timer.subject, data: timer.data },
    ),
    evidence: await all(KEYS, (one) => store.evidence.forCall(namespace, one)),
    governed: await governedRows(store, namespace),
  }
}

it('PostgreSQL and memory answer every sequence of writes alike', async () => {
  const world = newLife()
  const memory = await createMemoryStore({ world, leaseMs: 60_000 })
  const postgres = await createPostgresStore({ world, url })
  try {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
        const namespace = `n-${world.id()}`
        const scope = JSON.stringify([namespace, 'agent', 'mail', 'send'])
        const run: Run = {
          namespace,
          scope,
          epoch: world.epoch,
          entry: (over) => makeEntry(world, { namespace, scope, callId: 'call', ...over }),
        }
        for (const one of steps)
          assert.deepEqual(await outcomeOf(one(postgres, run)), await outcomeOf(one(memory, run)))
        assert.deepEqual(await everything(postgres, run), await everything(memory, run))
      }),
      { numRuns: 100 },
    )
  } finally {
    await Promise.all([memory.close(), postgres.close()])
  }
})
