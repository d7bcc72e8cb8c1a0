// Reads evidence: chains link by link, where they end, checkpoints.
import type { DatabaseSync } from 'node:sqlite'
import type { StoreReads } from '../assemble-store.ts'
import { readBody } from '../evidence-chain.ts'
import type { ChainEnd, EvidenceLink, EvidenceRecord, LinkedRecord } from '../store.ts'
import { CHECKPOINT_COLUMNS, decodeCheckpoint } from './codec.ts'
import type { Row } from './row.ts'
import { prepareRows } from './statement.ts'

export function evidenceReads(db: DatabaseSync): StoreReads['evidence'] {
  const links = prepareRows(
    db,
    `select link.epoch, batch, prev, root, hash, first_seq, last_seq
     from evidence_link as link join epoch on epoch.ordinal = link.epoch
     where epoch.epoch = ? and batch >= ? order by batch limit ?`,
  )
  const records = prepareRows(
    db,
    `select namespace, call_id, type, at, body, seq, hash from evidence
     where epoch = ? and seq between ? and ? order by seq`,
  )
  const epochs = prepareRows(db, 'select epoch from epoch order by ordinal')
  const forCall = prepareRows(
    db,
    `select namespace, call_id, type, at, body from evidence
     where namespace = ? and call_id = ? order by epoch, seq`,
  )
  const ends = prepareRows(
    db,
    `select epoch.epoch, link.batch, link.last_seq, link.hash, epoch.ended
     from epoch join evidence_link as link on link.epoch = epoch.ordinal
     where link.batch = (select max(batch) from evidence_link where epoch = epoch.ordinal)
     order by epoch.ordinal`,
  )
  const checkpoints = prepareRows(
    db,
    `select ${CHECKPOINT_COLUMNS} from checkpoint where number >= ? order by number limit ?`,
  )
  const lastCheckpoint = prepareRows(
    db,
    `select ${CHECKPOINT_COLUMNS} from checkpoint order by number desc limit 1`,
  )
  return {
    links: (epoch, fromBatch, limit) =>
      links.all(epoch, fromBatch, limit).map((row): EvidenceLink => {
        const [ordinal, batch, prev, root, hash, first, last] = row as [
          number,
          number,
          string,
          string,
          string,
          number,
          number,
        ]
        return {
          epoch,
          batch,
          prev,
          root,
          hash,
          records: records.all(ordinal, first, last).map((record) => ({
            ...decodeLinked(record),
            seq: record[5] as number,
            hash: record[6] as string,
          })),
        }
      }),
    epochs: () => epochs.all().map(([epoch]) => epoch as string),
    forCall: (namespace, callId) => forCall.all(namespace, callId).map(decodeEvidence),
    ends: () =>
      ends.all().map((row): ChainEnd => {
        const [epoch, batch, seq, hash, ended] = row as [string, number, number, string, number]
        return { epoch, batch, seq, hash, closed: ended === 1 }
      }),
    checkpoints: (fromNumber, limit) => checkpoints.all(fromNumber, limit).map(decodeCheckpoint),
    lastCheckpoint: () => lastCheckpoint.all().map(decodeCheckpoint)[0],
  }
}

function decodeEvidence(row: Row): EvidenceRecord {
  const { text: _, ...record } = decodeLinked(row)
  return record
}

function decodeLinked(row: Row): Omit<LinkedRecord, 'seq' | 'hash'> {
  return {
    namespace: row[0] as string,
    callId: row[1] as string,
    type: row[2] as string,
    at: row[3] as number,
    ...readBody(row[4] as string),
  }
}
