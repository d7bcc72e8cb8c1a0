// The tokens that Writ issues: made and verified with the keys of its own file.
import { type JWTHeaderParameters, type JWTPayload, jwtVerify, SignJWT } from 'jose'
import { ACTOR_KINDS, type ActorKind, type Caller, createCaller } from '../contract/caller.ts'
import { isNamespace } from '../resource/name.ts'
import type { World } from '../util/world.ts'
import { type Authenticated, refused } from './authenticate.ts'
import { isActor, isAgentPattern, isRole, isScope, MAX_LISTED } from './caller-name.ts'
import { refusalOf } from './jwt-refusal.ts'
import type { KeyFile } from './key-file.ts'
import { readTime, SKEW_MS, TTL_MAX_MS, toSeconds } from './token-time.ts'

/** Who says so, in `iss`. Which Writ it was is a matter of its keys. */
export const OWN_ISSUER = 'writ'
/** No other token is taken for one of ours, whoever signed it. */
export const OWN_TYPE = 'writ+jwt'

export interface TokenIdentity {
  readonly actor: string
  readonly namespace: string
  readonly kind: ActorKind
  readonly roles: readonly string[]
  readonly scopes?: readonly string[]
  readonly agents?: readonly string[]
  readonly system?: string
}

export interface NewToken extends TokenIdentity {
  readonly id: string
  readonly audience: string
  /** Epoch milliseconds. */
  readonly issuedAt: number
  readonly expiresAt: number
}

export async function signToken(token: NewToken, keys: KeyFile): Promise<string> {
  const { kid, key } = keys.fresh().signer
  const header: JWTHeaderParameters = { alg: 'EdDSA', typ: OWN_TYPE, kid }
  const { scopes, agents, system } = token
  return new SignJWT({
    iss: OWN_ISSUER,
    aud: token.audience,
    sub: token.actor,
    namespace: token.namespace,
    kind: token.kind,
    roles: token.roles,
    ...(scopes === undefined ? {} : { scopes }),
    ...(agents === undefined ? {} : { agents }),
    ...(system === undefined ? {} : { system }),
    iat: toSeconds(token.issuedAt),
    nbf: toSeconds(token.issuedAt),
    exp: toSeconds(token.expiresAt),
    jti: token.id,
  })
    .setProtectedHeader(header)
    .sign(key)
}

export interface OwnTokenOptions {
  readonly keys: KeyFile
  /** The one that a token has to be for. */
  readonly audience: string
  readonly world: Pick<World, 'clock'>
}

/** Signature first, then what the token says. Revocation is asked by who calls this. */
export async function verifyOwnToken(
  token: string,
  { keys, audience, world }: OwnTokenOptions,
): Promise<Authenticated> {
  const now = world.clock.now()
  try {
    const { payload } = await jwtVerify(
      token,
      ({ kid }) => {
        const key = typeof kid === 'string' ? keys.ring(kid).verifier(kid, now) : undefined
        if (key === undefined) throw new UnknownKey()
        return key
      },
      {
        algorithms: ['EdDSA'],
        typ: OWN_TYPE,
        issuer: OWN_ISSUER,
        audience,
        clockTolerance: SKEW_MS / 1000,
        currentDate: new Date(now),
        requiredClaims: ['exp', 'iat', 'nbf', 'sub', 'jti'],
      },
    )
    return callerOf(payload, now)
  } catch (error) {
    return error instanceof UnknownKey ? refused('unknown-key') : refusalOf(error)
  }
}

class UnknownKey extends Error {}

function callerOf(payload: JWTPayload, now: number): Authenticated {
  const issuedAt = readTime(payload.iat)
  const expiresAt = readTime(payload.exp)
  const { sub: actor, jti: id, namespace, kind, system } = payload
  if (issuedAt === undefined || expiresAt === undefined) return refused('claims-invalid', 'times')
  if (issuedAt > now + SKEW_MS) return refused('not-yet-valid')
  if (expiresAt - issuedAt > TTL_MAX_MS + SKEW_MS) return refused('claims-invalid', 'lives too long')
  if (typeof actor !== 'string' || !isActor(actor)) return refused('claims-invalid', 'sub')
  if (typeof id !== 'string' || id === '' || id.length > 128) return refused('claims-invalid', 'jti')
  if (typeof namespace !== 'string' || !isNamespace(namespace)) return refused('claims-invalid', 'namespace')
  if (!isKind(kind)) return refused('claims-invalid', 'kind')
  if (system !== undefined && !(typeof system === 'string' && isActor(system)))
    return refused('claims-invalid', 'system')
  const roles = listOf(payload.roles, isRole)
  const scopes = payload.scopes === undefined ? undefined : listOf(payload.scopes, isScope)
  const agents = payload.agents === undefined ? undefined : listOf(payload.agents, isAgentPattern)
  if (roles === undefined) return refused('claims-invalid', 'roles')
  if (payload.scopes !== undefined && scopes === undefined) return refused('claims-invalid', 'scopes')
  if (payload.agents !== undefined && agents === undefined) return refused('claims-invalid', 'agents')
  const identity: TokenIdentity = {
    actor,
    namespace,
    kind,
    roles,
    ...(scopes === undefined ? {} : { scopes }),
    ...(agents === undefined ? {} : { agents }),
    ...(system === undefined ? {} : { system }),
  }
  return { caller: callerWith(identity, { id, issuedAt }) }
}

export function callerWith(
  identity: TokenIdentity,
  token: { readonly id: string; readonly issuedAt: number },
): Caller {
  return Object.freeze({ ...createCaller(identity), token: Object.freeze(token) })
}

export function isKind(value: unknown): value is ActorKind {
  return (ACTOR_KINDS as readonly unknown[]).includes(value)
}

/** Undefined for anything but a list of texts of this form. */
export function listOf(value: unknown, fits: (text: string) => boolean): readonly string[] | undefined {
  if (!Array.isArray(value) || value.length > MAX_LISTED) return undefined
  return value.every((one): one is string => typeof one === 'string' && fits(one)) ? value : undefined
}
