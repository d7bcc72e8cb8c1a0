// The keys that sign and verify Writ's own tokens, as they are written in their file.
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type JsonWebKey,
  type KeyObject,
} from 'node:crypto'
import { sha256Base64url } from '../util/canonical.ts'
import { isJsonObject, type JsonObject } from '../util/json.ts'
import { SKEW_MS, TTL_MAX_MS } from './token-time.ts'

/** A key as it is kept. Only the newest has its private part: the others have signed their last. */
interface KeptKey {
  readonly kid: string
  readonly kty: 'OKP'
  readonly crv: 'Ed25519'
  readonly alg: 'EdDSA'
  readonly use: 'sig'
  readonly x: string
  readonly d?: string
  readonly made_at: string
  /** Every token that it signed has expired by then. */
  readonly verifies_until?: string
}

export interface KeyRing {
  readonly signer: { readonly kid: string; readonly key: KeyObject }
  /** Undefined for a key that is not there, or whose time is over. */
  verifier(kid: string, now: number): KeyObject | undefined
  readonly kids: readonly string[]
}

/** Throws with what is wrong. */
export function readKeyRing(text: string): KeyRing {
  const kept = readKept(text)
  const [newest, ...rest] = kept.filter(({ d }) => d !== undefined)
  if (newest === undefined) throw new Error('none of its keys has a private part (d)')
  if (rest.length > 0) throw new Error('more than one of its keys has a private part (d)')
  if (newest.verifies_until !== undefined) throw new Error('the key that signs must not have verifies_until')
  const verifiers = new Map(
    kept.map((one) => [one.kid, { key: publicKey(one), until: untilOf(one) }] as const),
  )
  return {
    signer: { kid: newest.kid, key: createPrivateKey({ key: jwkOf(newest), format: 'jwk' }) },
    verifier(kid, now) {
      const found = verifiers.get(kid)
      return found === undefined || found.until <= now ? undefined : found.key
    },
    kids: kept.map(({ kid }) => kid),
  }
}

/** The text of a file with a new key that signs from now on. Keys whose time is over are left out. */
export function rotateKeyText(
  text: string | undefined,
  now: number,
): { text: string; kid: string; dropped: string[] } {
  const kept = text === undefined ? [] : readKept(text)
  const fresh = makeKey(now)
  const until = new Date(now + TTL_MAX_MS + 2 * SKEW_MS).toISOString()
  const old = kept.filter((one) => untilOf(one) > now)
  const keys: KeptKey[] = [
    fresh,
    ...old.map(({ d: _, ...one }) => ({ ...one, verifies_until: one.verifies_until ?? until })),
  ]
  const dropped = kept.filter((one) => !old.includes(one)).map(({ kid }) => kid)
  return { text: `${JSON.stringify({ keys }, null, 2)}\n`, kid: fresh.kid, dropped }
}

function makeKey(now: number): KeptKey {
  const { x = '', d = '' } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' })
  const made_at = new Date(now).toISOString()
  return { kid: kidOf(x), kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA', use: 'sig', x, d, made_at }
}

/** Made from the key itself, so that one name never means two keys. */
function kidOf(x: string): string {
  return sha256Base64url('writ-token-key', x).slice(0, 22)
}

function readKept(text: string): KeptKey[] {
  const value: unknown = JSON.parse(text)
  const keys = isJsonObject(value) ? value.keys : undefined
  if (!Array.isArray(keys) || keys.length === 0) throw new Error('it has no list "keys" with a key in it')
  const kept = keys.map((one, index) => readKey(one, index))
  if (new Set(kept.map(({ kid }) => kid)).size < kept.length) throw new Error('it has the same key twice')
  return kept
}

function readKey(value: unknown, index: number): KeptKey {
  const bad = (what: string) => new Error(`keys[${index}] ${what}`)
  if (!isJsonObject(value)) throw bad('is not a key')
  const { kty, crv, x, d, kid, made_at, verifies_until } = value as JsonObject
  if (kty !== 'OKP' || crv !== 'Ed25519' || typeof x !== 'string')
    throw bad('is not an Ed25519 key (kty OKP)')
  if (kid !== kidOf(x)) throw bad('has a kid that does not belong to it')
  if (typeof made_at !== 'string' || Number.isNaN(Date.parse(made_at))) throw bad('has no time in made_at')
  if (d !== undefined && typeof d !== 'string') throw bad('has a private part that is no text')
  if (verifies_until === undefined) {
    if (d === undefined) throw bad('has no private part and no verifies_until')
  } else if (typeof verifies_until !== 'string' || Number.isNaN(Date.parse(verifies_until))) {
    throw bad('has no time in verifies_until')
  }
  const key: KeptKey = {
    kid,
    kty,
    crv,
    alg: 'EdDSA',
    use: 'sig',
    x,
    made_at,
    ...(d === undefined ? {} : { d }),
    ...(verifies_until === undefined ? {} : { verifies_until }),
  }
  return key
}

function publicKey(key: KeptKey): KeyObject {
  const { d: _, ...rest } = jwkOf(key)
  return createPublicKey({ key: rest, format: 'jwk' })
}

function jwkOf({ kty, crv, x, d }: KeptKey): JsonWebKey {
  return { kty, crv, x, ...(d === undefined ? {} : { d }) }
}

function untilOf({ verifies_until }: KeptKey): number {
  return verifies_until === undefined ? Number.POSITIVE_INFINITY : Date.parse(verifies_until)
}
