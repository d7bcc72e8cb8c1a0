// Approvals, budgets and stops where several lives share one database, and where a commit is not acknowledged.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Approval } from '../../../src/contract/approval.ts'
import type { LedgerWrite, Store, WriteResult } from '../../../src/store/store.ts'
import { type PostgresServer, startPostgres } from '../../postgres/server.ts'
import { startWire, type Wire } from '../../postgres/wire.ts'
import { insertOf, makeApproval, makeEntry, makeEvidence, makeSpend, updateOf } from '../fixture.ts'
import { type Place, withPlace } from './place.ts'

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

const WRITTEN: WriteResult = { kind: 'written' }
const wins = (results: readonly WriteResult[]) => results.filter(({ kind }) => kind === 'written').length
const through = (url: string) => url.replace(`:${server.port}/`, `:${wire.port}/`)

async function spent(store: Store): Promise<number> {
  return (await store.budgets.spent('default', [makeSpend()]))[0] as number
}

const freeze = (store: Store, name: string) =>
  store.resources.apply(
    '*',
    [{ kind: 'Stop', name, version: '0.0.0', put: { digest: 'd', body: { kind: 'freeze' } } }],
    7,
    [],
  )

describe('replicas that race', () => {
  it('S38: spend what a budget has left, and no more, whoever of them asks', () =>
    withPlace(server, async (place) => {
      const replicas = await Promise.all([place.open(), place.open(), place.open()])
      const results = await Promise.all(
        replicas.flatMap(({ store, world }) =>
          Array.from({ length: 20 }, () =>
            store.ledger.intend({ ...insertOf(makeEntry(world)), spends: [makeSpend({ amount: 7 })] }),
          ),
        ),
      )
      assert.equal(wins(results), 14)
      for (const result of results) if (result.kind === 'conflict') assert.equal(result.on, 'budget')
      assert.equal(await spent(replicas[0].store), 98)
    }))

  it('S38: take from and give back to the same budgets in any order, and what is left is exact', () =>
    withPlace(server, async (place) => {
      const replicas = await Promise.all([place.open(), place.open()])
      const budgets = ['b1', 'b2', 'b3']
      let held = 0
      await Promise.all(
        replicas.map(async ({ store, world }, index) => {
          const order = index === 0 ? budgets : budgets.toReversed()
          await Promise.all(
            Array.from({ length: 30 }, async (_, n) => {
              const entry = makeEntry(world)
              const spends = order.map((budget) => makeSpend({ budget, amount: 1, max: 1_000 }))
              assert.deepEqual(await store.ledger.intend({ ...insertOf(entry), spends }), WRITTEN)
              const last = n % 3 === 0 ? 'done' : 'not-done'
              if (last === 'done') held += 1
              assert.deepEqual(await store.ledger.settle(updateOf(entry, ['sent', last])), WRITTEN)
            }),
          )
        }),
      )
      const keys = budgets.map((budget) => makeSpend({ budget }))
      assert.deepEqual(await replicas[0].store.budgets.spent('default', keys), [held, held, held])
    }))

  it('S45: an approval is decided by one and used by one', () =>
    withPlace(server, async (place) => {
      const replicas = await Promise.all([place.open(), place.open(), place.open()])
      const [{ store, world }] = replicas
      for (let round = 0; round < 10; round += 1) {
        const approval = makeApproval(world)
        await store.ledger.intend({ namespace: 'default', approval: { kind: 'insert', approval } })
        const decided = await Promise.all(
          replicas.map((one) => one.store.ledger.settle(moved(approval, 'approved'))),
        )
        assert.equal(wins(decided), 1)
        const approved: Approval = { ...approval, state: 'approved', revision: 2 }
        const used = await Promise.all(
          replicas.map((one) =>
            one.store.ledger.intend({ ...insertOf(makeEntry(one.world)), ...moved(approved, 'used') }),
          ),
        )
        assert.equal(wins(used), 1)
      }
      const entries = await store.entries.list({ namespace: 'default', limit: 100 })
      assert.equal(entries.length, 10)
    }))

  it('an id that two give to an approval at once belongs to one of them', () =>
    withPlace(server, async (place) => {
      const replicas = await Promise.all([place.open(), place.open(), place.open()])
      for (let round = 0; round < 10; round += 1) {
        const id = `approval-${round}`
        const results = await Promise.all(
          replicas.map(({ store, world }) =>
            store.ledger.intend({
              ...insertOf(makeEntry(world)),
              approval: { kind: 'insert', approval: makeApproval(world, { id }) },
            }),
          ),
        )
        assert.equal(wins(results), 1)
        for (const result of results) if (result.kind === 'conflict') assert.equal(result.on, 'approval')
      }
    }))

  it('S44: once a stop is there, no intent that is guarded by it is committed any more, on any replica', () =>
    withPlace(server, async (place) => {
      const [{ store: operator }, ...others] = await Promise.all([place.open(), place.open(), place.open()])
      let stopped = 0
      const loops = others.map(async ({ store, world }) => {
        for (;;) {
          const write = { ...insertOf(makeEntry(world)), unless: [{ stop: 'all' }] }
          const result = await store.ledger.intend(write)
          if (result.kind === 'written') continue
          assert.deepEqual(result, { kind: 'conflict', on: 'stopped', stop: 'all' })
          stopped += 1
          return
        }
      })
      await countAbove(place, 20)
      assert.equal((await freeze(operator, 'all')).kind, 'applied')
      const then = await count(place)
      await Promise.all(loops)
      assert.equal(stopped, 2)
      assert.equal(await count(place), then)
    }))
})

describe('a connection that is cut around a commit', () => {
  for (const when of ['before', 'after'] as const) {
    it(`S35: approvals and budgets are written once when it is cut ${when} it`, () =>
      withPlace(server, async (place) => {
        const { store, world } = await place.open({ url: through(place.url) })
        const other = await place.open()
        const entry = makeEntry(world, { state: 'awaiting-approval' })
        const approval = makeApproval(world, { entryId: entry.id })
        const steps: LedgerWrite[] = [
          { ...insertOf(entry), approval: { kind: 'insert', approval } },
          moved(approval, 'approved'),
          {
            ...updateOf(entry, ['intended']),
            ...moved({ ...approval, state: 'approved', revision: 2 }, 'used'),
            spends: [makeSpend()],
            unless: [{ stop: 'all' }],
            evidence: [makeEvidence(entry.callId)],
          },
        ]
        for (const step of steps) {
          const cut = wire.cutCommit(when)
          assert.deepEqual(await store.ledger.intend(step), WRITTEN)
          await cut
        }
        assert.deepEqual(await store.approvals.get('default', approval.id), {
          ...approval,
          state: 'used',
          revision: 3,
        })
        assert.equal(await spent(store), 40)
        const back = wire.cutCommit(when)
        const settled = await store.ledger.settle(
          updateOf({ ...entry, revision: 2 }, ['sent', 'not-done'], { settledAt: 2_000 }),
        )
        await back
        assert.deepEqual(settled, WRITTEN)
        assert.equal(await spent(other.store), 0)
      }))
  }

  it('S35: what stood in the way is read back as it was', () =>
    withPlace(server, async (place) => {
      const { store, world } = await place.open({ url: through(place.url) })
      await freeze(store, 'tool:mail')
      const approval = makeApproval(world)
      await store.ledger.intend({ namespace: 'default', approval: { kind: 'insert', approval } })
      const spend = makeSpend({ amount: 101 })
      const cut = wire.cutCommit('after')
      const results = await Promise.all([
        store.ledger.intend({ ...insertOf(makeEntry(world)), spends: [spend] }),
        store.ledger.intend({ ...insertOf(makeEntry(world)), unless: [{ stop: 'tool:mail' }] }),
        store.ledger.intend({ namespace: 'default', approval: { kind: 'insert', approval } }),
      ])
      await cut
      assert.deepEqual(results, [
        { kind: 'conflict', on: 'budget', spend },
        { kind: 'conflict', on: 'stopped', stop: 'tool:mail' },
        { kind: 'conflict', on: 'approval' },
      ])
    }))
})

function moved(approval: Approval, state: Approval['state']): LedgerWrite {
  const next = { ...approval, state, revision: approval.revision + 1 }
  return { namespace: approval.namespace, approval: { kind: 'update', approval: next } }
}

async function count(place: Place): Promise<number> {
  const [row] = await place.query('select count(*)::integer as n from writ.entry')
  return row?.n as number
}

async function countAbove(place: Place, least: number): Promise<void> {
  while ((await count(place)) < least) await new Promise(setImmediate)
}
