// Sagas: kept whole, moved along their table by compare-and-set, and joined only while open (S29).
import assert from 'node:assert/strict'
import { SAGA_STATES, SAGA_TRANSITIONS, type Saga, type SagaState } from '../../../src/contract/saga.ts'
import { IllegalWrite, type SagaWrite, type Store } from '../../../src/store/store.ts'
import { insertOf, keep, makeCall, makeEntry, makeEvidence, makeSaga, updateOf } from '../fixture.ts'
import type { StoreCase } from '../store-contract.ts'

function insert(store: Store, saga: Saga) {
  return store.ledger.intend({ namespace: saga.namespace, saga: { kind: 'insert', saga } })
}

function update(saga: Saga, state: SagaState, over: { reason?: string; endedAt?: number } = {}) {
  const write: SagaWrite = { kind: 'update', id: saga.id, revision: saga.revision, state, ...over }
  return { namespace: saga.namespace, saga: write }
}

export const sagaCases: readonly StoreCase[] = [
  {
    name: 'S29: a saga is kept whole, and found in its own namespace only',
    async run({ world, open }) {
      const store = await open()
      const saga = makeSaga(world)
      const ended = makeSaga(world, { state: 'aborted', reason: 'enough', endedAt: 2_000.5, revision: 4 })
      assert.deepEqual(await insert(store, saga), { kind: 'written' })
      await insert(store, ended)
      assert.deepEqual(await store.sagas.get('default', saga.id), saga)
      assert.deepEqual(await store.sagas.get('default', ended.id), ended)
      assert.equal(await store.sagas.get('other', saga.id), undefined)
      assert.deepEqual(await insert(store, saga), { kind: 'conflict', on: 'saga' }, 'its id is taken')
      assert.deepEqual(await insert(store, { ...saga, namespace: 'other' }), { kind: 'written' })
    },
  },
  {
    name: 'S29: of all pairs of states a saga moves along those of its table, and no other',
    async run({ world, open }) {
      const store = await open()
      for (const from of SAGA_STATES) {
        for (const to of SAGA_STATES) {
          const saga = makeSaga(world, { state: from, reason: 'before' })
          await insert(store, saga)
          const call = makeCall(world)
          const write = { ...update(saga, to), calls: [call], evidence: [makeEvidence(call.id)] }
          const pair = `${from} > ${to}`
          if (SAGA_TRANSITIONS[from].includes(to)) {
            assert.deepEqual(await store.ledger.settle(write), { kind: 'written' }, pair)
            const found = await store.sagas.get('default', saga.id)
            const reason = to === 'open' ? '' : 'before'
            assert.deepEqual(found, { ...saga, state: to, revision: 2, reason }, pair)
          } else {
            await assert.rejects(store.ledger.settle(write), IllegalWrite, pair)
            assert.deepEqual(await store.sagas.get('default', saga.id), saga, pair)
            assert.equal(await store.calls.get('default', call.id), undefined, pair)
            assert.deepEqual(await store.evidence.forCall('default', call.id), [], pair)
          }
        }
      }
    },
  },
  {
    name: 'a saga that changed since it was read is a conflict; what is set stays',
    async run({ world, open }) {
      const store = await open()
      const saga = makeSaga(world)
      await insert(store, saga)
      await store.ledger.settle(update(saga, 'aborting', { reason: 'a member failed' }))
      assert.deepEqual(await store.ledger.settle(update(saga, 'completed')), { kind: 'conflict', on: 'saga' })
      const gone = update({ ...saga, id: 'nobody' }, 'completed')
      assert.deepEqual(await store.ledger.settle(gone), { kind: 'conflict', on: 'saga' })
      await store.ledger.settle(update({ ...saga, revision: 2 }, 'aborted', { endedAt: 3_000 }))
      assert.deepEqual(await store.sagas.get('default', saga.id), {
        ...saga,
        state: 'aborted',
        revision: 3,
        reason: 'a member failed',
        endedAt: 3_000,
      })
    },
  },
  {
    name: 'S29: only while a saga is open may a write join it',
    async run({ world, open }) {
      const store = await open()
      for (const state of SAGA_STATES) {
        const saga = makeSaga(world, { state })
        await insert(store, saga)
        const entry = makeEntry(world, { saga: saga.id })
        const joined = await store.ledger.intend({ ...insertOf(entry), openSaga: saga.id })
        const expected = state === 'open' ? { kind: 'written' } : { kind: 'conflict', on: 'saga' }
        assert.deepEqual(joined, expected, state)
        const members = await store.entries.list({ namespace: 'default', saga: saga.id, limit: 10 })
        assert.deepEqual(members, state === 'open' ? [entry] : [], state)
      }
      const saga = makeSaga(world, { namespace: 'other' })
      await insert(store, saga)
      const foreign = await store.ledger.intend({ ...insertOf(makeEntry(world)), openSaga: saga.id })
      assert.deepEqual(foreign, { kind: 'conflict', on: 'saga' }, 'of another namespace')
    },
  },
  {
    name: 'S29: whoever comes after the abort in one batch does not join',
    async run({ world, open }) {
      const store = await open()
      const saga = makeSaga(world)
      await insert(store, saga)
      const [before, aborted, after] = await Promise.all([
        store.ledger.intend({ ...insertOf(makeEntry(world)), openSaga: saga.id }),
        store.ledger.settle(update(saga, 'aborting')),
        store.ledger.intend({ ...insertOf(makeEntry(world)), openSaga: saga.id }),
      ])
      assert.deepEqual(
        [before, aborted, after],
        [{ kind: 'written' }, { kind: 'written' }, { kind: 'conflict', on: 'saga' }],
      )
    },
  },
  {
    name: 'an entry that conflicts leaves the saga of its write as it was',
    async run({ world, open }) {
      const store = await open()
      const saga = makeSaga(world)
      const entry = await keep(store, makeEntry(world, { state: 'unknown' }))
      await store.ledger.intend({ namespace: 'default', saga: { kind: 'insert', saga } })
      const stale = { ...updateOf({ ...entry, revision: 9 }, ['done']), saga: update(saga, 'blocked').saga }
      assert.deepEqual(await store.ledger.settle(stale), { kind: 'conflict', on: 'revision', entry })
      assert.deepEqual(await store.sagas.get('default', saga.id), saga)
      const both = { ...updateOf(entry, ['done']), saga: update(saga, 'blocked', { reason: 'look' }).saga }
      assert.deepEqual(await store.ledger.settle(both), { kind: 'written' })
      assert.equal((await store.sagas.get('default', saga.id))?.state, 'blocked')
      assert.equal((await store.entries.get('default', entry.id))?.state, 'done')
    },
  },
  {
    name: 'sagas are listed newest first, by caller and state, in pages',
    async run({ world, open }) {
      const store = await open()
      const caller = (actor: string) => ({ ...makeSaga(world).caller, actor })
      const a = makeSaga(world, { caller: caller('ann') })
      const b = makeSaga(world, { caller: caller('bob'), state: 'blocked' })
      const c = makeSaga(world, { caller: caller('ann'), state: 'blocked' })
      for (const saga of [b, makeSaga(world, { namespace: 'other' }), c, a]) await insert(store, saga)
      const ids = async (filter: { actor?: string; state?: SagaState; before?: string; limit?: number }) =>
        (await store.sagas.list({ namespace: 'default', limit: 10, ...filter })).map((saga) => saga.id)
      assert.deepEqual(await ids({}), [c.id, b.id, a.id])
      assert.deepEqual(await ids({ actor: 'ann' }), [c.id, a.id])
      assert.deepEqual(await ids({ state: 'blocked' }), [c.id, b.id])
      assert.deepEqual(await ids({ state: 'blocked', actor: 'ann', before: c.id }), [])
      assert.deepEqual(await ids({ before: c.id, limit: 1 }), [b.id])
    },
  },
]
