// Erases what has been kept long enough (S18): first payloads and outcomes, much later the keys themselves.
import type { Store } from '../store/store.ts'
import type { JsonObject } from '../util/json.ts'
import type { World } from '../util/world.ts'
import type { TimerHandler } from './timers.ts'

export interface RetentionOptions {
  /** @default 7 days */
  readonly keepMs?: number
  /** How long a key is known after that. @default 400 days */
  readonly tombstoneMs?: number
  /** How long evidence is kept. @default for good */
  readonly evidenceMs?: number
}

/** Drops evidence from before a time, so many rows or fewer; 0 means that none is left. */
type PruneEvidence = (before: number, limit: number) => Promise<number>

const DAY = 86_400_000
const KEEP_MS = 7 * DAY
const TOMBSTONE_MS = 400 * DAY
const EVERY = 3_600_000
/** Small, and with pauses that are longer than the work: calls share the writer with it. */
const PAGE = 100
const BREATH_MS = 10
const BREATHS = 4

/** How long what is kept, as evidence says it. */
export function retentionPolicy({ keepMs, tombstoneMs, evidenceMs }: RetentionOptions): JsonObject {
  return {
    payload_ms: keepMs ?? KEEP_MS,
    key_ms: (keepMs ?? KEEP_MS) + (tombstoneMs ?? TOMBSTONE_MS),
    evidence_ms: evidenceMs ?? null,
  }
}

/** One process sweeps each hour, whichever has the timer. */
export function createRetention(options: RetentionOptions, prune: PruneEvidence): TimerHandler {
  const keepMs = options.keepMs ?? KEEP_MS
  const tombstoneMs = options.tombstoneMs ?? TOMBSTONE_MS
  return async ({ dueAt }, { world, store }) => {
    // When it was due, by the store's clock: one process with a wrong clock erases nothing, nor does one that jumped ahead.
    const now = dueAt
    await sweep((limit) => store.entries.erase(now - keepMs, limit), store, world)
    await sweep((limit) => store.entries.forget(now - keepMs - tombstoneMs, limit), store, world)
    if (options.evidenceMs !== undefined) {
      const before = now - options.evidenceMs
      await sweep(async (limit) => ((await prune(before, limit)) > 0 ? limit : 0), store, world)
    }
    return { kind: 'again', inMs: EVERY }
  }
}

async function sweep(step: (limit: number) => Promise<number>, store: Store, world: World): Promise<void> {
  for (;;) {
    const began = world.clock.monotonic()
    if (store.failed !== undefined || (await step(PAGE)) < PAGE) return
    const breath = Math.max(BREATH_MS, BREATHS * (world.clock.monotonic() - began))
    await new Promise<void>((resolve) => world.after(breath, resolve))
  }
}

/** The store's own timer for it; there from the first start on. */
export async function ensureRetention(store: Store): Promise<void> {
  if ((await store.timers.get('', 'retention', '')) !== undefined) return
  await store.ledger.settle({ namespace: '', timers: [{ kind: 'retention', subject: '', inMs: 0 }] })
}
