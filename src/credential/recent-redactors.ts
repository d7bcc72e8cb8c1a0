// Redactors, made once for the same secrets. What was presented before a rotation is taken out as well: long work, and
// replies that come late, may still hold it.
import type { Redactor } from './credential.ts'
import { createRedactor } from './redactor.ts'

/** Values of one declaration that are still looked for: a few versions, and the access tokens of a while. */
const MOST_VALUES = 16
const MOST_DECLARATIONS = 1_000

export interface RecentRedactors {
  /** `owner` names the declaration. */
  get(owner: string, secrets: readonly string[]): Redactor
}

interface Recent {
  readonly values: Set<string>
  redactor: Redactor
}

export function createRecentRedactors(): RecentRedactors {
  const byOwner = new Map<string, Recent>()
  return {
    get(owner, secrets) {
      const recent = byOwner.get(owner) ?? { values: new Set(), redactor: createRedactor([]) }
      byOwner.delete(owner)
      byOwner.set(owner, recent)
      for (const oldest of byOwner.keys()) {
        if (byOwner.size <= MOST_DECLARATIONS) break
        byOwner.delete(oldest)
      }
      const fresh = secrets.some((secret) => !recent.values.has(secret))
      for (const secret of secrets) {
        // In use, so not the oldest.
        recent.values.delete(secret)
        recent.values.add(secret)
      }
      for (const oldest of recent.values) {
        if (recent.values.size <= Math.max(MOST_VALUES, secrets.length)) break
        recent.values.delete(oldest)
      }
      if (fresh) recent.redactor = createRedactor(recent.values)
      return recent.redactor
    },
  }
}
