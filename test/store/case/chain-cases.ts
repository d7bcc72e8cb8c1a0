// Where chains end, checkpoints over them, and how their old parts go (S39).
import assert from 'node:assert/strict'
import type { Store } from '../../../src/store/store.ts'
import { makeCheckpoint, makeEvidence, newLife } from '../fixture.ts'
import type { StoreCase } from '../store-contract.ts'
import { verifyChain } from './evidence-cases.ts'

const SHARED = { leaseMs: 60_000 }

function record(store: Store, ...callIds: string[]) {
  return store.ledger.settle({
    namespace: 'default',
    evidence: callIds.map((callId) => makeEvidence(callId)),
  })
}

export const chainCases: readonly StoreCase[] = [
  {
    name: 'S39: the end of every chain is known, by the order of their lives, and whether it may still grow',
    async run({ world, open }) {
      const first = await open()
      await record(first, 'a', 'b')
      await first.lives.end()
      await first.close()
      const next = newLife(world)
      const second = await open(next)
      await record(second, 'c')
      const [before, after] = [
        (await second.evidence.links(world.epoch, 1, 10)).at(-1)!,
        (await second.evidence.links(next.epoch, 1, 10)).at(-1)!,
      ]
      assert.deepEqual(await second.evidence.ends(), [
        { epoch: world.epoch, batch: 2, seq: 3, hash: before.hash, closed: true },
        { epoch: next.epoch, batch: 2, seq: 2, hash: after.hash, closed: false },
      ])
    },
  },
  {
    name: 'S39: two processes write two chains at the same time',
    needs: 'shares',
    async run({ world, open }) {
      const lives = [world, newLife(world)]
      const stores = [await open(lives[0], SHARED), await open(lives[1], SHARED)]
      for (let round = 0; round < 5; round += 1)
        await Promise.all(stores.map((store) => record(store, `${round}`)))
      for (const life of lives) {
        const links = await stores[0]!.evidence.links(life.epoch, 1, 100)
        assert.equal(links.length, 6)
        verifyChain(links)
      }
      const ends = await stores[1]!.evidence.ends()
      assert.deepEqual(
        ends.map(({ epoch, batch, closed }) => [epoch, batch, closed]),
        lives.map((life) => [life.epoch, 6, false]),
      )
      assert.equal((await stores[1]!.evidence.forCall('default', '0')).length, 2)
    },
  },
  {
    name: 'S39: checkpoints are kept as they are given, each number once',
    async run({ open }) {
      const store = await open()
      assert.equal(await store.evidence.lastCheckpoint(), undefined)
      const rows = [1, 2, 3].map((number) => makeCheckpoint(number))
      for (const row of rows) assert.equal(await store.evidence.addCheckpoint(row), true)
      assert.equal(await store.evidence.addCheckpoint(makeCheckpoint(3, { hash: 'other' })), false)
      assert.deepEqual(await store.evidence.lastCheckpoint(), rows[2])
      assert.deepEqual(await store.evidence.checkpoints(1, 2), rows.slice(0, 2))
      assert.deepEqual(await store.evidence.checkpoints(2, 10), rows.slice(1))
      assert.deepEqual(await store.evidence.checkpoints(4, 10), [])
    },
  },
  {
    name: 'S39: of two processes that make the next checkpoint, one does',
    needs: 'shares',
    async run({ world, open }) {
      const stores = [await open(world, SHARED), await open(newLife(world), SHARED)]
      const made = await Promise.all(stores.map((store) => store.evidence.addCheckpoint(makeCheckpoint(1))))
      assert.deepEqual(made.toSorted(), [false, true])
    },
  },
  {
    name: 'S39: a life begins by naming the last checkpoint',
    async run({ world, open }) {
      const first = await open()
      for (const number of [1, 2]) await first.evidence.addCheckpoint(makeCheckpoint(number))
      await first.close()
      const next = newLife(world)
      const second = await open(next)
      const [start] = await second.evidence.links(next.epoch, 1, 1)
      assert.deepEqual(start!.records[0]!.body.last_checkpoint, { number: 2, hash: 'hash-2' })
    },
  },
  {
    name: 'old checkpoints go in small steps, and a number that went is not given again',
    async run({ open }) {
      const store = await open()
      for (const number of [1, 2, 3, 4]) await store.evidence.addCheckpoint(makeCheckpoint(number))
      assert.equal(await store.evidence.pruneCheckpoints(4, 2), 2)
      assert.deepEqual(
        (await store.evidence.checkpoints(1, 10)).map((row) => row.number),
        [3, 4],
      )
      assert.equal(await store.evidence.pruneCheckpoints(4, 2), 1)
      assert.equal(await store.evidence.pruneCheckpoints(4, 2), 0)
      assert.equal(await store.evidence.addCheckpoint(makeCheckpoint(2)), false)
    },
  },
  {
    name: 'S39: the old part of a chain goes in small steps; what is left can be verified, and the chain grows on',
    async run({ world, open }) {
      const store = await open()
      for (const callId of ['a', 'b', 'c', 'd']) await record(store, callId, callId)
      const whole = await store.evidence.links(world.epoch, 1, 10)
      assert.equal(await store.evidence.prune(world.epoch, 3, 2), 2)
      assert.equal(await store.evidence.prune(world.epoch, 3, 2), 1)
      assert.equal(await store.evidence.prune(world.epoch, 3, 2), 0)
      assert.equal(await store.evidence.prune('nobody', 3, 2), 0)
      assert.deepEqual(await store.evidence.links(world.epoch, 1, 10), whole.slice(3))
      assert.deepEqual(await store.evidence.forCall('default', 'a'), [])
      assert.equal((await store.evidence.forCall('default', 'c')).length, 2)
      await record(store, 'e')
      const { batch, hash, records } = whole[2]!
      const links = await store.evidence.links(world.epoch, 1, 10)
      assert.equal(links.length, 3)
      verifyChain(links, { batch, hash, seq: records.at(-1)!.seq })
      assert.deepEqual(
        (await store.evidence.ends()).map((end) => end.hash),
        [links.at(-1)!.hash],
      )
    },
  },
  {
    name: 'S39: a chain of which nothing is left has no end to show, but grows on, and the next life names where it ended',
    async run({ world, open }) {
      const first = await open()
      await record(first, 'a')
      const second = (await first.evidence.links(world.epoch, 2, 1))[0]!
      assert.equal(await first.evidence.prune(world.epoch, 2, 10), 2)
      assert.deepEqual(await first.evidence.ends(), [])
      await record(first, 'b')
      const third = await first.evidence.links(world.epoch, 1, 10)
      verifyChain(third, { batch: 2, seq: 2, hash: second.hash })
      await first.evidence.prune(world.epoch, 3, 10)
      await first.lives.end()
      await first.close()
      const next = newLife(world)
      const store = await open(next)
      const [start] = await store.evidence.links(next.epoch, 1, 1)
      assert.deepEqual(start!.records[0]!.body, {
        evidence_version: 1,
        previous_epoch: world.epoch,
        previous_batch: 3,
        previous_seq: 3,
        previous_hash: third[0]!.hash,
        last_checkpoint: null,
      })
      assert.deepEqual(await store.evidence.epochs(), [world.epoch, next.epoch])
      assert.deepEqual(
        (await store.evidence.ends()).map((end) => end.epoch),
        [next.epoch],
      )
    },
  },
]
