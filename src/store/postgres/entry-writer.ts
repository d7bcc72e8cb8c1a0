// Writes the entries of a group of writes, no two of which touch one entry: who stood, and what stood in the way of the
// others. Every change is a compare-and-set that the database decides: on the key, or on revision and state.
import type pg from 'pg'
import { ENTRY_STATES } from '../../contract/entry.ts'
import { holdsIdentity, moveProblem } from '../entry-rule.ts'
import type { WriteResult } from '../store.ts'
import type { Refused } from '../write-queue.ts'
import { Restart } from './database-error.ts'
import { type DbRow, decodeEntry, ENTRY_COLUMNS } from './decode.ts'
import { type EncodedInsert, type EncodedUpdate, pair } from './encode.ts'
import { rowsOf, run } from './statement.ts'

export type EntryResult = WriteResult | Refused

const INSERT_COLUMNS =
  'slot, namespace, scope, key, id, state, open, revision, epoch, call_id, attempts, approval_id, cancel_requested, ' +
  'created_at, settled_at, identity, identity_at, saga, actor, outcome, fixed, request, payload, narrowed, spends'

const INSERT = `
  insert into writ.entry (${INSERT_COLUMNS})
  select ${INSERT_COLUMNS} from json_to_recordset($1::json) as r(
    slot text, namespace text, scope text, key text, id text, state text, open boolean, revision bigint, epoch text,
    call_id text, attempts bigint, approval_id text, cancel_requested boolean, created_at double precision,
    settled_at double precision, identity text, identity_at double precision, saga text, actor text, outcome text,
    fixed text, request text, payload text, narrowed text, spends text)
  on conflict do nothing
  returning slot`

const UPDATE = `
  update writ.entry as e set
    state = coalesce(r.state, e.state), open = coalesce(r.open, e.open), revision = e.revision + 1,
    epoch = coalesce(r.epoch, e.epoch), attempts = coalesce(r.attempts, e.attempts),
    call_id = coalesce(r.call_id, e.call_id), cancel_requested = coalesce(r.cancel_requested, e.cancel_requested),
    approval_id = coalesce(r.approval_id, e.approval_id),
    identity_at = case when e.identity is null then null else coalesce(r.identity_at, e.identity_at) end,
    outcome = case when r.fresh then r.outcome else coalesce(r.outcome, e.outcome) end,
    settled_at = case when r.fresh then r.settled_at else coalesce(r.settled_at, e.settled_at) end,
    narrowed = case when r.fresh then r.narrowed else coalesce(r.narrowed, e.narrowed) end
  from json_to_recordset($1::json) as r(
    slot text, revision bigint, froms text[], state text, open boolean, fresh boolean, epoch text, attempts bigint,
    call_id text, cancel_requested boolean, approval_id text, identity_at double precision, outcome text,
    settled_at double precision, narrowed text)
  where e.slot = r.slot and e.revision = r.revision and not e.erased and e.state = any (r.froms)
  returning e.slot, e.id, e.awaited, e.spends, e.attempts,
    case when e.spends is null then null else e.fixed end as fixed`

/** States in which an entry stands in nobody's way (S14). */
const WITHOUT_EFFECT = ENTRY_STATES.filter((state) => !holdsIdentity(state))
  .map((state) => `'${state}'`)
  .join(', ')

/** The entry that holds an identity, with the newest `identity_at`. */
export const NEWEST_HOLDER = (identity: string, since: string) => `
  select ${ENTRY_COLUMNS}, slot from writ.entry
  where identity = ${identity} and identity_at >= ${since} and state not in (${WITHOUT_EFFECT})
  order by identity_at desc, number desc limit 1`

export interface EntryGroup {
  readonly inserts: readonly EncodedInsert[]
  readonly updates: readonly EncodedUpdate[]
}

/** What an entry holds of budgets, as JSON, with what decides whether that is given back. */
export interface HolderRow {
  readonly spends: string | null
  readonly attempts: number
  /** As JSON; null only where nothing is held. */
  readonly fixed: string | null
}

export interface EntriesWritten {
  /** By slot; one that is not named was written. */
  readonly results: ReadonlyMap<string, EntryResult>
  /** Ids of changed entries that somebody elsewhere waits for. */
  readonly awaited: readonly string[]
  /** By slot: entries that were changed and hold something of budgets. */
  readonly held: ReadonlyMap<string, HolderRow>
}

export async function writeEntries(client: pg.ClientBase, group: EntryGroup): Promise<EntriesWritten> {
  const results = new Map<string, EntryResult>()
  await findRepeated(client, group, results)
  const inserts = group.inserts.filter(({ slot }) => !results.has(slot))
  const updates = group.updates.filter(({ slot }) => !results.has(slot))
  const stood = new Set<string>()
  const awaited: string[] = []
  const held = new Map<string, HolderRow>()
  if (inserts.length > 0) {
    const { rows } = await run<{ slot: string }>(client, 'insert-entries', INSERT, [rowsOf(inOrder(inserts))])
    for (const { slot } of rows) stood.add(slot)
  }
  if (updates.length > 0) {
    type Updated = HolderRow & { slot: string; id: string; awaited: boolean }
    const { rows } = await run<Updated>(client, 'update-entries', UPDATE, [rowsOf(inOrder(updates))])
    const telling = new Set(updates.filter(({ tells }) => tells).map(({ slot }) => slot))
    for (const row of rows) {
      stood.add(row.slot)
      if (row.awaited && telling.has(row.slot)) awaited.push(row.id)
      if (row.spends !== null) held.set(row.slot, row)
    }
  }
  const failed = [...inserts, ...updates].filter(({ slot }) => !stood.has(slot))
  if (failed.length > 0) await explain(client, failed, results)
  return { results, awaited, held }
}

/** By slot: what stands in the way of writes that are not made yet; none for one that could be written now. */
export async function checkEntries(
  client: pg.ClientBase,
  entries: readonly (EncodedInsert | EncodedUpdate)[],
): Promise<ReadonlyMap<string, EntryResult>> {
  const results = new Map<string, EntryResult>()
  if (entries.length === 0) return results
  const inserts = entries.filter((entry) => entry.kind === 'insert')
  const updates = entries.filter((entry) => entry.kind === 'update')
  await findRepeated(client, { inserts, updates }, results)
  const left = entries.filter(({ slot }) => !results.has(slot))
  const found = await findSlots(
    client,
    left.map(({ slot }) => slot),
  )
  const taken = await findIds(client, inserts)
  for (const op of left) {
    const result = reasonAgainst(op, found.get(op.slot))
    if (result !== undefined) results.set(op.slot, result)
    else if (op.kind === 'insert' && taken.has(op.id)) results.set(op.slot, idInUse(op))
  }
  return results
}

async function findIds(
  client: pg.ClientBase,
  inserts: readonly EncodedInsert[],
): Promise<ReadonlySet<string>> {
  if (inserts.length === 0) return new Set()
  const { rows } = await run<{ namespace: string; id: string }>(
    client,
    'find-ids',
    `select e.namespace, e.id from json_to_recordset($1::json) as r(namespace text, id text)
     join writ.entry as e on e.namespace = r.namespace and e.id = r.id`,
    [rowsOf(inOrder(inserts))],
  )
  return new Set(rows.map(({ namespace, id }) => pair(namespace, id)))
}

function idInUse({ row }: EncodedInsert): EntryResult {
  const { id } = JSON.parse(row) as { id: string }
  return { kind: 'refused', message: `entry id ${id} is already in use` }
}

/** What stands in the way of a write of the entry in this row, if there is one. */
function reasonAgainst(op: EncodedInsert | EncodedUpdate, row: DbRow | undefined): EntryResult | undefined {
  const entry = row === undefined ? {} : { entry: decodeEntry(row) }
  if (op.kind === 'insert') return row === undefined ? undefined : { kind: 'conflict', on: 'key', ...entry }
  if (row === undefined || row.revision !== op.update.revision)
    return { kind: 'conflict', on: 'revision', ...entry }
  const { state } = decodeEntry(row)
  const message = moveProblem({ state, erased: row.erased === true }, op.update)
  return message === undefined ? undefined : { kind: 'refused', message }
}

/** Two replicas that write the same entries take them in the same order, and do not wait for each other in a circle. */
function inOrder(ops: readonly { readonly slot: string; readonly row: string }[]): string[] {
  return ops.toSorted((a, b) => (a.slot < b.slot ? -1 : 1)).map(({ row }) => row)
}

/** Finds out why nothing came of some writes. */
async function explain(
  client: pg.ClientBase,
  failed: readonly (EncodedInsert | EncodedUpdate)[],
  results: Map<string, EntryResult>,
): Promise<void> {
  const found = await findSlots(
    client,
    failed.map(({ slot }) => slot),
  )
  for (const op of failed) {
    const result = reasonAgainst(op, found.get(op.slot))
    if (result !== undefined) results.set(op.slot, result)
    else if (op.kind === 'insert') results.set(op.slot, idInUse(op))
    else throw new Restart(`entry ${op.update.key} changed while it was written`)
  }
}

async function findSlots(
  client: pg.ClientBase,
  slots: readonly string[],
): Promise<ReadonlyMap<string, DbRow>> {
  const { rows } = await run<{ slot: string }>(
    client,
    'find-slots',
    `select ${ENTRY_COLUMNS}, slot from writ.entry where slot = any ($1::text[])`,
    [slots],
  )
  return new Map(rows.map((row) => [row.slot, row]))
}

/**
 * S14 across replicas: whoever is to be the only one with an identity holds its lock until the end of the transaction,
 * and looks after having got it. A group has several such inserts, each with another identity, or one such update.
 */
async function findRepeated(
  client: pg.ClientBase,
  { inserts, updates }: EntryGroup,
  results: Map<string, EntryResult>,
): Promise<void> {
  const unique = inserts.flatMap(({ slot, unique }) => (unique === undefined ? [] : [{ slot, ...unique }]))
  for (const { slot, update } of updates) {
    if (update.uniqueSince === undefined) continue
    const { rows } = await run<{ identity: string | null }>(
      client,
      'identity-of',
      'select identity from writ.entry where slot = $1 and revision = $2',
      [slot, update.revision],
    )
    const identity = rows[0]?.identity
    if (identity != null) unique.push({ slot, identity, since: update.uniqueSince })
  }
  if (unique.length === 0) return
  await run(
    client,
    'lock-identities',
    `select pg_advisory_xact_lock(lock) from (
       select distinct hashtextextended(identity, 14) as lock from unnest($1::text[]) as identity order by 1) as locks`,
    [unique.map(({ identity }) => identity)],
  )
  const { rows: holders } = await run<{ asked: string; slot: string }>(
    client,
    'find-holders',
    `select r.slot as asked, holder.* from json_to_recordset($1::json) as r(slot text, identity text, since double precision)
     cross join lateral (${NEWEST_HOLDER('r.identity', 'r.since')}) as holder`,
    [JSON.stringify(unique)],
  )
  const repeated = holders.filter(({ asked, slot }) => asked !== slot)
  if (repeated.length === 0) return
  // A key that is taken counts for more than an identity that is.
  const asked = new Set(repeated.map((row) => row.asked))
  const keys = await findSlots(
    client,
    inserts.map(({ slot }) => slot).filter((slot) => asked.has(slot)),
  )
  for (const holder of repeated) {
    const sameKey = keys.get(holder.asked)
    results.set(
      holder.asked,
      sameKey === undefined
        ? { kind: 'conflict', on: 'identity', entry: decodeEntry(holder) }
        : { kind: 'conflict', on: 'key', entry: decodeEntry(sameKey) },
    )
  }
}
