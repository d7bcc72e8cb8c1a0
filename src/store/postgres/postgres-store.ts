// The store that several replicas share: one PostgreSQL. Each replica writes through one connection, in batches, and
// reads through a pool; leases and timers run on the clock of the database.
import type { Timer, World } from '../../util/world.ts'
import { assembleStore } from '../assemble-store.ts'
import type { Store, StoreUnavailable } from '../store.ts'
import { encodeOp } from './encode.ts'
import { createFlusher } from './flusher.ts'
import { prepareDatabase } from './open-database.ts'
import { createPeers } from './peers.ts'
import { createReader } from './reader.ts'
import { createReadPool } from './reading.ts'

export interface PostgresStoreOptions {
  readonly world: World
  /** `postgres://user:password@host:port/database`. It is never shown. */
  readonly url: string
  /** How long a life lasts after its last write (S35). @default 10 s */
  readonly leaseMs?: number
  /** Connections for reads; two more are used for writing and for listening. @default 8 */
  readonly poolSize?: number
  /** How long a connection or a statement may take before the database counts as away. @default 5 s, half of the lease */
  readonly timeoutMs?: number
  /** How long a database that is away is waited for at the start. @default 30 s */
  readonly startMs?: number
  /** How long a database that is away is waited for at the end. @default 5 s */
  readonly closeMs?: number
  readonly onFailed?: (error: StoreUnavailable) => void
  /** The database cannot be reached, or can be again. */
  readonly onAway?: (cause: Error) => void
  readonly onBack?: () => void
  /** Writes that may wait for the database. */
  readonly maxBuffered?: number
}

const LEASE_MS = 10_000
const LONGEST_TIMEOUT_MS = 5_000

export async function createPostgresStore(options: PostgresStoreOptions): Promise<Store> {
  const { world, url, leaseMs = LEASE_MS, poolSize = 8, startMs = 30_000, closeMs = 5_000 } = options
  if (!Number.isFinite(leaseMs) || leaseMs <= 0) throw new RangeError(`a lease of ${leaseMs} ms never ends`)
  const { epoch } = world
  const timeoutMs = options.timeoutMs ?? Math.min(LONGEST_TIMEOUT_MS, Math.max(leaseMs / 2, 500))
  const connection = { url, timeoutMs, world }
  await prepareDatabase({ ...connection, startMs })
  const pool = createReadPool({ ...connection, poolSize, away: () => flusher.away })
  const peers = createPeers({ ...connection, epoch, pool })
  const flusher = createFlusher({
    ...connection,
    epoch,
    writer: world.id(),
    leaseMs,
    onNews: peers.tell,
    ...(options.onAway === undefined ? {} : { onAway: options.onAway }),
    ...(options.onBack === undefined ? {} : { onBack: options.onBack }),
  })
  /** What the database does not take by then is given up: a process that is told to end does. */
  let giveUp: Timer | undefined
  const { store } = await assembleStore({
    world,
    durable: true,
    reads: createReader(pool, epoch),
    encode: encodeOp,
    flush: flusher.flush,
    hurry() {
      giveUp ??= world.after(closeMs, flusher.abandon)
    },
    async release() {
      giveUp?.cancel()
      await peers.close()
      await flusher.close()
      await pool.close()
    },
    leaseMs,
    peers: peers.peers,
    away: () => flusher.away,
    ...(options.onFailed === undefined ? {} : { onFailed: options.onFailed }),
    ...(options.maxBuffered === undefined ? {} : { maxBuffered: options.maxBuffered }),
  })
  return store
}
