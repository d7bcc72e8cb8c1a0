// What governs calls by now, from what is live: compiled when it changes, asked before each send.
import { guardsOf } from '../contract/stop.ts'
import { type Authority, PolicyUnavailable } from '../governance/authority.ts'
import type { CedarEngine } from '../governance/cedar/cedar-engine.ts'
import { compileCedar } from '../governance/cedar/compile-cedar.ts'
import { createRules } from '../governance/create-rules.ts'
import type { Rules } from '../governance/rules.ts'
import type { GovernanceSet } from '../resource/resolved-governance.ts'
import type { LiveResources } from './resource-door.ts'
import type { StopDoor } from './stop-door.ts'

export interface AuthorityOptions {
  readonly profile: Authority['profile']
  readonly resources: Pick<LiveResources, 'governance' | 'current'>
  readonly stops: Pick<StopDoor, 'standing'>
  readonly engine: CedarEngine
}

export function createAuthority({ profile, resources, stops, engine }: AuthorityOptions): Authority {
  const compiled = new WeakMap<GovernanceSet, Rules>()

  function compile(set: GovernanceSet): Rules {
    const cedar = compileCedar(set, engine)
    return createRules(set, { profile, ...(cedar === undefined ? {} : { cedar }) })
  }

  return {
    profile,
    rules(namespace) {
      // Nobody here knows what other replicas have declared, stopped or taken back since.
      if (!resources.current) throw new PolicyUnavailable('what governs calls could not be read for a while')
      const governance = resources.governance(namespace)
      if (governance.kind === 'unavailable') throw new PolicyUnavailable(governance.why)
      const known = compiled.get(governance.set)
      if (known !== undefined) return known
      const rules = compile(governance.set)
      compiled.set(governance.set, rules)
      return rules
    },
    stopped: (caller, tool, agent) => stops.standing(caller.namespace, guardsOf(caller, tool, agent)),
    frozen: ({ namespace, actor }) => stops.standing(namespace, [{ stop: `caller:${actor}` }]),
  }
}
