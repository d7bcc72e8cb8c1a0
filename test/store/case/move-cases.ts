// Every pair of states: only the moves of the table can be made, and one that cannot be leaves nothing behind.
import assert from 'node:assert/strict'
import { ENTRY_STATES } from '../../../src/contract/entry.ts'
import { TRANSITIONS } from '../../../src/contract/transitions.ts'
import { IllegalWrite, type LedgerWrite, type Store } from '../../../src/store/store.ts'
import type { World } from '../../../src/util/world.ts'
import {
  insertOf,
  KEPT_STATES,
  keep,
  makeCall,
  makeEntry,
  makeEvidence,
  makeSaga,
  OUTCOME,
  updateOf,
} from '../fixture.ts'
import type { StoreCase } from '../store-contract.ts'

/** Everything that a write can carry beside its entry, and a look whether any of it is there. */
function createBaggage(world: World) {
  const call = makeCall(world)
  const saga = makeSaga(world)
  const write: Omit<LedgerWrite, 'namespace' | 'entry'> = {
    calls: [call],
    evidence: [makeEvidence(call.id)],
    timers: [{ kind: 'reconcile', subject: call.id, inMs: 1_000 }],
    saga: { kind: 'insert', saga },
  }
  return {
    write,
    async isThere(store: Store): Promise<readonly boolean[]> {
      return [
        (await store.calls.get('default', call.id)) !== undefined,
        (await store.evidence.forCall('default', call.id)).length > 0,
        (await store.timers.get('default', 'reconcile', call.id)) !== undefined,
        (await store.sagas.get('default', saga.id)) !== undefined,
      ]
    },
  }
}

const NOTHING = [false, false, false, false]
const ALL = [true, true, true, true]

export const moveCases: readonly StoreCase[] = [
  {
    name: 'S26: of all pairs of states an entry moves along those of the table, and no other; a refused move writes nothing',
    async run({ world, open }) {
      const store = await open()
      await Promise.all(
        KEPT_STATES.flatMap((from) =>
          ENTRY_STATES.map(async (to) => {
            const entry = await keep(store, makeEntry(world, { state: from }))
            const baggage = createBaggage(world)
            const move = { ...updateOf(entry, [to], { outcome: OUTCOME }), ...baggage.write }
            const legal = TRANSITIONS[from].includes(to)
            const pair = `${from} > ${to}`
            if (legal) {
              assert.deepEqual(await store.ledger.settle(move), { kind: 'written' }, pair)
              const found = await store.entries.find(entry.scope, entry.key)
              assert.deepEqual(
                found,
                { ...entry, state: to, revision: entry.revision + 1, outcome: OUTCOME },
                pair,
              )
            } else {
              await assert.rejects(store.ledger.settle(move), IllegalWrite, pair)
              assert.deepEqual(await store.entries.find(entry.scope, entry.key), entry, pair)
            }
            assert.deepEqual(await baggage.isThere(store), legal ? ALL : NOTHING, pair)
          }),
        ),
      )
    },
  },
  {
    name: 'S34: an entry begins with its intent or waits for approval, a read also with its end; no other insert is kept',
    async run({ world, open }) {
      const store = await open()
      const first = ['awaiting-approval', 'intended']
      const ofRead = [...first, 'done', 'not-done', 'canceled']
      for (const readOnly of [false, true]) {
        for (const state of ENTRY_STATES) {
          const entry = makeEntry(world, { state, readOnly })
          const baggage = createBaggage(world)
          const legal = (readOnly ? ofRead : first).includes(state)
          const what = `${readOnly ? 'a read' : 'an effect'} as ${state}`
          const writing = store.ledger.intend({ ...insertOf(entry), ...baggage.write })
          if (legal) assert.deepEqual(await writing, { kind: 'written' }, what)
          else await assert.rejects(writing, IllegalWrite, what)
          const found = await store.entries.find(entry.scope, entry.key)
          assert.deepEqual(found, legal ? entry : undefined, what)
          assert.deepEqual(await baggage.isThere(store), legal ? ALL : NOTHING, what)
        }
      }
    },
  },
  {
    name: 'an insert has revision 1, and what cannot be inserted is refused before anything is looked at',
    async run({ world, open }) {
      const store = await open()
      const taken = makeEntry(world)
      await store.ledger.intend(insertOf(taken))
      for (const revision of [0, 2, 1.5, Number.NaN]) {
        const entry = makeEntry(world, { revision })
        await assert.rejects(store.ledger.intend(insertOf(entry)), IllegalWrite, String(revision))
        assert.equal(await store.entries.find(entry.scope, entry.key), undefined, String(revision))
      }
      const again = insertOf(makeEntry(world, { key: taken.key, state: 'sent' }))
      await assert.rejects(store.ledger.intend(again), IllegalWrite)
      await assert.rejects(store.ledger.intend({ ...again, openSaga: 'nobody' }), IllegalWrite)
      await assert.rejects(store.ledger.note(again), IllegalWrite)
    },
  },
  {
    name: 'a conflict writes nothing: no call, no evidence, no timer, no saga',
    async run({ world, open }) {
      const store = await open()
      const saga = makeSaga(world)
      const first = makeEntry(world, { identity: 'same' })
      await store.ledger.intend({ ...insertOf(first), saga: { kind: 'insert', saga } })
      const conflicts: Record<string, LedgerWrite> = {
        key: insertOf(makeEntry(world, { key: first.key })),
        identity: insertOf(makeEntry(world, { identity: 'same' }), 0),
        revision: updateOf({ ...first, revision: 7 }, ['sent']),
        saga: { ...insertOf(makeEntry(world)), openSaga: 'nobody' },
      }
      for (const [on, write] of Object.entries(conflicts)) {
        const baggage = createBaggage(world)
        const result = await store.ledger.intend({ ...baggage.write, ...write })
        assert.equal(result.kind === 'conflict' && result.on, on)
        assert.deepEqual(await baggage.isThere(store), NOTHING, on)
        const inserted = write.entry?.kind === 'insert' ? write.entry.entry.id : undefined
        if (inserted !== undefined) assert.equal(await store.entries.get('default', inserted), undefined, on)
      }
      const baggage = createBaggage(world)
      const taken = {
        ...insertOf(makeEntry(world)),
        ...baggage.write,
        saga: { kind: 'insert', saga } as const,
      }
      assert.deepEqual(await store.ledger.intend(taken), { kind: 'conflict', on: 'saga' })
      assert.deepEqual(await baggage.isThere(store), NOTHING)
      assert.deepEqual(await store.entries.find(first.scope, first.key), first)
    },
  },
  {
    name: 'the saga is looked at before the entry',
    async run({ world, open }) {
      const store = await open()
      const entry = makeEntry(world)
      await store.ledger.intend(insertOf(entry))
      const result = await store.ledger.intend({
        ...insertOf(makeEntry(world, { key: entry.key })),
        openSaga: 'nobody',
      })
      assert.deepEqual(result, { kind: 'conflict', on: 'saga' })
    },
  },
]
