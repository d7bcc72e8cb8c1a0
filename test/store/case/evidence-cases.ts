// Evidence: one chain per life, one link per batch, checked by computing it again.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import type { EvidenceLink, Store } from '../../../src/store/store.ts'
import { makeEvidence, newLife } from '../fixture.ts'
import type { StoreCase } from '../store-contract.ts'

/** S39, written out once more from its words, so that a change of the chain is noticed. */
function sha256(...parts: string[]): string {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(`${Buffer.byteLength(part)}:`).update(part)
  return hash.digest('hex')
}

/** Throws at the first link that does not follow from what is kept; `pruned` is the last link that is not. */
export function verifyChain(
  links: readonly EvidenceLink[],
  pruned: { readonly batch: number; readonly seq: number; readonly hash: string } = {
    batch: 0,
    seq: 0,
    hash: '',
  },
): void {
  let prev = pruned.hash
  let seq = pruned.seq
  for (const [index, link] of links.entries()) {
    const where = `link ${link.batch}`
    assert.equal(link.batch, pruned.batch + index + 1, where)
    assert.equal(link.prev, prev, where)
    assert.ok(link.records.length > 0, where)
    for (const record of link.records) {
      seq += 1
      assert.equal(record.seq, seq, where)
      const { namespace, callId, type, at, body } = record
      const hash = sha256(link.epoch, String(seq), namespace, callId, type, String(at), JSON.stringify(body))
      assert.equal(record.hash, hash, `${where} record ${seq}`)
    }
    assert.equal(link.root, sha256(link.records.map((record) => record.hash).join('')), where)
    assert.equal(link.hash, sha256(link.prev, link.root), where)
    prev = link.hash
  }
}

function record(store: Store, ...callIds: string[]) {
  return store.ledger.settle({
    namespace: 'default',
    evidence: callIds.map((callId) => makeEvidence(callId)),
  })
}

export const evidenceCases: readonly StoreCase[] = [
  {
    name: 'S39: every batch is one link, and the chain can be computed again from what is kept',
    async run({ world, open }) {
      const store = await open()
      await Promise.all([record(store, 'a', 'b'), record(store, 'c')])
      await record(store, 'd')
      const links = await store.evidence.links(world.epoch, 1, 10)
      assert.deepEqual(
        links.map((link) => link.records.map((one) => one.callId)),
        [[''], ['a', 'b', 'c'], ['d']],
      )
      verifyChain(links)
      const { seq, hash, ...kept } = links[1]!.records[0]!
      assert.deepEqual(kept, makeEvidence('a'))
    },
  },
  {
    name: 'a batch without evidence adds no link',
    async run({ world, open }) {
      const store = await open()
      await store.ledger.settle({ namespace: 'default' })
      await store.resources.apply('default', [], 1_000, [])
      assert.equal((await store.evidence.links(world.epoch, 1, 10)).length, 1)
    },
  },
  {
    name: 'links are read in pages, from any batch on',
    async run({ world, open }) {
      const store = await open()
      for (const callId of ['a', 'b', 'c']) await record(store, callId)
      const batches = async (from: number, limit: number) =>
        (await store.evidence.links(world.epoch, from, limit)).map((link) => link.batch)
      assert.deepEqual(await batches(1, 2), [1, 2])
      assert.deepEqual(await batches(3, 10), [3, 4])
      assert.deepEqual(await batches(5, 10), [])
      assert.deepEqual(await store.evidence.links('nobody', 1, 10), [])
    },
  },
  {
    name: 'the evidence of a call comes oldest first, of its namespace only',
    async run({ open }) {
      const store = await open()
      const mine = (['tool.started', 'attempt.failed', 'tool.failed'] as const).map((type) =>
        makeEvidence('a', { type }),
      )
      const theirs = makeEvidence('a', { namespace: 'other' })
      await store.ledger.settle({ namespace: 'default', evidence: [mine[0]!, makeEvidence('b'), mine[1]!] })
      await store.ledger.settle({ namespace: 'other', evidence: [theirs] })
      await store.ledger.settle({ namespace: 'default', evidence: [mine[2]!] })
      assert.deepEqual(await store.evidence.forCall('default', 'a'), mine)
      assert.deepEqual(await store.evidence.forCall('other', 'a'), [theirs])
      assert.deepEqual(await store.evidence.forCall('default', 'nobody'), [])
    },
  },
  {
    name: 'S34: a life begins with a start record; the first has none before it',
    async run({ world, open }) {
      const store = await open()
      const [link] = await store.evidence.links(world.epoch, 1, 10)
      assert.equal(link!.records[0]!.type, 'runtime.started')
      assert.deepEqual(link!.records[0]!.body, {
        evidence_version: 1,
        previous_epoch: null,
        last_checkpoint: null,
      })
      assert.deepEqual(await store.evidence.epochs(), [world.epoch])
    },
  },
  {
    name: 'S39: each life has a chain of its own, which begins by naming the end of the one before',
    async run({ world, open }) {
      const first = await open()
      await record(first, 'a', 'b')
      await first.close()
      const next = newLife(world)
      const second = await open(next)
      await record(second, 'c')
      const before = await second.evidence.links(world.epoch, 1, 10)
      const after = await second.evidence.links(next.epoch, 1, 10)
      verifyChain(before)
      verifyChain(after)
      assert.deepEqual(after[0]!.records[0]!.body, {
        evidence_version: 1,
        previous_epoch: world.epoch,
        previous_batch: 2,
        previous_seq: 3,
        previous_hash: before[1]!.hash,
        last_checkpoint: null,
      })
      assert.deepEqual(await second.evidence.epochs(), [world.epoch, next.epoch])
    },
  },
]
