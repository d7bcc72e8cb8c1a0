// Erases what has been kept long enough (S18): first payloads and outcomes, much later the keys themselves.
import { pause } from '../pipeline/pause.ts'
import type { Store } from '../store/store.ts'
import type { JsonObject } from '../util/json.ts'
import type { DriverKit, TimerHandler } from './timers.ts'

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
  return async ({ dueAt }, kit) => {
    const { entries } = kit.store
    // When it was due, by the store's clock: a process with a wrong clock erases nothing, nor does one that jumped ahead.
    const erased = dueAt - keepMs
    await sweep((limit) => entries.erase(erased, limit), kit)
    await sweep((limit) => entries.forget(erased - tombstoneMs, limit), kit)
    if (options.evidenceMs !== undefined) {
      const before = dueAt - options.evidenceMs
      await sweep(async (limit) => ((await prune(before, limit)) > 0 ? limit : 0), kit)
    }
    // The next life goes on where this one had to stop.
    return { kind: 'again', inMs: kit.stopping.aborted ? 0 : EVERY }
  }
}

async function sweep(
  step: (limit: number) => Promise<number>,
  { world, store, stopping }: DriverKit,
): Promise<void> {
  let breath = 0
  while (await pause(breath, stopping, world)) {
    const began = world.clock.monotonic()
    if (store.failed !== undefined || (await step(PAGE)) < PAGE) return
    breath = Math.max(BREATH_MS, BREATHS * (world.clock.monotonic() - began))
  }
}

/** The store's own timer for it; there from the first start on. */
export async function ensureRetention(store: Store): Promise<void> {
  if ((await store.timers.get('', 'retention', '')) !== undefined) return
  await store.ledger.settle({ namespace: '', timers: [{ kind: 'retention', subject: '', inMs: 0 }] })
}
