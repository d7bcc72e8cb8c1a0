// Finding entries: by id, by identity, by state, and those that a dead process left behind.
import assert from 'node:assert/strict'
import { ENTRY_STATES } from '../../../src/contract/entry.ts'
import type { EntryUpdate } from '../../../src/store/store.ts'
import { insertOf, makeEntry, newLife, OUTCOME, updateOf } from '../fixture.ts'
import type { StoreCase } from '../store-contract.ts'

export const entryCases: readonly StoreCase[] = [
  {
    name: 'an entry is kept whole, with every optional field or none',
    async run({ world, open }) {
      const store = await open()
      const { payload, ...bare } = makeEntry(world)
      const full = makeEntry(world, {
        state: 'done',
        identity: 'id-1',
        approvalId: 'approval',
        outcome: OUTCOME,
        cancelRequested: true,
        readOnly: true,
        settledAt: 2_000.25,
        payload: { ref: 'blob:1', digest: 'sha256:11', bytes: 10, mediaType: 'text/plain' },
      })
      await Promise.all([store.ledger.intend(insertOf(bare)), store.ledger.intend(insertOf(full))])
      assert.deepEqual(await store.entries.find(bare.scope, bare.key), bare)
      assert.deepEqual(await store.entries.find(full.scope, full.key), full)
    },
  },
  {
    name: 'an entry is found by its id in its own namespace only',
    async run({ world, open }) {
      const store = await open()
      const entry = makeEntry(world, { namespace: 'team-a' })
      await store.ledger.intend(insertOf(entry))
      assert.deepEqual(await store.entries.get('team-a', entry.id), entry)
      assert.equal(await store.entries.get('team-b', entry.id), undefined)
      assert.equal(await store.entries.get('team-a', 'nobody'), undefined)
    },
  },
  {
    name: 'S14: an entry with the identity of a live one inside the window is a conflict that shows the newest',
    async run({ world, open }) {
      const store = await open()
      const older = makeEntry(world, { identity: 'same', createdAt: 1_000 })
      const newer = makeEntry(world, { identity: 'same', createdAt: 2_000 })
      await store.ledger.intend(insertOf(older))
      await store.ledger.intend(insertOf(newer))
      const third = makeEntry(world, { identity: 'same', createdAt: 3_000 })
      const result = await store.ledger.intend(insertOf(third, 500))
      assert.deepEqual(result, { kind: 'conflict', on: 'identity', entry: newer })
      assert.equal(await store.entries.get('default', third.id), undefined)
      assert.deepEqual(await store.entries.findByIdentity('same', 500), newer)
    },
  },
  {
    name: 'S14: the window begins at its very first millisecond',
    async run({ world, open }) {
      const store = await open()
      const first = makeEntry(world, { identity: 'same', createdAt: 1_000 })
      await store.ledger.intend(insertOf(first))
      assert.deepEqual(await store.entries.findByIdentity('same', 1_000), first)
      assert.equal(await store.entries.findByIdentity('same', 1_001), undefined)
      assert.equal(await store.entries.findByIdentity('another', 0), undefined)
      const inside = await store.ledger.intend(insertOf(makeEntry(world, { identity: 'same' }), 1_000))
      assert.equal(inside.kind, 'conflict')
      const outside = await store.ledger.intend(insertOf(makeEntry(world, { identity: 'same' }), 1_001))
      assert.equal(outside.kind, 'written')
    },
  },
  {
    name: 'S14: an entry without effect does not stand in the way; every other state does',
    async run({ world, open }) {
      const store = await open()
      const without = ['not-done', 'canceled', 'rolled-back', 'compensated']
      for (const state of ENTRY_STATES) {
        await store.ledger.intend(insertOf(makeEntry(world, { identity: state, state })))
        const second = await store.ledger.intend(insertOf(makeEntry(world, { identity: state }), 0))
        assert.equal(second.kind, without.includes(state) ? 'written' : 'conflict', state)
      }
    },
  },
  {
    name: 'S14: two entries of one batch with one identity: the first wins',
    async run({ world, open }) {
      const store = await open()
      const [first, second] = [makeEntry(world, { identity: 'same' }), makeEntry(world, { identity: 'same' })]
      const results = await Promise.all([
        store.ledger.intend(insertOf(first, 0)),
        store.ledger.intend(insertOf(second, 0)),
      ])
      assert.deepEqual(results, [{ kind: 'written' }, { kind: 'conflict', on: 'identity', entry: first }])
    },
  },
  {
    name: 'S14: an entry that is taken up again must still be the only one with its identity',
    async run({ world, open }) {
      const store = await open()
      const first = makeEntry(world, { identity: 'same', state: 'not-done' })
      const again = (uniqueSince?: number) => {
        const { entry, ...rest } = updateOf(first, ['intended'])
        const unique = uniqueSince === undefined ? {} : { uniqueSince }
        return store.ledger.intend({ ...rest, entry: { ...(entry as EntryUpdate), ...unique } })
      }
      await store.ledger.intend(insertOf(first))
      const second = makeEntry(world, { identity: 'same' })
      assert.equal((await store.ledger.intend(insertOf(second, 0))).kind, 'written')
      assert.deepEqual(await again(0), { kind: 'conflict', on: 'identity', entry: second })
      assert.deepEqual(await store.entries.find(first.scope, first.key), first)
      assert.equal((await again(1_001)).kind, 'written', 'outside of the window')
      await store.ledger.settle(updateOf(second, ['not-done']))
      await store.ledger.settle(updateOf({ ...first, revision: 2 }, ['unknown']))
      const { entry, ...rest } = updateOf({ ...first, revision: 3 }, ['intended'])
      const held = await store.ledger.intend({
        ...rest,
        entry: { ...(entry as EntryUpdate), uniqueSince: 0 },
      })
      assert.equal(held.kind, 'written', 'it is not in its own way')
    },
  },
  {
    name: 'S13: the key is looked at before the identity',
    async run({ world, open }) {
      const store = await open()
      const first = makeEntry(world, { identity: 'same' })
      await store.ledger.intend(insertOf(first))
      const same = makeEntry(world, { identity: 'same', key: first.key })
      assert.deepEqual(await store.ledger.intend(insertOf(same, 0)), {
        kind: 'conflict',
        on: 'key',
        entry: first,
      })
    },
  },
  {
    name: 'S36: orphans are the intended and sent entries of other lives, oldest first',
    async run({ world, open }) {
      const store = await open()
      const before = newLife(world)
      for (const state of ENTRY_STATES)
        await store.ledger.intend(insertOf(makeEntry(before, { state, key: state })))
      await store.ledger.intend(insertOf(makeEntry(world, { state: 'sent' })))
      const last = makeEntry(newLife(world), { state: 'intended', key: 'last' })
      await store.ledger.intend(insertOf(last))
      const keys = async (limit: number) =>
        (await store.entries.orphans(world.epoch, limit)).map((entry) => entry.key)
      assert.deepEqual(await keys(10), ['intended', 'sent', 'last'])
      assert.deepEqual(await keys(2), ['intended', 'sent'])
      await store.ledger.settle(updateOf(last, ['unknown'], { epoch: world.epoch }))
      assert.deepEqual(await keys(10), ['intended', 'sent'])
    },
  },
  {
    name: 'entries are counted by state',
    async run({ world, open }) {
      const store = await open()
      const entry = makeEntry(world)
      await store.ledger.intend(insertOf(entry))
      await store.ledger.intend(insertOf(makeEntry(world, { state: 'unknown' })))
      await store.ledger.intend(insertOf(makeEntry(world, { state: 'done' })))
      assert.equal(await store.entries.countByState('unknown'), 1)
      assert.equal(await store.entries.countByState('done'), 1)
      assert.equal(await store.entries.countByState('prepared'), 0)
      await store.ledger.settle(updateOf(entry, ['sent', 'unknown']))
      assert.equal(await store.entries.countByState('unknown'), 2)
      assert.equal(await store.entries.countByState('intended'), 0)
    },
  },
  {
    name: 'a limit that is no whole number above 0 is refused',
    async run({ world, open }) {
      const store = await open()
      for (const limit of [0, -1, 1.5, Number.NaN]) {
        await assert.rejects(store.entries.orphans(world.epoch, limit), RangeError)
        await assert.rejects(store.entries.erase(0, limit), RangeError)
        await assert.rejects(store.calls.list({ namespace: 'default', limit }), RangeError)
      }
    },
  },
]
