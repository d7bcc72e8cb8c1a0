// Whether something stops a write: looked up in its transaction, so that no intent passes a stop that is on disk (S44).
import type { DatabaseSync } from 'node:sqlite'
import { EVERYWHERE, readStop, STOP_KIND, type StopGuard, stopsGuard } from '../../contract/stop.ts'
import { readResourceBody } from '../resource-body.ts'
import type { Row } from './row.ts'
import { prepareRows } from './statement.ts'

/** The name of the first stop that stands. `guards`: each its name, and when the token was issued or null. */
export type StopCheck = (namespace: string, guards: readonly Row[], now: number) => string | undefined

export function createStopCheck(db: DatabaseSync): StopCheck {
  const where = `from resource where namespace in (?, '${EVERYWHERE}') and kind = '${STOP_KIND}'`
  // Mostly nothing is stopped, and then one look is enough.
  const any = prepareRows(db, `select 1 ${where} limit 1`)
  const named = prepareRows(db, `select body ${where} and name = ?`)
  return (namespace, guards, now) => {
    if (guards.length === 0 || any.get(namespace) === undefined) return undefined
    for (const [stop, issuedAt] of guards as unknown as readonly [string, number | null][]) {
      const guard: StopGuard = { stop, ...(issuedAt === null ? {} : { issuedAt }) }
      const found = named.all(namespace, stop) as unknown as [string][]
      if (found.some(([body]) => stopsGuard(readStop(namespace, stop, readResourceBody(body)), guard, now)))
        return stop
    }
    return undefined
  }
}
