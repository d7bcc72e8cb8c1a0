// Whom a request says it is from or for, held against who its caller is. Claims are compared, never trusted. Pure.
import { type Caller, kindOf } from '../contract/caller.ts'
import { matchesName } from './name-pattern.ts'

export interface ActorClaims {
  /** The agent that the call is made for. */
  readonly agent?: string
  /** Who the request says is calling. */
  readonly actor?: string
}

/** What is wrong with it; undefined where the caller may say so. */
export function claimMismatch(caller: Caller, { agent, actor }: ActorClaims): string | undefined {
  if (caller.admin) return undefined
  if (actor !== undefined && actor !== caller.actor && !speaksFor(caller, actor)) {
    return `the request says that it is from '${actor}', and its token is that of '${caller.actor}'`
  }
  if (agent === undefined || speaksFor(caller, agent)) return undefined
  return kindOf(caller) === 'agent'
    ? `'${caller.actor}' is an agent and speaks for itself alone, not for '${agent}'`
    : `'${caller.actor}' does not speak for the agent '${agent}'`
}

/** An agent is itself. Others speak for the agents that they were given, and a service for itself. */
function speaksFor(caller: Caller, agent: string): boolean {
  const kind = kindOf(caller)
  if (kind === 'agent') return agent === caller.actor
  if (kind === 'service' && agent === caller.actor) return true
  return caller.agents?.some((pattern) => matchesName(pattern, agent)) ?? false
}
