// Secrets of a HashiCorp Vault or OpenBao: KV version 2 over HTTP, read anew each time. Only the login is kept.
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { EgressReply } from '../../egress/egress.ts'
import { isJsonObject } from '../../util/json.ts'
import { readSecretFile } from '../../util/secret-file.ts'
import { type SecretMaterial, type SecretProvider, type SecretRef, SecretUnavailable } from '../credential.ts'
import { type ProviderFactory, type ProviderKit, readReply, readValues } from './provider.ts'
import { createTrustingEgress } from './trusting-egress.ts'

export interface VaultSettings {
  readonly type: 'vault'
  /** Such as https://vault.internal:8200. */
  readonly address: string
  /** Of the KV engine. @default 'secret' */
  readonly mount?: string
  /** Below the mount. @default '{namespace}/{name}' */
  readonly path?: string
  /** Of Vault Enterprise and OpenBao. */
  readonly namespace?: string
  readonly token_env?: string
  /** Read anew each time: an agent may renew what is in it. */
  readonly token_file?: string
  readonly approle?: {
    /** @default 'approle' */
    readonly mount?: string
    readonly role_id: string
    readonly secret_id_env?: string
    readonly secret_id_file?: string
  }
  readonly ca_file?: string
}

/** The token in hand, and until when it is good. */
interface Login {
  readonly token: string
  /** On the monotonic clock. */
  readonly renewAt: number
  readonly endsAt: number
  readonly renewable: boolean
}

const TIMEOUT_MS = 5_000
const NAME = 'vault'

export const createVaultProvider: ProviderFactory<VaultSettings> = (settings, kit) => {
  const base = new URL(settings.address)
  let opened: Promise<ReturnType<typeof createTrustingEgress>> | undefined
  let login: Login | undefined
  let entering: Promise<Login> | undefined

  function way() {
    opened ??= trustOf(settings, kit)
      .then((ca) => createTrustingEgress(kit, base, { ca }))
      .catch((error) => {
        // What was missing may be there the next time.
        opened = undefined
        throw error
      })
    return opened
  }

  async function send(
    method: 'GET' | 'POST',
    path: string,
    token?: string,
    body?: object,
  ): Promise<EgressReply> {
    const { egress } = await way()
    try {
      return await egress.send({
        url: new URL(`/v1/${path}`, base).href,
        method,
        timeoutMs: TIMEOUT_MS,
        headers: {
          'x-vault-request': 'true',
          ...(token === undefined ? {} : { 'x-vault-token': token }),
          ...(settings.namespace === undefined ? {} : { 'x-vault-namespace': settings.namespace }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
    } catch (error) {
      throw new SecretUnavailable(
        'vault cannot be reached. Fix: see that it runs, and that egress_private names it where it is private',
        { detail: `vault cannot be reached: ${error instanceof Error ? error.message : 'failed'}` },
      )
    }
  }

  async function tokenOf(): Promise<string> {
    if (settings.approle === undefined) return givenToken(settings, kit)
    const now = kit.world.clock.monotonic()
    if (login !== undefined && now < login.renewAt) return login.token
    entering ??= enter(login?.renewable === true && now < login.endsAt ? login : undefined).finally(() => {
      entering = undefined
    })
    return (await entering).token
  }

  /** Renews the one in hand, else logs in. */
  async function enter(held: Login | undefined): Promise<Login> {
    if (held !== undefined) {
      const renewed = await send('POST', 'auth/token/renew-self', held.token, {})
      if (renewed.status === 200) {
        login = loginOf(renewed)
        return login
      }
    }
    const { mount = 'approle', role_id } = settings.approle ?? { role_id: '' }
    const secret_id = secretId(settings, kit)
    const reply = await send('POST', `auth/${segments(mount)}/login`, undefined, { role_id, secret_id })
    if (reply.status !== 200)
      throw new SecretUnavailable(
        `vault refused the login (${reply.status}). Fix: see that the role id and the secret id are valid`,
      )
    login = loginOf(reply)
    return login
  }

  function loginOf({ body }: EgressReply): Login {
    const { auth } = readReply(body, NAME)
    const token = isJsonObject(auth) ? auth.client_token : undefined
    const seconds = isJsonObject(auth) ? Number(auth.lease_duration) : 0
    if (!isJsonObject(auth) || typeof token !== 'string' || !isToken(token))
      throw new SecretUnavailable('vault answered the login without a token. Fix: see its log')
    const now = kit.world.clock.monotonic()
    // 0 is for ever. What is left of a short lease is enough for the read that follows.
    const ms = Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : Number.POSITIVE_INFINITY
    return { token, renewAt: now + (ms * 2) / 3, endsAt: now + ms, renewable: auth.renewable === true }
  }

  async function ask(ref: SecretRef): Promise<EgressReply> {
    const path = `${segments(settings.mount ?? 'secret')}/data/${pathOf(settings.path, ref)}`
    const token = await tokenOf()
    const reply = await send('GET', path, token)
    if (reply.status !== 403 || settings.approle === undefined) return reply
    // It may have been revoked, or have ended while nobody asked. One that lives has no right, and another would have none.
    if ((await send('GET', 'auth/token/lookup-self', token)).status === 200) return reply
    if (login?.token === token) login = undefined
    return send('GET', path, await tokenOf())
  }

  const provider: SecretProvider = {
    name: NAME,
    async read(ref) {
      const reply = await ask(ref)
      if (reply.status === 200) return materialOf(reply)
      if (reply.status === 404) return notThere(reply, settings)
      const fix =
        reply.status === 403
          ? 'Fix: give its policy read on the path, and see that the token is valid'
          : 'Fix: see its log and whether it is sealed'
      throw new SecretUnavailable(
        `vault answered ${reply.status} for secret ${ref.namespace}/${ref.name}. ${fix}`,
      )
    },
    async close() {
      await entering?.catch(() => {})
      const held = login
      login = undefined
      // What was logged in for this process ends with it; where that cannot be said, its lease ends it.
      if (held !== undefined) await send('POST', 'auth/token/revoke-self', held.token, {}).catch(() => {})
      await (await opened?.catch(() => undefined))?.close()
    },
  }
  return provider
}

function materialOf({ body }: EgressReply): SecretMaterial | undefined {
  const { data: outer } = readReply(body, NAME)
  const data = isJsonObject(outer) ? outer.data : undefined
  const metadata = isJsonObject(outer) ? outer.metadata : undefined
  if (!isJsonObject(data) || !isJsonObject(metadata))
    throw new SecretUnavailable('vault answered with no KV version 2 secret. Fix: name a mount of version 2')
  const texts = Object.entries(data).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  )
  const values = readValues(texts, 'the secret in vault')
  if (Object.keys(values).length === 0) return undefined
  // Its number begins anew where all versions were destroyed; the time does not.
  return { values, version: `${String(metadata.version)} ${String(metadata.created_time)}` }
}

/** One that was deleted, or was never there. A mount that is not there is also a 404, and says nothing of the secret. */
function notThere({ body }: EgressReply, { mount = 'secret' }: VaultSettings): undefined {
  const { errors = [] } = readReply(body, NAME)
  if (!Array.isArray(errors) || errors.length > 0)
    throw new SecretUnavailable(
      'vault has nothing mounted where it is asked. Fix: set mount and namespace to those of its KV engine',
      { detail: `vault has nothing mounted at ${mount}` },
    )
}

function pathOf(template = '{namespace}/{name}', { namespace, name }: SecretRef): string {
  return segments(template.replaceAll('{namespace}', namespace).replaceAll('{name}', name))
}

function segments(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/')
}

async function trustOf({ ca_file }: VaultSettings, { folder }: ProviderKit): Promise<string | undefined> {
  if (ca_file === undefined) return undefined
  return readFile(resolve(folder, ca_file), 'utf8').catch(() => {
    throw new SecretUnavailable('the ca_file of vault cannot be read. Fix: see that it is there')
  })
}

function givenToken({ token_env, token_file }: VaultSettings, kit: ProviderKit): string {
  const token = token_env === undefined ? fromFile(token_file, kit, 'token') : kit.env[token_env]?.trim()
  if (token !== undefined && isToken(token)) return token
  throw new SecretUnavailable('the token for vault is missing. Fix: set what token_env or token_file names')
}

function secretId({ approle }: VaultSettings, kit: ProviderKit): string {
  const { secret_id_env, secret_id_file } = approle ?? {}
  const found =
    secret_id_env === undefined ? fromFile(secret_id_file, kit, 'secret id') : kit.env[secret_id_env]?.trim()
  if (found !== undefined && found !== '') return found
  throw new SecretUnavailable(
    'the secret id for vault is missing. Fix: set what secret_id_env or secret_id_file names',
  )
}

function fromFile(file: string | undefined, { folder }: ProviderKit, what: string): string | undefined {
  if (file === undefined) return undefined
  try {
    return readSecretFile(resolve(folder, file), `the ${what} for vault in`)?.trim()
  } catch (error) {
    const message = `the ${what} for vault cannot be read. Fix: the operator sees why in the log of the server`
    throw new SecretUnavailable(message, error instanceof Error ? { detail: error.message } : {})
  }
}

/** What a header can carry. */
function isToken(text: string): boolean {
  return /^[\x21-\x7e]{1,8192}$/.test(text)
}
