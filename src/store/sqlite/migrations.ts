// Brings a database to the schema of this build: numbered files, each once, in order, in one transaction.
import type { DatabaseSync } from 'node:sqlite'
import { type Migration, newerSchema, readMigrations } from '../read-migrations.ts'

/** Safe while others open the same file: the version is read and the schema written under the write lock. */
export function migrate(db: DatabaseSync): void {
  const migrations = ownMigrations()
  db.exec('begin immediate')
  try {
    const version = schemaVersion(db)
    if (version > migrations.length) {
      throw new Error(newerSchema(version, migrations.length))
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
  return ownMigrations().length
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

function ownMigrations(): readonly Migration[] {
  return readMigrations(new URL('./migration/', import.meta.url))
}
