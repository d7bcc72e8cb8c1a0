// No token holds more than the one who issues it. Pure.
import { type Caller, createCaller, kindOf } from '../contract/caller.ts'
import { highest } from '../governance/clearance.ts'
import { covers } from '../governance/covers.ts'
import { hasPermission } from '../governance/held.ts'
import type { Held } from '../governance/rules.ts'
import { patternCovers } from './caller-name.ts'
import type { TokenIdentity } from './own-token.ts'

export interface Beyond {
  readonly why: string
  readonly missing: readonly string[]
}

/** What a token would have that its issuer has not; undefined where there is nothing. */
export function beyondIssuer(
  issuer: Caller,
  asked: TokenIdentity,
  held: (caller: Caller) => Held,
): Beyond | undefined {
  const own = (role: string) =>
    held(createCaller({ actor: asked.actor, namespace: asked.namespace, roles: [role] }))
  const unknown = [...new Set(asked.roles.flatMap((role) => own(role).missingRoles))]
  if (unknown.length > 0) {
    return { why: `these roles do not exist: ${unknown.join(', ')}`, missing: unknown.map(roleName) }
  }
  if (issuer.admin) return undefined
  // Agents act on what others write to them: what one was talked into must end with its own token.
  if (kindOf(issuer) === 'agent') return { why: 'an agent issues no tokens', missing: ['admin'] }
  // People and services decide: who could issue one could approve its own calls under another name.
  if (asked.kind === 'person') return { why: 'only the admin issues tokens for people', missing: ['admin'] }
  const decides = asked.kind === 'service' && mayDecide(asked.scopes)
  if (decides !== false) {
    const why = `only the admin issues tokens for services that could decide; give it scopes without ${decides}`
    return { why, missing: ['admin'] }
  }
  const mine = held(issuer)
  // What a role holds is looked up when it is used: one that is hollow now could be filled by its issuer afterwards.
  if (asked.roles.length > 0 && hasPermission(mine, 'governance:write')) {
    return { why: 'whoever may change roles issues no tokens that have one', missing: ['admin'] }
  }
  const wide = asked.roles.filter((role) => exceeds(own(role), mine))
  if (wide.length > 0) {
    return { why: `these roles hold more than their issuer: ${wide.join(', ')}`, missing: wide.map(roleName) }
  }
  const { scopes } = issuer
  const scope = scopes && asked.scopes?.find((one) => !scopes.some((mineToo) => covers(mineToo, one)))
  if (scope !== undefined) return { why: `the issuer is not in scope ${scope}`, missing: [`scope:${scope}`] }
  const agents = [...(issuer.agents ?? []), issuer.actor]
  const agent = asked.agents?.find((one) => !agents.some((mineToo) => patternCovers(mineToo, one)))
  if (agent !== undefined)
    return { why: `the issuer does not speak for ${agent}`, missing: [`agent:${agent}`] }
  return undefined
}

/** What a service could agree to its issuer's calls by. */
const DECIDES = ['approval:decide', 'approval:override', 'grant:write']

/** By a role, too, which needs no permission: only scopes keep a token from deciding. */
function mayDecide(scopes: readonly string[] | undefined): string | false {
  return DECIDES.find((one) => scopes?.some((scope) => covers(scope, one)) ?? true) ?? false
}

/** By the letter: where wildcards do not count (S41), covering something by one is not having it. */
function exceeds(role: Held, issuer: Held): boolean {
  const has = new Set(issuer.permissions)
  const more = role.permissions.some((one) => !has.has(one))
  const unnamed = [...role.named].some((one) => !issuer.named.has(one))
  return more || unnamed || highest([role.clearance, issuer.clearance]) !== issuer.clearance
}

function roleName(role: string): string {
  return `role:${role}`
}
