// The kill switch: a tool, a caller, a namespace or everything is stopped, and let go on (S44).
import type { StopDoor } from './catalog/stop-door.ts'
import type { Caller } from './contract/caller.ts'
import type { Failure } from './contract/failure.ts'
import { type FreezeTarget, stopOf, targetOf } from './contract/freeze.ts'
import { createFailure } from './contract/projection.ts'
import { EVERYWHERE, type Stop } from './contract/stop.ts'
import { hasPermission } from './governance/held.ts'
import type { Kit } from './pipeline/kit.ts'
import { standingOf } from './pipeline/standing.ts'
import type { FreezeDoor } from './runtime-api.ts'

const PERMISSION = 'freeze:write'

export function createFreezeDoor(caller: Caller, stops: StopDoor, kit: Kit): FreezeDoor {
  /** Everything is more than one namespace: that is for the admin. */
  function refusal(target?: FreezeTarget): Failure | undefined {
    const { held } = standingOf(caller, kit)
    const everywhere = target?.what === 'all' && !caller.admin
    if (hasPermission(held, PERMISSION) && !everywhere) return undefined
    const missing = everywhere ? 'admin' : PERMISSION
    return createFailure('permission-denied', {
      message: `${caller.actor} lacks ${missing}`,
      details: { code: 'permission-missing', missing: [missing] },
    })
  }

  function isStopped(): boolean {
    return stops.standing(caller.namespace, [{ stop: `caller:${caller.actor}` }]) !== undefined
  }

  function frozen(): Failure {
    return createFailure('frozen', {
      message: `${caller.actor} is frozen, and thaws nothing`,
      details: { code: 'frozen', frozen: `caller:${caller.actor}` },
    })
  }

  return {
    async freeze(target, { reason, inFlight = 'finish' }) {
      const failure = refusal(target)
      if (failure !== undefined) return { kind: 'refused', failure }
      const at = kit.world.clock.now()
      const stop: Stop = {
        ...stopOf(target, caller.namespace),
        kind: 'freeze',
        reason,
        by: caller.actor,
        at,
        inFlight,
      }
      const body = {
        frozen: stop.name,
        namespace: stop.namespace,
        reason,
        by: caller.actor,
        in_flight: inFlight,
      }
      await stops.put(stop, { type: 'freeze.set', body })
      return { kind: 'ok', stop }
    },

    async thaw(target, { reason }) {
      const failure = refusal(target)
      if (failure !== undefined) return { kind: 'refused', failure }
      const { namespace, name } = stopOf(target, caller.namespace)
      // A kill switch that the stopped one can turn back is none.
      if (!caller.admin && isStopped()) return { kind: 'refused', failure: frozen() }
      const stop = stops.list(namespace).find((one) => one.name === name)
      const body = { frozen: name, namespace, reason, by: caller.actor }
      const lifted = await stops.lift(namespace, name, { type: 'freeze.lifted', body })
      return lifted && stop !== undefined ? { kind: 'ok', stop } : { kind: 'not-found' }
    },

    listFreezes() {
      const failure = refusal()
      if (failure !== undefined) return { kind: 'refused', failure }
      return [...stops.list(caller.namespace), ...stops.list(EVERYWHERE)].filter(
        (stop) => stop.kind === 'freeze' && targetOf(stop) !== undefined,
      )
    },
  }
}
