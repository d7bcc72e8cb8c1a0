// What every engine asks about a timer before it is in a batch.
import type { TimerChange } from './store.ts'

/** Why a timer cannot be set so; undefined when it can. A time that has passed is one: it is due at once. */
export function timerProblem({ kind, subject, inMs = 0, ifDueAt = 0 }: TimerChange): string | undefined {
  const where = `the ${kind} timer of ${JSON.stringify(subject)}`
  if (!Number.isFinite(inMs)) return `${where} is to be due in ${inMs} ms`
  if (!Number.isFinite(ifDueAt)) return `${where} is to be changed if it was due at ${ifDueAt}`
  return undefined
}
