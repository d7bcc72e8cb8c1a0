// Secrets of Kubernetes, from its API. A namespace there is the namespace of the same name here, unless it is mapped.
import { isJsonObject } from '../../util/json.ts'
import { type SecretMaterial, type SecretRef, SecretUnavailable } from '../credential.ts'
import { type KubeAccess, kubeconfigAccess, podAccess } from './kube-access.ts'
import { type ProviderFactory, readReply, readValues, textOf } from './provider.ts'
import { createTrustingEgress, type TrustingEgress } from './trusting-egress.ts'

export interface KubernetesSettings {
  readonly type: 'kubernetes'
  /** A file. @default the service account of the pod */
  readonly kubeconfig?: string
  /** From namespaces here to those there; with it, others are not looked for. */
  readonly namespaces?: Readonly<Record<string, string>>
}

const TIMEOUT_MS = 5_000
const NAME = 'kubernetes'
const WHERE = 'the Kubernetes API'
/** Both must be names there: anything else would be another path. */
const DNS_NAME = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/

const FIXES: Readonly<Record<number, string>> = {
  401: 'see that its token has not ended, and is one of this cluster',
  403: 'let its account get secrets in that namespace, with a Role and a RoleBinding',
}

export const createKubernetesProvider: ProviderFactory<KubernetesSettings> = (settings, kit) => {
  let opened: Promise<{ readonly access: KubeAccess; readonly way: TrustingEgress }> | undefined

  async function openWay() {
    const { kubeconfig } = settings
    const access = await (kubeconfig === undefined ? podAccess(kit) : kubeconfigAccess(kubeconfig, kit))
    return { access, way: createTrustingEgress(kit, access.server, access) }
  }

  function way() {
    opened ??= openWay().catch((error) => {
      // What was missing may be there the next time.
      opened = undefined
      throw error
    })
    return opened
  }

  return {
    name: NAME,
    async read(ref) {
      const namespace = settings.namespaces === undefined ? ref.namespace : settings.namespaces[ref.namespace]
      if (namespace === undefined || !DNS_NAME.test(namespace) || !DNS_NAME.test(ref.name)) return undefined
      const {
        access,
        way: { egress },
      } = await way()
      const token = await access.token()
      const path = `/api/v1/namespaces/${namespace}/secrets/${ref.name}`
      const reply = await egress
        .send({
          url: new URL(`${access.server.pathname.replace(/\/$/, '')}${path}`, access.server).href,
          timeoutMs: TIMEOUT_MS,
          // A Secret there has at most 1 MiB, and base64 makes more of it.
          maxBytes: 4 * 1024 * 1024,
          headers: {
            accept: 'application/json',
            ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          },
        })
        .catch((error) => {
          const why = error instanceof Error ? error.message : 'failed'
          throw new SecretUnavailable(
            'the Kubernetes API cannot be reached. Fix: see that egress_private names it where it is private',
            { detail: `the Kubernetes API cannot be reached: ${why}` },
          )
        })
      if (reply.status === 200) return materialOf(reply.body, ref)
      if (reply.status === 404) return notThere(reply.body)
      const fix = FIXES[reply.status] ?? 'see its log'
      throw new SecretUnavailable(
        `the Kubernetes API answered ${reply.status} for secret ${ref.namespace}/${ref.name}. Fix: ${fix}`,
      )
    },
    async close() {
      await (await opened?.catch(() => undefined))?.way.close()
    },
  }
}

/** It says so itself. Any other 404 is that of a wrong address, and says nothing of the secret. */
function notThere(body: Uint8Array): undefined {
  const { kind, reason } = readReply(body, WHERE)
  if (kind !== 'Status' || reason !== 'NotFound')
    throw new SecretUnavailable(`${WHERE} has no Secrets at its address. Fix: see the server of its cluster`)
}

function materialOf(body: Uint8Array, ref: SecretRef): SecretMaterial | undefined {
  const { data, metadata, kind } = readReply(body, WHERE)
  if (kind !== 'Secret' || !isJsonObject(metadata))
    throw new SecretUnavailable(
      'the Kubernetes API answered with something that is no Secret. Fix: see its address',
    )
  const found: [string, string][] = []
  for (const [key, encoded] of Object.entries(isJsonObject(data) ? data : {})) {
    const text = typeof encoded === 'string' ? textOf(Buffer.from(encoded, 'base64')) : undefined
    // Bytes that are no text, such as a key store: nothing that a tool could be given.
    if (text !== undefined) found.push([key, text])
  }
  const values = readValues(found, `the Kubernetes secret ${ref.name}`)
  if (Object.keys(values).length === 0) return undefined
  return { values, version: `${String(metadata.uid)} ${String(metadata.resourceVersion)}` }
}
