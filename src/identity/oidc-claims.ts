// From the claims of a verified OIDC token to a caller, by the mapping of its issuer.
import type { Caller } from '../contract/caller.ts'
import { isNamespace } from '../resource/name.ts'
import { sha256Base64url } from '../util/canonical.ts'
import type { Json, JsonObject } from '../util/json.ts'
import { readPointer } from '../util/pointer.ts'
import { isActor, isAgentPattern, isRole, isScope, MAX_LISTED } from './caller-name.ts'
import type { ClaimField, OidcIssuer } from './oidc-config.ts'
import { callerWith, isKind } from './own-token.ts'

export type MappedCaller =
  | { readonly kind: 'caller'; readonly caller: Caller }
  /** The field that cannot be made out. */
  | { readonly kind: 'unmapped'; readonly field: ClaimField }

/** What is mapped and not there, or not of its form, refuses the token: a caller with less narrowing is no answer. */
export function mapClaims(issuer: OidcIssuer, payload: JsonObject, issuedAt: number): MappedCaller {
  const read = (field: ClaimField): Json | undefined => {
    const source = issuer.claims[field]
    if (source === undefined) return undefined
    return 'value' in source ? source.value : readPointer(payload, source.claim)
  }
  const unmapped = (field: ClaimField): MappedCaller => ({ kind: 'unmapped', field })
  const mapped = (field: ClaimField): boolean => issuer.claims[field] !== undefined

  const subject = read('actor')
  const actor = typeof subject === 'string' ? issuer.actorPrefix + subject : ''
  if (!isActor(actor)) return unmapped('actor')
  const namespace = mapped('namespace') ? read('namespace') : 'default'
  if (typeof namespace !== 'string' || !isNamespace(namespace)) return unmapped('namespace')
  const kind = mapped('kind') ? read('kind') : 'service'
  if (!isKind(kind)) return unmapped('kind')
  // A caller of no group has no roles, and may do nothing; that is no mistake.
  const roles = rolesOf(issuer, mapped('roles') ? (read('roles') ?? []) : [])
  if (roles === undefined) return unmapped('roles')
  const scopes = mapped('scopes') ? textsOf(read('scopes'), isScope) : undefined
  if (mapped('scopes') && scopes === undefined) return unmapped('scopes')
  const agents = mapped('agents') ? textsOf(read('agents') ?? [], isAgentPattern) : undefined
  if (mapped('agents') && agents === undefined) return unmapped('agents')
  const system = read('system')
  if (system !== undefined && !(typeof system === 'string' && isActor(system))) return unmapped('system')
  const identity = {
    actor,
    namespace,
    kind,
    roles,
    ...(scopes === undefined ? {} : { scopes }),
    ...(agents === undefined ? {} : { agents }),
    ...(system === undefined ? {} : { system }),
  }
  return {
    kind: 'caller',
    caller: callerWith(identity, { id: oidcTokenId(issuer.issuer, payload), issuedAt }),
  }
}

/** What a token of another issuer is revoked by. Ids of two issuers never meet. */
function oidcTokenId(issuer: string, payload: JsonObject): string {
  const { jti } = payload
  const own = typeof jti === 'string' && jti !== '' ? jti : JSON.stringify(payload)
  return `oidc-${sha256Base64url(issuer, own).slice(0, 32)}`
}

function rolesOf({ roleMap }: OidcIssuer, value: Json): readonly string[] | undefined {
  if (roleMap === undefined) return textsOf(value, isRole)
  const groups = textsOf(value, () => true, MAX_GROUPS)
  if (groups === undefined) return undefined
  const roles = groups.flatMap((group) => roleMap[group] ?? [])
  return [...new Set(roles)]
}

/** People are in many groups of their company, few of which are roles here. */
const MAX_GROUPS = 1_000

/** A list, or one text with spaces between, as `scope` has it. */
function textsOf(
  value: Json | undefined,
  fits: (text: string) => boolean,
  max = MAX_LISTED,
): readonly string[] | undefined {
  const list = typeof value === 'string' ? value.split(' ').filter((one) => one !== '') : value
  if (!Array.isArray(list) || list.length > max) return undefined
  return list.every((one): one is string => typeof one === 'string' && fits(one)) ? list : undefined
}
