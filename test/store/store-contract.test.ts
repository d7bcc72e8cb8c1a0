// Runs the store contract over every engine.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { stores } from '../../src/store/registry.ts'
import { createInlineFlusher } from '../../src/store/sqlite/inline-flusher.ts'
import { migrate } from '../../src/store/sqlite/migrations.ts'
import { createSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../src/store/store.ts'
import type { World } from '../../src/util/world.ts'
import { newLife } from './fixture.ts'
import { type StoreCase, storeCases } from './store-contract.ts'

interface Place {
  open(world: World, options: { readonly maxBuffered?: number }): Promise<Store>
  remove(): void
}

const engines: Record<string, { readonly reopens: boolean; place(): Promise<Place> }> = {
  memory: {
    reopens: false,
    async place() {
      const create = await stores.memory()
      return { open: (world, options) => create({ world, ...options }), remove: () => undefined }
    },
  },
  sqlite: {
    reopens: true,
    async place() {
      const create = await stores.sqlite()
      const folder = mkdtempSync(join(tmpdir(), 'writ-store-'))
      return {
        open: (world, options) => create({ world, path: join(folder, 'writ.db'), ...options }),
        remove: () => rmSync(folder, { recursive: true }),
      }
    },
  },
  'sqlite inline': {
    reopens: true,
    async place() {
      const database = new DatabaseSync(':memory:')
      migrate(database)
      return {
        open: (world, options) =>
          createSqliteStore({ world, database, flusher: createInlineFlusher(database), ...options }),
        remove: () => database.close(),
      }
    },
  },
}

for (const [name, engine] of Object.entries(engines)) {
  describe(`store contract: ${name}`, () => {
    for (const one of storeCases) {
      const skip = one.reopens && !engine.reopens ? 'what is kept in memory ends with the store' : false
      it(one.name, { skip }, () => runCase(one, engine.place))
    }
  })
}

async function runCase(one: StoreCase, makePlace: () => Promise<Place>): Promise<void> {
  const place = await makePlace()
  const first = newLife()
  const opened: Store[] = []
  try {
    await one.run({
      world: first,
      async open(world = first, options = {}) {
        const store = await place.open(world, options)
        opened.push(store)
        return store
      },
    })
  } finally {
    for (const store of opened) await store.close()
    place.remove()
  }
}
