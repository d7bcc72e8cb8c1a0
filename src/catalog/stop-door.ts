// What an operator has stopped, live: freezes and revocations, seen by every replica within a second (S44).
import type { EvidenceType } from '../contract/evidence.ts'
import {
  EVERYWHERE,
  readStop,
  STOP_KIND,
  type Stop,
  type StopGuard,
  stopBody,
  stopsGuard,
} from '../contract/stop.ts'
import type { ResourceChange, ResourceStamp, Store } from '../store/store.ts'
import { onlyUnavailable } from '../store/unavailable.ts'
import { canonicalJson, sha256Hex } from '../util/canonical.ts'
import type { JsonObject } from '../util/json.ts'
import type { Timer, World } from '../util/world.ts'

export interface StopDoor {
  /** The first that stands, in this namespace or everywhere. From memory: it costs nothing to ask. */
  standing(namespace: string, guards: readonly StopGuard[]): Stop | undefined
  /** False once the store could not be asked for so long that a stop of another replica may have been missed. */
  readonly current: boolean
  list(namespace: string): readonly Stop[]
  /** On disk, and live here, when it resolves; in place of one of the same name. */
  put(stop: Stop, evidence: StopEvidence): Promise<void>
  /** False where there was none. */
  lift(namespace: string, name: string, evidence: StopEvidence): Promise<boolean>
}

export interface StopEvidence {
  readonly type: EvidenceType
  readonly body: JsonObject
}

export interface StopDoorOptions {
  readonly world: World
  readonly store: Store
  /** Other processes put stops into this store, too. */
  readonly shared: boolean
  /** Hears of each one when it is first seen here. */
  readonly onStop?: (stop: Stop) => void
}

/** How often the store is asked whether there is something new: twice this is still within the second. */
const LOOK_MS = 300
const MAX_AGE_MS = 5_000
/** Stops that are over by themselves are taken out with the next one that is put, a few at a time. */
const SWEEP = 50
const VERSION = '0.0.0'

export function createStopDoor({ world, store, shared, onStop }: StopDoorOptions): StopDoor & {
  refresh(): Promise<void>
  close(): void
} {
  let stops = new Map<string, readonly Stop[]>()
  let stamp: ResourceStamp | undefined
  let seenAt = world.clock.monotonic()
  let looking: Promise<void> | undefined
  let timer: Timer | undefined
  let closed = false

  async function look(): Promise<void> {
    const began = world.clock.monotonic()
    const now = await store.resources.stamp()
    if (now.last !== stamp?.last || now.count !== stamp.count) {
      const rows = await store.resources.list({ kind: STOP_KIND })
      const all = rows.map((row) => readStop(row.namespace, row.name, row.body))
      const before = stops
      stops = Map.groupBy(all, ({ namespace }) => namespace)
      stamp = now
      const isNew = (stop: Stop) =>
        !before.get(stop.namespace)?.some(({ name, at }) => name === stop.name && at === stop.at)
      for (const stop of all) if (isNew(stop)) onStop?.(stop)
    }
    seenAt = began
  }

  function refresh(): Promise<void> {
    looking ??= look().finally(() => {
      looking = undefined
    })
    return looking
  }

  function keepLooking(): void {
    if (closed) return
    timer = world.after(LOOK_MS, () => {
      refresh().catch(onlyUnavailable).finally(keepLooking)
    })
  }
  if (shared) keepLooking()

  async function apply(
    namespace: string,
    changes: readonly ResourceChange[],
    { type, body }: StopEvidence,
  ): Promise<void> {
    const at = world.clock.now()
    await store.resources.apply(namespace, changes, at, [{ namespace, callId: '', type, at, body }])
    // A look that began before the write may not have seen it.
    await looking?.catch(onlyUnavailable)
    stamp = undefined
    await refresh()
  }

  const inNamespace = (namespace: string): readonly Stop[] => stops.get(namespace) ?? []

  return {
    standing(namespace, guards) {
      if (stops.size === 0) return undefined
      const now = world.clock.now()
      const stands = (stop: Stop) => guards.some((guard) => stopsGuard(stop, guard, now))
      return inNamespace(namespace).find(stands) ?? inNamespace(EVERYWHERE).find(stands)
    },
    get current() {
      return !shared || world.clock.monotonic() - seenAt <= MAX_AGE_MS
    },
    list: inNamespace,
    async put(stop, evidence) {
      const body = stopBody(stop)
      const digest = sha256Hex(canonicalJson(body))
      const over = inNamespace(stop.namespace)
        .filter(({ name, until = Number.POSITIVE_INFINITY }) => until < stop.at && name !== stop.name)
        .slice(0, SWEEP)
        .map(({ name }) => ({ kind: STOP_KIND, name, version: VERSION }))
      const put = { kind: STOP_KIND, name: stop.name, version: VERSION, put: { digest, body } }
      await apply(stop.namespace, [...over, put], evidence)
    },
    async lift(namespace, name, evidence) {
      if (!inNamespace(namespace).some((stop) => stop.name === name)) return false
      await apply(namespace, [{ kind: STOP_KIND, name, version: VERSION }], evidence)
      return true
    },
    refresh,
    close() {
      closed = true
      timer?.cancel()
    },
  }
}
