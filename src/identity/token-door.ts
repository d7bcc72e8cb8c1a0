// Issuing, revoking and rotating: what is done about Writ's own tokens, each with its evidence.
import type { ActorKind, Caller } from '../contract/caller.ts'
import type { EvidenceType } from '../contract/evidence.ts'
import type { Stop } from '../contract/stop.ts'
import type { Held } from '../governance/rules.ts'
import type { JsonObject } from '../util/json.ts'
import type { World } from '../util/world.ts'
import type { KeyFile } from './key-file.ts'
import { signToken, type TokenIdentity } from './own-token.ts'
import { beyondIssuer } from './token-limit.ts'
import { CLOCKS_APART_MS, SKEW_MS, TTL_MAX_MS } from './token-time.ts'

export interface TokenAsked {
  readonly actor: string
  readonly kind: ActorKind
  readonly roles: readonly string[]
  readonly scopes?: readonly string[]
  readonly agents?: readonly string[]
  readonly system?: string
  readonly ttlMs: number
  /** @default that of this server */
  readonly audience?: string
}

export interface IssuedToken extends TokenIdentity {
  readonly token: string
  readonly id: string
  readonly audience: string
  readonly issuedAt: number
  readonly expiresAt: number
}

export type IssueResult =
  | { readonly kind: 'issued'; readonly issued: IssuedToken }
  /** It would hold more than its issuer, or something that nobody holds. */
  | { readonly kind: 'denied'; readonly why: string; readonly missing: readonly string[] }

export interface TokenDoor {
  /** In the namespace of the issuer. */
  issue(issuer: Caller, asked: TokenAsked): Promise<IssueResult>
  /** One token by its id, or all of an actor that were issued until now. */
  revoke(
    by: Caller,
    which: { readonly id: string } | { readonly actor: string },
    reason: string,
  ): Promise<{ readonly stop: string; readonly until: number }>
  rotate(by: Caller): Promise<{ readonly keyId: string; readonly dropped: readonly string[] }>
}

export interface TokenDoorOptions {
  readonly world: Pick<World, 'clock' | 'id'>
  readonly keys: KeyFile
  readonly audience: string
  /** What a caller holds by now. */
  readonly held: (caller: Caller) => Held
  /** Resolves when it is on disk. */
  readonly record: (namespace: string, type: EvidenceType, body: JsonObject) => Promise<void>
  readonly stops: {
    list(namespace: string): readonly Stop[]
    put(stop: Stop, evidence: { readonly type: EvidenceType; readonly body: JsonObject }): Promise<void>
  }
}

export function createTokenDoor(options: TokenDoorOptions): TokenDoor {
  const { world, keys, held, record, stops } = options

  /** A token that is issued right after its actor's were revoked must not be one of those. */
  function issueTime(namespace: string, actor: string): number {
    const stop = stops.list(namespace).find(({ name }) => name === `tokens:${actor}`)
    return Math.max(world.clock.now(), stop?.before ?? 0)
  }

  return {
    async issue(issuer, { ttlMs, audience = options.audience, ...asked }) {
      const { namespace } = issuer
      const identity: TokenIdentity = { ...asked, namespace, ...inherited(issuer, asked) }
      // A new name would go on where the old one was stopped.
      const frozen = stops.list(namespace).some(({ name }) => name === `caller:${issuer.actor}`)
      if (frozen && !issuer.admin)
        return { kind: 'denied', why: `${issuer.actor} is frozen`, missing: ['admin'] }
      const beyond = beyondIssuer(issuer, identity, held)
      if (beyond !== undefined) return { kind: 'denied', ...beyond }
      if (!issuer.admin && audience !== options.audience) {
        const why = `only the admin issues tokens for another audience than '${options.audience}'`
        return { kind: 'denied', why, missing: [`audience:${audience}`] }
      }
      const id = world.id()
      const issuedAt = issueTime(namespace, asked.actor)
      const expiresAt = issuedAt + ttlMs
      // Before it is signed: a token that nobody could say the origin of must not be there (S40).
      await record(namespace, 'token.issued', {
        token_id: id,
        by: issuer.actor,
        actor: identity.actor,
        kind: identity.kind,
        roles: identity.roles,
        ...(identity.scopes === undefined ? {} : { scopes: identity.scopes }),
        ...(identity.agents === undefined ? {} : { agents: identity.agents }),
        ...(identity.system === undefined ? {} : { system: identity.system }),
        audience,
        expires_at: new Date(expiresAt).toISOString(),
      })
      const made = { ...identity, id, audience, issuedAt, expiresAt }
      return { kind: 'issued', issued: { ...made, token: await signToken(made, keys) } }
    },

    async revoke(by, which, reason) {
      const at = world.clock.now()
      const until = at + TTL_MAX_MS + 2 * SKEW_MS
      const name = 'id' in which ? `token:${which.id}` : `tokens:${which.actor}`
      const stop: Stop = {
        namespace: by.namespace,
        name,
        kind: 'revocation',
        reason,
        by: by.actor,
        at,
        inFlight: 'end',
        until,
        ...('id' in which ? {} : { before: at + CLOCKS_APART_MS }),
      }
      await stops.put(stop, { type: 'token.revoked', body: { stop: name, by: by.actor, reason } })
      return { stop: name, until }
    },

    async rotate(by) {
      const { kid: keyId, dropped } = keys.rotate()
      await record(by.namespace, 'token.key-rotated', { key_id: keyId, by: by.actor, dropped: [...dropped] })
      return { keyId, dropped }
    },
  }
}

/** Whoever is narrowed issues nothing wider. */
function inherited(
  { scopes }: Caller,
  asked: Pick<TokenAsked, 'scopes'>,
): { readonly scopes?: readonly string[] } {
  return asked.scopes === undefined && scopes !== undefined ? { scopes } : {}
}
