// Erases what has been kept long enough (S18): first payloads and outcomes, much later the keys themselves.
import type { Store } from '../store/store.ts'
import type { Timer, World } from '../util/world.ts'

export interface RetentionOptions {
  /** @default 7 days */
  readonly keepMs?: number
  /** How long a key is known after that. @default 400 days */
  readonly tombstoneMs?: number
}

const DAY = 86_400_000
const EVERY = 3_600_000
const PAGE = 1_000

/** Sweeps now and each hour. `onFailed` is told when the store refuses. */
export function startRetention(
  world: World,
  store: Store,
  options: RetentionOptions,
  onFailed: (error: unknown) => void,
): { stop(): Promise<void> } {
  const keepMs = options.keepMs ?? 7 * DAY
  const tombstoneMs = options.tombstoneMs ?? 400 * DAY
  let timer: Timer | undefined
  let stopped = false

  async function sweep(): Promise<void> {
    const now = world.clock.now()
    while (!stopped && (await store.entries.erase(now - keepMs, PAGE)) === PAGE);
    while (!stopped && (await store.entries.forget(now - keepMs - tombstoneMs, PAGE)) === PAGE);
    if (!stopped)
      timer = world.after(EVERY, () => {
        running = sweep().catch(onFailed)
      })
  }

  let running: Promise<void> = sweep().catch(onFailed)
  return {
    async stop() {
      stopped = true
      timer?.cancel()
      await running
    },
  }
}
