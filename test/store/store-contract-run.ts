// Runs the store contract over an engine, one test for each case.
import { describe, it } from 'node:test'
import type { Store } from '../../src/store/store.ts'
import { newLife } from './fixture.ts'
import { type StoreCase, type StoreEngine, storeCases } from './store-contract.ts'

const MISSING = {
  shares: 'one process owns this store alone',
  alone: 'processes always share this store',
} as const

export function describeStoreContract(name: string, engine: StoreEngine): void {
  describe(`store contract: ${name}`, () => {
    for (const one of storeCases) {
      const skip = one.needs !== undefined && !engine[one.needs] ? MISSING[one.needs] : false
      it(one.name, { skip }, () => runCase(one, engine))
    }
  })
}

async function runCase(one: StoreCase, engine: StoreEngine): Promise<void> {
  const place = await engine.place()
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
      pass: (ms) => place.pass(ms),
    })
  } finally {
    for (const store of opened) await store.close()
    await place.remove()
  }
}
