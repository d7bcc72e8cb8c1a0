// Writes evidence and its chain: records as they come, one link when the batch is complete.
import type { DatabaseSync } from 'node:sqlite'
import {
  type ChainHead,
  EMPTY_CHAIN,
  type EvidenceText,
  hashRecord,
  linkBatch,
  startRecord,
} from '../evidence-chain.ts'
import type { Row } from './codec.ts'
import { prepareRows } from './statement.ts'

/** Called in this order within a transaction: begin, start or append any number of times, link; then committed. */
interface EvidenceWriter {
  begin(epoch: string): void
  start(at: number): void
  /** `row`: namespace, call id, type, at, body. */
  append(row: Row): void
  link(): void
  /** What was linked is on disk: the next batch builds on it. */
  committed(): void
}

interface Life {
  readonly epoch: string
  readonly ordinal: number
  readonly head: ChainHead
}

export function createEvidenceWriter(db: DatabaseSync): EvidenceWriter {
  const addEpoch = db.prepare('insert into epoch (epoch) values (?) on conflict (epoch) do nothing')
  const findEpoch = prepareRows(db, 'select ordinal, epoch from epoch where epoch = ?')
  const epochBefore = prepareRows(
    db,
    'select ordinal, epoch from epoch where epoch <> ? order by ordinal desc limit 1',
  )
  const lastLink = prepareRows(
    db,
    'select batch, last_seq, hash from evidence_link where epoch = ? order by batch desc limit 1',
  )
  const addLink = db.prepare(`
    insert into evidence_link (epoch, batch, first_seq, last_seq, prev, root, hash) values (?, ?, ?, ?, ?, ?, ?)`)
  const addRecord = db.prepare(`
    insert into evidence (epoch, seq, namespace, call_id, type, at, body, hash) values (?, ?, ?, ?, ?, ?, ?, ?)`)

  /** As on disk. It is never kept from a transaction that did not commit. */
  let last: Life | undefined
  let life: Life | undefined
  let next: Life | undefined
  let hashes: string[] = []

  function headOf(ordinal: number): ChainHead {
    const row = lastLink.get(ordinal) as [number, number, string] | undefined
    return row === undefined ? EMPTY_CHAIN : { batch: row[0], seq: row[1], hash: row[2] }
  }

  function current(): Life {
    if (life === undefined) throw new Error('evidence is written outside of a batch')
    return life
  }

  function add(record: EvidenceText): void {
    const { epoch, ordinal, head } = current()
    const seq = head.seq + hashes.length + 1
    const hash = hashRecord(epoch, seq, record)
    addRecord.run(ordinal, seq, record.namespace, record.callId, record.type, record.at, record.body, hash)
    hashes.push(hash)
  }

  return {
    begin(epoch) {
      hashes = []
      if (last?.epoch !== epoch) {
        addEpoch.run(epoch)
        const [ordinal] = findEpoch.get(epoch) as [number]
        last = undefined
        life = { epoch, ordinal, head: headOf(ordinal) }
      } else life = last
      next = life
    },

    start(at) {
      const before = epochBefore.get(current().epoch) as [number, string] | undefined
      add(startRecord(at, before === undefined ? undefined : { epoch: before[1], head: headOf(before[0]) }))
    },

    append([namespace, callId, type, at, body]) {
      add({
        namespace: namespace as string,
        callId: callId as string,
        type: type as string,
        at: at as number,
        body: body as string,
      })
    },

    link() {
      if (hashes.length === 0) return
      const { epoch, ordinal, head } = current()
      const linked = linkBatch(head, hashes)
      const { batch, prev, root, hash } = linked.link
      addLink.run(ordinal, batch, head.seq + 1, linked.head.seq, prev, root, hash)
      next = { epoch, ordinal, head: linked.head }
    },

    committed() {
      last = next
    },
  }
}
