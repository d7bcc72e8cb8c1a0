// Everything but ledger writes and lives: what is taken over, claimed, canceled, erased, forgotten and pruned. Each is
// one or two statements over at most `limit` rows, picked first and once; rows that another replica has in hand are passed by, never waited for.
import type pg from 'pg'
import type { CallRecord } from '../../contract/call.ts'
import { ENTRY_STATES, type Entry } from '../../contract/entry.ts'
import { isUnderWay } from '../entry-rule.ts'
import { ENDED_SAGA_STATES } from '../saga-rule.ts'
import type { CheckpointRow, DueTimer } from '../store.ts'
import { CALL_COLUMNS, decodeCall, decodeEntry, decodeTimer, ENTRY_COLUMNS } from './decode.ts'
import { keepable } from './encode.ts'
import { run } from './statement.ts'

const UNDER_WAY = ENTRY_STATES.filter(isUnderWay)
  .map((state) => `'${state}'`)
  .join(', ')

const ENDED_SAGAS = ENDED_SAGA_STATES.map((state) => `'${state}'`).join(', ')

/**
 * Epochs of `rows` under which nobody works any more. Asked in a statement of its own: a row that is picked must be looked
 * at again by its own columns when another replica has just taken it, and a subquery would not be.
 */
async function epochsOver(client: pg.Client, table: 'entry' | 'call', where: string): Promise<string[]> {
  const { rows } = await run<{ epoch: string }>(
    client,
    `epochs-over-${table}`,
    `select distinct o.epoch from writ.${table} as o
     where ${where} and not exists (select 1 from writ.life as l where l.epoch = o.epoch and not l.ended)`,
  )
  return rows.map(({ epoch }) => epoch)
}

/** Oldest first. The revision moves, so that nobody who read the entry before can still change it. */
export async function adoptEntries(
  client: pg.Client,
  epoch: string,
  limit: number,
): Promise<readonly Entry[]> {
  const where = `o.state in (${UNDER_WAY})`
  const over = await epochsOver(client, 'entry', where)
  if (over.length === 0) return []
  const { rows } = await run(
    client,
    'adopt-entries',
    `with picked as materialized (
       select o.number from writ.entry as o where ${where} and o.epoch = any ($3::text[])
       order by o.number limit $2 for update skip locked),
     adopted as (
       update writ.entry as e set epoch = $1, revision = e.revision + 1 from picked as p where e.number = p.number
       returning e.*)
     select ${ENTRY_COLUMNS} from adopted order by number`,
    [epoch, limit, over],
  )
  return rows.map(decodeEntry)
}

/** Oldest first. */
export async function adoptCalls(
  client: pg.Client,
  epoch: string,
  limit: number,
): Promise<readonly CallRecord[]> {
  const where = "o.state = 'running'"
  const over = await epochsOver(client, 'call', where)
  if (over.length === 0) return []
  const { rows } = await run(
    client,
    'adopt-calls',
    `with picked as materialized (
       select o.namespace, o.id from writ.call as o where ${where} and o.epoch = any ($3::text[])
       order by o.id, o.namespace limit $2 for update skip locked),
     adopted as (
       update writ.call as c set epoch = $1 from picked as p where c.namespace = p.namespace and c.id = p.id
       returning c.*)
     select ${CALL_COLUMNS} from adopted order by id, namespace`,
    [epoch, limit, over],
  )
  return rows.map(decodeCall)
}

export async function claimTimers(
  client: pg.Client,
  epoch: string,
  limit: number,
): Promise<readonly DueTimer[]> {
  const { rows } = await run(
    client,
    'claim-timers',
    `with picked as materialized (
       select namespace, kind, subject from writ.timer where claimed_by is null and due <= writ.now_ms()
       order by due, namespace, kind, subject limit $2 for update skip locked),
     claimed as (
       update writ.timer as t set claimed_by = $1 from picked as p
       where t.namespace = p.namespace and t.kind = p.kind and t.subject = p.subject
       returning t.*)
     select namespace, kind, subject, due, data from claimed order by due, namespace, kind, subject`,
    [epoch, limit],
  )
  return rows.map(decodeTimer)
}

export interface CancelAsked {
  readonly rows: number
  /** Whose entry it is. */
  readonly owner?: string
}

/** Costs no revision: whoever works on the entry goes on from what it read. */
export async function requestCancel(client: pg.Client, namespace: string, id: string): Promise<CancelAsked> {
  const { rows } = await run<{ epoch: string }>(
    client,
    'cancel',
    'update writ.entry set cancel_requested = true where namespace = $1 and id = $2 and open returning epoch',
    [keepable(namespace), keepable(id)],
  )
  return rows[0] === undefined ? { rows: 0 } : { rows: rows.length, owner: rows[0].epoch }
}

/** Entries first, then as many calls, and periods of budgets that are over, as the limit leaves. The revision of an erased entry moves: nobody can run it. */
export async function erase(client: pg.Client, before: number, limit: number): Promise<number> {
  const entries = await changed(
    client,
    'erase-entries',
    `with old as materialized (
       select number, namespace, id from writ.entry where not open and not erased and settled_at < $1
       order by settled_at limit $2 for update skip locked),
     shown as (
       update writ.approval as a set payload = null, revision = a.revision + 1 from old
       where a.namespace = old.namespace and a.entry_id = old.id and a.payload is not null)
     update writ.entry as e
     set payload = null, narrowed = null, outcome = null, request = null, spends = null, erased = true,
       revision = e.revision + 1
     from old where e.number = old.number`,
    [before, limit],
  )
  if (entries >= limit) return entries
  const calls = await changed(
    client,
    'erase-calls',
    `with old as materialized (
       select namespace, id from writ.call where not open and not erased and ended_at < $1
       order by ended_at limit $2 for update skip locked)
     update writ.call as c set result = null, erased = true from old
     where c.namespace = old.namespace and c.id = old.id`,
    [before, limit - entries],
  )
  if (entries + calls >= limit) return entries + calls
  const budgets = await changed(
    client,
    'forget-budgets',
    `with old as materialized (
       select namespace, budget, subject, began_at from writ.budget where ends_at < $1
       order by ends_at limit $2 for update skip locked)
     delete from writ.budget as b using old
     where b.namespace = old.namespace and b.budget = old.budget and b.subject = old.subject
       and b.began_at = old.began_at`,
    // Kept as a whole number: PostgreSQL would read a time with a fraction as no number at all.
    [Math.ceil(before), limit - entries - calls],
  )
  return entries + calls + budgets
}

export async function forget(client: pg.Client, before: number, limit: number): Promise<number> {
  const entries = await changed(
    client,
    'forget-entries',
    `with old as materialized (
       select number, namespace, id from writ.entry where erased and settled_at < $1
       order by settled_at limit $2 for update skip locked),
     approvals as (
       delete from writ.approval as a using old where a.namespace = old.namespace and a.entry_id = old.id)
     delete from writ.entry as e using old where e.number = old.number`,
    [before, limit],
  )
  if (entries >= limit) return entries
  const calls = await changed(
    client,
    'forget-calls',
    `with old as materialized (
       select namespace, id from writ.call where erased and ended_at < $1
       order by ended_at limit $2 for update skip locked)
     delete from writ.call as c using old where c.namespace = old.namespace and c.id = old.id`,
    [before, limit - entries],
  )
  if (entries + calls >= limit) return entries + calls
  const sagas = await changed(
    client,
    'forget-sagas',
    `with old as materialized (
       select namespace, id from writ.saga where ended_at < $1 and state in (${ENDED_SAGAS})
       order by ended_at limit $2 for update skip locked)
     delete from writ.saga as s using old where s.namespace = old.namespace and s.id = old.id`,
    [before, limit - entries - calls],
  )
  return entries + calls + sagas
}

/** Numbers only grow: one that was dropped since is taken as well. */
export function addCheckpoint(client: pg.Client, row: CheckpointRow): Promise<number> {
  return changed(
    client,
    'checkpoint',
    `insert into writ.checkpoint (number, at, hash, body, key_id, signature)
     select $1::bigint, $2, $3, $4, $5, $6
     where $1::bigint > (select coalesce(max(number), 0) from writ.checkpoint)
     on conflict do nothing`,
    [row.number, row.at, row.hash, row.body, row.keyId, row.signature],
  )
}

/** Links, oldest first, and their records. What is left still names the hash before it. */
export function prune(client: pg.Client, epoch: string, upToBatch: number, limit: number): Promise<number> {
  return changed(
    client,
    'prune',
    `with old as materialized (
       select k.life, k.batch, k.first_seq, k.last_seq from writ.evidence_link as k
       join writ.life as l on l.ordinal = k.life
       where l.epoch = $1 and k.batch <= $2 order by k.batch limit $3 for update of k skip locked),
     records as (
       delete from writ.evidence as e using old
       where e.life = old.life and e.seq between old.first_seq and old.last_seq)
     delete from writ.evidence_link as k using old where k.life = old.life and k.batch = old.batch`,
    [epoch, upToBatch, limit],
  )
}

export function pruneCheckpoints(client: pg.Client, before: number, limit: number): Promise<number> {
  return changed(
    client,
    'prune-checkpoints',
    `with old as materialized (
       select number from writ.checkpoint where number < $1 order by number limit $2 for update skip locked)
     delete from writ.checkpoint as c using old where c.number = old.number`,
    [before, limit],
  )
}

async function changed(
  client: pg.Client,
  name: string,
  text: string,
  values: readonly unknown[],
): Promise<number> {
  return (await run(client, name, text, values)).rowCount ?? 0
}
