// Brings a database to the schema of this build: numbered files, each once, in order, in one transaction.
import { readdirSync, readFileSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'

interface Migration {
  readonly version: number
  readonly name: string
  readonly sql: string
}

/** Safe while others open the same file: the version is read and the schema written under the write lock. */
export function migrate(db: DatabaseSync): void {
  const migrations = readMigrations()
  db.exec('begin immediate')
  try {
    const version = schemaVersion(db)
    if (version > migrations.length) {
      throw new Error(
        `the database has schema ${version}, this build of Writ knows schemas up to ${migrations.length}: ` +
          'start the newer Writ that wrote it, or restore a backup from before the upgrade',
      )
    }
    const add = db.prepare('insert into writ_schema (version, name) values (?, ?)')
    for (const migration of migrations.slice(version)) {
      db.exec(migration.sql)
      add.run(migration.version, migration.name)
    }
    db.exec('commit')
  } catch (error) {
    if (db.isTransaction) db.exec('rollback')
    throw error
  }
}

/** The schema that this build writes. */
export function latestSchema(): number {
  return readMigrations().length
}

/** 0 for a new file. A file that another program filled is left alone. */
function schemaVersion(db: DatabaseSync): number {
  const tables = db.prepare("select name from sqlite_schema where type = 'table'").all()
  if (tables.length > 0 && !tables.some((table) => table.name === 'writ_schema')) {
    throw new Error(
      `this is the database of another program (it has a table ${tables[0]?.name}): choose another file`,
    )
  }
  db.exec('create table if not exists writ_schema (version integer primary key, name text not null) strict')
  return Number(db.prepare('select coalesce(max(version), 0) as version from writ_schema').get()?.version)
}

function readMigrations(): Migration[] {
  const folder = new URL('./migration/', import.meta.url)
  const names = readdirSync(folder)
    .filter((name) => name.endsWith('.sql'))
    .sort()
  return names.map((name, index) => {
    const version = Number.parseInt(name, 10)
    if (version !== index + 1) throw new Error(`migration ${name} should have the number ${index + 1}`)
    return { version, name, sql: readFileSync(new URL(name, folder), 'utf8') }
  })
}
