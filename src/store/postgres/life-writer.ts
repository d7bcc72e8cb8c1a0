// The row of a life: who may write, which batch was the last, until when the lease lasts, where the chain ends (S35, S39).
import pg from 'pg'
import type { OpResult } from '../assemble-store.ts'
import { type ChainHead, type EvidenceText, hashRecord, linkBatch, startRecord } from '../evidence-chain.ts'
import { fenced } from '../life-rule.ts'
import { type Life, StoreUnavailable } from '../store.ts'
import type { Refused } from '../write-queue.ts'
import { LOCK_SPACE } from './migrations.ts'
import { type Part, run, runParts } from './statement.ts'

/** Taken while a life starts, so that ordinals are in the order in which they are seen. */
const START_LOCK = 2
/** Between those that put stops and those that look at them: when a stop is committed, no intent is on its way past it. */
const STOP_LOCK = 3
/** Taken in a statement of its own: what is looked at after it was waited for is what there is then. */
const TAKE_STOP_LOCK = {
  none: '',
  shared: `; select pg_advisory_xact_lock_shared(${LOCK_SPACE}, ${STOP_LOCK})`,
  alone: `; select pg_advisory_xact_lock(${LOCK_SPACE}, ${STOP_LOCK})`,
} as const
export type StopLock = keyof typeof TAKE_STOP_LOCK

export interface LifeOptions {
  readonly epoch: string
  /** Names this store: another one in the same life takes over from it. */
  readonly writer: string
  readonly leaseMs: number
}

export interface LockedLife {
  readonly ordinal: number
  readonly head: ChainHead
}

/** Results that are not simply `written`, by place in the batch. */
export type OddResults = Readonly<Record<string, OpResult | Refused>>

export type Turn =
  /** The batch is to be applied. */
  | { readonly kind: 'apply'; readonly life: LockedLife }
  /** It was committed before, though its acknowledgement did not arrive (S35). */
  | { readonly kind: 'done'; readonly results: OddResults }

interface LifeRow {
  readonly ordinal: number
  readonly writer: string
  readonly batch: number
  readonly results: string | null
  readonly ended: boolean
  readonly chain_batch: number
  readonly chain_seq: number
  readonly chain_hash: string
}

/**
 * Begins the transaction of a batch. The lock on the row is what reaping waits for or passes by: either this batch is
 * committed first and has renewed the lease, or the life is ended first and the batch is refused.
 */
export async function beginBatch(
  client: pg.Client,
  { epoch, writer, leaseMs }: LifeOptions,
  number: number,
  stops: StopLock,
): Promise<Turn> {
  const text = `begin isolation level read committed;
    select ordinal, writer, batch, results, ended, chain_batch, chain_seq, chain_hash
    from writ.life where epoch = ${pg.escapeLiteral(epoch)} for update${TAKE_STOP_LOCK[stops]}`
  // Each statement of the message gives a result.
  const [, locked] = (await client.query(text)) as unknown as [unknown, pg.QueryResult<LifeRow>]
  const row = locked.rows[0]
  if (row !== undefined && row.writer === writer && row.batch === number) {
    return { kind: 'done', results: JSON.parse(row.results ?? '{}') }
  }
  if (row?.ended) throw fenced(epoch)
  if (row === undefined && number === 1) {
    return { kind: 'apply', life: await insertLife(client, epoch, writer, leaseMs) }
  }
  if (row === undefined || (row.writer === writer && row.batch !== number - 1)) {
    throw new StoreUnavailable(
      'the database was set back: it no longer holds what this process has written. Start the process again, and see ' +
        'from the evidence what is missing',
    )
  }
  // A store that was closed in this life is followed by another one; that one writes from now on.
  if (row.writer !== writer && number !== 1) throw fenced(epoch)
  const head = { batch: row.chain_batch, seq: row.chain_seq, hash: row.chain_hash }
  return { kind: 'apply', life: { ordinal: row.ordinal, head } }
}

async function insertLife(
  client: pg.Client,
  epoch: string,
  writer: string,
  leaseMs: number,
): Promise<LockedLife> {
  await client.query('select pg_advisory_xact_lock($1, $2)', [LOCK_SPACE, START_LOCK])
  const { rows } = await client.query<{ ordinal: number }>(
    `insert into writ.life (ordinal, epoch, writer, batch, expires, seen)
     select last + 1, $1, $2, 0, writ.now_ms() + $3, last + 1
     from (select coalesce(max(ordinal), 0) as last from writ.life) as lives
     returning ordinal`,
    [epoch, writer, leaseMs],
  )
  return { ordinal: rows[0]?.ordinal ?? 0, head: { batch: 0, seq: 0, hash: '' } }
}

/** The first record of a life: where the one before it ended, and the last checkpoint. */
export async function readStart(client: pg.Client, at: number, ordinal: number): Promise<EvidenceText> {
  const before = await client.query<{ epoch: string } & ChainHead>(
    `select epoch, chain_batch as batch, chain_seq as seq, chain_hash as hash from writ.life
     where ordinal <> $1 order by ordinal desc limit 1`,
    [ordinal],
  )
  const checkpoint = await client.query<{ number: number; hash: string }>(
    'select number, hash from writ.checkpoint order by number desc limit 1',
  )
  const [last] = before.rows
  return startRecord(
    at,
    last && { epoch: last.epoch, head: { batch: last.batch, seq: last.seq, hash: last.hash } },
    checkpoint.rows[0],
  )
}

const PUT_EVIDENCE = `
  insert into writ.evidence (life, seq, namespace, call_id, type, at, body, hash)
  select $2, seq, namespace, call_id, type, at, body, hash from json_to_recordset($1::json) as r(
    seq bigint, namespace text, call_id text, type text, at double precision, body text, hash text)`

const PUT_LINK = `
  insert into writ.evidence_link (life, batch, first_seq, last_seq, prev, root, hash)
  values ($1, $2, $3, $4, $5, $6, $7)`

const FINISH = `
  update writ.life set writer = $2, batch = $3, results = $4, expires = writ.now_ms() + $5, chain_batch = $6,
    chain_seq = $7, chain_hash = $8
  where ordinal = $1`

export interface BatchEnd {
  readonly number: number
  readonly results: OddResults
  readonly evidence: readonly EvidenceText[]
  /** What goes with it. */
  readonly parts: readonly Part[]
}

/** The last statement of a batch: its link of the chain, its number and results, and the lease renewed. */
export async function finishBatch(
  client: pg.Client,
  { epoch, writer, leaseMs }: LifeOptions,
  { ordinal, head }: LockedLife,
  { number, results, evidence, parts }: BatchEnd,
): Promise<void> {
  const records = evidence.map((record, index) => {
    const seq = head.seq + index + 1
    const { namespace, callId, type, at, body } = record
    return { seq, namespace, call_id: callId, type, at, body, hash: hashRecord(epoch, seq, record) }
  })
  let end = head
  const all = [...parts]
  if (records.length > 0) {
    const { link, head: next } = linkBatch(
      head,
      records.map(({ hash }) => hash),
    )
    end = next
    all.push(
      { name: 'evidence', text: PUT_EVIDENCE, values: [JSON.stringify(records), ordinal] },
      {
        name: 'link',
        text: PUT_LINK,
        values: [ordinal, link.batch, head.seq + 1, next.seq, link.prev, link.root, link.hash],
      },
    )
  }
  const odd = Object.keys(results).length === 0 ? null : JSON.stringify(results)
  await runParts(client, all, {
    name: 'finish',
    text: FINISH,
    values: [ordinal, writer, number, odd, leaseMs, end.batch, end.seq, end.hash],
  })
}

export async function renewLife(
  client: pg.Client,
  ordinal: number,
  over: Readonly<Record<string, number>>,
  seen: number,
): Promise<readonly Life[]> {
  await run(client, 'renew', 'update writ.life set over = $2, seen = greatest(seen, $3) where ordinal = $1', [
    ordinal,
    JSON.stringify(over),
    seen,
  ])
  const { rows } = await run<{ epoch: string; ordinal: number; seen: number; over: string }>(
    client,
    'lives',
    'select epoch, ordinal, seen, over from writ.life where not ended order by ordinal',
  )
  return rows.map((row) => ({ ...row, over: JSON.parse(row.over) }))
}

const FREE_TIMERS = 'update writ.timer set claimed_by = null where claimed_by = any ($1::text[])'

/** Never its own: it has just renewed it. One that is writing at this moment is alive, and is passed by. */
export async function reapLives(client: pg.Client, ordinal: number): Promise<readonly string[]> {
  const { rows } = await run<{ epoch: string; ordinal: number }>(
    client,
    'reap',
    `with over as materialized (
       select ordinal from writ.life where not ended and ordinal <> $1 and expires <= writ.now_ms()
       order by ordinal for update skip locked)
     update writ.life as l set ended = true from over where l.ordinal = over.ordinal
     returning l.epoch, l.ordinal`,
    [ordinal],
  )
  const epochs = rows.toSorted((a, b) => a.ordinal - b.ordinal).map(({ epoch }) => epoch)
  if (epochs.length > 0) await run(client, 'free-timers', FREE_TIMERS, [epochs])
  return epochs
}

export async function endLife(client: pg.Client, ordinal: number, epoch: string): Promise<void> {
  await run(client, 'end', 'update writ.life set ended = true where ordinal = $1', [ordinal])
  await run(client, 'free-timers', FREE_TIMERS, [[epoch]])
}
