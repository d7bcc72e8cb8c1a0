// What each auth profile puts on a send, and which secrets are in it.
import type { ResolvedTool } from '../resource/resolved-tool.ts'
import type { Presented, SecretMaterial, SecretRef } from './credential.ts'
import { headerFlaw } from './header-value.ts'
import type { TokenRequest } from './oauth.ts'
import { secretValue } from './secret-value.ts'

/** Names are no secrets, and may be short. */
const PUBLIC = 1

type Auth = NonNullable<ResolvedTool['auth']>

export type AuthHeaders =
  | {
      readonly ok: true
      readonly headers: Presented['headers']
      /** To be taken out of everything that comes back. */
      readonly secrets: readonly string[]
      /** A token has to be had first; it makes the header. */
      readonly exchange?: Omit<TokenRequest, 'secret' | 'reach'>
    }
  | { readonly ok: false; readonly why: string }

export function authHeaders(auth: Auth, ref: SecretRef, material: SecretMaterial): AuthHeaders {
  switch (auth.profile) {
    case 'bearer':
      return single(auth.profile, ref, material, (value) => ['authorization', `Bearer ${value}`])
    case 'api_key_header': {
      const name = (auth.headerName ?? 'x-api-key').toLowerCase()
      return single(auth.profile, ref, material, (value) => [name, value])
    }
    case 'basic':
      return basic(ref, material)
    case 'oauth2_client_credentials':
      return clientCredentials(auth, ref, material)
  }
}

function single(
  profile: string,
  ref: SecretRef,
  material: SecretMaterial,
  header: (value: string) => readonly [string, string],
): AuthHeaders {
  const read = secretValue(material, ref.key)
  if (!read.ok) return read
  const flaw = headerFlaw(read.value)
  if (flaw !== undefined) return { ok: false, why: `${flaw} (profile ${profile})` }
  return { ok: true, headers: [header(read.value)], secrets: [read.value] }
}

/** One value `user:password`, or the values `username` and `password`. */
function basic(ref: SecretRef, material: SecretMaterial): AuthHeaders {
  const parted = ref.key === undefined && Object.hasOwn(material.values, 'password')
  const user = parted ? secretValue(material, 'username', PUBLIC) : undefined
  const password = parted ? secretValue(material, 'password') : undefined
  const whole = parted ? undefined : secretValue(material, ref.key)
  for (const part of [user, password, whole]) if (part?.ok === false) return part
  const text = whole?.ok ? whole.value : `${textOf(user)}:${textOf(password)}`
  const colon = text.indexOf(':')
  if (colon < 0) return { ok: false, why: "is no 'user:password', nor has it the keys username and password" }
  if (parted && textOf(user).includes(':'))
    return { ok: false, why: 'has a colon in its user name, which HTTP basic cannot carry' }
  const flaw = headerFlaw(text)
  // Basic carries bytes, so only what would end a line or a text is wrong in it.
  if (flaw !== undefined && !flaw.includes('Latin-1')) return { ok: false, why: flaw }
  const encoded = Buffer.from(text, 'utf8').toString('base64')
  return {
    ok: true,
    headers: [['authorization', `Basic ${encoded}`]],
    // What it was sent as counts as a value of its own: a tool may encode that once more.
    secrets: [text, text.slice(0, colon), text.slice(colon + 1), encoded],
  }
}

function clientCredentials(auth: Auth, ref: SecretRef, material: SecretMaterial): AuthHeaders {
  if (ref.key !== undefined)
    return { ok: false, why: 'is named with a key; this profile needs its keys client_id and client_secret' }
  const clientId = secretValue(material, 'client_id', PUBLIC)
  if (!clientId.ok) return clientId
  const clientSecret = secretValue(material, 'client_secret')
  if (!clientSecret.ok) return clientSecret
  return {
    ok: true,
    headers: [],
    secrets: [clientSecret.value],
    exchange: {
      tokenURL: auth.tokenURL ?? '',
      clientId: clientId.value,
      clientSecret: clientSecret.value,
      scopes: auth.scopes,
    },
  }
}

function textOf(read: ReturnType<typeof secretValue> | undefined): string {
  return read?.ok ? read.value : ''
}
