// Opens the store that somebody chose, with the lock and the news that belong to it.
import type { Events } from './event/event.ts'
import { stores } from './store/registry.ts'
import { type DataLock, lockFile } from './store/sqlite/lock.ts'
import { Fenced, type Store } from './store/store.ts'
import type { World } from './util/world.ts'

export type StoreChoice =
  | { readonly kind: 'memory' }
  | { readonly kind: 'sqlite'; readonly path: string }
  /** Shared by any number of processes; `leaseMs` after its last write one counts as ended (S35). @default 10 s */
  | { readonly kind: 'postgres'; readonly url: string; readonly leaseMs?: number; readonly poolSize?: number }
  /** A store that somebody else opened; it is closed with the runtime all the same. */
  | { readonly kind: 'given'; readonly store: Store }

export async function openStore(choice: StoreChoice, world: World, events: Events): Promise<Store> {
  const onFailed = (error: Error) =>
    events.emit('store:failed', { message: error.message, fenced: error instanceof Fenced })
  if (choice.kind === 'given') return choice.store
  if (choice.kind === 'memory') return (await stores.memory())({ world, onFailed })
  if (choice.kind === 'postgres') return openPostgres(choice, world, events, onFailed)
  // A second owner would take what this one has under way for left behind (S52).
  const lock = lockFile(choice.path)
  try {
    const store = await (await stores.sqlite())({ world, path: choice.path, onFailed })
    return withRelease(store, lock)
  } catch (error) {
    lock.release()
    throw error
  }
}

async function openPostgres(
  { kind, ...options }: Extract<StoreChoice, { kind: 'postgres' }>,
  world: World,
  events: Events,
  onFailed: (error: Error) => void,
): Promise<Store> {
  let since = 0
  const onAway = ({ message }: Error) => {
    since = world.clock.monotonic()
    events.emit('store:away', { message })
  }
  const onBack = () => events.emit('store:back', { away_ms: Math.round(world.clock.monotonic() - since) })
  return (await stores.postgres())({ world, ...options, onFailed, onAway, onBack })
}

/** The store, which gives its lock back once it is closed. */
function withRelease(store: Store, lock: DataLock): Store {
  const close = async () => {
    await store.close()
    lock.release()
  }
  return Object.create(store, { close: { value: close } }) as Store
}
