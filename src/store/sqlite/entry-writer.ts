// Writes entries: the rules of keys, identities, revisions and moves, inside the engine's transaction.
import type { DatabaseSync } from 'node:sqlite'
import type { Spend } from '../../contract/decision.ts'
import { ENTRY_STATES, type EntryState } from '../../contract/entry.ts'
import type { FixedPart } from '../entry-fixed.ts'
import { holdsIdentity, isSettled, isUnderWay, moveProblem, startsAttempt } from '../entry-rule.ts'
import { type HeldSpend, isSentRead, isUnspent, planSpends, type SpendPlan } from '../spend-rule.ts'
import type { ApprovalWriter } from './approval-writer.ts'
import type { BudgetWriter } from './budget-writer.ts'
import type { EncodedResult } from './codec.ts'
import { ENTRY_COLUMNS, ENTRY_TABLES, type EncodedInsert, type EncodedUpdate } from './entry-codec.ts'
import type { Row } from './row.ts'
import { prepareRows, textList } from './statement.ts'

interface EntryWriter {
  /** What stands in the way of the write, as `insert` and `update` find it; 0 when nothing does. */
  check(op: EncodedInsert | EncodedUpdate): EncodedResult
  insert(op: EncodedInsert, spends: readonly Spend[]): EncodedResult
  /** Gives back what the entry holds of budgets when its effect did not happen, unless it is a read that was sent. */
  update(op: EncodedUpdate, spends: readonly Spend[]): EncodedResult
  /** Gives entries that ended lives were at work on to this one, oldest first. Rows have ENTRY_COLUMNS. */
  adopt(epoch: string, limit: number): readonly Row[]
  /** False when there is none, or nothing is left to cancel. */
  requestCancel(namespace: string, id: string): boolean
  erase(before: number, limit: number): number
  forget(before: number, limit: number): number
}

export interface EntryWriterOptions {
  readonly db: DatabaseSync
  readonly budgets: BudgetWriter
  /** They go when their entry does. */
  readonly approvals: Pick<ApprovalWriter, 'erase' | 'forget'>
}

/** Number, revision, state, erased, identity, spends, attempts. */
type FoundState = readonly [number, number, EntryState, number, string | null, string | null, number]

/** The entry that holds an identity, with the newest `identity_at`, at or after a time. Parameters: identity, since. */
export const FIND_IDENTITY = `
  select ${ENTRY_COLUMNS} from ${ENTRY_TABLES}
  where identity = ? and identity_at >= ?
    and state not in (${textList(ENTRY_STATES.filter((state) => !holdsIdentity(state)))})
  order by identity_at desc, number desc limit 1`

export function createEntryWriter({ db, budgets, approvals }: EntryWriterOptions): EntryWriter {
  const findKey = prepareRows(db, `select ${ENTRY_COLUMNS} from ${ENTRY_TABLES} where scope = ? and key = ?`)
  const findIdentity = prepareRows(db, FIND_IDENTITY)
  const findId = prepareRows(db, 'select 1 from entry where namespace = ? and id = ?')
  const findState = prepareRows(
    db,
    'select number, revision, state, erased, identity, spends, attempts from entry where scope = ? and key = ?',
  )
  const insert = db.prepare(`
    insert into entry (
      namespace, scope, key, id, state, open, revision, epoch, call_id, attempts, approval_id, cancel_requested,
      created_at, settled_at, identity, outcome, saga, identity_at
    ) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    on conflict (scope, key) do nothing`)
  const insertBody = db.prepare(
    'insert into entry_body (number, fixed, payload, request, narrowed) values (?, ?, ?, ?, ?)',
  )
  const fixedOf = prepareRows(db, 'select fixed from entry_body where number = ?')
  const namespaceOf = prepareRows(db, 'select namespace from entry where number = ?')
  const setSpends = db.prepare('update entry set spends = ? where number = ?')
  const setNarrowed = db.prepare('update entry_body set narrowed = ? where number = ?')
  const dropNarrowed = db.prepare(
    'update entry_body set narrowed = null where number = ? and narrowed is not null',
  )
  const update = db.prepare(setEntry('outcome = ?, settled_at = ?'))
  const updateKeepingOutcome = db.prepare(
    setEntry('outcome = coalesce(?, outcome), settled_at = coalesce(?, settled_at)'),
  )
  const adoptable = prepareRows(
    db,
    `select number from entry
     where open = 1 and state in (${textList(ENTRY_STATES.filter(isUnderWay))})
       and epoch not in (select epoch from epoch where ended = 0)
     order by number limit ?`,
  )
  // The revision moves, so that nobody who read the entry before can still change it.
  const adopt = db.prepare('update entry set epoch = ?, revision = revision + 1 where number = ?')
  const findNumber = prepareRows(db, `select ${ENTRY_COLUMNS} from ${ENTRY_TABLES} where number = ?`)
  const requestCancel = db.prepare(
    'update entry set cancel_requested = 1 where namespace = ? and id = ? and open = 1',
  )
  const erasable = prepareRows(
    db,
    `select number, namespace, id from entry
     where open = 0 and erased = 0 and settled_at < ? order by settled_at limit ?`,
  )
  // The revision moves, so that nobody who read the entry before can still bring it to run.
  const erase = db.prepare(
    'update entry set outcome = null, spends = null, erased = 1, revision = revision + 1 where number = ?',
  )
  const eraseBody = db.prepare(
    'update entry_body set payload = null, request = null, narrowed = null where number = ?',
  )
  const forgettable = prepareRows(
    db,
    'select number, namespace, id from entry where erased = 1 and settled_at < ? order by settled_at limit ?',
  )
  const forget = db.prepare('delete from entry where number = ?')
  const forgetBody = db.prepare('delete from entry_body where number = ?')

  function checkInsert([, row, , identity, uniqueSince]: EncodedInsert): EncodedResult {
    const [namespace, scope, key, id] = row as [string, string, string, string]
    const found = findKey.get(scope, key)
    if (found !== undefined) return ['key', found]
    const earlier =
      identity === null || uniqueSince === null ? undefined : findIdentity.get(identity, uniqueSince)
    if (earlier !== undefined) return ['identity', earlier]
    if (findId.get(namespace, id) === undefined) return 0
    return { kind: 'refused', message: `entry id ${id} is already in use` }
  }

  function checkUpdate(op: EncodedUpdate, found: FoundState | undefined): EncodedResult {
    const [, scope, key, revision, path, , uniqueSince] = op
    if (found === undefined) return ['revision', null]
    const [, at, state, erased, identity] = found
    if (at !== revision) return ['revision', findKey.get(scope, key) ?? null]
    if (identity !== null && uniqueSince !== null) {
      const earlier = findIdentity.get(identity, uniqueSince)
      if (earlier !== undefined && !isAt(earlier, scope, key)) return ['identity', earlier]
    }
    const message = moveProblem({ state, erased: erased === 1 }, { scope, key, path })
    return message === undefined ? 0 : { kind: 'refused', message }
  }

  function stateOf([, scope, key]: EncodedUpdate): FoundState | undefined {
    return findState.get(scope, key) as FoundState | undefined
  }

  function spend(number: number | bigint, namespace: string, plan: SpendPlan): void {
    budgets.write(namespace, plan)
    setSpends.run(plan.held.length === 0 ? null : JSON.stringify(plan.held), number)
  }

  return {
    check: (op) => (op[0] === 'insert' ? checkInsert(op) : checkUpdate(op, stateOf(op))),

    insert(op, spends) {
      const [, row, body, identity, uniqueSince] = op
      const [namespace, scope, key, , state] = row as [string, string, string, string, EntryState]
      const sentRead =
        spends.length > 0 && isUnspent(state) && wasSentRead(body[0] as string, row[9] as number)
      const plan = planSpends([], [state], spends, sentRead)
      // Without these, the insert itself says whether the key is taken.
      if (plan !== undefined || (identity !== null && uniqueSince !== null)) {
        const result = checkInsert(op)
        if (result !== 0) return result
      }
      const over = plan && budgets.check(namespace, plan)
      if (over !== undefined) return { kind: 'conflict', on: 'budget', spend: over }
      const { changes, lastInsertRowid } = insert.run(...row)
      if (changes === 0) return ['key', findKey.get(scope, key) ?? null]
      insertBody.run(lastInsertRowid, ...body)
      if (plan !== undefined) spend(lastInsertRowid, namespace, plan)
      return 0
    },

    update(op, spends) {
      const found = stateOf(op)
      const result = checkUpdate(op, found)
      if (result !== 0 || found === undefined) return result
      const [, , , , path, set, , narrowed] = op
      const [number, , state, , , spent, attempts] = found
      const held: readonly HeldSpend[] = spent === null ? [] : JSON.parse(spent)
      // The body is only read where it matters what kind of an entry it is.
      const sentRead =
        held.length + spends.length > 0 &&
        path.some(isUnspent) &&
        wasSentRead((fixedOf.get(number) as [string])[0], (set[1] as number | null) ?? attempts)
      const plan = planSpends(held, path, spends, sentRead)
      const namespace = plan === undefined ? '' : ((namespaceOf.get(number) as [string])[0] ?? '')
      const over = plan && budgets.check(namespace, plan)
      if (over !== undefined) return { kind: 'conflict', on: 'budget', spend: over }
      const next = path.at(-1) ?? state
      const fresh = startsAttempt(path)
      const statement = fresh ? update : updateKeepingOutcome
      statement.run(next, isSettled(next) ? 0 : 1, ...set, number)
      if (narrowed !== undefined) setNarrowed.run(narrowed, number)
      else if (fresh) dropNarrowed.run(number)
      if (plan !== undefined) spend(number, namespace, plan)
      return 0
    },

    adopt(epoch, limit) {
      const rows = adoptable.all(limit) as unknown as [number][]
      return rows.map(([number]) => {
        adopt.run(epoch, number)
        return findNumber.get(number) as Row
      })
    },

    requestCancel: (namespace, id) => requestCancel.run(namespace, id).changes > 0,

    erase(before, limit) {
      const rows = erasable.all(before, limit) as unknown as [number, string, string][]
      for (const [number, namespace, id] of rows) {
        erase.run(number)
        eraseBody.run(number)
        approvals.erase(namespace, id)
      }
      return rows.length
    },

    forget(before, limit) {
      const rows = forgettable.all(before, limit) as unknown as [number, string, string][]
      for (const [number, namespace, id] of rows) {
        forget.run(number)
        forgetBody.run(number)
        approvals.forget(namespace, id)
      }
      return rows.length
    },
  }
}

/** `fixed` as the body of an entry has it. */
function wasSentRead(fixed: string, attempts: number): boolean {
  const { readOnly } = JSON.parse(fixed) as FixedPart
  return isSentRead({ readOnly, attempts })
}

/** `row` has ENTRY_COLUMNS. */
function isAt(row: Row, scope: string, key: string): boolean {
  return row[1] === scope && row[2] === key
}

/** Parameters: state, open, the columns of an encoded update, number. */
function setEntry(ending: string): string {
  return `
    update entry set
      state = ?, open = ?, revision = revision + 1,
      epoch = coalesce(?, epoch), attempts = coalesce(?, attempts), call_id = coalesce(?, call_id),
      cancel_requested = coalesce(?, cancel_requested), approval_id = coalesce(?, approval_id),
      identity_at = case when identity is null then null else coalesce(?, identity_at) end,
      ${ending}
    where number = ?`
}
