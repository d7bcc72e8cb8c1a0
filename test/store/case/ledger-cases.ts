// The write verbs: atomic writes, conflicts, order, bounded lag, close.
import assert from 'node:assert/strict'
import type { Entry } from '../../../src/contract/entry.ts'
import { IllegalWrite, StoreUnavailable } from '../../../src/store/store.ts'
import {
  insertOf,
  keep,
  makeCall,
  makeEndedCall,
  makeEntry,
  makeEvidence,
  OUTCOME,
  SCOPE,
  updateOf,
} from '../fixture.ts'
import type { StoreCase } from '../store-contract.ts'

export const ledgerCases: readonly StoreCase[] = [
  {
    name: 'S34: intend writes entry, calls and evidence in one, and what it wrote can be read when it returns',
    async run({ world, open }) {
      const store = await open()
      const entry = makeEntry(world)
      const call = makeCall(world, { id: entry.callId, entryId: entry.id })
      const evidence = makeEvidence(entry.callId)
      const result = await store.ledger.intend({ ...insertOf(entry), calls: [call], evidence: [evidence] })
      assert.deepEqual(result, { kind: 'written' })
      assert.deepEqual(await store.entries.find(entry.scope, entry.key), entry)
      assert.deepEqual(await store.calls.get('default', call.id), call)
      assert.deepEqual(await store.evidence.forCall('default', call.id), [evidence])
    },
  },
  {
    name: 'settle moves an entry through several states, sets what it is given and counts one revision',
    async run({ world, open }) {
      const store = await open()
      const entry = makeEntry(world)
      const call = makeEndedCall(world, { id: entry.callId, entryId: entry.id })
      await store.ledger.intend(insertOf(entry))
      const set = {
        outcome: OUTCOME,
        settledAt: 2_000,
        attempts: 2,
        approvalId: 'approval',
        cancelRequested: true,
      }
      const moved = updateOf(entry, ['sent', 'done'], { ...set, epoch: 'other', callId: 'taken-over' })
      const result = await store.ledger.settle({ ...moved, calls: [call] })
      assert.deepEqual(result, { kind: 'written' })
      const expected: Entry = {
        ...entry,
        ...set,
        epoch: 'other',
        callId: 'taken-over',
        state: 'done',
        revision: 2,
      }
      assert.deepEqual(await store.entries.find(entry.scope, entry.key), expected)
      assert.deepEqual(await store.calls.get('default', call.id), call)
    },
  },
  {
    name: 'an update with an empty path keeps the state and what it does not set',
    async run({ world, open }) {
      const store = await open()
      const entry = makeEntry(world, { approvalId: 'approval' })
      await store.ledger.intend(insertOf(entry))
      await store.ledger.settle(updateOf(entry, [], { cancelRequested: true }))
      const found = await store.entries.find(entry.scope, entry.key)
      assert.deepEqual(found, { ...entry, cancelRequested: true, revision: 2 })
    },
  },
  {
    name: 'S16: another attempt drops the outcome of the one before',
    async run({ world, open }) {
      const store = await open()
      const entry = makeEntry(world)
      await store.ledger.intend(insertOf(entry))
      await store.ledger.settle(updateOf(entry, ['sent', 'not-done'], { outcome: OUTCOME, settledAt: 2_000 }))
      const again = updateOf({ ...entry, revision: 2 }, ['intended'], { attempts: 2, callId: 'second' })
      assert.deepEqual(await store.ledger.intend(again), { kind: 'written' })
      const found = await store.entries.find(entry.scope, entry.key)
      assert.deepEqual(found, { ...entry, attempts: 2, callId: 'second', revision: 3 })
      const set = { outcome: { ...OUTCOME, warnings: [] }, settledAt: 3_000 }
      await store.ledger.settle(
        updateOf({ ...entry, revision: 3 }, ['sent', 'unknown', 'intended', 'sent', 'done'], set),
      )
      assert.deepEqual((await store.entries.find(entry.scope, entry.key))?.outcome, set.outcome)
    },
  },
  {
    name: 'S13: a second entry with the same key is a conflict that shows the first, and nothing of it is written',
    async run({ world, open }) {
      const store = await open()
      const first = makeEntry(world, { key: 'order-1' })
      await store.ledger.intend(insertOf(first))
      const second = makeEntry(world, { key: 'order-1' })
      const call = makeCall(world, { id: second.callId })
      const write = { ...insertOf(second), calls: [call], evidence: [makeEvidence(second.callId)] }
      assert.deepEqual(await store.ledger.intend(write), { kind: 'conflict', on: 'key', entry: first })
      assert.deepEqual(await store.entries.find(SCOPE, 'order-1'), first)
      assert.equal(await store.entries.get('default', second.id), undefined)
      assert.equal(await store.calls.get('default', call.id), undefined)
      assert.deepEqual(await store.evidence.forCall('default', call.id), [])
    },
  },
  {
    name: 'S13: the same key in another scope is another entry',
    async run({ world, open }) {
      const store = await open()
      const first = makeEntry(world, { key: 'order-1' })
      const other = makeEntry(world, { key: 'order-1', scope: `${SCOPE}!` })
      await store.ledger.intend(insertOf(first))
      assert.deepEqual(await store.ledger.intend(insertOf(other)), { kind: 'written' })
      assert.deepEqual(await store.entries.find(other.scope, 'order-1'), other)
      assert.deepEqual(await store.entries.find(SCOPE, 'order-1'), first)
    },
  },
  {
    name: 'an update from another revision is a conflict that shows the entry, and nothing of it is written',
    async run({ world, open }) {
      const store = await open()
      const entry = makeEntry(world)
      await store.ledger.intend(insertOf(entry))
      const stale = {
        ...updateOf({ ...entry, revision: 0 }, ['sent']),
        evidence: [makeEvidence(entry.callId)],
      }
      assert.deepEqual(await store.ledger.settle(stale), { kind: 'conflict', on: 'revision', entry })
      assert.deepEqual(await store.evidence.forCall('default', entry.callId), [])
      const absent = updateOf({ ...entry, key: 'nobody' }, ['sent'])
      assert.deepEqual(await store.ledger.settle(absent), { kind: 'conflict', on: 'revision' })
    },
  },
  {
    name: 'a move that the transition table does not have is refused alone; its batch is written',
    async run({ world, open }) {
      const store = await open()
      const [entry, before, after] = [makeEntry(world), makeEntry(world), makeEntry(world)]
      await store.ledger.intend(insertOf(entry))
      const call = makeCall(world)
      const results = await Promise.allSettled([
        store.ledger.intend(insertOf(before)),
        store.ledger.settle({
          ...updateOf(entry, ['done']),
          calls: [call],
          evidence: [makeEvidence(call.id)],
        }),
        store.ledger.intend(insertOf(after)),
      ])
      assert.deepEqual(
        results.map((result) => result.status),
        ['fulfilled', 'rejected', 'fulfilled'],
      )
      const refused = (results[1] as PromiseRejectedResult).reason
      assert.ok(refused instanceof IllegalWrite)
      assert.match(refused.message, /is intended and may not become done/)
      assert.deepEqual(await store.entries.find(entry.scope, entry.key), entry)
      assert.equal(await store.calls.get('default', call.id), undefined)
      assert.deepEqual(await store.evidence.forCall('default', call.id), [])
      assert.deepEqual(await store.entries.find(after.scope, after.key), after)
      assert.equal(store.failed, undefined)
    },
  },
  {
    name: 'a path is checked step by step, not by its end',
    async run({ world, open }) {
      const store = await open()
      const entry = await keep(store, makeEntry(world, { state: 'prepared' }))
      await assert.rejects(
        store.ledger.settle(updateOf(entry, ['done', 'compensating', 'compensated'])),
        IllegalWrite,
      )
      await store.ledger.settle(updateOf(entry, ['committing', 'committed', 'compensating', 'compensated']))
      assert.equal((await store.entries.find(entry.scope, entry.key))?.state, 'compensated')
    },
  },
  {
    name: 'an entry id that another key has is refused',
    async run({ world, open }) {
      const store = await open()
      const entry = makeEntry(world)
      await store.ledger.intend(insertOf(entry))
      const thief = makeEntry(world, { id: entry.id })
      await assert.rejects(store.ledger.intend(insertOf(thief)), IllegalWrite)
      assert.deepEqual(await store.entries.get('default', entry.id), entry)
      const elsewhere = makeEntry(world, { id: entry.id, namespace: 'other' })
      assert.deepEqual(await store.ledger.intend(insertOf(elsewhere)), { kind: 'written' })
    },
  },
  {
    name: 'a key that a database would change is refused, so that no two keys become one',
    async run({ world, open }) {
      const store = await open()
      const kept = makeEntry(world, { key: 'a\ufffd' })
      const strange = makeEntry(world, { key: 'a\u{10ffff}\u0001\n' })
      await store.ledger.intend(insertOf(kept))
      await store.ledger.intend(insertOf(strange))
      assert.deepEqual(await store.entries.find(SCOPE, strange.key), strange)
      for (const key of ['a\ud800', 'a\0', 'a\0b']) {
        await assert.rejects(store.ledger.intend(insertOf(makeEntry(world, { key }))), IllegalWrite)
        assert.equal(await store.entries.find(SCOPE, key), undefined)
      }
    },
  },
  {
    name: 'a value that no row can hold is refused alone',
    async run({ world, open }) {
      const store = await open()
      const entry = makeEntry(world)
      const evidence = makeEvidence('a', { body: { n: 1n as unknown as number } })
      const results = await Promise.allSettled([
        store.ledger.intend(insertOf(entry)),
        store.ledger.settle({ namespace: 'default', evidence: [evidence] }),
      ])
      assert.deepEqual(
        results.map((result) => result.status),
        ['fulfilled', 'rejected'],
      )
      assert.ok((results[1] as PromiseRejectedResult).reason instanceof IllegalWrite)
      assert.deepEqual(await store.entries.find(entry.scope, entry.key), entry)
      assert.equal(store.failed, undefined)
    },
  },
  {
    name: 'writes of one batch see each other, in the order in which they were made',
    async run({ world, open }) {
      const store = await open()
      const entry = makeEntry(world)
      const second = makeEntry(world, { key: entry.key })
      const [made, again, moved, stale] = await Promise.all([
        store.ledger.intend(insertOf(entry)),
        store.ledger.intend(insertOf(second)),
        store.ledger.settle(updateOf(entry, ['sent'])),
        store.ledger.settle(updateOf(entry, ['sent'])),
      ])
      assert.deepEqual(made, { kind: 'written' })
      assert.deepEqual(again, { kind: 'conflict', on: 'key', entry })
      assert.deepEqual(moved, { kind: 'written' })
      const now = { ...entry, state: 'sent', revision: 2 }
      assert.deepEqual(stale, { kind: 'conflict', on: 'revision', entry: now })
    },
  },
  {
    name: 'S34: a note gets to disk without anybody asking for more',
    async run({ world, open }) {
      const store = await open()
      const call = makeEndedCall(world)
      assert.deepEqual(await store.ledger.note({ namespace: 'default', calls: [call] }), { kind: 'written' })
      assert.deepEqual(await store.calls.get('default', call.id), call)
    },
  },
  {
    name: 'a note is written with, and before, a write that comes after it',
    async run({ world, open }) {
      const store = await open()
      const call = makeCall(world)
      const order: string[] = []
      const noted = store.ledger.note({ namespace: 'default', calls: [call] }).then(() => order.push('note'))
      const entry = makeEntry(world)
      await store.ledger.intend({ ...insertOf(entry), calls: [{ ...call, state: 'failed' }] })
      order.push('intend')
      await noted
      assert.deepEqual(order, ['note', 'intend'])
      assert.equal((await store.calls.get('default', call.id))?.state, 'failed')
    },
  },
  {
    name: 'S34: a full buffer throws for notes and rejects for others; what was taken is written',
    async run({ world, open }) {
      const store = await open(world, { maxBuffered: 2 })
      const calls = [makeCall(world), makeCall(world)]
      const taken = calls.map((call) => store.ledger.note({ namespace: 'default', calls: [call] }))
      assert.throws(() => store.ledger.note({ namespace: 'default', calls: [] }), StoreUnavailable)
      await assert.rejects(store.ledger.intend(insertOf(makeEntry(world))), StoreUnavailable)
      await Promise.all(taken)
      assert.deepEqual(await store.calls.get('default', calls[1]!.id), calls[1])
      assert.deepEqual(await store.ledger.intend(insertOf(makeEntry(world))), { kind: 'written' })
      assert.equal(store.failed, undefined)
    },
  },
  {
    name: 'flush writes what is noted',
    async run({ world, open }) {
      const store = await open()
      const call = makeCall(world)
      void store.ledger.note({ namespace: 'default', calls: [call] })
      await store.flush()
      assert.deepEqual(await store.calls.get('default', call.id), call)
      await store.flush()
    },
  },
  {
    name: 'a closed store refuses everything, and closing twice is harmless',
    async run({ world, open }) {
      const store = await open()
      await Promise.all([store.close(), store.close()])
      await assert.rejects(store.ledger.intend(insertOf(makeEntry(world))), StoreUnavailable)
      assert.throws(() => store.ledger.note({ namespace: 'default' }), StoreUnavailable)
      await assert.rejects(store.entries.find(SCOPE, 'x'), StoreUnavailable)
      assert.equal(store.failed, undefined)
    },
  },
  {
    name: 'close writes what is noted, and a store that is opened again has it all',
    async run({ world, open }) {
      const first = await open()
      const entry = makeEntry(world)
      const call = makeEndedCall(world)
      await first.ledger.intend(insertOf(entry))
      void first.ledger.note({ namespace: 'default', calls: [call], evidence: [makeEvidence(call.id)] })
      await first.close()
      const second = await open({ ...world, epoch: world.id() })
      assert.deepEqual(await second.entries.find(entry.scope, entry.key), entry)
      assert.deepEqual(await second.calls.get('default', call.id), call)
      assert.deepEqual(await second.evidence.forCall('default', call.id), [makeEvidence(call.id)])
    },
  },
]
