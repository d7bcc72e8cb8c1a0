// Everything in plain maps, gone with the process: for tests, for embedding without a disk, and as the spec of a store.
import type { World } from '../../util/world.ts'
import { assembleStore } from '../assemble-store.ts'
import type { Store, StoreUnavailable } from '../store.ts'
import { createMemoryData, type MemoryData } from './memory-data.ts'
import { applyToMemory, prepareOp } from './memory-engine.ts'
import { createMemoryReader } from './memory-reader.ts'

export interface MemoryStoreOptions {
  readonly world: World
  readonly onFailed?: (error: StoreUnavailable) => void
  /** Writes that may wait to be taken in. */
  readonly maxBuffered?: number
  /** What is kept; stores over the same are lives that follow each other, or, with a lease, share it. @default nothing */
  readonly data?: MemoryData
  /** How long a life lasts after its last write. @default Infinity: it owns what is kept alone */
  readonly leaseMs?: number
  /** The store's clock. @default the wall clock of the world */
  readonly now?: () => number
}

/** Writes go through the same queue as on disk, so that order, lag and bounds are the same. */
export async function createMemoryStore(options: MemoryStoreOptions): Promise<Store> {
  const { world, onFailed, maxBuffered, data = createMemoryData(), now = () => world.clock.now() } = options
  const { epoch } = world
  const leaseMs = options.leaseMs ?? Number.POSITIVE_INFINITY
  const { store } = await assembleStore({
    world,
    durable: false,
    leaseMs,
    reads: createMemoryReader({ data, epoch, now }),
    encode: prepareOp,
    flush: async (ops) => applyToMemory(data, { epoch, at: now(), leaseMs, ops }),
    release: async () => undefined,
    ...(onFailed === undefined ? {} : { onFailed }),
    ...(maxBuffered === undefined ? {} : { maxBuffered }),
  })
  return store
}
