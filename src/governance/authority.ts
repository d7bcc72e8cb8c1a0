// What governs calls at this very moment. Handed to the pipeline, which asks before each send.
import type { Caller } from '../contract/caller.ts'
import type { Stop } from '../contract/stop.ts'
import type { Rules } from './rules.ts'

export interface Authority {
  readonly profile: 'local' | 'production'
  /** Throws `PolicyUnavailable` where nobody can say what governs the namespace. */
  rules(namespace: string): Rules
  /** What an operator has stopped of this caller's calls, to this tool or at all, or of those for this agent. */
  stopped(caller: Caller, tool?: string, agent?: string): Stop | undefined
  /** Whether the caller itself is, whatever else is. */
  frozen(caller: Caller): Stop | undefined
}

/** Nothing was decided, so nothing runs; and nobody was denied, so it is safe to ask again (S42). */
export class PolicyUnavailable extends Error {
  override readonly name = 'PolicyUnavailable'
}
