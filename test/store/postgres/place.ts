// A fresh database for each test, the stores that are open on it, and what tests ask it directly.
import { createPostgresStore, type PostgresStoreOptions } from '../../../src/store/postgres/postgres-store.ts'
import type { EvidenceLink, Store } from '../../../src/store/store.ts'
import type { World } from '../../../src/util/world.ts'
import type { PostgresServer } from '../../postgres/server.ts'
import { newLife } from '../fixture.ts'

export interface Place {
  readonly url: string
  readonly database: string
  /** Opens a store in a life of its own; closed at the end. */
  open(options?: Partial<PostgresStoreOptions>): Promise<{ store: Store; world: World }>
  query(text: string, values?: readonly unknown[]): Promise<Record<string, unknown>[]>
}

export async function withPlace(server: PostgresServer, run: (place: Place) => Promise<void>): Promise<void> {
  const url = await server.createDatabase()
  const database = new URL(url).pathname.slice(1)
  const opened: Store[] = []
  try {
    await run({
      url,
      database,
      async open(options = {}) {
        const world = options.world ?? newLife()
        const store = await createPostgresStore({ url, poolSize: 3, closeMs: 100, ...options, world })
        opened.push(store)
        return { store, world }
      },
      query: (text, values) => server.query(text, values, database),
    })
  } finally {
    await Promise.all(opened.map((store) => store.close()))
    await server.query(`drop database if exists ${database} with (force)`)
  }
}

/** All links of a life. */
export async function chainOf(store: Store, epoch: string): Promise<readonly EvidenceLink[]> {
  return store.evidence.links(epoch, 1, 100_000)
}
