// A real Kubernetes API server with its etcd for a recording: RBAC, service accounts, and no nodes.
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { decodeJwt, importPKCS8, SignJWT } from 'jose'
import { freePort, startRealProcess, textAt, untilTrue } from './real-process.ts'

export const EVERYWHERE = '*'

export interface RealKubernetes {
  readonly url: string
  readonly version: string
  /** What its own certificate is to be checked with. */
  readonly ca: string
  /** Of a user who may do everything. */
  readonly client: { readonly cert: string; readonly key: string }
  /** As the administrator. Fails where the server does. */
  ask(method: string, path: string, body?: object): Promise<unknown>
  /** The token of a new account, which may get the Secrets of these namespaces, or those `EVERYWHERE`. */
  account(...mayRead: readonly string[]): Promise<string>
  /** The same token, signed by the same key, with another end. */
  resigned(token: string, secondsFromNow: number): Promise<string>
  namespace(name: string): Promise<void>
  stop(): Promise<void>
}

export async function startRealKubernetes(
  programs: { readonly apiserver: string; readonly etcd: string },
  folder: string,
): Promise<RealKubernetes> {
  const at = (name: string) => join(folder, name)
  const { client, accountKey } = makeKeys(at)
  const [port, store, peers] = [await freePort(), await freePort(), await freePort()]
  const [url, storeUrl, peersUrl] = [
    `https://127.0.0.1:${port}`,
    `http://127.0.0.1:${store}`,
    `http://127.0.0.1:${peers}`,
  ]
  const etcd = await startRealProcess(
    programs.etcd,
    [
      `--data-dir=${at('etcd')}`,
      `--listen-client-urls=${storeUrl}`,
      `--advertise-client-urls=${storeUrl}`,
      `--listen-peer-urls=${peersUrl}`,
      `--initial-advertise-peer-urls=${peersUrl}`,
      `--initial-cluster=default=${peersUrl}`,
    ],
    async () => (await fetch(`${storeUrl}/health`)).ok,
  )
  const ca = () => readFileSync(at('certs/apiserver.crt'), 'utf8')

  async function send(
    method: string,
    path: string,
    body?: object,
  ): Promise<{ status: number; body: unknown }> {
    const headers = { accept: 'application/json', 'content-type': 'application/json' }
    const sent = request(new URL(path, url), { method, ca: ca(), ...client, headers })
    sent.end(body === undefined ? undefined : JSON.stringify(body))
    const [reply] = await once(sent, 'response')
    return { status: reply.statusCode, body: path === '/readyz' ? reply.resume() : await json(reply) }
  }

  const apiserver = await startRealProcess(
    programs.apiserver,
    [
      `--etcd-servers=${storeUrl}`,
      '--bind-address=127.0.0.1',
      `--secure-port=${port}`,
      `--cert-dir=${at('certs')}`,
      `--client-ca-file=${at('ca.crt')}`,
      '--authorization-mode=RBAC',
      '--service-account-issuer=https://kubernetes.default.svc',
      `--service-account-key-file=${at('accounts.key')}`,
      `--service-account-signing-key-file=${at('accounts.key')}`,
      '--service-cluster-ip-range=10.0.0.0/24',
    ],
    async () => (await send('GET', '/readyz')).status === 200,
  ).catch(async (error) => {
    await etcd.stop()
    throw error
  })

  async function ask(method: string, path: string, body?: object): Promise<unknown> {
    const reply = await send(method, path, body)
    if (reply.status >= 300)
      throw new Error(`kubernetes: ${method} ${path}: ${reply.status} ${JSON.stringify(reply.body)}`)
    return reply.body
  }
  let accounts = 0
  return {
    url,
    version: textAt(await ask('GET', '/version'), 'gitVersion'),
    ca: ca(),
    client,
    ask,
    async account(...mayRead) {
      const name = `reader-${++accounts}`
      await untilTrue(
        'the namespace default is there',
        async () => (await send('GET', '/api/v1/namespaces/default')).status === 200,
      )
      await ask('POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name } })
      for (const namespace of mayRead) {
        const group = 'rbac.authorization.k8s.io'
        const [at, kind, lists] =
          namespace === EVERYWHERE
            ? [`/apis/${group}/v1`, 'ClusterRole', ['clusterroles', 'clusterrolebindings']]
            : [`/apis/${group}/v1/namespaces/${namespace}`, 'Role', ['roles', 'rolebindings']]
        const rules = [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }]
        await ask('POST', `${at}/${lists[0]}`, { metadata: { name }, rules })
        await ask('POST', `${at}/${lists[1]}`, {
          metadata: { name },
          roleRef: { apiGroup: group, kind, name },
          subjects: [{ kind: 'ServiceAccount', namespace: 'default', name }],
        })
        const may = {
          user: `system:serviceaccount:default:${name}`,
          resourceAttributes: { namespace, verb: 'get', resource: 'secrets' },
        }
        await untilTrue('the account has its right', async () => {
          const review = await ask('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', {
            spec: may,
          })
          return JSON.stringify(review).includes('"allowed":true')
        })
      }
      const made = await ask('POST', `/api/v1/namespaces/default/serviceaccounts/${name}/token`, { spec: {} })
      return textAt(made, 'status', 'token')
    },
    async resigned(token, secondsFromNow) {
      const { alg = 'RS256', kid = '' } = JSON.parse(
        Buffer.from(token.split('.')[0] ?? '', 'base64url').toString('utf8'),
      )
      const exp = Math.floor(Date.now() / 1000) + secondsFromNow
      const times = { iat: exp - 3600, nbf: exp - 3600, exp }
      const key = await importPKCS8(accountKey, alg)
      return new SignJWT({ ...decodeJwt(token), ...times }).setProtectedHeader({ alg, kid }).sign(key)
    },
    namespace: async (name) => void (await ask('POST', '/api/v1/namespaces', { metadata: { name } })),
    async stop() {
      await apiserver.stop()
      await etcd.stop()
    },
  }
}

/** An authority for clients, an administrator who has its signature, and what signs the tokens of accounts. */
function makeKeys(at: (name: string) => string) {
  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'pipe' })
  const ec = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  openssl(
    'req',
    '-x509',
    ...ec,
    '-days',
    '2',
    '-subj',
    '/CN=ca',
    '-keyout',
    at('ca.key'),
    '-out',
    at('ca.crt'),
  )
  const admin = ['-subj', '/O=system:masters/CN=admin', '-keyout', at('admin.key'), '-out', at('admin.csr')]
  openssl('req', '-new', ...ec, ...admin)
  const authority = ['-CA', at('ca.crt'), '-CAkey', at('ca.key'), '-CAcreateserial', '-days', '2']
  openssl('x509', '-req', '-in', at('admin.csr'), ...authority, '-out', at('admin.crt'))
  openssl('genpkey', '-algorithm', 'RSA', '-pkeyopt', 'rsa_keygen_bits:2048', '-out', at('accounts.key'))
  const text = (name: string) => readFileSync(at(name), 'utf8')
  return { client: { cert: text('admin.crt'), key: text('admin.key') }, accountKey: text('accounts.key') }
}

/** A kubeconfig file as an administrator would write it. */
export function writeKubeconfig(file: string, server: string, user: object, cluster: object = {}): void {
  const config = {
    'current-context': 'here',
    contexts: [{ name: 'here', context: { cluster: 'one', user: 'me' } }],
    clusters: [{ name: 'one', cluster: { server, ...cluster } }],
    users: [{ name: 'me', user }],
  }
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 })
}
