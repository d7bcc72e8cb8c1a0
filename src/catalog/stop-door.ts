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
import { canonicalJson, sha256Hex } from '../util/canonical.ts'
import type { JsonObject } from '../util/json.ts'
import type { World } from '../util/world.ts'
import type { LiveResources } from './resource-door.ts'

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
  readonly resources: Pick<LiveResources, 'rowsOf' | 'keep' | 'onGovernance' | 'current'>
  /** Hears of each one when it is first seen here. */
  readonly onStop?: (stop: Stop) => void
}

type Change = Parameters<LiveResources['keep']>[1][number]

/** Stops that are over by themselves are taken out with the next one that is put, a few at a time. */
const SWEEP = 50
const VERSION = '0.0.0'

export function createStopDoor({ world, resources, onStop }: StopDoorOptions): StopDoor {
  /** By namespace, then by name. */
  const stops = new Map<string, ReadonlyMap<string, readonly Stop[]>>()

  function read(namespace: string): void {
    const all = resources
      .rowsOf(STOP_KIND, namespace)
      .map((row) => readStop(row.namespace, row.name, row.body))
      .sort((a, b) => Number(a.name > b.name) - Number(a.name < b.name))
    const before = stops.get(namespace)
    if (all.length === 0) stops.delete(namespace)
    else
      stops.set(
        namespace,
        Map.groupBy(all, ({ name }) => name),
      )
    for (const stop of all) if (!before?.get(stop.name)?.some(({ at }) => at === stop.at)) onStop?.(stop)
  }
  resources.onGovernance((namespace, kind) => {
    if (kind === STOP_KIND) read(namespace)
  })

  async function keep(
    namespace: string,
    changes: readonly Change[],
    { type, body }: StopEvidence,
  ): Promise<void> {
    const at = world.clock.now()
    await resources.keep(namespace, changes, [{ namespace, callId: '', type, at, body }])
  }

  function standingIn(namespace: string, guards: readonly StopGuard[], now: number): Stop | undefined {
    const byName = stops.get(namespace)
    if (byName === undefined) return undefined
    for (const guard of guards) {
      const stands = byName.get(guard.stop)?.find((stop) => stopsGuard(stop, guard, now))
      if (stands !== undefined) return stands
    }
    return undefined
  }

  const inNamespace = (namespace: string): readonly Stop[] =>
    [...(stops.get(namespace)?.values() ?? [])].flat()
  const removal = (name: string): Change => ({ kind: STOP_KIND, name, version: VERSION })

  return {
    standing(namespace, guards) {
      if (stops.size === 0) return undefined
      const now = world.clock.now()
      return standingIn(namespace, guards, now) ?? standingIn(EVERYWHERE, guards, now)
    },
    get current() {
      return resources.current
    },
    list: inNamespace,
    async put(stop, evidence) {
      const body = stopBody(stop)
      const digest = sha256Hex(canonicalJson(body))
      const over = inNamespace(stop.namespace)
        .filter(({ name, until = Number.POSITIVE_INFINITY }) => until < stop.at && name !== stop.name)
        .slice(0, SWEEP)
        .map(({ name }) => removal(name))
      await keep(stop.namespace, [...over, { ...removal(stop.name), put: { digest, body } }], evidence)
    },
    async lift(namespace, name, evidence) {
      if (stops.get(namespace)?.has(name) !== true) return false
      await keep(namespace, [removal(name)], evidence)
      return true
    },
  }
}
