// Everything that can be done to an export, and that it is named with where it is.
import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { FAULT_KINDS } from '../../src/ledger/audit-fault.ts'
import { makeKeyText, readAuditKey, readPublicKey } from '../../src/ledger/audit-key.ts'
import type { AuditLine, LinkLine, RecordLine } from '../../src/ledger/audit-line.ts'
import { readCheckpoint, signCheckpoint } from '../../src/ledger/checkpoint.ts'
import { hashRecord, linkBatch } from '../../src/store/evidence-chain.ts'
import { createFaultCheck, HEAD_FAULTS } from './audit-faults.ts'
import { edited, epochsOf, find, KEY, threeLives, verify } from './audit-fixture.ts'

const { assertFault, shown } = createFaultCheck()
const signer = readAuditKey(KEY.pem)

/** Also members with a name that assignment would take for something else. */
function withMembers(line: object, extra: object): object {
  return Object.fromEntries([...Object.entries(line), ...Object.entries(extra)])
}

/** What somebody with the export, and without the key, would do to hide a change: hash everything again. */
function rehashed(lines: readonly string[]): string[] {
  let prev = ''
  let seq = 0
  let batch = 0
  let link: LinkLine | undefined
  let records: RecordLine[] = []
  const out: AuditLine[] = []
  const close = () => {
    if (link === undefined) return
    const { epoch } = link
    const renumbered = records.map((record, index) => {
      const { namespace, call_id: callId, type, at, body } = record
      const number = seq + index + 1
      return {
        ...record,
        seq: number,
        hash: hashRecord(epoch, number, { namespace, callId, type, at, body }),
      }
    })
    const next = linkBatch(
      { batch, seq, hash: prev },
      renumbered.map(({ hash }) => hash),
    )
    out.push({
      ...link,
      ...next.link,
      first_seq: seq + 1,
      last_seq: seq + records.length,
    })
    out.push(...renumbered)
    prev = next.head.hash
    seq = next.head.seq
    batch = next.head.batch
    link = undefined
    records = []
  }
  for (const text of lines) {
    const line: AuditLine = JSON.parse(text)
    if (line.kind === 'record') {
      records.push(line)
      continue
    }
    const epoch = link?.epoch
    close()
    if (line.kind !== 'link') {
      out.push(line)
      continue
    }
    if (line.epoch !== epoch) {
      prev = ''
      seq = 0
      batch = 0
    }
    link = line
  }
  return out.map((line) => JSON.stringify(line))
}

describe('verifying an export', () => {
  let lines: string[]
  let epochs: string[]
  before(async () => {
    lines = await threeLives()
    epochs = epochsOf(lines)
  })

  it('S39: an untouched export is intact, and says up to when it vouches', async () => {
    const { ok, faults, vouched, chains, records, unvouched_records } = await verify(lines)
    assert.deepEqual(faults, [])
    assert.equal(ok, true)
    const last = JSON.parse(lines.at(-2) as string)
    assert.deepEqual(vouched, {
      checkpoint: last.number,
      until: new Date(last.at).toISOString(),
      key_id: last.key_id,
      hash: last.hash,
    })
    assert.deepEqual([chains, records, unvouched_records], [3, 22, 0])
  })

  it('S39: a flipped byte of a record is found at its place', async () => {
    const { at, line } = find(lines, 'record', ({ seq }) => seq === 3)
    const changed = lines.with(at, JSON.stringify({ ...line, body: line.body.replace('agent', 'agemt') }))
    const { faults } = await verify(changed)
    assert.equal(faults.length, 1, 'and nothing else is blamed')
    await assertFault(changed, 'record-changed', { epoch: epochs[0], seq: 3, line: at + 1 })
  })

  it('S39: a record whose hash was made anew does not give the root of its link', async () => {
    const { at, line } = find(lines, 'record', ({ seq }) => seq === 3)
    const body = line.body.replace('agent', 'agemt')
    const { namespace, call_id: callId, type } = line
    const hash = hashRecord(line.epoch, 3, { namespace, callId, type, at: line.at, body })
    await assertFault(lines.with(at, JSON.stringify({ ...line, body, hash })), 'link-changed', {
      epoch: epochs[0],
      batch: 2,
    })
  })

  it('S39: a chain that was hashed anew to its end is contradicted by the checkpoints', async () => {
    const { at, line } = find(lines, 'record', ({ seq }) => seq === 3)
    const changed = lines.with(at, JSON.stringify({ ...line, body: line.body.replace('agent', 'agemt') }))
    await assertFault(rehashed(changed), 'checkpoint-contradicted', { epoch: epochs[0], checkpoint: 1 })
  })

  it('S39: rehashing alone changes nothing', async () => {
    assert.deepEqual(rehashed(lines), lines)
  })

  it('S39: a missing record is named by its number', async () => {
    const { at } = find(lines, 'record', ({ seq }) => seq === 3)
    await assertFault(lines.toSpliced(at, 1), 'record-missing', { epoch: epochs[0], seq: 3, batch: 2 })
  })

  it('S39: a record that was cut out without a trace is contradicted by the checkpoints', async () => {
    const { at } = find(lines, 'record', ({ seq }) => seq === 3)
    await assertFault(rehashed(lines.toSpliced(at, 1)), 'checkpoint-contradicted', { epoch: epochs[0] })
  })

  it('S39: records that change places are named', async () => {
    const { at } = find(lines, 'record', ({ seq }) => seq === 3)
    const swapped = lines.with(at, lines[at + 1] as string).with(at + 1, lines[at] as string)
    await assertFault(swapped, 'record-moved', { epoch: epochs[0], seq: 3 })
  })

  it('S39: a record that is there twice, or in another link, is named', async () => {
    const { at } = find(lines, 'record', ({ seq }) => seq === 3)
    await assertFault(lines.toSpliced(at, 0, lines[at] as string), 'record-extra', { seq: 3 })
    const other = find(lines, 'record', ({ seq }) => seq === 6).at
    const moved = lines.toSpliced(other, 0, lines[at] as string).toSpliced(at, 1)
    await assertFault(moved, 'record-missing', { seq: 3, batch: 2 })
    await assertFault(moved, 'record-moved', { seq: 3, batch: 4 })
  })

  it('S39: a record in the chain of another life is named', async () => {
    const { at } = find(lines, 'record', ({ seq }) => seq === 3)
    const other = find(lines, 'record', ({ epoch, seq }) => epoch === epochs[1] && seq === 3).at
    await assertFault(lines.toSpliced(other, 0, lines[at] as string), 'record-moved', {
      epoch: epochs[0],
      seq: 3,
    })
  })

  it('S39: a missing link is named, with the records that went with it', async () => {
    const cut = edited(lines, (line) => {
      const { epoch, batch, seq } = line as { epoch?: string; batch?: number; seq?: number }
      const gone = epoch === epochs[0] && (batch === 3 || seq === 5)
      return gone ? undefined : line
    })
    await assertFault(cut, 'link-missing', { epoch: epochs[0], batch: 3, seq: 5 })
  })

  it('S39: a beginning that was cut off is not taken for what retention dropped', async () => {
    const cut = edited(lines, (line) => {
      const { epoch, batch, seq } = line as { epoch?: string; batch?: number; seq?: number }
      return epoch === epochs[0] && ((batch ?? 9) <= 4 || (seq ?? 9) <= 7) ? undefined : line
    })
    await assertFault(cut, 'link-missing', { epoch: epochs[0], batch: 4, checkpoint: 1 })
    const gone = edited(cut, (line) => (line.kind === 'checkpoint' ? undefined : line))
    await assertFault(gone, 'link-missing', { epoch: epochs[0], batch: 1 })
  })

  it('S39: links that change places are named', async () => {
    const first = find(lines, 'link', ({ batch }) => batch === 3).at
    const second = find(lines, 'link', ({ batch }) => batch === 4).at
    const third = find(lines, 'link', ({ batch }) => batch === 5).at
    const swapped = [
      ...lines.slice(0, first),
      ...lines.slice(second, third),
      ...lines.slice(first, second),
      ...lines.slice(third),
    ]
    await assertFault(swapped, 'link-moved', { epoch: epochs[0], batch: 3 })
  })

  for (const field of ['prev', 'root', 'hash'] as const) {
    it(`S39: a link with another ${field} is named`, async () => {
      const { at, line } = find(lines, 'link', ({ batch }) => batch === 3)
      const changed = JSON.stringify({
        ...line,
        [field]: line[field].replace(/^./, (x) => (x === 'a' ? 'b' : 'a')),
      })
      await assertFault(lines.with(at, changed), 'link-changed', { epoch: epochs[0], batch: 3 })
    })
  }

  it('S39: a missing chain is named by the checkpoints, and by the life that came after it', async () => {
    const cut = edited(lines, (line) => ('epoch' in line && line.epoch === epochs[1] ? undefined : line))
    await assertFault(cut, 'chain-missing', { epoch: epochs[1] })
    const unsigned = cut.filter((text) => JSON.parse(text).kind !== 'checkpoint')
    await assertFault(unsigned, 'chain-missing', { epoch: epochs[1] })
  })

  it('S39: a chain that was cut short is named', async () => {
    const cut = edited(lines, (line) => {
      const { epoch, batch, seq } = line as { epoch?: string; batch?: number; seq?: number }
      return epoch === epochs[1] && (batch === 5 || (seq ?? 0) >= 8) ? undefined : line
    })
    await assertFault(cut, 'chain-cut', { epoch: epochs[1], batch: 5 })
  })

  it('S39: chains that change places are named', async () => {
    const of = (epoch: string | undefined) => lines.filter((text) => JSON.parse(text).epoch === epoch)
    const rest = lines.filter((text) => !('epoch' in JSON.parse(text)))
    const [head, ...tail] = rest as [string, ...string[]]
    const swapped = [head, ...of(epochs[1]), ...of(epochs[0]), ...of(epochs[2]), ...tail]
    await assertFault(swapped, 'chain-moved', { epoch: epochs[0] })
  })

  it('S39: a chain in two pieces is named', async () => {
    const at = find(lines, 'link', ({ epoch, batch }) => epoch === epochs[0] && batch === 5).at
    const next = find(lines, 'link', ({ epoch }) => epoch === epochs[1]).at
    const after = find(lines, 'link', ({ epoch }) => epoch === epochs[2]).at
    const parted = [
      ...lines.slice(0, at),
      ...lines.slice(next, after),
      ...lines.slice(at, next),
      ...lines.slice(after),
    ]
    await assertFault(parted, 'chain-moved', { epoch: epochs[0], batch: 5 })
  })

  it('S39: a chain that was put in between is named, because no checkpoint lists it', async () => {
    const forged = lines
      .filter((text) => JSON.parse(text).epoch === epochs[0])
      .map((text) => text.replaceAll(epochs[0] as string, 'forged'))
    const at = find(lines, 'link', ({ epoch }) => epoch === epochs[1]).at
    await assertFault(rehashed(lines.toSpliced(at, 0, ...forged)), 'chain-unlisted', { epoch: 'forged' })
  })

  it('S39: records that were added to a closed chain are named', async () => {
    const at = find(lines, 'link', ({ epoch }) => epoch === epochs[1]).at
    const link = find(lines, 'link', ({ epoch, batch }) => epoch === epochs[0] && batch === 3)
    const added = [lines[link.at] as string, lines[link.at + 1] as string]
    await assertFault(rehashed(lines.toSpliced(at, 0, ...added)), 'chain-grown', {
      epoch: epochs[0],
      batch: 6,
    })
  })

  it('S39: a checkpoint that was changed does not give its hash', async () => {
    const { at, line } = find(lines, 'checkpoint', ({ number }) => number === 3)
    for (const change of [
      { number: 33 },
      { at: 1 },
      { hash: line.hash.replace(/^./, 'x') },
      { body: '{}' },
    ]) {
      await assertFault(lines.with(at, JSON.stringify({ ...line, ...change })), 'checkpoint-changed', {
        line: at + 1,
      })
    }
  })

  it('S39: a checkpoint that was made without the key is not signed', async () => {
    const { at, line } = find(lines, 'checkpoint', ({ number }) => number === 6)
    const text = readCheckpoint(line.body)
    assert.ok(text)
    const other = readAuditKey(makeKeyText())
    const row = signCheckpoint({ ...text, heads: text.heads.slice(0, 1) }, other)
    const forged = { ...line, hash: row.hash, body: row.body, signature: row.signature }
    await assertFault(lines.with(at, JSON.stringify(forged)), 'checkpoint-signature', { checkpoint: 6 })
    const named = { ...forged, key_id: other.keyId }
    await assertFault(lines.with(at, JSON.stringify(named)), 'key-unknown', { checkpoint: 6 })
  })

  it('S39: only a key that is trusted counts, whatever the export brings', async () => {
    const keys = [readPublicKey(signer.publicKey)].filter((key) => key !== undefined)
    assert.equal((await verify(lines, { keys })).ok, true)
    await assertFault(lines, 'key-unknown', { checkpoint: 1 }, { keys: [readAuditKey(makeKeyText())] })
  })

  it('S39: missing and moved checkpoints are named', async () => {
    const { at } = find(lines, 'checkpoint', ({ number }) => number === 3)
    await assertFault(lines.toSpliced(at, 1), 'checkpoint-missing', { checkpoint: 3 })
    const first = find(lines, 'checkpoint').at
    await assertFault(lines.toSpliced(first, 2), 'checkpoint-missing', { checkpoint: 1 })
    const swapped = lines.with(at, lines[at + 1] as string).with(at + 1, lines[at] as string)
    await assertFault(swapped, 'checkpoint-moved', { checkpoint: 3 })
  })

  it('S39: a life that began after a checkpoint shows that it is missing', async () => {
    const cut = edited(lines, (line) => (line.kind === 'checkpoint' && line.number > 1 ? undefined : line))
    await assertFault(cut, 'checkpoint-missing', { checkpoint: 2, epoch: epochs[1] })
  })

  it('S39: an export that was cut short on its way is named', async () => {
    await assertFault(lines.slice(0, -1), 'export-incomplete')
    await assertFault(lines.slice(0, 20), 'export-incomplete')
    await assertFault([], 'export-incomplete')
  })

  it('S39: a member that a line does not have is named: no hash covers it', async () => {
    for (const kind of ['export', 'link', 'record', 'checkpoint', 'end'] as const) {
      const { at } = find(lines, kind)
      for (const extra of [{ approved_by: 'cfo' }, { version: 1 }, JSON.parse('{"__proto__":1}')]) {
        if (kind === 'export' && 'version' in extra && Object.hasOwn(extra, 'version')) continue
        const changed = edited(lines, (line, index) => (index === at ? withMembers(line, extra) : line))
        await assertFault(changed, 'line-unreadable', { line: at + 1 })
      }
    }
  })

  it('S39: lines that are no lines of an export are named by their number', async () => {
    for (const bad of [
      '',
      '{',
      '[]',
      '{"kind":"note"}',
      '{"kind":"record"}',
      '{"kind":"end","kind":"end"}',
    ]) {
      await assertFault(lines.with(4, bad), 'line-unreadable', { line: 5 })
    }
    await assertFault([...lines, lines[4] as string], 'line-unreadable', { line: lines.length + 1 })
    await assertFault(lines.slice(1), 'line-unreadable', { line: 1 })
    const twice = lines.with(2, (lines[2] as string).replace('"seq":1,', '"seq":2,"seq":1,'))
    await assertFault(twice, 'line-unreadable', { line: 3 })
    const newer = lines.with(0, (lines[0] as string).replace('"version":1', '"version":2'))
    await assertFault(newer, 'line-unreadable', { line: 1 })
  })
})

describe('the kinds of fault', () => {
  it('that need no kept head have each been shown by a test above', () => {
    const kinds = Object.keys(FAULT_KINDS).filter((kind) => !HEAD_FAULTS.some((one) => one === kind))
    assert.deepEqual([...shown].sort(), kinds.sort())
  })
})
