// What runs often or over a large ledger finds its rows by an index that holds little else.
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { it } from 'node:test'
import type { EntryState } from '../../../src/contract/entry.ts'
import { createEngine } from '../../../src/store/sqlite/engine.ts'
import { migrate } from '../../../src/store/sqlite/migrations.ts'
import { createReader } from '../../../src/store/sqlite/reader.ts'
import type { ApprovalFilter, EntryFilter } from '../../../src/store/store.ts'

/** Every statement that is prepared while `run` has the database, with its plan. */
function plansOf(run: (database: DatabaseSync) => void): ReadonlyMap<string, string> {
  const database = new DatabaseSync(':memory:')
  migrate(database)
  const plans = new Map<string, string>()
  const prepare = database.prepare.bind(database)
  database.prepare = (sql) => {
    if (/^\s*(select|insert|update|delete)/.test(sql)) {
      const parameters = sql.match(/\?(?!\d)/g) ?? [...new Set(sql.match(/\?\d/g))]
      const rows = prepare(`explain query plan ${sql}`).all(...parameters.map(() => null))
      plans.set(sql, rows.map((row) => row.detail).join('; '))
    }
    return prepare(sql)
  }
  run(database)
  database.close()
  return plans
}

/** The tables that grow with the number of calls. */
const LARGE =
  /SCAN (entry|entry_body|call|evidence|evidence_link|timer|saga|approval|budget)(?! USING (COVERING )?INDEX (entry_open|call_open|timer_due))/

it('no statement of the writer or the reader walks over a large table', () => {
  const plans = plansOf((database) => {
    createEngine(database)
    createReader(database, { epoch: 'e', now: () => 0 })
  })
  assert.ok(plans.size > 40)
  for (const [sql, plan] of plans) assert.doesNotMatch(plan, LARGE, `${sql}\n${plan}`)
})

it('lists of open entries and of members of a saga come from their own indexes, in order', () => {
  const list = (filter: Partial<EntryFilter>) =>
    plansOf((database) =>
      createReader(database, { epoch: 'e', now: () => 0 }).entries.list({
        namespace: 'n',
        limit: 5,
        ...filter,
      }),
    )
  const open: EntryState[] = ['unknown', 'commit-unknown', 'prepared']
  const wanted: [Partial<EntryFilter>, RegExp][] = [
    [{ states: open }, /entry_open \(state=\? AND namespace=\?\)/],
    [{ states: ['unknown'], actor: 'a' }, /entry_open \(state=\? AND namespace=\?\)/],
    [{ saga: 's' }, /entry_saga \(namespace=\? AND saga=\?\)/],
    [{ saga: 's', states: open }, /entry_saga \(namespace=\? AND saga=\?\)/],
    [{ before: 'x' }, /entry_id \(namespace=\? AND id<\?\)/],
  ]
  for (const [filter, index] of wanted) {
    const lists = [...list(filter)].filter(
      ([sql]) => sql.includes('order by id desc') && sql.includes('entry_body'),
    )
    assert.equal(lists.length, 1, JSON.stringify(filter))
    for (const [, plan] of lists) {
      assert.match(plan, index)
      assert.doesNotMatch(plan, /TEMP B-TREE/)
    }
  }
})

it('lists of approvals come from an index, in order', () => {
  const wanted: [Partial<ApprovalFilter>, RegExp][] = [
    [{ states: ['pending', 'approved'] }, /approval_state \(namespace=\? AND state=\?\)/],
    [{ requester: 'a' }, /approval_requester \(namespace=\? AND requester=\?\)/],
    [{ tool: 't', before: 'x' }, /approval_tool \(namespace=\? AND tool=\? AND id<\?\)/],
    [{ before: 'x' }, /approval_id \(namespace=\? AND id<\?\)/],
  ]
  for (const [filter, index] of wanted) {
    const plans = plansOf((database) =>
      createReader(database, { epoch: 'e', now: () => 0 }).approvals.list({
        namespace: 'n',
        limit: 5,
        ...filter,
      }),
    )
    const lists = [...plans].filter(([sql]) => /from approval .*order by id desc/.test(sql))
    assert.equal(lists.length, 1, JSON.stringify(filter))
    for (const [, plan] of lists) {
      assert.match(plan, index)
      assert.doesNotMatch(plan, /TEMP B-TREE/)
    }
  }
})
