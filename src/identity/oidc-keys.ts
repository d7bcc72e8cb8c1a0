// The public keys of one issuer: fetched once for all who wait, kept while it is away, asked for again with care.
import {
  createLocalJWKSet,
  errors,
  type JSONWebKeySet,
  type JWSHeaderParameters,
  type LocalJWKSet,
} from 'jose'
import { isJsonObject } from '../util/json.ts'
import type { World } from '../util/world.ts'
import { isLoopbackHttp, type OidcIssuer } from './oidc-config.ts'

/** Reads a JSON document; rejects where there is none. */
export type FetchJson = (url: string) => Promise<unknown>

export interface OidcKeysOptions {
  readonly issuer: OidcIssuer
  readonly fetchJson: FetchJson
  readonly world: Pick<World, 'clock'>
  /** Least time between two asks, also for tokens with keys that nobody knows. @default 5 s */
  readonly askEveryMs?: number
  /** After this, keys are asked for again while they are used. @default 10 min */
  readonly renewAfterMs?: number
  /** How long keys are used that the issuer could not be asked about. @default 24 h */
  readonly keepMs?: number
  /** Hears why the issuer could not be asked. */
  readonly onTrouble?: (message: string) => void
}

export interface OidcKeys {
  /** Rejects with `JWKSNoMatchingKey` for a key that the issuer does not have, `KeysUnavailable` where nobody can tell. */
  find(header: JWSHeaderParameters): ReturnType<LocalJWKSet>
}

export class KeysUnavailable extends Error {
  override readonly name = 'KeysUnavailable'
}

const MAX_KEYS = 100

export function createOidcKeys(options: OidcKeysOptions): OidcKeys {
  const { issuer, fetchJson, world, onTrouble } = options
  const { askEveryMs = 5_000, renewAfterMs = 600_000, keepMs = 86_400_000 } = options
  let known: { readonly set: LocalJWKSet; readonly at: number } | undefined
  let asked = Number.NEGATIVE_INFINITY
  let failed = false
  let asking: Promise<void> | undefined

  /** All who need it wait for one. */
  function ask(): Promise<void> {
    asking ??= (async () => {
      asked = world.clock.monotonic()
      try {
        const set = createLocalJWKSet(await fetchKeys(issuer, fetchJson))
        known = { set, at: world.clock.monotonic() }
        failed = false
      } catch (error) {
        failed = true
        onTrouble?.(`the keys of ${issuer.issuer} cannot be had: ${messageOf(error)}`)
      } finally {
        asking = undefined
      }
    })()
    return asking
  }

  const mayAsk = () => asking !== undefined || world.clock.monotonic() - asked >= askEveryMs
  const age = () => (known === undefined ? Number.POSITIVE_INFINITY : world.clock.monotonic() - known.at)

  return {
    async find(header) {
      if (age() > keepMs) {
        if (mayAsk()) await ask()
        if (age() > keepMs) throw new KeysUnavailable(`the keys of ${issuer.issuer} cannot be had`)
      } else if (age() > renewAfterMs && mayAsk()) void ask()
      const first = known?.set
      try {
        if (first === undefined) throw new errors.JWKSNoMatchingKey()
        return await first(header)
      } catch (error) {
        if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
        // It may be a new one. Whoever sends tokens with keys that do not exist makes nobody ask more often than this.
        if (mayAsk()) await ask()
        const now = known?.set
        if (now !== undefined && now !== first) return now(header)
        if (failed) throw new KeysUnavailable(`${issuer.issuer} cannot be asked about a new key`)
        throw error
      }
    },
  }
}

async function fetchKeys({ issuer, jwksUri }: OidcIssuer, fetchJson: FetchJson): Promise<JSONWebKeySet> {
  const found = await fetchJson(jwksUri ?? (await discover(issuer, fetchJson)))
  const keys = isJsonObject(found) ? found.keys : undefined
  if (!Array.isArray(keys) || keys.length > MAX_KEYS) throw new Error('what it answers is no set of keys')
  // One that this build cannot read must not hide the others.
  const usable = keys.filter((key) => isJsonObject(key) && typeof key.kty === 'string' && key.kty !== 'oct')
  return { keys: usable } as unknown as JSONWebKeySet
}

async function discover(issuer: string, fetchJson: FetchJson): Promise<string> {
  const found = await fetchJson(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`)
  if (!isJsonObject(found)) throw new Error('its configuration is no JSON object')
  // OpenID Connect Discovery 4.3: else anybody's document could stand for it.
  if (found.issuer !== issuer) throw new Error('its configuration is that of another issuer')
  const url = typeof found.jwks_uri === 'string' ? URL.parse(found.jwks_uri) : null
  const local = URL.parse(issuer)
  const allowed =
    url !== null &&
    (url.protocol === 'https:' || (local !== null && isLoopbackHttp(local) && isLoopbackHttp(url)))
  if (!allowed) throw new Error('its jwks_uri is no https address')
  return url.href
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
