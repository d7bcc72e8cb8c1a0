// Runs the store contract over PostgreSQL.
import { after, before } from 'node:test'
import { createPostgresStore } from '../../../src/store/postgres/postgres-store.ts'
import { type PostgresServer, startPostgres } from '../../postgres/server.ts'
import { newLife } from '../fixture.ts'
import { describeStoreContract } from '../store-contract-run.ts'

let server: PostgresServer
let url: string

before(async () => {
  server = await startPostgres()
  url = await server.createDatabase()
  const store = await createPostgresStore({ world: newLife(), url })
  await store.close()
})
after(() => server.stop())

const query = (text: string, values: readonly unknown[] = []) =>
  server.query(text, values, new URL(url).pathname.slice(1))

/** As after the migrations: much sooner than another database. */
async function empty(): Promise<void> {
  const tables = await query(
    `select tablename from pg_tables where schemaname = 'writ' and tablename not in ('writ_schema', 'resource_counter')`,
  )
  await query(
    `with ${tables.map(({ tablename }) => `${tablename} as (delete from writ.${tablename})`).join(', ')}
     update writ.resource_counter set last = 0`,
  )
}

describeStoreContract('postgres', {
  shares: true,
  alone: false,
  async place() {
    await empty()
    return {
      open: (world, options) => createPostgresStore({ world, url, poolSize: 2, ...options }),
      // Its clock cannot be moved: what is kept moves the other way.
      async pass(ms) {
        await query('update writ.timer set due = due - $1', [ms])
        await query('update writ.life set expires = expires - $1', [ms])
      },
      remove: () => undefined,
    }
  },
})
