// Makes what a send presents out of what its tool declares: secrets are read anew for each, and known to nobody after it.
import { readSecretRef } from '../resource/secret-ref.ts'
import type { Abort } from '../util/abort.ts'
import { errorPlace } from '../util/error-place.ts'
import type { World } from '../util/world.ts'
import { authHeaders } from './auth-profile.ts'
import {
  type CredentialNeed,
  type Credentials,
  type CredentialTrouble,
  type NotPresented,
  type Presented,
  type PresentResult,
  type SecretMaterial,
  type SecretProvider,
  type SecretRef,
  SecretUnavailable,
  type ShownBefore,
} from './credential.ts'
import { MasterKeyUnavailable } from './master-key.ts'
import { createAccessTokens, type TokenRequest } from './oauth.ts'
import { createRecentRedactors } from './recent-redactors.ts'
import { secretValue } from './secret-value.ts'
import type { ShownNotes } from './shown-note.ts'
import { createTellTrouble } from './tell-trouble.ts'

export interface CredentialsOptions {
  /** Its network is for token endpoints. */
  readonly world: Pick<World, 'clock' | 'after' | 'network'>
  /** In the order in which they are asked. */
  readonly providers: readonly SecretProvider[]
  /** Absent: what was shown is forgotten with the process. */
  readonly notes?: ShownNotes
  /** Hears what callers are not told. @default nobody */
  readonly onTrouble?: (trouble: CredentialTrouble) => void
}

/** A provider that takes longer is away. */
const READ_MS = 10_000

/** Says why nothing is presented; never leaves this file. */
class Refused extends Error {
  readonly refusal: NotPresented

  constructor(refusal: NotPresented) {
    super(refusal.message)
    this.refusal = refusal
  }
}

interface Found {
  readonly ref: SecretRef
  readonly material: SecretMaterial
}

export function createCredentials(options: CredentialsOptions): Credentials {
  const { world, providers, notes, onTrouble = () => {} } = options
  const tokens = createAccessTokens(world)
  const redactors = createRecentRedactors()
  const tell = createTellTrouble(world, onTrouble)

  async function read(ref: SecretRef): Promise<SecretMaterial | undefined> {
    for (const provider of providers) {
      try {
        const material = await provider.read(ref)
        if (material !== undefined) return material
      } catch (error) {
        const why = error instanceof SecretUnavailable ? error.detail : errorPlace(error)
        tell({ namespace: ref.namespace, name: ref.name, provider: provider.name, why })
        throw error
      }
    }
    return undefined
  }

  /** How a secret that nobody has comes to be there. */
  function keepIt({ name, key, namespace }: SecretRef): string | undefined {
    if (!providers.some((one) => one.name === 'store')) return undefined
    const flags = `${key === undefined ? '' : ` --key ${key}`} --namespace ${namespace}`
    return `The operator keeps it: writ secret set ${name}${flags}. Or removes its name from the tool, where it needs none.`
  }

  /** Within its time, or as long as somebody wants it. */
  function bounded<T>(work: Promise<T>, abort: Abort, late: NotPresented): Promise<T> {
    return new Promise((resolve, reject) => {
      const giveUp = () => {
        timer.cancel()
        reject(new Refused(late))
      }
      const timer = world.after(READ_MS, giveUp)
      const unlisten = abort.listen(giveUp)
      work.then(resolve, reject).finally(() => {
        timer.cancel()
        unlisten()
      })
    })
  }

  async function find(text: string, need: CredentialNeed, abort: Abort): Promise<Found> {
    const ref = readSecretRef(text, need.namespace)
    if (ref === undefined) throw missing(text, 'is no reference to a secret')
    const foreign = ref.namespace !== need.namespace
    let material: SecretMaterial | undefined
    try {
      material = await bounded(read(ref), abort, unavailable(text, 'could not be read in time'))
    } catch (error) {
      if (error instanceof Refused) throw error
      // Whether another namespace has it is not for this one to know.
      if (foreign) throw outOfScope(text, ref, need.namespace)
      // Only this error promises to name no value.
      if (!(error instanceof SecretUnavailable)) throw new Refused(unavailable(text, 'its provider failed'))
      if (error.lasting) throw missing(text, `cannot be read: ${error.message}`)
      throw new Refused(unavailable(text, error.message))
    }
    if (foreign && material?.sharedWith?.includes(need.namespace) !== true)
      throw outOfScope(text, ref, need.namespace)
    if (material === undefined) throw missing(text, 'is not known to any provider here', keepIt(ref))
    return { ref, material }
  }

  /** Nobody may hear what comes back while it is not known what to take out of it. */
  async function shownBefore(before: readonly ShownBefore[]): Promise<readonly string[]> {
    const [first] = before
    if (first === undefined || notes === undefined) return []
    try {
      return (await Promise.all(before.map((one) => notes.read(one.note, one)))).flat()
    } catch (error) {
      if (!(error instanceof MasterKeyUnavailable)) throw error
      tell({ namespace: first.namespace, name: 'master key', provider: 'store', why: error.message })
      throw new Refused({
        failure: 'secret-missing',
        message: 'what was shown to the tool before cannot be opened for now: the master key cannot be read',
        transient: true,
      })
    }
  }

  async function make(
    need: CredentialNeed,
    abort: Abort,
    before: readonly ShownBefore[] = [],
  ): Promise<Presented> {
    const { auth, env = [], reach = 'public' } = need
    const names = [...(auth === undefined ? [] : [auth.secretRef]), ...env.map((one) => one.secretRef)]
    const found = new Map<string, Found>()
    await Promise.all(
      [...new Set(names)].map(async (name) => void found.set(name, await find(name, need, abort))),
    )
    const of = (name: string): Found => {
      const one = found.get(name)
      if (one === undefined) throw missing(name, 'was not read')
      return one
    }
    const take = (name: string, key?: string): string => {
      const { ref, material } = of(name)
      const value = secretValue(material, key ?? ref.key)
      if (!value.ok) throw missing(name, value.why)
      return value.value
    }
    const secrets: string[] = []
    const variables: Record<string, string> = {}
    for (const { name, secretRef, key } of env) {
      const value = take(secretRef, key)
      if (value.includes('\0')) throw missing(secretRef, 'holds a NUL, which no variable can carry')
      variables[name] = value
      secrets.push(value)
    }
    let headers: Presented['headers'] = []
    let token: { readonly request: TokenRequest; readonly text: string } | undefined
    if (auth !== undefined) {
      const { ref, material } = of(auth.secretRef)
      const made = authHeaders(auth, ref, material)
      if (!made.ok) throw missing(auth.secretRef, made.why)
      if (made.exchange === undefined) headers = made.headers
      else {
        const secret = `${ref.namespace}/${ref.name} ${material.version}`
        const request: TokenRequest = { ...made.exchange, secret, reach }
        const late: NotPresented = {
          failure: 'token-exchange-failed',
          message: 'the token endpoint did not answer in time',
          transient: true,
        }
        const result = await bounded(tokens.get(request), abort, late)
        if (!result.ok) {
          const { namespace, name } = ref
          tell({ namespace, name, provider: 'token endpoint', why: result.why })
          throw new Refused(result.refusal)
        }
        token = { request, text: result.token }
        headers = [['authorization', `Bearer ${result.token}`]]
        secrets.push(result.token)
      }
      secrets.push(...made.secrets)
    }
    const earlier = await shownBefore(before)
    return {
      headers,
      env: variables,
      version: [...found.values()].map(({ material }) => material.version).join(' '),
      redactor: redactors.get(JSON.stringify([need.namespace, ...names]), [...secrets, ...earlier]),
      rejected() {
        if (token === undefined) return false
        tokens.evict(token.request, token.text)
        return true
      },
      ...(notes === undefined ? {} : { note: (of) => notes.write(secrets, of) }),
    }
  }

  return {
    async present(need, abort, before): Promise<PresentResult> {
      try {
        return { ok: true, presented: await make(need, abort, before) }
      } catch (error) {
        if (!(error instanceof Refused)) throw error
        return { ok: false, refusal: error.refusal }
      }
    },

    async version(need, abort) {
      const { auth, env = [] } = need
      const names = [...(auth === undefined ? [] : [auth.secretRef]), ...env.map((one) => one.secretRef)]
      try {
        const found = await Promise.all([...new Set(names)].map((name) => find(name, need, abort)))
        return found.map(({ material }) => material.version).join(' ')
      } catch (error) {
        if (!(error instanceof Refused)) throw error
        return undefined
      }
    },

    read,

    async close() {
      await Promise.all(providers.map((provider) => provider.close?.()))
    },
  }
}

function missing(name: string, why: string, fix?: string): Refused {
  return new Refused({
    failure: 'secret-missing',
    message: `the secret '${name}' ${why}`,
    ...(fix === undefined ? {} : { fix }),
    details: { secret_ref: name },
    transient: false,
  })
}

function unavailable(name: string, why: string): NotPresented {
  return {
    failure: 'secret-missing',
    message: `the secret '${name}' cannot be read for now: ${why}`,
    details: { secret_ref: name },
    transient: true,
  }
}

function outOfScope(name: string, { namespace }: SecretRef, own: string): Refused {
  return new Refused({
    failure: 'secret-out-of-scope',
    message: `the secret '${name}' is not shared with the namespace '${own}'`,
    details: { secret_ref: name, fix_at: `share_with of the secret, in the namespace ${namespace}` },
    transient: false,
  })
}
