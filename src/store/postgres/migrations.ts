// Brings the database to the schema of this build: numbered files, each once, in order, in one transaction.
//
// Several replicas may start at once: the first takes an advisory lock and migrates, the others wait and find it done.
import type pg from 'pg'
import { newerSchema, readMigrations } from '../read-migrations.ts'
import { StoreUnavailable } from '../store.ts'

/** First half of every advisory lock of Writ with two numbers: 'WRIT'. */
export const LOCK_SPACE = 0x57524954
const MIGRATION_LOCK = 1

export async function migrate(client: pg.Client): Promise<void> {
  const migrations = readMigrations(new URL('./migration/', import.meta.url))
  if ((await schemaVersion(client, migrations.length)) === migrations.length) return
  await client.query('begin isolation level read committed')
  try {
    // Whoever is ahead may take longer than any other statement.
    await client.query('set local statement_timeout = 0; set local lock_timeout = 0')
    await client.query({
      text: 'select pg_advisory_xact_lock($1, $2)',
      values: [LOCK_SPACE, MIGRATION_LOCK],
      query_timeout: MIGRATION_MS,
    } as pg.QueryConfig)
    const version = await schemaVersion(client, migrations.length)
    if (version === 0) {
      await client.query(
        `create schema if not exists writ;
         create table if not exists writ.writ_schema (version integer primary key, name text not null)`,
      )
    }
    for (const { sql, version: number, name } of migrations.slice(version)) {
      await client.query({ text: sql, query_timeout: MIGRATION_MS } as pg.QueryConfig)
      await client.query('insert into writ.writ_schema (version, name) values ($1, $2)', [number, name])
    }
    await client.query('commit')
  } catch (error) {
    await client.query('rollback').catch(() => undefined)
    throw error
  }
}

/** The longest time that bringing a database up to date may take. */
const MIGRATION_MS = 600_000

/** 0 for a database without one. A schema that another program filled is left alone. */
async function schemaVersion(client: pg.Client, known: number): Promise<number> {
  const { rows: found } = await client.query<{ own: boolean; other: string | null }>(
    `select to_regclass('writ.writ_schema') is not null as own,
            (select c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
             where n.nspname = 'writ' limit 1) as other`,
  )
  const [{ own, other }] = found as [{ own: boolean; other: string | null }]
  if (!own && other !== null) {
    throw new StoreUnavailable(
      `this database has a schema writ of another program (with ${other} in it): choose another database`,
    )
  }
  if (!own) return 0
  const { rows } = await client.query<{ version: number }>(
    'select coalesce(max(version), 0)::integer as version from writ.writ_schema',
  )
  const version = rows[0]?.version ?? 0
  if (version <= known) return version
  throw new StoreUnavailable(newerSchema(version, known))
}
