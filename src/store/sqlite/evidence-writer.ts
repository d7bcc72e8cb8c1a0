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
import { CHECKPOINT_COLUMNS } from './codec.ts'
import type { Row } from './row.ts'
import { prepareRows } from './statement.ts'

/** Called in this order within a transaction: begin, start or append any number of times, link; then committed. */
interface EvidenceWriter {
  /** `ordinal` is the number of the life. */
  begin(epoch: string, ordinal: number): void
  start(at: number): void
  /** `row`: namespace, call id, type, at, body. */
  append(row: Row): void
  link(): void
  /** What was linked is on disk: the next batch builds on it. */
  committed(): void
  /** Returns how many links went, oldest first; what is left, and the chain as it grows, still names the hash before. */
  prune(epoch: string, upToBatch: number, limit: number): number
  /** `row` has CHECKPOINT_COLUMNS. False when its number, or a later one, was given already. */
  addCheckpoint(row: Row): boolean
  pruneCheckpoints(before: number, limit: number): number
}

interface Life {
  readonly epoch: string
  readonly ordinal: number
  readonly head: ChainHead
}

export function createEvidenceWriter(db: DatabaseSync): EvidenceWriter {
  const findEpoch = prepareRows(db, 'select ordinal from epoch where epoch = ?')
  const epochBefore = prepareRows(
    db,
    'select ordinal, epoch from epoch where epoch <> ? order by ordinal desc limit 1',
  )
  const lastLink = prepareRows(
    db,
    'select batch, last_seq, hash from evidence_link where epoch = ? order by batch desc limit 1',
  )
  const prunedHead = prepareRows(
    db,
    'select pruned_batch, pruned_seq, pruned_hash from epoch where ordinal = ? and pruned_batch is not null',
  )
  const addLink = db.prepare(`
    insert into evidence_link (epoch, batch, first_seq, last_seq, prev, root, hash) values (?, ?, ?, ?, ?, ?, ?)`)
  const addRecord = db.prepare(`
    insert into evidence (epoch, seq, namespace, call_id, type, at, body, hash) values (?, ?, ?, ?, ?, ?, ?, ?)`)
  const prunable = prepareRows(
    db,
    'select batch, last_seq, hash from evidence_link where epoch = ? and batch <= ? order by batch limit ?',
  )
  const dropLinks = db.prepare('delete from evidence_link where epoch = ? and batch <= ?')
  const dropRecords = db.prepare('delete from evidence where epoch = ? and seq <= ?')
  const keepHead = db.prepare(
    'update epoch set pruned_batch = ?, pruned_seq = ?, pruned_hash = ? where ordinal = ?',
  )
  const lastCheckpoint = prepareRows(db, 'select number, hash from checkpoint order by number desc limit 1')
  const addCheckpoint = db.prepare(`
    insert into checkpoint (${CHECKPOINT_COLUMNS})
    select ?1, ?2, ?3, ?4, ?5, ?6 where ?1 > coalesce((select max(number) from checkpoint), 0)`)
  const dropCheckpoints = db.prepare(`
    delete from checkpoint
    where number in (select number from checkpoint where number < ? order by number limit ?)`)

  /** As on disk. It is never kept from a transaction that did not commit. */
  let last: Life | undefined
  let life: Life | undefined
  let next: Life | undefined
  let hashes: string[] = []

  function headOf(ordinal: number): ChainHead {
    const row = (lastLink.get(ordinal) ?? prunedHead.get(ordinal)) as [number, number, string] | undefined
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
    begin(epoch, ordinal) {
      hashes = []
      if (last?.epoch !== epoch) last = undefined
      life = last ?? { epoch, ordinal, head: headOf(ordinal) }
      next = life
    },

    start(at) {
      const before = epochBefore.get(current().epoch) as [number, string] | undefined
      const checkpoint = lastCheckpoint.get() as [number, string] | undefined
      add(
        startRecord(
          at,
          before && { epoch: before[1], head: headOf(before[0]) },
          checkpoint && { number: checkpoint[0], hash: checkpoint[1] },
        ),
      )
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

    prune(epoch, upToBatch, limit) {
      const ordinal = findEpoch.get(epoch)?.[0]
      if (ordinal === undefined) return 0
      const links = prunable.all(ordinal, upToBatch, limit) as unknown as [number, number, string][]
      const end = links.at(-1)
      if (end === undefined) return 0
      const [batch, seq, hash] = end
      keepHead.run(batch, seq, hash, ordinal)
      dropLinks.run(ordinal, batch)
      dropRecords.run(ordinal, seq)
      return links.length
    },

    addCheckpoint: (row) => addCheckpoint.run(...row).changes > 0,
    pruneCheckpoints: (before, limit) => Number(dropCheckpoints.run(before, limit).changes),
  }
}
