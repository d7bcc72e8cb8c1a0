// Opening a database file: new, old, newer, foreign, shared.
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { it } from 'node:test'
import { openForWriting } from '../../../src/store/sqlite/open-database.ts'
import { createSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { newLife } from '../fixture.ts'
import { startChild, temporaryFolder } from './process.ts'

const open = (path: string) => createSqliteStore({ world: newLife(), path })

it('a new file is made, readable by its owner only, and left whole when the store closes', async (t) => {
  const path = join(temporaryFolder(t), 'writ.db')
  const store = await open(path)
  assert.equal(statSync(path).mode & 0o777, 0o600)
  assert.equal(statSync(`${path}-wal`).mode & 0o777, 0o600)
  assert.equal(store.durable, true)
  await store.close()
  assert.equal(existsSync(`${path}-wal`), false)
})

it('the writer waits for the disk: WAL with full synchronisation', (t) => {
  const db = openForWriting(join(temporaryFolder(t), 'writ.db'))
  assert.equal(db.prepare('pragma journal_mode').get()?.journal_mode, 'wal')
  assert.equal(db.prepare('pragma synchronous').get()?.synchronous, 2)
  db.close()
})

it('a newer schema is refused, untouched, with what to do about it', async (t) => {
  const path = join(temporaryFolder(t), 'writ.db')
  await (await open(path)).close()
  const db = new DatabaseSync(path)
  db.exec("insert into writ_schema (version, name) values (99, '0099-later.sql')")
  db.close()
  await assert.rejects(
    open(path),
    /has schema 99, this build of Writ knows schemas up to 3: start the newer Writ/,
  )
  const after = new DatabaseSync(path)
  assert.equal(after.prepare('select count(*) as n from epoch').get()?.n, 1)
  after.close()
})

it('the database of another program is refused, untouched', async (t) => {
  const path = join(temporaryFolder(t), 'other.db')
  const db = new DatabaseSync(path)
  db.exec('create table photo (id integer)')
  db.close()
  await assert.rejects(
    open(path),
    /other\.db: this is the database of another program \(it has a table photo\)/,
  )
  const after = new DatabaseSync(path)
  assert.deepEqual(
    after
      .prepare('select name from sqlite_schema')
      .all()
      .map((row) => row.name),
    ['photo'],
  )
  after.close()
})

it('a file that is no database, a folder, and a path that is not there are refused with the path and the reason', async (t) => {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'text.db'), 'this is not a database, only some text that is long enough')
  await assert.rejects(
    open(join(folder, 'text.db')),
    /cannot open the store .*text\.db: file is not a database/,
  )
  mkdirSync(join(folder, 'sub.db'))
  await assert.rejects(open(join(folder, 'sub.db')), /cannot open the store .*sub\.db: EISDIR/)
  await assert.rejects(open(join(folder, 'none', 'writ.db')), /cannot open the store .*writ\.db: ENOENT/)
})

it('several processes may open a new file at the same time', async (t) => {
  const path = join(temporaryFolder(t), 'writ.db')
  const children = Array.from({ length: 4 }, () => startChild(t, 'open', path))
  for (const child of children) {
    assert.deepEqual(await child.ended, { code: 0, signal: null }, child.stderr())
    assert.deepEqual(child.lines, ['opened true'])
  }
  const store = await open(path)
  assert.equal((await store.evidence.epochs()).length, 5)
  await store.close()
})

it('several stores of one process may open a new file at the same time', async (t) => {
  const path = join(temporaryFolder(t), 'writ.db')
  const stores = await Promise.all(Array.from({ length: 4 }, () => open(path)))
  await Promise.all(stores.map((store) => store.close()))
  const store = await open(path)
  assert.equal((await store.evidence.epochs()).length, 5)
  await store.close()
})
