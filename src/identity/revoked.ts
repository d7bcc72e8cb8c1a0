// Whether the token of a caller was taken back, by what is live in memory. Asked on every request (S44).
import type { Caller } from '../contract/caller.ts'
import { guardsOf, type Stop, type StopGuard } from '../contract/stop.ts'

export interface LiveStops {
  standing(namespace: string, guards: readonly StopGuard[]): Stop | undefined
  /** False where a stop may have been missed. */
  readonly current: boolean
}

/** Throws where nobody can tell. Freezes are no matter of who somebody is: they are asked about when a call is made. */
export function createIsRevoked(stops: LiveStops): (caller: Caller) => boolean {
  return (caller) => {
    if (caller.token === undefined) return false
    if (!stops.current) throw new Error('the store could not be asked about revoked tokens for some seconds')
    const guards = guardsOf(caller).filter(({ stop }) => /^tokens?:/.test(stop))
    return stops.standing(caller.namespace, guards) !== undefined
  }
}
