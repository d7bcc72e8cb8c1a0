// Tokens of a server, and who one's own stands for.
import type { ActorKind } from '../contract/caller.ts'
import type { JsonObject } from '../util/json.ts'
import { ask, type Got, segment, type Target } from './exchange.ts'

export interface TokenRequest {
  readonly actor: string
  /** @default 'agent' */
  readonly kind?: ActorKind
  readonly roles?: readonly string[]
  readonly scopes?: readonly string[]
  readonly agents?: readonly string[]
  readonly system?: string
  /** Such as 1h; 1m to 720h. @default '1h' */
  readonly ttl?: string
  readonly audience?: string
}

export interface IssuedTokenReply {
  readonly token: string
  readonly id: string
  readonly actor: string
  readonly namespace: string
  readonly kind: ActorKind
  readonly roles: readonly string[]
  readonly scopes?: readonly string[]
  readonly agents?: readonly string[]
  readonly system?: string
  readonly audience: string
  readonly issued_at: string
  readonly expires_at: string
  /** Scopes that may cover nothing. */
  readonly warnings?: readonly string[]
}

export interface Revocation {
  /** `token:ID`, or `tokens:ACTOR`. */
  readonly revoked: string
  readonly until: string
}

export interface Identity {
  readonly actor: string
  readonly namespace: string
  readonly kind: ActorKind
  readonly admin: boolean
  readonly roles: readonly string[]
  /** What it holds by now. */
  readonly permissions: readonly string[]
  readonly clearance: string
  readonly missing_roles?: readonly string[]
  readonly scopes?: readonly string[]
  readonly agents?: readonly string[]
  readonly system?: string
  readonly token_id?: string
}

export interface TokenClient {
  /** The token is in the reply and nowhere else. */
  issueToken(asked: TokenRequest): Promise<IssuedTokenReply>
  /** By its id, never the token itself. */
  revokeToken(id: string, reason?: string): Promise<Revocation>
  /** Every token of the actor that was issued until now. */
  revokeTokensOf(actor: string, reason: string): Promise<Revocation>
  /** Sign with a new key from now on. For the admin. */
  rotateTokenKey(): Promise<{ readonly key_id: string; readonly dropped: readonly string[] }>
  /** Who the token of this client stands for. */
  whoami(): Promise<Identity>
}

export function tokenClient(target: Target, timeoutMs: number): TokenClient {
  const post = (path: string, body: JsonObject = {}): Promise<Got> =>
    ask(target, { method: 'POST', path, timeoutMs, body: JSON.stringify(body) })
  const bodyOf = async <T>(got: Promise<Got>): Promise<T> => (await got).body as unknown as T

  return {
    issueToken: (asked) => bodyOf(post('v1/tokens', asked as unknown as JsonObject)),
    revokeToken: (id, reason) =>
      bodyOf(
        ask(target, { method: 'DELETE', path: `v1/tokens/${segment(id)}`, query: { reason }, timeoutMs }),
      ),
    revokeTokensOf: (actor, reason) => bodyOf(post('v1/tokens/revoke', { actor, reason })),
    rotateTokenKey: () => bodyOf(post('v1/tokens/rotate')),
    whoami: () => bodyOf(ask(target, { method: 'GET', path: 'v1/whoami', timeoutMs })),
  }
}
