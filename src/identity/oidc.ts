// Tokens of OIDC issuers: verified with the issuer's keys, then mapped to a caller.
import { jwtVerify } from 'jose'
import type { JsonObject } from '../util/json.ts'
import type { World } from '../util/world.ts'
import { type Authenticated, refused } from './authenticate.ts'
import { refusalOf } from './jwt-refusal.ts'
import { mapClaims } from './oidc-claims.ts'
import type { OidcIssuer } from './oidc-config.ts'
import { KeysUnavailable, type OidcKeys } from './oidc-keys.ts'
import { readTime, TTL_MAX_MS } from './token-time.ts'

/** Tokens for callers. Others that an issuer signs, such as logout tokens or DPoP proofs, name callers as well. */
const TYPES: readonly unknown[] = [undefined, 'jwt', 'at+jwt']

export interface OidcTokenOptions {
  readonly issuer: OidcIssuer
  readonly keys: OidcKeys
  readonly world: Pick<World, 'clock'>
}

export async function verifyOidcToken(
  token: string,
  { issuer, keys, world }: OidcTokenOptions,
): Promise<Authenticated> {
  const now = world.clock.now()
  try {
    const { payload, protectedHeader } = await jwtVerify(token, (header) => keys.find(header), {
      algorithms: [...issuer.algorithms],
      issuer: issuer.issuer,
      audience: [...issuer.audience],
      clockTolerance: issuer.skewMs / 1000,
      currentDate: new Date(now),
      requiredClaims: ['exp', 'iat', 'sub'],
    })
    const type = protectedHeader.typ?.toLowerCase().replace(/^application\//, '')
    if (!TYPES.includes(type)) return refused('wrong-type')
    const issuedAt = readTime(payload.iat)
    const expiresAt = readTime(payload.exp)
    if (issuedAt === undefined || expiresAt === undefined) return refused('claims-invalid', 'times')
    if (issuedAt > now + issuer.skewMs) return refused('not-yet-valid')
    // A revocation is kept as long as the longest token lives.
    if (expiresAt - issuedAt > TTL_MAX_MS) return refused('claims-invalid', 'lives longer than 30 days')
    const mapped = mapClaims(issuer, payload as JsonObject, issuedAt)
    return mapped.kind === 'caller' ? { caller: mapped.caller } : refused('claims-invalid', mapped.field)
  } catch (error) {
    return error instanceof KeysUnavailable ? refused('unavailable', error.message) : refusalOf(error)
  }
}
