// What a checkpoint that was kept outside the ledger shows about an export: that it was cut back, or is another one's.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { makeKeyText, readAuditKey, readPublicKey } from '../../src/ledger/audit-key.ts'
import {
  headOf,
  type KeptHead,
  lineOf,
  readCheckpoint,
  readKeptHead,
  signCheckpoint,
} from '../../src/ledger/checkpoint.ts'
import { createMemoryData } from '../../src/store/memory/memory-data.ts'
import { createFaultCheck, HEAD_FAULTS } from './audit-faults.ts'
import { collect, edited, find, live, threeLives, verify } from './audit-fixture.ts'

const { assertFault, shown } = createFaultCheck()

describe('verifying against a kept head', () => {
  /** A head kept in the middle, the export at the end, and the same cut back to before the head. */
  async function cutBack() {
    const data = createMemoryData()
    return live(data, async ({ write, audit }) => {
      await write(2)
      const early = await collect(audit.export())
      await write(3)
      const kept = keptOf(await audit.head())
      await write(1)
      return { early, kept, whole: await collect(audit.export()) }
    })
  }

  function keptOf(
    row: Awaited<ReturnType<Parameters<Parameters<typeof live>[1]>[0]['audit']['head']>>,
  ): KeptHead {
    assert.ok(row)
    const { keyId, publicKey, ...rest } = row
    const kept = readKeptHead(JSON.stringify({ ...rest, key_id: keyId, public_key: publicKey }))
    assert.ok(kept)
    return kept
  }

  it('S39: the head is found in what came after it', async () => {
    const { kept, whole } = await cutBack()
    const { ok, head_found } = await verify(whole, { head: kept })
    assert.deepEqual([ok, head_found], [true, true])
    assert.equal((await verify(whole, { head: { hash: kept.hash } })).ok, true)
  })

  it('S39: what comes after the head counts only with a key that the head vouches for', async () => {
    const { kept, whole } = await cutBack()
    const stranger = readAuditKey(makeKeyText())
    const last = find(whole, 'checkpoint', ({ number }) => number === kept.number + 1)
    assert.notEqual(last.at, -1, 'there is one after the head')
    const signedAnew = edited(whole, (line, at) => {
      if (line.kind === 'export')
        return { ...line, public_keys: { ...line.public_keys, [stranger.keyId]: stranger.publicKey } }
      if (at !== last.at) return line
      const text = readCheckpoint(last.line.body) ?? assert.fail()
      const complete = { ...text, complete: text.number, keys: { [stranger.keyId]: stranger.publicKey } }
      return lineOf(signCheckpoint(complete, stranger))
    })
    assert.equal((await verify(signedAnew)).ok, true, 'alone it looks whole')
    const place = { checkpoint: kept.number + 1, line: last.at + 1 }
    await assertFault(signedAnew, 'key-unknown', place, { head: kept })
    await assertFault(signedAnew, 'key-unknown', place, { head: { hash: kept.hash } })
  })

  it('S39: a stranger who only signs anew what is before the head is found, too', async () => {
    const { kept, whole } = await cutBack()
    const stranger = readAuditKey(makeKeyText())
    const signedAnew = edited(whole, (line) => {
      if (line.kind === 'export')
        return { ...line, public_keys: { ...line.public_keys, [stranger.keyId]: stranger.publicKey } }
      if (line.kind !== 'checkpoint' || line.number !== 1) return line
      return { ...line, key_id: stranger.keyId, signature: stranger.sign(line.body) }
    })
    await assertFault(signedAnew, 'key-unknown', { checkpoint: 1 }, { head: kept })
  })

  it('S39: an older key that the head vouches for counts, and a newer one that it does not know does not', async () => {
    const data = createMemoryData()
    const older = { pem: makeKeyText() }
    const first = await live(
      data,
      async ({ write, audit }) => {
        await write(1)
        return audit.head()
      },
      {},
      older,
    )
    const { second, lines } = await live(data, async ({ write, audit }) => {
      await write(1)
      const second = await audit.head()
      await write(1)
      return { second, lines: await collect(audit.export()) }
    })
    assert.ok(first && second && first.keyId !== second.keyId)
    const asHead = ({ publicKey, ...row }: NonNullable<typeof first>) => headOf(row, publicKey)
    assert.deepEqual((await verify(lines, { head: asHead(second) })).faults, [])
    await assertFault(lines, 'key-unknown', {}, { head: asHead(first) })
    const keys = [asHead(first), asHead(second)].map(
      (head) => readPublicKey(head.public_key) ?? assert.fail(),
    )
    assert.deepEqual((await verify(lines, { head: asHead(first), keys })).faults, [])
  })

  it('S39: an intact export that ends before the head is a cut tail', async () => {
    const { kept, early } = await cutBack()
    assert.equal((await verify(early)).ok, true, 'without the head nothing is to be seen')
    await assertFault(early, 'tail-cut', { checkpoint: kept.number }, { head: kept })
    await assertFault(early, 'head-unknown', {}, { head: { hash: kept.hash } })
  })

  it('S39: a head of another ledger is told apart', async () => {
    const { kept } = await cutBack()
    const other = await threeLives()
    await assertFault(other, 'other-ledger', { checkpoint: kept.number }, { head: kept })
  })

  it('S39: a history that was written anew under the same numbers is told', async () => {
    const { whole, kept } = await cutBack()
    const forged = { ...kept, hash: 'ab'.repeat(32) }
    await assertFault(whole, 'other-ledger', { checkpoint: kept.number }, { head: forged })
  })

  it('a kept head whose parts do not fit together is not read', async () => {
    const { kept } = await cutBack()
    assert.ok(readKeptHead(JSON.stringify(kept)))
    for (const change of [{ number: 7 }, { hash: 'ab' }, { body: '{}' }, { public_key: 1 }]) {
      assert.equal(readKeptHead(JSON.stringify({ ...kept, ...change })), undefined)
    }
    assert.equal(readKeptHead('no JSON'), undefined)
  })
})

describe('the kinds of fault that only a kept head can tell', () => {
  it('have each been shown by a test above', () => {
    assert.deepEqual(
      HEAD_FAULTS.filter((kind) => !shown.has(kind)),
      [],
    )
  })
})
