// How the Kubernetes API is reached: by the service account of the pod, or by a kubeconfig file.
import { readFile, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { toJson } from '../../resource/source-tree.ts'
import { readYaml } from '../../resource/yaml-source.ts'
import { isJsonObject, type Json, type JsonObject } from '../../util/json.ts'
import { SecretUnavailable } from '../credential.ts'
import type { ProviderKit } from './provider.ts'
import type { TrustOptions } from './trusting-egress.ts'

export interface KubeAccess extends TrustOptions {
  readonly server: URL
  /** Asked for each time: the token of a pod is replaced every hour. */
  token(): Promise<string | undefined>
}

const ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount'

/** `account` is where the pod's own token and certificate authority are mounted. */
export async function podAccess({ env }: ProviderKit, account = ACCOUNT): Promise<KubeAccess> {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = '443' } = env
  if (host === undefined || host === '')
    throw new SecretUnavailable(
      'this is no pod: KUBERNETES_SERVICE_HOST is not set. Fix: name a kubeconfig file in the settings of the provider',
    )
  return {
    server: new URL(`https://${host.includes(':') ? `[${host}]` : host}:${port}`),
    ca: await text(`${account}/ca.crt`),
    token: () => text(`${account}/token`),
  }
}

/** The current context of the file. Programs that it would run for a token are not run. */
export async function kubeconfigAccess(file: string, { folder }: ProviderKit): Promise<KubeAccess> {
  const path = resolve(folder, file)
  const found = await stat(path).catch(() => undefined)
  if (found !== undefined && (found.mode & 0o027) !== 0)
    throw new SecretUnavailable(`others can read or change the kubeconfig. Fix: chmod 600 it`)
  const { documents } = readYaml(await text(path))
  const root: Json = documents[0] === undefined ? {} : toJson(documents[0])
  const context = named(root, 'contexts', text1(root, 'current-context'), 'context')
  const cluster = named(root, 'clusters', text1(context, 'cluster'), 'cluster')
  const user = named(root, 'users', text1(context, 'user'), 'user')
  const server = URL.parse(text1(cluster, 'server') ?? '')
  if (server === null) throw wrong('has no server in its current context')
  if (user.exec !== undefined || user['auth-provider'] !== undefined)
    throw wrong('has a user whose token comes from a program, which is not run')
  const given = (of: JsonObject, name: string) => dataOrFile(of, name, dirname(path))
  const tokenFile = text1(user, 'tokenFile')
  return {
    server,
    ca: await given(cluster, 'certificate-authority'),
    cert: await given(user, 'client-certificate'),
    key: await given(user, 'client-key'),
    token: async () =>
      tokenFile === undefined ? text1(user, 'token') : text(resolve(dirname(path), tokenFile)),
  }
}

async function dataOrFile(of: JsonObject, name: string, folder: string): Promise<string | undefined> {
  const data = text1(of, `${name}-data`)
  if (data !== undefined) return Buffer.from(data, 'base64').toString('utf8')
  const file = text1(of, name)
  return file === undefined ? undefined : text(resolve(folder, file))
}

/** The entry of a list that has this name: each is `{name, KIND: {…}}`. */
function named(root: Json, list: string, name: string | undefined, kind: string): JsonObject {
  const all = isJsonObject(root) ? root[list] : undefined
  const found = Array.isArray(all) ? all.find((one) => isJsonObject(one) && one.name === name) : undefined
  const inner = isJsonObject(found) ? found[kind] : undefined
  if (name === undefined || !isJsonObject(inner)) throw wrong(`has no ${kind} for its current context`)
  return inner
}

function text1(of: Json, name: string): string | undefined {
  const value = isJsonObject(of) ? of[name] : undefined
  return typeof value === 'string' && value !== '' ? value : undefined
}

function wrong(why: string): SecretUnavailable {
  return new SecretUnavailable(
    `the kubeconfig ${why}. Fix: give it a cluster, and a user with a token or a client certificate`,
  )
}

async function text(path: string): Promise<string> {
  try {
    return (await readFile(path, 'utf8')).trim()
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'failed'
    throw new SecretUnavailable(
      `a file for the Kubernetes API cannot be read (${code}). Fix: see that it is there, and yours`,
    )
  }
}
