// From the resources of one namespace to what governs it.
import type { Declared } from './kinds.ts'
import type {
  GovernanceSet,
  ResolvedPolicy,
  ResolvedRole,
  ResolvedToolPermission,
} from './resolved-governance.ts'

/** Sorted by name: the order in which resources were applied must not show. */
export function createGovernanceSet(declared: Iterable<Declared>): GovernanceSet {
  const roles: ResolvedRole[] = []
  const permissions: ResolvedToolPermission[] = []
  const policies: ResolvedPolicy[] = []
  for (const one of declared) {
    if (one.kind === 'AgentRole') roles.push(one.resolved)
    else if (one.kind === 'ToolPermission') permissions.push(one.resolved)
    else if (one.kind === 'AgentPolicy') policies.push(one.resolved)
  }
  return Object.freeze({
    roles: roles.sort(byName),
    permissions: permissions.sort(byName),
    policies: policies.sort(byName),
  })
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0
}
