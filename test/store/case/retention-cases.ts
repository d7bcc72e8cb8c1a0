// How long things are remembered: payloads and outcomes first, keys much longer, open entries as long as they are open.
import assert from 'node:assert/strict'
import { SAGA_STATES } from '../../../src/contract/saga.ts'
import { IllegalWrite, isTombstone } from '../../../src/store/store.ts'
import {
  insertOf,
  KEPT_STATES,
  keep,
  makeCall,
  makeEndedCall,
  makeEntry,
  makeEvidence,
  makeSaga,
  OUTCOME,
  SCOPE,
  updateOf,
} from '../fixture.ts'
import type { StoreCase } from '../store-contract.ts'

const SETTLED = ['done', 'not-done', 'committed', 'rolled-back', 'compensated', 'canceled']

export const retentionCases: readonly StoreCase[] = [
  {
    name: 'S18: an erased entry keeps its key and fingerprint, nothing of payload, request and outcome',
    async run({ world, open }) {
      const store = await open()
      const entry = await keep(
        store,
        makeEntry(world, {
          state: 'done',
          outcome: OUTCOME,
          settledAt: 2_000,
          saga: 'saga-1',
          request: { agent: 'planner' },
        }),
      )
      assert.equal(isTombstone(entry), false)
      assert.equal(await store.entries.erase(2_000, 10), 0)
      assert.equal(await store.entries.erase(2_001, 10), 1)
      const { payload, outcome, request, ...rest } = entry
      const found = await store.entries.find(entry.scope, entry.key)
      assert.deepEqual(found, { ...rest, revision: entry.revision + 1, erased: true })
      assert.ok(found !== undefined && isTombstone(found))
      assert.equal(await store.entries.erase(2_001, 10), 0)
    },
  },
  {
    name: 'S16: only settled entries are erased; unknown, prepared and all other open ones never',
    async run({ world, open }) {
      const store = await open()
      for (const state of KEPT_STATES) {
        await keep(store, makeEntry(world, { state, key: state, settledAt: 2_000 }))
      }
      await keep(store, makeEntry(world, { state: 'done', key: 'never settled' }))
      assert.equal(await store.entries.erase(Number.MAX_SAFE_INTEGER, 100), SETTLED.length)
      for (const state of KEPT_STATES) {
        const entry = await store.entries.find(SCOPE, state)
        assert.equal(isTombstone(entry!), SETTLED.includes(state), state)
        assert.equal(entry!.payload === undefined, SETTLED.includes(state), state)
      }
      assert.equal(await store.entries.forget(Number.MAX_SAFE_INTEGER, 100), SETTLED.length)
      assert.ok(await store.entries.find(SCOPE, 'unknown'))
      assert.ok(await store.entries.find(SCOPE, 'prepared'))
      assert.equal(await store.entries.find(SCOPE, 'done'), undefined)
    },
  },
  {
    name: 'S18: a tombstone still answers for its key, and for its identity while that window lasts',
    async run({ world, open }) {
      const store = await open()
      const entry = await keep(store, makeEntry(world, { state: 'done', identity: 'same', settledAt: 2_000 }))
      await store.entries.erase(3_000, 10)
      const again = await store.ledger.intend(insertOf(makeEntry(world, { key: entry.key })))
      assert.ok(again.kind === 'conflict' && again.on === 'key' && isTombstone(again.entry!))
      const repeat = await store.ledger.intend(insertOf(makeEntry(world, { identity: 'same' }), 0))
      assert.ok(repeat.kind === 'conflict' && repeat.on === 'identity' && isTombstone(repeat.entry!))
    },
  },
  {
    name: 'an entry that is erased under somebody cannot be brought to run again',
    async run({ world, open }) {
      const store = await open()
      const entry = await keep(store, makeEntry(world, { state: 'not-done', settledAt: 2_000 }))
      await store.entries.erase(3_000, 10)
      const stale = await store.ledger.intend(updateOf(entry, ['intended']))
      assert.ok(stale.kind === 'conflict' && stale.on === 'revision' && isTombstone(stale.entry!))
      const tombstone = { ...entry, revision: entry.revision + 1 }
      await assert.rejects(store.ledger.intend(updateOf(tombstone, ['intended'])), IllegalWrite)
    },
  },
  {
    name: 'S18: erase takes what the tool returned out of the answers of ended calls, and leaves the rest',
    async run({ world, open }) {
      const store = await open()
      const ended = makeEndedCall(world, { endedAt: 2_000 })
      const later = makeEndedCall(world, { endedAt: 5_000 })
      const running = makeCall(world)
      const evidence = makeEvidence(ended.id)
      await store.ledger.settle({
        namespace: 'default',
        calls: [ended, later, running],
        evidence: [evidence],
      })
      assert.equal(await store.entries.erase(3_000, 10), 1)
      const { output, commitToken, ...answer } = ended.answer!
      const erased = { ...ended, answer: { ...answer, sideEffects: [] } }
      assert.deepEqual(await store.calls.get('default', ended.id), erased)
      assert.deepEqual(await store.calls.get('default', later.id), later)
      assert.deepEqual(await store.calls.get('default', running.id), running)
      assert.deepEqual(await store.evidence.forCall('default', ended.id), [evidence])
    },
  },
  {
    name: 'forget removes tombstones and erased calls, never what was not erased',
    async run({ world, open }) {
      const store = await open()
      const first = makeEntry(world, { identity: 'same' })
      const old = await keep(store, { ...first, state: 'done', settledAt: 2_000 })
      const call = makeEndedCall(world, { endedAt: 2_000 })
      await store.ledger.settle({ namespace: 'default', calls: [call] })
      assert.equal(await store.entries.forget(9_000, 10), 0)
      await store.entries.erase(9_000, 10)
      assert.equal(await store.entries.forget(2_000, 10), 0)
      assert.equal(await store.entries.forget(2_001, 10), 2)
      assert.equal(await store.entries.find(old.scope, old.key), undefined)
      assert.equal(await store.entries.get('default', old.id), undefined)
      assert.equal(await store.entries.findByIdentity('same', 0), undefined)
      assert.equal(await store.calls.get('default', call.id), undefined)
      assert.deepEqual(await store.ledger.intend(insertOf(first)), { kind: 'written' })
    },
  },
  {
    name: 'S18: forget removes sagas that ended long ago, and no other',
    async run({ world, open }) {
      const store = await open()
      const states = async () =>
        (await store.sagas.list({ namespace: 'default', limit: 100 })).map(
          (saga) => `${saga.state} ${saga.endedAt}`,
        )
      for (const endedAt of [1_000, 2_000, undefined]) {
        for (const state of SAGA_STATES) {
          const saga = makeSaga(world, { state, ...(endedAt === undefined ? {} : { endedAt }) })
          await store.ledger.settle({ namespace: 'default', saga: { kind: 'insert', saga } })
        }
      }
      const all = await states()
      assert.equal(await store.entries.erase(9_000, 100), 0)
      assert.equal(await store.entries.forget(1_000, 100), 0)
      assert.deepEqual(await states(), all)
      assert.equal(await store.entries.forget(2_000, 1), 1)
      assert.equal(await store.entries.forget(2_000, 100), 1)
      assert.equal(await store.entries.forget(2_000, 100), 0)
      const old = ['completed 1000', 'aborted 1000']
      assert.deepEqual(
        await states(),
        all.filter((one) => !old.includes(one)),
      )
    },
  },
  {
    name: 'S18: entries, calls and sagas share the limit of forget',
    async run({ world, open }) {
      const store = await open()
      for (let index = 0; index < 3; index += 1) {
        await keep(store, makeEntry(world, { state: 'done', settledAt: 1_000 }))
        const saga = makeSaga(world, { state: 'completed', endedAt: 1_000 })
        await store.ledger.settle({
          namespace: 'default',
          calls: [makeEndedCall(world, { endedAt: 1_000 })],
          saga: { kind: 'insert', saga },
        })
      }
      await store.entries.erase(9_000, 100)
      const counts: number[] = []
      do counts.push(await store.entries.forget(9_000, 4))
      while (counts.at(-1) === 4)
      assert.deepEqual(counts, [4, 4, 1])
      assert.deepEqual(await store.sagas.list({ namespace: 'default', limit: 10 }), [])
    },
  },
  {
    name: 'erase and forget change at most as many as they are told, and say when none is left',
    async run({ world, open }) {
      const store = await open()
      for (let index = 0; index < 5; index += 1) {
        await keep(store, makeEntry(world, { state: 'done', settledAt: 1_000 + index }))
        await store.ledger.settle({
          namespace: 'default',
          calls: [makeEndedCall(world, { endedAt: 1_000 + index })],
        })
      }
      for (const verb of ['erase', 'forget'] as const) {
        const counts: number[] = []
        do counts.push(await store.entries[verb](9_000, 4))
        while (counts.at(-1) === 4)
        assert.deepEqual(counts, [4, 4, 2], verb)
      }
      assert.deepEqual(await store.calls.list({ namespace: 'default', limit: 10 }), [])
    },
  },
]
