// Finding entries: by id, by identity, and how many are in each state.
import assert from 'node:assert/strict'
import type { Entry } from '../../../src/contract/entry.ts'
import type { EntryUpdate } from '../../../src/store/store.ts'
import { insertOf, KEPT_STATES, keep, makeEntry, OUTCOME, updateOf } from '../fixture.ts'
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
        saga: 'saga-1',
        request: {
          agent: 'planner',
          taskId: 'task-1',
          constraints: { timeoutMs: 500, scopes: ['a'] },
          echo: { context: { timezone: 'UTC' }, provenance: { by: 'test' } },
          deadlineUnixMs: 9_000,
        },
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
      for (const state of KEPT_STATES) {
        await keep(store, makeEntry(world, { identity: state, state }))
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
      const first = await keep(store, makeEntry(world, { identity: 'same', state: 'not-done' }))
      const again = (uniqueSince?: number) => {
        const { entry, ...rest } = updateOf(first, ['intended'])
        const unique = uniqueSince === undefined ? {} : { uniqueSince }
        return store.ledger.intend({ ...rest, entry: { ...(entry as EntryUpdate), ...unique } })
      }
      const second = makeEntry(world, { identity: 'same' })
      assert.equal((await store.ledger.intend(insertOf(second, 0))).kind, 'written')
      assert.deepEqual(await again(0), { kind: 'conflict', on: 'identity', entry: second })
      assert.deepEqual(await store.entries.find(first.scope, first.key), first)
      assert.equal((await again(1_001)).kind, 'written', 'outside of the window')
      await store.ledger.settle(updateOf(second, ['not-done']))
      await store.ledger.settle(updateOf({ ...first, revision: 3 }, ['unknown']))
      const { entry, ...rest } = updateOf({ ...first, revision: 4 }, ['intended'])
      const held = await store.ledger.intend({
        ...rest,
        entry: { ...(entry as EntryUpdate), uniqueSince: 0 },
      })
      assert.equal(held.kind, 'written', 'it is not in its own way')
    },
  },
  {
    name: 'S14: the window counts from the last attempt that may have the effect, not from when the entry was made',
    async run({ world, open }) {
      const store = await open()
      const first = await keep(store, makeEntry(world, { identity: 'same', state: 'not-done' }))
      await store.ledger.intend(updateOf(first, ['intended'], { identityAt: 90_000.5 }))
      const again: Entry = { ...first, state: 'intended', revision: 3, identityAt: 90_000.5 }
      assert.deepEqual(await store.entries.find(first.scope, first.key), again)
      assert.deepEqual(await store.entries.findByIdentity('same', 90_000.5), again)
      assert.equal(await store.entries.findByIdentity('same', 90_001), undefined)
      const repeat = () => insertOf(makeEntry(world, { identity: 'same', createdAt: 91_000 }), 80_000)
      assert.deepEqual(await store.ledger.intend(repeat()), {
        kind: 'conflict',
        on: 'identity',
        entry: again,
      })
      await store.ledger.settle(updateOf(again, ['sent', 'done'], { settledAt: 90_100 }))
      const paid: Entry = { ...again, state: 'done', revision: 4, settledAt: 90_100 }
      assert.deepEqual(await store.ledger.intend(repeat()), {
        kind: 'conflict',
        on: 'identity',
        entry: paid,
      })
    },
  },
  {
    name: 'S14: the newest with an identity is the one that was tried last',
    async run({ world, open }) {
      const store = await open()
      const older = await keep(store, makeEntry(world, { identity: 'same', state: 'not-done' }))
      const newer = makeEntry(world, { identity: 'same', createdAt: 2_000 })
      await store.ledger.intend(insertOf(newer))
      assert.deepEqual(await store.entries.findByIdentity('same', 0), newer)
      await store.ledger.intend(updateOf(older, ['intended'], { identityAt: 3_000 }))
      assert.equal((await store.entries.findByIdentity('same', 0))?.id, older.id)
      const sameTime = makeEntry(world, { identity: 'same', createdAt: 3_000 })
      await store.ledger.intend(insertOf(sameTime))
      assert.equal((await store.entries.findByIdentity('same', 0))?.id, sameTime.id, 'made last')
    },
  },
  {
    name: 'S14: the window of a new entry counts from its making; one without an identity has none',
    async run({ world, open }) {
      const store = await open()
      const { identityAt, ...unsaid } = makeEntry(world, { identity: 'same', createdAt: 5_000 })
      await store.ledger.intend(insertOf(unsaid))
      assert.deepEqual(await store.entries.findByIdentity('same', 5_000), { ...unsaid, identityAt: 5_000 })
      const plain = makeEntry(world)
      await store.ledger.intend(insertOf({ ...plain, identityAt: 1_000 }))
      assert.deepEqual(await store.entries.find(plain.scope, plain.key), plain)
      await store.ledger.settle(updateOf(plain, ['unknown', 'intended'], { identityAt: 2_000, attempts: 2 }))
      assert.deepEqual(await store.entries.find(plain.scope, plain.key), {
        ...plain,
        revision: 2,
        attempts: 2,
      })
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
    name: 'open entries are counted by state, over all namespaces; settled ones are not',
    async run({ world, open }) {
      const store = await open()
      assert.deepEqual(await store.entries.countOpen(), {})
      const entry = makeEntry(world)
      await store.ledger.intend(insertOf(entry))
      await keep(store, makeEntry(world, { state: 'unknown', namespace: 'other' }))
      await keep(store, makeEntry(world, { state: 'done' }))
      assert.deepEqual(await store.entries.countOpen(), { intended: 1, unknown: 1 })
      await store.ledger.settle(updateOf(entry, ['sent', 'unknown']))
      assert.deepEqual(await store.entries.countOpen(), { unknown: 2 })
      for (const state of KEPT_STATES) await keep(store, makeEntry(world, { state }))
      const settled = ['done', 'not-done', 'committed', 'rolled-back', 'compensated', 'canceled']
      const counted = Object.keys(await store.entries.countOpen())
      assert.deepEqual(counted.sort(), KEPT_STATES.filter((state) => !settled.includes(state)).sort())
    },
  },
  {
    name: 'a limit that is no whole number above 0 is refused',
    async run({ open }) {
      const store = await open()
      for (const limit of [0, -1, 1.5, Number.NaN]) {
        await assert.rejects(store.entries.adopt(limit), RangeError)
        await assert.rejects(store.entries.erase(0, limit), RangeError)
        await assert.rejects(store.calls.list({ namespace: 'default', limit }), RangeError)
        await assert.rejects(store.entries.list({ namespace: 'default', limit }), RangeError)
        await assert.rejects(store.timers.claim(limit), RangeError)
        await assert.rejects(store.evidence.prune('nobody', 1, limit), RangeError)
      }
    },
  },
]
