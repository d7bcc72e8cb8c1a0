// Everything in plain maps, gone with the process: for tests, for embedding without a disk, and as the spec of a store.
import type { World } from '../../util/world.ts'
import { assembleStore } from '../assemble-store.ts'
import type { Store, StoreUnavailable } from '../store.ts'
import { createMemoryData } from './memory-data.ts'
import { applyToMemory, prepareOp } from './memory-engine.ts'
import { createMemoryReader } from './memory-reader.ts'

export interface MemoryStoreOptions {
  readonly world: World
  readonly onFailed?: (error: StoreUnavailable) => void
  /** Writes that may wait to be taken in. */
  readonly maxBuffered?: number
}

/** Writes go through the same queue as on disk, so that order, lag and bounds are the same. */
export async function createMemoryStore(options: MemoryStoreOptions): Promise<Store> {
  const { world, onFailed, maxBuffered } = options
  const data = createMemoryData()
  const { store } = await assembleStore({
    world,
    durable: false,
    reads: createMemoryReader(data),
    encode: prepareOp,
    flush: async (batch) => applyToMemory(data, world.epoch, batch),
    release: async () => undefined,
    ...(onFailed === undefined ? {} : { onFailed }),
    ...(maxBuffered === undefined ? {} : { maxBuffered }),
  })
  return store
}
