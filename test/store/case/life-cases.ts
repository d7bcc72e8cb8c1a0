// Who shares the store: leases, fencing, and what is handed from lives that ended to those that go on (S35, S36).
import assert from 'node:assert/strict'
import type { Entry } from '../../../src/contract/entry.ts'
import { Fenced, type Store } from '../../../src/store/store.ts'
import {
  insertOf,
  KEPT_STATES,
  keep,
  makeCall,
  makeEndedCall,
  makeEntry,
  makeEvidence,
  newLife,
  updateOf,
} from '../fixture.ts'
import type { StoreCase } from '../store-contract.ts'

const SHARED = { leaseMs: 60_000 }

/** The store refuses this and everything else, for good. */
async function assertFenced(store: Store): Promise<void> {
  await assert.rejects(store.ledger.settle({ namespace: 'default' }), Fenced)
  assert.ok(store.failed instanceof Fenced)
  assert.throws(() => store.ledger.note({ namespace: 'default' }), Fenced)
  await assert.rejects(store.timers.nextIn(), Fenced)
}

async function alive(store: Store): Promise<readonly string[]> {
  return (await store.lives.renew({}, 0)).map((life) => life.epoch)
}

export const lifeCases: readonly StoreCase[] = [
  {
    name: 'S35: a life that was ended by another writes nothing more: not its entry, not its evidence',
    needs: 'shares',
    async run({ world, open, pass }) {
      const [first, second] = [await open(world, SHARED), await open(newLife(world), SHARED)]
      await pass(60_000)
      assert.deepEqual(await second.lives.reap(), [world.epoch])
      const entry = makeEntry(world)
      const write = { ...insertOf(entry), evidence: [makeEvidence(entry.callId)] }
      await assert.rejects(first.ledger.intend(write), Fenced)
      assert.equal(await second.entries.get('default', entry.id), undefined)
      assert.deepEqual(await second.evidence.forCall('default', entry.callId), [])
      await assertFenced(first)
    },
  },
  {
    name: 'S35: a lease that is over still holds until somebody ends the life; any write renews it',
    needs: 'shares',
    async run({ world, open, pass }) {
      const [first, second] = [await open(world, SHARED), await open(newLife(world), SHARED)]
      await pass(90_000)
      await first.ledger.settle({ namespace: 'default' })
      assert.deepEqual(await second.lives.reap(), [])
      await pass(45_000)
      await first.ledger.settle({ namespace: 'default' })
      await pass(45_000)
      assert.deepEqual(await second.lives.reap(), [], 'it wrote in between')
      await pass(15_000)
      assert.deepEqual(await second.lives.reap(), [world.epoch])
      assert.deepEqual(await second.lives.reap(), [], 'once')
      assert.deepEqual((await alive(second)).length, 1, 'never itself')
    },
  },
  {
    name: 'S35: the end of a life is told at once, and it writes nothing after that',
    needs: 'shares',
    async run({ world, open }) {
      const other = newLife(world)
      const [first, second] = [await open(world, SHARED), await open(other, SHARED)]
      assert.deepEqual(await alive(second), [world.epoch, other.epoch])
      await first.lives.end()
      assert.deepEqual(await alive(second), [other.epoch])
      assert.deepEqual(await second.lives.reap(), [])
      await assertFenced(first)
    },
  },
  {
    name: 'S38: each life says what it knows of and what it is over, and hears it of the others',
    needs: 'shares',
    async run({ world, open }) {
      const other = newLife(world)
      const first = await open(world, SHARED)
      assert.equal(first.lives.leaseMs, 60_000)
      const [alone] = await first.lives.renew({}, 0)
      const { ordinal } = alone!
      await first.lives.renew({ 'tool:mail': 2 }, ordinal)
      const second = await open(other, SHARED)
      const [old, young] = await second.lives.renew({}, 0)
      assert.deepEqual(old, {
        epoch: world.epoch,
        ordinal,
        seen: ordinal,
        over: { 'tool:mail': 2 },
      })
      assert.equal(young!.epoch, other.epoch)
      assert.ok(young!.ordinal > ordinal)
      await first.lives.renew({}, young!.ordinal)
      const [changed] = await second.lives.renew({}, young!.ordinal)
      assert.deepEqual(changed, { ...old, seen: young!.ordinal, over: {} })
      await first.lives.renew({}, 0)
      const [kept] = await second.lives.renew({}, young!.ordinal)
      assert.equal(kept!.seen, young!.ordinal, 'what it knew it still knows')
    },
  },
  {
    name: 'S35: starting ends no life that shares the store',
    needs: 'shares',
    async run({ world, open }) {
      const first = await open(world, SHARED)
      await open(newLife(world), SHARED)
      assert.deepEqual(await first.ledger.settle({ namespace: 'default' }), { kind: 'written' })
    },
  },
  {
    name: 'S35: whoever owns the store alone ends the lives before it by starting, and has no lease to lose',
    needs: 'alone',
    async run({ world, open, pass }) {
      const first = await open()
      assert.equal(first.lives.leaseMs, Number.POSITIVE_INFINITY)
      assert.equal(first.lives.sendUntil, Number.POSITIVE_INFINITY)
      const next = newLife(world)
      const second = await open(next)
      await pass(1_000_000_000)
      assert.deepEqual(await second.lives.reap(), [])
      assert.deepEqual(await alive(second), [next.epoch])
      await assertFenced(first)
    },
  },
  {
    name: 'S35: a process may send until a third of its lease is left, from before its last write',
    needs: 'shares',
    async run({ world, open }) {
      const before = world.clock.monotonic()
      const store = await open(world, SHARED)
      const after = world.clock.monotonic()
      const first = store.lives.sendUntil
      assert.ok(first >= before + 40_000 && first <= after + 40_000)
      await store.lives.renew({}, 0)
      assert.ok(store.lives.sendUntil >= after + 40_000)
    },
  },
  {
    name: 'S36: entries that an ended life was at work on are adopted, oldest first, with a new revision and their state',
    async run({ world, open }) {
      const first = await open()
      const left: Entry[] = []
      for (const state of KEPT_STATES) left.push(await keep(first, makeEntry(world, { state, key: state })))
      assert.deepEqual(await first.entries.adopt(10), [], 'it is alive')
      await first.lives.end()
      await first.close()
      const next = newLife(world)
      const second = await open(next)
      await keep(second, makeEntry(next, { state: 'sent' }))
      const adopted = [...(await second.entries.adopt(2)), ...(await second.entries.adopt(10))]
      const expected = left
        .filter(({ state }) => ['intended', 'sent', 'committing'].includes(state))
        .map((entry) => ({ ...entry, epoch: next.epoch, revision: entry.revision + 1 }))
      assert.deepEqual(adopted, expected)
      assert.deepEqual(await second.entries.adopt(10), [], 'once')
      assert.deepEqual(await second.entries.find(expected[0]!.scope, expected[0]!.key), expected[0])
      assert.deepEqual(await second.ledger.settle(updateOf(left[1]!, ['unknown'])), {
        kind: 'conflict',
        on: 'revision',
        entry: expected[0],
      })
    },
  },
  {
    name: 'S36: calls that an ended life left running are adopted, oldest first',
    async run({ world, open }) {
      const first = await open()
      const calls = [makeCall(world), makeCall(world, { entryId: 'entry' })]
      const rest = [makeCall(world, { state: 'awaiting-approval' }), makeEndedCall(world)]
      await first.ledger.settle({ namespace: 'default', calls: [...calls, ...rest] })
      assert.deepEqual(await first.calls.adopt(10), [], 'it is alive')
      await first.lives.end()
      await first.close()
      const next = newLife(world)
      const second = await open(next)
      await second.ledger.settle({ namespace: 'default', calls: [makeCall(next)] })
      const adopted = [...(await second.calls.adopt(1)), ...(await second.calls.adopt(10))]
      assert.deepEqual(
        adopted,
        calls.map((call) => ({ ...call, epoch: next.epoch })),
      )
      assert.deepEqual(await second.calls.adopt(10), [], 'once')
      assert.deepEqual(await second.calls.get('default', calls[1]!.id), adopted[1])
    },
  },
  {
    name: 'S35: two processes that adopt at the same time never get the same entry or call',
    needs: 'shares',
    async run({ world, open }) {
      const gone = await open(world, SHARED)
      const entries = Array.from({ length: 20 }, () => makeEntry(world))
      await Promise.all(
        entries.map((entry) =>
          gone.ledger.intend({ ...insertOf(entry), calls: [makeCall(world, { id: entry.callId })] }),
        ),
      )
      await gone.lives.end()
      const stores = [await open(newLife(world), SHARED), await open(newLife(world), SHARED)]
      const taken = await Promise.all(
        [1, 2, 3].flatMap(() =>
          stores.map((store) => Promise.all([store.entries.adopt(4), store.calls.adopt(4)])),
        ),
      )
      for (const what of [0, 1] as const) {
        const ids = taken.flatMap((one) => one[what].map((row) => row.id))
        assert.equal(ids.length, 20)
        assert.equal(new Set(ids).size, 20)
      }
    },
  },
  {
    name: 'S13: of two processes that claim one key at the same time, one does',
    needs: 'shares',
    async run({ world, open }) {
      const lives = [world, newLife(world)]
      const stores = [await open(lives[0], SHARED), await open(lives[1], SHARED)]
      for (let round = 0; round < 10; round += 1) {
        const key = `order-${round}`
        const entries = lives.map((life) => makeEntry(life, { key, identity: key }))
        const results = await Promise.all(
          stores.map((store, index) => store.ledger.intend(insertOf(entries[index]!, 0))),
        )
        const winner = results.findIndex((result) => result.kind === 'written')
        const loser = 1 - winner
        assert.deepEqual(results[loser], { kind: 'conflict', on: 'key', entry: entries[winner] })
        const moves = await Promise.all(
          stores.map((store) => store.ledger.settle(updateOf(entries[winner]!, ['sent']))),
        )
        assert.deepEqual(moves.map((move) => move.kind).sort(), ['conflict', 'written'])
      }
    },
  },
]
