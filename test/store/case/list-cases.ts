// Lists of entries: by state, saga and caller, newest first, in pages.
import assert from 'node:assert/strict'
import type { CallerSnapshot, Entry } from '../../../src/contract/entry.ts'
import type { EntryFilter } from '../../../src/store/store.ts'
import { insertOf, KEPT_STATES, keep, makeEntry, updateOf } from '../fixture.ts'
import type { StoreCase } from '../store-contract.ts'

const caller = (actor: string): CallerSnapshot => ({ ...makeCaller, actor })
const makeCaller: CallerSnapshot = {
  actor: '',
  namespace: 'default',
  roles: [],
  permissions: [],
  admin: false,
}

export const listCases: readonly StoreCase[] = [
  {
    name: 'entries are listed newest first, by any mix of states, saga and caller',
    async run({ world, open }) {
      const store = await open()
      const a = makeEntry(world, { state: 'unknown', saga: 's-1', caller: caller('ann') })
      const b = makeEntry(world, { state: 'done', saga: 's-1', caller: caller('bob') })
      const c = makeEntry(world, { state: 'prepared', saga: 's-2', caller: caller('ann') })
      const d = makeEntry(world, { state: 'unknown', caller: caller("o'hara") })
      const elsewhere = makeEntry(world, { state: 'unknown', namespace: 'other', saga: 's-1' })
      const kept = new Map<string, Entry>()
      for (const entry of [c, elsewhere, a, d, b]) kept.set(entry.id, await keep(store, entry))
      const ids = async (filter: Partial<EntryFilter>) =>
        (await store.entries.list({ namespace: 'default', limit: 10, ...filter })).map((entry) => entry.id)
      assert.deepEqual(await ids({}), [d.id, c.id, b.id, a.id])
      assert.deepEqual(await ids({ states: ['unknown'] }), [d.id, a.id])
      assert.deepEqual(await ids({ states: ['unknown', 'prepared'] }), [d.id, c.id, a.id])
      assert.deepEqual(await ids({ states: ['unknown', 'prepared', 'unknown'], limit: 2 }), [d.id, c.id])
      assert.deepEqual(await ids({ states: ['prepared', 'unknown'], before: d.id }), [c.id, a.id])
      assert.deepEqual(await ids({ states: ['done', 'unknown'] }), [d.id, b.id, a.id])
      assert.deepEqual(await ids({ states: ['compensated'] }), [])
      assert.deepEqual(await ids({ states: [] }), [])
      assert.deepEqual(await ids({ saga: 's-1' }), [b.id, a.id])
      assert.deepEqual(await ids({ saga: 's-1', states: ['unknown'] }), [a.id])
      assert.deepEqual(await ids({ actor: 'ann' }), [c.id, a.id])
      assert.deepEqual(await ids({ actor: "o'hara" }), [d.id])
      assert.deepEqual(await ids({ actor: 'ann', saga: 's-2', states: ['prepared'], before: d.id }), [c.id])
      assert.deepEqual(await ids({ before: b.id }), [a.id])
      assert.deepEqual(await ids({ limit: 2 }), [d.id, c.id])
      assert.deepEqual(await ids({ namespace: 'other' }), [elsewhere.id])
      assert.deepEqual(await store.entries.list({ namespace: 'default', saga: 's-2', limit: 1 }), [
        kept.get(c.id),
      ])
    },
  },
  {
    name: 'a list follows the moves of its entries',
    async run({ world, open }) {
      const store = await open()
      const entry = makeEntry(world)
      await store.ledger.intend(insertOf(entry))
      const keys = async (state: 'intended' | 'unknown' | 'done') =>
        (await store.entries.list({ namespace: 'default', states: [state], limit: 10 })).length
      assert.deepEqual([await keys('intended'), await keys('unknown'), await keys('done')], [1, 0, 0])
      await store.ledger.settle(updateOf(entry, ['sent', 'unknown']))
      assert.deepEqual([await keys('intended'), await keys('unknown'), await keys('done')], [0, 1, 0])
      await store.ledger.settle(updateOf({ ...entry, revision: 2 }, ['done']))
      assert.deepEqual([await keys('intended'), await keys('unknown'), await keys('done')], [0, 0, 1])
    },
  },
  {
    name: 'S11: a cancel request reaches the life that owns the entry, costs no revision, and ends with the entry',
    async run({ world, open }) {
      const store = await open()
      const mine = makeEntry(world)
      const other = makeEntry(world, { epoch: 'another-life' })
      const settled = await keep(store, makeEntry(world, { state: 'done' }))
      for (const entry of [mine, other]) await store.ledger.intend(insertOf(entry))
      assert.deepEqual(await store.entries.cancelRequests(10), [])
      assert.equal(await store.entries.requestCancel('default', mine.id), true)
      assert.equal(await store.entries.requestCancel('default', mine.id), true)
      assert.equal(await store.entries.requestCancel('default', other.id), true)
      assert.equal(await store.entries.requestCancel('default', settled.id), false)
      assert.equal(await store.entries.requestCancel('other', mine.id), false)
      assert.equal(await store.entries.requestCancel('default', 'nobody'), false)
      assert.deepEqual(await store.entries.cancelRequests(10), [{ namespace: 'default', id: mine.id }])
      const found = await store.entries.find(mine.scope, mine.key)
      assert.deepEqual(found, { ...mine, cancelRequested: true })
      assert.deepEqual(await store.entries.find(settled.scope, settled.key), settled)
      await store.ledger.settle(updateOf(mine, ['canceled']))
      assert.deepEqual(await store.entries.cancelRequests(10), [])
    },
  },
  {
    name: 'S11: a cancel is asked of those that are at their tool, whatever else is open',
    async run({ world, open }) {
      const store = await open()
      const asked: string[] = []
      for (const state of KEPT_STATES) {
        const entry = await keep(store, makeEntry(world, { state }))
        if (await store.entries.requestCancel('default', entry.id)) asked.push(state)
      }
      assert.ok(asked.includes('unknown') && asked.includes('committing'))
      const states = async (limit: number) => {
        const found = await store.entries.cancelRequests(limit)
        const entries = await Promise.all(found.map(({ id }) => store.entries.get('default', id)))
        return entries.map((entry) => entry?.state)
      }
      assert.deepEqual(await states(100), ['intended', 'sent'])
      assert.deepEqual(await states(1), ['intended'])
    },
  },
  {
    name: 'S11: a cancel was for its attempt: the next one begins without it where its write says so',
    async run({ world, open }) {
      const store = await open()
      const entry = makeEntry(world)
      await store.ledger.intend(insertOf(entry))
      await store.entries.requestCancel('default', entry.id)
      await store.ledger.settle(updateOf(entry, ['sent', 'not-done']))
      const kept = await store.entries.find(entry.scope, entry.key)
      assert.equal(kept?.cancelRequested, true, 'nobody has said otherwise')
      assert.deepEqual(await store.entries.cancelRequests(10), [])
      await store.ledger.intend(updateOf(kept, ['intended'], { cancelRequested: false }))
      assert.deepEqual(await store.entries.find(entry.scope, entry.key), { ...entry, revision: 3 })
      assert.deepEqual(await store.entries.cancelRequests(10), [])
      await store.entries.requestCancel('default', entry.id)
      assert.deepEqual(await store.entries.cancelRequests(10), [{ namespace: 'default', id: entry.id }])
    },
  },
]
