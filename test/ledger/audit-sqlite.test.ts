// A database file that somebody edits by hand, behind the back of the store: the export shows it, and verifying names it.
import assert from 'node:assert/strict'
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, it } from 'node:test'
import { openAudit } from '../../src/driver/open-audit.ts'
import { createEvents } from '../../src/event/event.ts'
import type { FaultKind } from '../../src/ledger/audit-fault.ts'
import { createSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { newLife } from '../store/fixture.ts'
import { collect, KEY, verify } from './audit-fixture.ts'

const folder = mkdtempSync(join(tmpdir(), 'writ-audit-'))
const original = join(folder, 'original.db')
after(() => rmSync(folder, { recursive: true }))

/** One life on a database file: some links, a checkpoint, and what it exports. */
async function life(path: string, links: readonly number[]): Promise<string[]> {
  const world = newLife()
  const store = await createSqliteStore({ world, path })
  const audit = await openAudit(world, store, createEvents(), { key: KEY })
  try {
    for (const records of links) {
      const evidence = Array.from({ length: records }, (_, index) => ({
        namespace: 'default',
        callId: `call-${index}`,
        type: 'tool.started' as const,
        at: 1_000 + index / 3,
        body: { actor: 'agent-é', index },
      }))
      await store.ledger.intend({ namespace: 'default', evidence })
    }
    return await collect(audit.export())
  } finally {
    await audit.close()
    await store.close()
  }
}

/** The faults of a copy in which `sql` was run. */
async function edited(
  name: string,
  sql: string,
): Promise<readonly { kind: FaultKind; seq?: number; batch?: number }[]> {
  const path = join(folder, `${name}.db`)
  copyFileSync(original, path)
  const database = new DatabaseSync(path)
  database.exec(sql)
  database.close()
  return (await verify(await life(path, [1]))).faults
}

describe('a database that was edited by hand', () => {
  before(async () => {
    await life(original, [3, 1, 2])
    await life(original, [2, 2])
  })

  it('S39: untouched, it verifies in a later life', async () => {
    assert.deepEqual(await edited('untouched', 'select 1'), [])
  })

  const EDITS: readonly [string, string, FaultKind, Record<string, number>][] = [
    [
      'another body',
      `update evidence set body = replace(body, 'agent', 'agemt') where epoch = 1 and seq = 3`,
      'record-changed',
      { seq: 3 },
    ],
    [
      'a body that is no JSON',
      `update evidence set body = '{"actor' where epoch = 1 and seq = 3`,
      'record-changed',
      { seq: 3 },
    ],
    [
      'the same JSON in other text',
      `update evidence set body = replace(body, ':', ': ') where epoch = 1 and seq = 3`,
      'record-changed',
      { seq: 3 },
    ],
    [
      'another actor at the end',
      `update evidence set body = '{"actor":"x"}' where epoch = 2 and seq = 4`,
      'record-changed',
      { seq: 4 },
    ],
    [
      'a record gone from the middle of a link',
      'delete from evidence where epoch = 1 and seq = 3',
      'record-missing',
      { seq: 3, batch: 2 },
    ],
    [
      'the only record of a link gone',
      'delete from evidence where epoch = 1 and seq = 5',
      'record-missing',
      { seq: 5, batch: 3 },
    ],
    [
      'a link gone with its records',
      'delete from evidence where epoch = 1 and seq = 5; delete from evidence_link where epoch = 1 and batch = 3',
      'link-missing',
      { batch: 3 },
    ],
    [
      'the end of a chain gone',
      'delete from evidence_link where epoch = 1 and batch = 4',
      'chain-cut',
      { batch: 4 },
    ],
    ['a whole chain gone', 'delete from evidence_link where epoch = 1', 'chain-missing', {}],
    ['a checkpoint gone', 'delete from checkpoint where number = 1', 'checkpoint-missing', {}],
    [
      'a checkpoint changed',
      `update checkpoint set body = replace(body, '"seq":', '"seq":1') where number = 1`,
      'checkpoint-changed',
      {},
    ],
  ]
  for (const [what, sql, kind, place] of EDITS) {
    it(`S39: ${what} is ${kind}`, async () => {
      const faults = await edited(what.replaceAll(' ', '-'), sql)
      const match = faults.some(
        (fault) =>
          fault.kind === kind &&
          Object.entries(place).every(([name, value]) => fault[name as 'seq' | 'batch'] === value),
      )
      assert.ok(match, JSON.stringify(faults, null, 1))
    })
  }
})
