// Reads evidence chains and checkpoints.
import type { StoreReads } from '../assemble-store.ts'
import { readBody } from '../evidence-chain.ts'
import type { CheckpointRow, EvidenceLink, LinkedRecord } from '../store.ts'
import type { DbRow } from './decode.ts'
import { keepable } from './encode.ts'
import type { ReadPool } from './reading.ts'

export function evidenceReads(pool: ReadPool): StoreReads['evidence'] {
  return {
    async links(epoch, fromBatch, limit) {
      const rows = await pool.rows(
        'links',
        `with links as materialized (
           select k.* from writ.evidence_link as k join writ.life as l on l.ordinal = k.life
           where l.epoch = $1 and k.batch >= $2 order by k.batch limit $3)
         select k.batch, k.prev, k.root, k.hash as link_hash, e.*
         from links as k left join writ.evidence as e on e.life = k.life and e.seq between k.first_seq and k.last_seq
         order by k.batch, e.seq`,
        [epoch, fromBatch, limit],
      )
      return linksOf(epoch, rows)
    },
    async epochs() {
      const rows = await pool.rows('epochs', 'select epoch from writ.life order by ordinal')
      return rows.map(({ epoch }) => epoch as string)
    },
    async forCall(namespace, callId) {
      const rows = await pool.rows(
        'evidence-of-call',
        `select namespace, call_id, type, at, body from writ.evidence
         where namespace = $1 and call_id = $2 order by life, seq`,
        [keepable(namespace), keepable(callId)],
      )
      return rows.map(decodeRecord)
    },
    async ends() {
      const rows = await pool.rows(
        'chain-ends',
        `select epoch, chain_batch as batch, chain_seq as seq, chain_hash as hash, ended as closed
         from writ.life as l
         where exists (select 1 from writ.evidence_link as k where k.life = l.ordinal) order by ordinal`,
      )
      return rows.map((row) => ({
        epoch: row.epoch as string,
        batch: row.batch as number,
        seq: row.seq as number,
        hash: row.hash as string,
        closed: row.closed as boolean,
      }))
    },
    async checkpoints(fromNumber, limit) {
      const rows = await pool.rows(
        'checkpoints',
        'select * from writ.checkpoint where number >= $1 order by number limit $2',
        [fromNumber, limit],
      )
      return rows.map(decodeCheckpoint)
    },
    async lastCheckpoint() {
      const [row] = await pool.rows(
        'last-checkpoint',
        'select * from writ.checkpoint order by number desc limit 1',
      )
      return row && decodeCheckpoint(row)
    },
  }
}

/** One row for each record, in order, each with its link. */
function linksOf(epoch: string, rows: readonly DbRow[]): readonly EvidenceLink[] {
  const links: (EvidenceLink & { records: EvidenceLink['records'][number][] })[] = []
  for (const row of rows) {
    let link = links.at(-1)
    if (link?.batch !== row.batch) {
      link = {
        epoch,
        batch: row.batch as number,
        prev: row.prev as string,
        root: row.root as string,
        hash: row.link_hash as string,
        records: [],
      }
      links.push(link)
    }
    // A link whose records are gone is shown as it is: whoever verifies the chain says so.
    if (row.seq !== null)
      link?.records.push({ ...decodeRecord(row), seq: row.seq as number, hash: row.hash as string })
  }
  return links
}

function decodeRecord(row: DbRow): Omit<LinkedRecord, 'seq' | 'hash'> {
  return {
    namespace: row.namespace as string,
    callId: row.call_id as string,
    type: row.type as string,
    at: row.at as number,
    ...readBody(row.body as string),
  }
}

function decodeCheckpoint(row: DbRow): CheckpointRow {
  return {
    number: row.number as number,
    at: row.at as number,
    hash: row.hash as string,
    body: row.body as string,
    keyId: row.key_id as string,
    signature: row.signature as string,
  }
}
