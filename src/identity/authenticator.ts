// Who a bearer token stands for: the local admin, a token of Writ's own, or one of an OIDC issuer.
//
// Which of them verifies a token is decided by what it says of itself, and only that one is asked: a token that fails
// there is not tried elsewhere.
import { decodeJwt, decodeProtectedHeader } from 'jose'
import type { Caller } from '../contract/caller.ts'
import type { World } from '../util/world.ts'
import { createAdminCheck } from './admin-token.ts'
import { type Authenticate, type Authenticated, refused } from './authenticate.ts'
import type { KeyFile } from './key-file.ts'
import { verifyOidcToken } from './oidc.ts'
import type { OidcIssuer } from './oidc-config.ts'
import { createOidcKeys, type FetchJson, type OidcKeys, type OidcKeysOptions } from './oidc-keys.ts'
import { OWN_TYPE, verifyOwnToken } from './own-token.ts'

export interface AuthenticatorOptions {
  readonly world: Pick<World, 'clock'>
  readonly adminToken: string
  /** Absent: this server takes no tokens of Writ's own. */
  readonly own?: { readonly keys: KeyFile; readonly audience: string }
  readonly issuers?: readonly OidcIssuer[]
  /** Has to be there where issuers are. */
  readonly fetchJson?: FetchJson
  /** Asked on every request (S44). Throws where nobody can tell. */
  readonly isRevoked: (caller: Caller) => boolean
  readonly oidc?: Pick<OidcKeysOptions, 'askEveryMs' | 'renewAfterMs' | 'keepMs' | 'onTrouble'>
}

/** What no header of a request can be longer than: nothing of a longer one is looked at. */
const MAX_LENGTH = 16 * 1024

export function createAuthenticator(options: AuthenticatorOptions): Authenticate {
  const { world, own, isRevoked } = options
  const admin = createAdminCheck(options.adminToken)
  const issuers = new Map<string, { readonly issuer: OidcIssuer; readonly keys: OidcKeys }>()
  for (const issuer of options.issuers ?? []) {
    const { fetchJson } = options
    if (fetchJson === undefined) throw new Error('OIDC issuers need a way to their keys: give fetchJson.')
    issuers.set(issuer.issuer, {
      issuer,
      keys: createOidcKeys({ issuer, fetchJson, world, ...options.oidc }),
    })
  }

  function verify(token: string): Promise<Authenticated> | Authenticated {
    const said = peek(token)
    if (said === undefined) return refused('malformed')
    if (said.type === OWN_TYPE) {
      return own === undefined ? refused('unknown-issuer') : verifyOwnToken(token, { ...own, world })
    }
    const found = said.issuer === undefined ? undefined : issuers.get(said.issuer)
    return found === undefined ? refused('unknown-issuer') : verifyOidcToken(token, { ...found, world })
  }

  return async (token) => {
    if (token === undefined) return refused('missing')
    if (token.length > MAX_LENGTH) return refused('too-large')
    const caller = admin(token)
    if (caller !== undefined) return { caller }
    const result = await verify(token)
    if ('refused' in result) return result
    try {
      return isRevoked(result.caller) ? refused('revoked') : result
    } catch (error) {
      return refused('unavailable', error instanceof Error ? error.message : String(error))
    }
  }
}

/** What a token says before anything of it is verified; undefined for what is no JWT. */
function peek(token: string): { readonly type: unknown; readonly issuer: string | undefined } | undefined {
  try {
    const { typ } = decodeProtectedHeader(token)
    const { iss } = decodeJwt(token)
    return { type: typ, issuer: typeof iss === 'string' ? iss : undefined }
  } catch {
    return undefined
  }
}
