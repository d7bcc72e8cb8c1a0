// Hard budgets: reserved with the intent, kept while nobody knows, given back when nothing happened, but for reads that
// were sent (S38).
import assert from 'node:assert/strict'
import type { Spend } from '../../../src/contract/decision.ts'
import type { Entry, EntryState } from '../../../src/contract/entry.ts'
import { IllegalWrite, type LedgerWrite, type Store } from '../../../src/store/store.ts'
import {
  insertOf,
  KEPT_STATES,
  keep,
  makeApproval,
  makeEntry,
  makeEvidence,
  makeSpend,
  pathTo,
  updateOf,
} from '../fixture.ts'
import type { StoreCase } from '../store-contract.ts'

const WRITTEN = { kind: 'written' }
const GIVES_BACK: readonly EntryState[] = ['not-done', 'canceled', 'rolled-back']

function spending(write: LedgerWrite, ...spends: Spend[]): LedgerWrite {
  return { ...write, spends }
}

async function spent(store: Store, of: Partial<Spend> = {}): Promise<number> {
  return (await store.budgets.spent('default', [makeSpend(of)]))[0] as number
}

export const budgetCases: readonly StoreCase[] = [
  {
    name: 'S38: what a budget has left is taken with the intent; past that nothing is written, and the answer names it',
    async run({ world, open }) {
      const store = await open()
      assert.equal(await spent(store), 0)
      for (const amount of [60, 40]) {
        const write = spending(insertOf(makeEntry(world)), makeSpend({ amount }))
        assert.deepEqual(await store.ledger.intend(write), WRITTEN)
      }
      assert.equal(await spent(store), 100)
      const entry = makeEntry(world)
      const approval = makeApproval(world)
      const tight = makeSpend({ amount: 1 })
      const write: LedgerWrite = {
        ...spending(insertOf(entry), makeSpend({ budget: 'mail#1', amount: 5 }), tight),
        evidence: [makeEvidence(entry.callId)],
        timers: [{ kind: 'reconcile', subject: entry.id, inMs: 0 }],
        approval: { kind: 'insert', approval },
      }
      assert.deepEqual(await store.ledger.intend(write), { kind: 'conflict', on: 'budget', spend: tight })
      assert.equal(await store.entries.find(entry.scope, entry.key), undefined)
      assert.deepEqual(await store.evidence.forCall('default', entry.callId), [])
      assert.equal(await store.timers.get('default', 'reconcile', entry.id), undefined)
      assert.equal(await store.approvals.get('default', approval.id), undefined)
      assert.equal(await spent(store, { budget: 'mail#1' }), 0)
      const nothing = spending(insertOf(makeEntry(world)), makeSpend({ amount: 0 }))
      assert.deepEqual(await store.ledger.intend(nothing), WRITTEN)
    },
  },
  {
    name: 'budgets are counted apart by namespace, budget, subject and period, and read in the order asked for',
    async run({ world, open }) {
      const store = await open()
      const spends = [
        makeSpend({ amount: 1 }),
        makeSpend({ amount: 2, subject: 'bob' }),
        makeSpend({ amount: 3, budget: 'mail#1' }),
        makeSpend({ amount: 4, from: 86_400_000, until: 172_800_000 }),
      ]
      await store.ledger.intend(spending(insertOf(makeEntry(world)), ...spends))
      const elsewhere = makeEntry(world, { namespace: 'other', scope: 'other' })
      await store.ledger.intend(spending(insertOf(elsewhere), makeSpend({ amount: 9 })))
      const keys = [...spends.toReversed(), makeSpend({ subject: 'nobody' })]
      assert.deepEqual(await store.budgets.spent('default', keys), [4, 3, 2, 1, 0])
      assert.deepEqual(await store.budgets.spent('other', spends), [9, 0, 0, 0])
      assert.deepEqual(await store.budgets.spent('default', []), [])
    },
  },
  {
    name: 'S38: intents of one batch spend one rest, and no more than it',
    async run({ world, open }) {
      const store = await open()
      const writes = Array.from({ length: 12 }, () =>
        spending(insertOf(makeEntry(world)), makeSpend({ amount: 30 })),
      )
      const results = await Promise.all(writes.map((write) => store.ledger.intend(write)))
      assert.deepEqual(
        results.map(({ kind }) => kind),
        writes.map((_, index) => (index < 3 ? 'written' : 'conflict')),
      )
      assert.equal(await spent(store), 90)
    },
  },
  {
    name: 'S38: in one batch, one that cannot be written takes nothing, and what is given back can be taken',
    async run({ world, open }) {
      const store = await open()
      const spend = makeSpend({ amount: 60 })
      const first = makeEntry(world)
      await store.ledger.intend(spending(insertOf(first), spend))
      const [again, back, taken, over] = await Promise.all([
        store.ledger.intend(spending(insertOf(makeEntry(world, { key: first.key })), spend)),
        store.ledger.settle(updateOf(first, ['sent', 'not-done'], { settledAt: 2_000 })),
        store.ledger.intend(spending(insertOf(makeEntry(world)), spend)),
        store.ledger.intend(spending(insertOf(makeEntry(world)), spend)),
      ])
      assert.ok(again.kind === 'conflict' && again.on === 'key', 'a key that is taken counts for more')
      assert.deepEqual([back, taken], [WRITTEN, WRITTEN])
      assert.deepEqual(over, { kind: 'conflict', on: 'budget', spend })
      assert.equal(await spent(store), 60)
    },
  },
  {
    name: 'S38: it is given back when nothing happened, and stays spent in every other state',
    async run({ world, open }) {
      const store = await open()
      for (const [index, state] of KEPT_STATES.entries()) {
        if (state === 'awaiting-approval') continue
        const subject = `subject-${index}`
        const entry = makeEntry(world)
        await store.ledger.intend(spending(insertOf(entry), makeSpend({ subject })))
        const path = pathTo(state)
        if (path.length > 0) await store.ledger.settle(updateOf(entry, path, { settledAt: 2_000 }))
        assert.equal(await spent(store, { subject }), GIVES_BACK.includes(state) ? 0 : 40, state)
      }
    },
  },
  {
    name: 'S38: another attempt after nothing happened reserves again, and may find nothing left',
    async run({ world, open }) {
      const store = await open()
      const entry = makeEntry(world)
      const at = (revision: number) => ({ ...entry, revision })
      await store.ledger.intend(spending(insertOf(entry), makeSpend({ amount: 80 })))
      await store.ledger.settle(updateOf(entry, ['sent', 'not-done']))
      assert.equal(await spent(store), 0)
      await store.ledger.intend(spending(updateOf(at(2), ['intended']), makeSpend({ amount: 80 })))
      assert.equal(await spent(store), 80)
      await store.ledger.settle(updateOf(at(3), ['sent', 'not-done']))
      await store.ledger.intend(spending(insertOf(makeEntry(world)), makeSpend({ amount: 30 })))
      const again = spending(updateOf(at(4), ['intended']), makeSpend({ amount: 80 }))
      const spend = makeSpend({ amount: 80 })
      assert.deepEqual(await store.ledger.intend(again), { kind: 'conflict', on: 'budget', spend })
      assert.equal((await store.entries.get('default', entry.id))?.state, 'not-done')
      assert.equal(await spent(store), 30)
    },
  },
  {
    name: 'S38: a read that was sent keeps what it took however it ends; one that was not gives it back',
    async run({ world, open }) {
      const store = await open()
      for (const [index, state] of GIVES_BACK.entries()) {
        for (const { attempts, set } of [
          { attempts: 0, set: {} },
          { attempts: 0, set: { attempts: 1 } },
          { attempts: 1, set: {} },
          { attempts: 1, set: { attempts: 0 } },
        ]) {
          const subject = `${index} ${attempts} ${set.attempts}`
          const entry = makeEntry(world, { readOnly: true, attempts })
          await intended(store, entry, makeSpend({ subject }))
          const settled = updateOf(entry, pathTo(state), { ...set, settledAt: 2_000 })
          assert.deepEqual(await store.ledger.settle(settled), WRITTEN)
          const kept = (set.attempts ?? attempts) > 0 ? 40 : 0
          assert.equal(await spent(store, { subject }), kept, `${state} ${subject}`)
        }
      }
    },
  },
  {
    name: 'S38: reads that end in one batch with an intent: only what one that was not sent gives back can be taken',
    async run({ world, open }) {
      const store = await open()
      const read = () => makeEntry(world, { readOnly: true, attempts: 0 })
      const sent = await intended(store, read(), makeSpend({ amount: 50 }))
      const unsent = await intended(store, read(), makeSpend({ amount: 50 }))
      const spend = makeSpend({ amount: 50 })
      const [, over, , taken] = await Promise.all([
        store.ledger.settle(updateOf(sent, ['sent', 'canceled'], { attempts: 1, settledAt: 2_000 })),
        store.ledger.intend(spending(insertOf(read()), spend)),
        store.ledger.settle(updateOf(unsent, ['canceled'], { attempts: 0, settledAt: 2_000 })),
        store.ledger.intend(spending(insertOf(read()), spend)),
      ])
      assert.deepEqual([over, taken], [{ kind: 'conflict', on: 'budget', spend }, WRITTEN])
      assert.equal(await spent(store), 100)
    },
  },
  {
    name: 'S38: another intent of a read that was sent reserves in addition, and may find nothing left',
    async run({ world, open }) {
      const store = await open()
      const entry = await intended(store, makeEntry(world, { readOnly: true, attempts: 0 }), makeSpend())
      const at = (revision: number) => ({ ...entry, revision })
      const again = (revision: number) => spending(updateOf(at(revision), ['intended']), makeSpend())
      await store.ledger.settle(updateOf(entry, ['sent', 'not-done'], { attempts: 1 }))
      assert.equal(await spent(store), 40)
      assert.deepEqual(await store.ledger.intend(again(2)), WRITTEN)
      assert.equal(await spent(store), 80)
      await store.ledger.settle(updateOf(at(3), ['sent', 'not-done'], { attempts: 2 }))
      assert.equal(await spent(store), 80)
      const spend = makeSpend()
      assert.deepEqual(await store.ledger.intend(again(4)), { kind: 'conflict', on: 'budget', spend })
      assert.equal(await spent(store), 80)
    },
  },
  {
    name: 'S38: a read that ends and is intended anew in one write takes in addition, too; one unknown is the same read',
    async run({ world, open }) {
      const store = await open()
      const entry = await intended(store, makeEntry(world, { readOnly: true }), makeSpend({ amount: 30 }))
      const at = (revision: number) => ({ ...entry, revision })
      const repeat = spending(updateOf(entry, ['unknown', 'intended']), makeSpend({ amount: 40 }))
      assert.deepEqual(await store.ledger.intend(repeat), WRITTEN)
      assert.equal(await spent(store), 40)
      const anew = spending(updateOf(at(2), ['not-done', 'intended']), makeSpend({ amount: 50 }))
      assert.deepEqual(await store.ledger.intend(anew), WRITTEN)
      assert.equal(await spent(store), 90)
      const over = makeEntry(world, { readOnly: true, state: 'not-done', settledAt: 2_000 })
      const unsent = makeEntry(world, { readOnly: true, state: 'canceled', attempts: 0, settledAt: 2_000 })
      for (const one of [over, unsent]) await intended(store, one, makeSpend({ amount: 10 }))
      assert.equal(await spent(store), 100, 'one that is kept when it is over takes it if it was sent')
    },
  },
  {
    name: 'S38: a suspended call reserves nothing until its intent, which does',
    async run({ world, open }) {
      const store = await open()
      const entry = makeEntry(world, { state: 'awaiting-approval' })
      await store.ledger.intend(insertOf(entry))
      assert.equal(await spent(store), 0)
      await store.ledger.intend(spending(updateOf(entry, ['intended']), makeSpend()))
      assert.equal(await spent(store), 40)
      await store.ledger.settle(updateOf({ ...entry, revision: 2 }, ['canceled']))
      assert.equal(await spent(store), 0)
    },
  },
  {
    name: 'S22: a repeat of an unknown effect is the same effect: it takes only what it needs beyond that',
    async run({ world, open }) {
      const store = await open()
      const entry = await intended(store, makeEntry(world), makeSpend({ amount: 60 }))
      const repeat = spending(
        updateOf(entry, ['unknown', 'intended']),
        makeSpend({ amount: 70 }),
        makeSpend({ amount: 5, from: 86_400_000, until: 172_800_000 }),
      )
      assert.deepEqual(await store.ledger.intend(repeat), WRITTEN)
      const next = { from: 86_400_000 }
      assert.deepEqual([await spent(store), await spent(store, next)], [70, 5])
      await store.ledger.settle(updateOf({ ...entry, revision: 2 }, ['sent', 'not-done']))
      assert.deepEqual([await spent(store), await spent(store, next)], [0, 0])
    },
  },
  {
    name: 'S36: what an ended life had reserved is given back by whoever settles its entry',
    async run({ world, open }) {
      const store = await open()
      const entry = await intended(store, makeEntry(world), makeSpend())
      await store.lives.end()
      await store.close().catch(() => undefined)
      const heir = { ...world, epoch: world.id() }
      const after = await open(heir)
      const [adopted] = await after.entries.adopt(10)
      assert.equal(adopted?.id, entry.id)
      await after.ledger.settle(updateOf(adopted!, ['unknown']))
      assert.equal(await spent(after), 40, 'unknown stays spent')
      await after.ledger.settle(updateOf({ ...adopted!, revision: 3 }, ['not-done']))
      assert.equal(await spent(after), 0)
    },
  },
  {
    name: 'what is no whole number from 0 up, has no entry, or is named twice is refused',
    async run({ world, open }) {
      const store = await open()
      const refused: Spend[][] = [
        [makeSpend({ amount: -1 })],
        [makeSpend({ amount: 0.5 })],
        [makeSpend({ amount: Number.NaN })],
        [makeSpend({ amount: 2 ** 53 })],
        [makeSpend({ max: Number.POSITIVE_INFINITY })],
        [makeSpend({ from: Number.NaN })],
        [makeSpend(), makeSpend({ amount: 2 })],
        [makeSpend({ subject: 'a\0b' })],
      ]
      for (const spends of refused) {
        const entry = makeEntry(world)
        await assert.rejects(store.ledger.intend(spending(insertOf(entry), ...spends)), IllegalWrite)
        assert.equal(await store.entries.find(entry.scope, entry.key), undefined)
      }
      await assert.rejects(store.ledger.intend({ namespace: 'default', spends: [makeSpend()] }), IllegalWrite)
      assert.equal(await spent(store), 0)
    },
  },
  {
    name: 'S18: periods that are long over are forgotten in batches, and what comes back to them is, too',
    async run({ world, open }) {
      const store = await open()
      const old = makeSpend({ until: 2_000 })
      const entry = await intended(store, makeEntry(world), old)
      for (const subject of ['a', 'b'])
        await intended(store, makeEntry(world), makeSpend({ subject, until: 2_000 }))
      await intended(store, makeEntry(world), makeSpend({ subject: 'now', until: 3_000 }))
      await keep(store, makeEntry(world, { state: 'done', settledAt: 2_500 }))
      assert.equal(await store.entries.erase(2_000, 10), 0)
      assert.equal(await store.entries.erase(1_999.9, 10), 0, 'a database may say the time with a fraction')
      assert.equal(await store.entries.erase(2_999.9, 2), 2, 'one entry, one period')
      assert.equal(await store.entries.erase(3_000, 10), 2)
      assert.deepEqual([await spent(store), await spent(store, { subject: 'now' })], [0, 40])
      await store.ledger.settle(updateOf(entry, ['sent', 'not-done']))
      assert.equal(await spent(store), 0)
      assert.equal(await store.entries.erase(3_000, 10), 0, 'nothing came back')
    },
  },
]

async function intended(store: Store, entry: Entry, spend: Spend): Promise<Entry> {
  assert.deepEqual(await store.ledger.intend(spending(insertOf(entry), spend)), WRITTEN)
  return entry
}
