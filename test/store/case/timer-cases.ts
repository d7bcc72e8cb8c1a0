// Timers: rows with a due time by the store's clock, each in one hand, never early, never lost.
import assert from 'node:assert/strict'
import { IllegalWrite, type Store, type TimerChange } from '../../../src/store/store.ts'
import { insertOf, makeEntry, newLife } from '../fixture.ts'
import type { StoreCase } from '../store-contract.ts'

const SHARED = { leaseMs: 60_000 }

function set(store: Store, ...timers: TimerChange[]) {
  return store.ledger.settle({ namespace: 'default', timers })
}

async function claimed(store: Store, limit = 10): Promise<readonly string[]> {
  return (await store.timers.claim(limit)).map(({ kind, subject }) => `${kind} ${subject}`)
}

/** Cases run on real clocks as well: some time may have passed since. */
function assertSoon(found: number | undefined, expected: number): void {
  assert.ok(
    found !== undefined && found <= expected && found > expected - 10_000,
    `${found}, not ${expected}`,
  )
}

export const timerCases: readonly StoreCase[] = [
  {
    name: 'S12: a timer is written with its entry, and is there until it is dropped',
    async run({ world, open }) {
      const store = await open()
      const entry = makeEntry(world)
      assert.equal(await store.timers.nextIn(), undefined)
      const timer = { kind: 'reconcile', subject: entry.id, inMs: 60_000, data: { tries: 1 } } as const
      await store.ledger.intend({ ...insertOf(entry), timers: [timer] })
      const found = await store.timers.get('default', 'reconcile', entry.id)
      const { dueAt, ...rest } = found!
      assert.deepEqual(rest, {
        namespace: 'default',
        kind: 'reconcile',
        subject: entry.id,
        data: { tries: 1 },
      })
      assert.equal(typeof dueAt, 'number')
      assertSoon(await store.timers.nextIn(), 60_000)
      assert.equal(await store.timers.get('default', 'rollback', entry.id), undefined)
      assert.equal(await store.timers.get('other', 'reconcile', entry.id), undefined)
      await set(store, { kind: 'reconcile', subject: entry.id })
      assert.equal(await store.timers.get('default', 'reconcile', entry.id), undefined)
      assert.equal(await store.timers.nextIn(), undefined)
    },
  },
  {
    name: 'S12: a timer is claimed when it is due by the store’s clock, not before, and by one claim only',
    async run({ open, pass }) {
      const store = await open()
      await set(store, { kind: 'approval', subject: 'a', inMs: 60_000 })
      assert.deepEqual(await claimed(store), [])
      await pass(30_000)
      assert.deepEqual(await claimed(store), [])
      assertSoon(await store.timers.nextIn(), 30_000)
      await pass(30_000)
      assert.equal(await store.timers.nextIn(), 0)
      assert.deepEqual(await claimed(store), ['approval a'])
      assert.deepEqual(await claimed(store), [])
      assert.equal(await store.timers.nextIn(), undefined, 'somebody has it')
      assert.ok(await store.timers.get('default', 'approval', 'a'), 'it is kept while it is in hand')
    },
  },
  {
    name: 'timers are claimed in the order in which they are due, as many as are asked for',
    async run({ open, pass }) {
      const store = await open()
      await set(
        store,
        { kind: 'saga', subject: 'third', inMs: 30_000 },
        { kind: 'approval', subject: 'first', inMs: 10_000 },
        { kind: 'rollback', subject: 'second', inMs: 20_000, data: { n: 2 } },
        { kind: 'retention', subject: '', inMs: 90_000 },
      )
      await pass(40_000)
      const [first, second] = await store.timers.claim(2)
      assert.equal(first!.subject, 'first')
      assert.deepEqual(first!.data, {})
      assert.deepEqual(second!.data, { n: 2 })
      assert.ok(second!.dueAt >= first!.dueAt)
      assert.deepEqual(await claimed(store, 2), ['saga third'])
      assertSoon(await store.timers.nextIn(), 50_000)
    },
  },
  {
    name: 'setting a timer again replaces it and takes it out of the hand that had it',
    async run({ open, pass }) {
      const store = await open()
      await set(store, { kind: 'reconcile', subject: 'a', inMs: 0, data: { tries: 1 } })
      assert.deepEqual(await claimed(store), ['reconcile a'])
      await set(store, { kind: 'reconcile', subject: 'a', inMs: 60_000, data: { tries: 2 } })
      assert.deepEqual(await claimed(store), [], 'not before its new time')
      await pass(60_000)
      const [again] = await store.timers.claim(10)
      assert.deepEqual(again!.data, { tries: 2 })
      await set(store, { kind: 'reconcile', subject: 'a' })
      assert.deepEqual(await claimed(store), [])
    },
  },
  {
    name: 'a time that has passed is due at once; one that is no time is refused with its write',
    async run({ world, open }) {
      const store = await open()
      await set(store, { kind: 'saga', subject: 'late', inMs: -5_000 })
      assert.equal(await store.timers.nextIn(), 0)
      assert.deepEqual(await claimed(store), ['saga late'])
      for (const inMs of [Number.NaN, Number.POSITIVE_INFINITY]) {
        const entry = makeEntry(world)
        const write = { ...insertOf(entry), timers: [{ kind: 'saga', subject: 'x', inMs } as const] }
        await assert.rejects(store.ledger.intend(write), IllegalWrite)
        assert.equal(await store.entries.get('default', entry.id), undefined)
      }
    },
  },
  {
    name: 'the last change of a timer in one write counts',
    async run({ open }) {
      const store = await open()
      await set(
        store,
        { kind: 'saga', subject: 'gone', inMs: 0 },
        { kind: 'saga', subject: 'gone' },
        { kind: 'saga', subject: 'kept' },
        { kind: 'saga', subject: 'kept', inMs: 0 },
      )
      assert.deepEqual(await claimed(store), ['saga kept'])
    },
  },
  {
    name: 'S12: whoever has a timer in hand sets or drops it, as long as it is the one that was claimed',
    async run({ open }) {
      const store = await open()
      const timer = { kind: 'reconcile', subject: 'a' } as const
      await set(store, { ...timer, inMs: 0 })
      const [first] = await store.timers.claim(1)
      await set(store, { ...timer, inMs: 0, data: { tries: 2 }, ifDueAt: first!.dueAt })
      const [second] = await store.timers.claim(1)
      assert.deepEqual(second!.data, { tries: 2 })
      await set(store, { ...timer, ifDueAt: second!.dueAt })
      assert.equal(await store.timers.get('default', 'reconcile', 'a'), undefined)
      await set(store, { ...timer, inMs: 0, ifDueAt: second!.dueAt })
      assert.equal(await store.timers.get('default', 'reconcile', 'a'), undefined, 'what is gone stays so')
    },
  },
  {
    name: 'S12: a timer that was set anew since it was claimed is left as it is; the rest of the write stands',
    async run({ world, open }) {
      const store = await open()
      const timer = { kind: 'reconcile', subject: 'a' } as const
      await set(store, { ...timer, inMs: 0 })
      const [old] = await store.timers.claim(1)
      await set(store, { ...timer, inMs: 60_000, data: { by: 'somebody' } })
      const anew = await store.timers.get('default', 'reconcile', 'a')
      const entry = makeEntry(world)
      const again = { ...timer, inMs: 0, ifDueAt: old!.dueAt }
      const other = { kind: 'saga', subject: 'b', inMs: 60_000 } as const
      await store.ledger.settle({ ...insertOf(entry), timers: [again, other] })
      await set(store, { ...timer, ifDueAt: old!.dueAt })
      assert.deepEqual(await store.timers.get('default', 'reconcile', 'a'), anew)
      assert.deepEqual(await store.entries.get('default', entry.id), entry)
      assert.ok(await store.timers.get('default', 'saga', 'b'))
      await set(store, { ...timer, ifDueAt: anew!.dueAt })
      assert.deepEqual(await store.timers.get('default', 'reconcile', 'a'), anew, 'nobody has claimed it')
    },
  },
  {
    name: 'S12: a claimed timer is known by its exact due time',
    async run({ open }) {
      const store = await open()
      const timer = { kind: 'reconcile', subject: 'a' } as const
      await set(store, { ...timer, inMs: -0.125 })
      const [claimedOne] = await store.timers.claim(1)
      for (const off of [-0.25, 0.25, -1, 1]) {
        await set(store, { ...timer, ifDueAt: claimedOne!.dueAt + off })
        assert.deepEqual(await store.timers.get('default', 'reconcile', 'a'), claimedOne, String(off))
      }
      for (const ifDueAt of [Number.NaN, Number.NEGATIVE_INFINITY]) {
        await assert.rejects(set(store, { ...timer, ifDueAt }), IllegalWrite)
      }
      await set(store, { ...timer, ifDueAt: claimedOne!.dueAt })
      assert.equal(await store.timers.get('default', 'reconcile', 'a'), undefined)
    },
  },
  {
    name: 'S12: changes of a claimed timer count in the order in which they are made, also in one batch',
    async run({ open }) {
      const store = await open()
      const subjects = ['a', 'b', 'c', 'd', 'e']
      await set(store, ...subjects.map((subject) => ({ kind: 'saga', subject, inMs: 0 }) as const))
      const due = new Map((await store.timers.claim(10)).map(({ subject, dueAt }) => [subject, dueAt]))
      const change = (subject: string, n: number, ifDueAt?: number) =>
        set(store, {
          kind: 'saga',
          subject,
          ...(n === 0 ? {} : { inMs: 60_000, data: { n } }),
          ...(ifDueAt === undefined ? {} : { ifDueAt }),
        })
      await Promise.all([
        change('a', 1),
        change('a', 2, due.get('a')),
        change('b', 1, due.get('b')),
        change('b', 2),
        change('c', 1, due.get('c')),
        change('c', 0, due.get('c')),
        change('d', 1, due.get('d')! - 1),
        change('d', 2, due.get('d')),
        change('e', 0, due.get('e')),
        change('e', 1, due.get('e')),
      ])
      const found = await Promise.all(subjects.map((subject) => store.timers.get('default', 'saga', subject)))
      assert.deepEqual(
        found.map((timer) => timer?.data.n),
        [1, 2, 1, 2, undefined],
      )
    },
  },
  {
    name: 'S35: a timer that another process has in hand is not changed by one that had it before',
    needs: 'shares',
    async run({ world, open }) {
      const [first, second] = [await open(world, SHARED), await open(newLife(world), SHARED)]
      const timer = { kind: 'reconcile', subject: 'a' } as const
      await set(first, { ...timer, inMs: 0 })
      const [theirs] = await second.timers.claim(1)
      await set(first, { ...timer, inMs: 0, data: { mine: true }, ifDueAt: theirs!.dueAt })
      await set(first, { ...timer, ifDueAt: theirs!.dueAt })
      assert.deepEqual(await first.timers.get('default', 'reconcile', 'a'), theirs)
      assert.deepEqual(await claimed(first), [], 'it is still in that hand')
      await set(second, { ...timer, ifDueAt: theirs!.dueAt })
      assert.equal(await first.timers.get('default', 'reconcile', 'a'), undefined)
    },
  },
  {
    name: 'S35: of two processes one gets a timer; when that one ends, the other does',
    needs: 'shares',
    async run({ world, open }) {
      const [first, second] = [await open(world, SHARED), await open(newLife(world), SHARED)]
      await set(first, { kind: 'reconcile', subject: 'a', inMs: 0 })
      const hands = await Promise.all([claimed(first), claimed(second)])
      assert.deepEqual(hands.flat(), ['reconcile a'])
      const [holder, other] = hands[0].length > 0 ? [first, second] : [second, first]
      assert.deepEqual(await claimed(other), [])
      assert.equal(await other.timers.nextIn(), undefined)
      await holder.lives.end()
      assert.equal(await other.timers.nextIn(), 0)
      assert.deepEqual(await claimed(other), ['reconcile a'])
    },
  },
  {
    name: 'S35: a timer that a life had in hand when it ended is claimed by the next',
    async run({ world, open }) {
      const first = await open()
      await set(first, { kind: 'compensation', subject: 'a', inMs: 0 })
      assert.deepEqual(await claimed(first), ['compensation a'])
      await first.lives.end()
      await first.close()
      const second = await open(newLife(world))
      assert.deepEqual(await claimed(second), ['compensation a'])
    },
  },
]
