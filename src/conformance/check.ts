// How a case says what it found. A check that does not hold is kept, and the case goes on.
import { isDeepStrictEqual } from 'node:util'
import type { RequirementId } from './requirements.ts'

export interface Checks {
  /** Whether it holds. `seen` is shown when it does not. */
  that(requirement: RequirementId, what: string, holds: boolean, seen?: unknown): boolean
  equal(requirement: RequirementId, what: string, seen: unknown, expected: unknown): boolean
}

export interface CheckLog extends Checks {
  /** Checks made so far, by requirement. */
  count(requirement: RequirementId): number
  failures(requirement: RequirementId): readonly string[]
}

/** The longest piece of what was seen that a report shows. */
const MAX_SHOWN = 300

/** Takes checks for `requirements` alone: a case that checks another one does not say so in its data. */
export function createCheckLog(requirements: readonly RequirementId[]): CheckLog {
  const counts = new Map<RequirementId, number>(requirements.map((id) => [id, 0]))
  const failed = new Map<RequirementId, string[]>(requirements.map((id) => [id, []]))

  function keep(requirement: RequirementId, holds: boolean, message: () => string): boolean {
    const count = counts.get(requirement)
    if (count === undefined) throw new Error(`the case does not declare ${requirement}, which it checks`)
    counts.set(requirement, count + 1)
    if (!holds) failed.get(requirement)?.push(message())
    return holds
  }

  return {
    that: (requirement, what, holds, seen) =>
      keep(requirement, holds, () => (seen === undefined ? what : `${what}; seen: ${shown(seen)}`)),
    equal: (requirement, what, seen, expected) =>
      keep(
        requirement,
        isDeepStrictEqual(seen, expected),
        () => `${what}: expected ${shown(expected)}, seen ${shown(seen)}`,
      ),
    count: (requirement) => counts.get(requirement) ?? 0,
    failures: (requirement) => failed.get(requirement) ?? [],
  }
}

function shown(value: unknown): string {
  const text = typeof value === 'string' ? JSON.stringify(value) : (JSON.stringify(value) ?? String(value))
  return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN)}…`
}
