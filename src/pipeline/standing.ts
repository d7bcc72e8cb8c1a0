// What a caller holds at this very moment, and by which rules its calls are decided (S36, S44).
import type { Caller } from '../contract/caller.ts'
import type { CallerSnapshot } from '../contract/entry.ts'
import type { Held, Rules } from '../governance/rules.ts'
import type { Kit } from './kit.ts'

export interface Standing {
  readonly caller: Caller
  /** Its permissions and those of its roles, as they are now. */
  readonly held: Held
  readonly rules: Rules
}

/** Throws `PolicyUnavailable` where nobody can say what governs the namespace. */
export function standingOf(caller: CallerSnapshot, kit: Kit): Standing {
  const rules = kit.authority.rules(caller.namespace)
  return { caller, held: rules.held(caller), rules }
}
