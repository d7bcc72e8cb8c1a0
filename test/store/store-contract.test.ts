// Runs the store contract over the engines that need nothing but this process.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createMemoryData } from '../../src/store/memory/memory-data.ts'
import { createMemoryStore } from '../../src/store/memory/memory-store.ts'
import { stores } from '../../src/store/registry.ts'
import { createInlineFlusher } from '../../src/store/sqlite/inline-flusher.ts'
import { migrate } from '../../src/store/sqlite/migrations.ts'
import { createSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import type { World } from '../../src/util/world.ts'
import { describeStoreContract } from './store-contract-run.ts'

/** The wall clock of every world it shows; `pass` moves it. */
function createMovableClock() {
  let passed = 0
  return {
    show: (world: World): World => {
      const { now, monotonic } = world.clock
      return { ...world, clock: { now: () => now() + passed, monotonic } }
    },
    async pass(ms: number) {
      passed += ms
    },
  }
}

describeStoreContract('memory', {
  shares: true,
  alone: true,
  async place() {
    const { show, pass } = createMovableClock()
    const data = createMemoryData()
    return {
      open: (world, options) => createMemoryStore({ world: show(world), data, ...options }),
      pass,
      remove: () => undefined,
    }
  },
})

describeStoreContract('sqlite', {
  shares: false,
  alone: true,
  async place() {
    const create = await stores.sqlite()
    const { show, pass } = createMovableClock()
    const folder = mkdtempSync(join(tmpdir(), 'writ-store-'))
    return {
      open: (world, { maxBuffered }) =>
        create({
          world: show(world),
          path: join(folder, 'writ.db'),
          ...(maxBuffered === undefined ? {} : { maxBuffered }),
        }),
      pass,
      remove: () => rmSync(folder, { recursive: true }),
    }
  },
})

describeStoreContract('sqlite inline', {
  shares: true,
  alone: true,
  async place() {
    const { show, pass } = createMovableClock()
    const database = new DatabaseSync(':memory:')
    migrate(database)
    return {
      open: (world, options) =>
        createSqliteStore({
          world: show(world),
          database,
          flusher: createInlineFlusher(database),
          ...options,
        }),
      pass,
      remove: () => database.close(),
    }
  },
})
