// A test server that answers GET of a Secret as the API of Kubernetes documents it, behind TLS. It is no Kubernetes:
// what a real one answers is in recorded.test.ts. This one can be changed in the middle of anything.
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer as createPlain, type RequestListener } from 'node:http'
import { createServer as createTls } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { folderOf } from './provider-harness.ts'

export const ACCOUNT_TOKEN = 'account-token-0001'

export interface KubernetesServer {
  readonly url: string
  /** A file with rights 0600 that leads here. */
  readonly kubeconfig: string
  /** Of its own authority; undefined where the machine has no openssl, and all is plain HTTP. */
  readonly ca: string | undefined
  readonly asked: string[]
  put(namespace: string, name: string, values: Readonly<Record<string, string>> | undefined): void
  broken: { readonly status: number; readonly body: string } | undefined
}

export async function startKubernetes(t: TestContext): Promise<KubernetesServer> {
  const folder = folderOf(t)
  const pair = makePair(folder)
  const kept = new Map<string, { version: number; values: Readonly<Record<string, string>> }>()
  let versions = 0
  const state = {
    url: '',
    kubeconfig: join(folder, 'kubeconfig'),
    ca: pair?.cert,
    asked: [] as string[],
    broken: undefined as KubernetesServer['broken'],
    put(namespace: string, name: string, values: Readonly<Record<string, string>> | undefined) {
      if (values === undefined) kept.delete(`${namespace}/${name}`)
      else kept.set(`${namespace}/${name}`, { version: ++versions, values })
    },
  }

  const listener: RequestListener = ({ method, url = '', headers }, response) => {
    state.asked.push(`${method} ${url}`)
    const say = (status: number, body: object | string) => {
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(typeof body === 'string' ? body : JSON.stringify(body))
    }
    const failed = (code: number, reason: string) => ({ kind: 'Status', status: 'Failure', reason, code })
    if (state.broken !== undefined) return say(state.broken.status, state.broken.body)
    if (headers.authorization !== `Bearer ${ACCOUNT_TOKEN}`) return say(401, failed(401, 'Unauthorized'))
    const [, namespace = '', name = ''] = /^\/api\/v1\/namespaces\/([^/]+)\/secrets\/([^/]+)$/.exec(url) ?? []
    const found = kept.get(`${namespace}/${name}`)
    if (found === undefined) return say(404, failed(404, 'NotFound'))
    const data = Object.entries(found.values).map(([key, value]) => [
      key,
      Buffer.from(value).toString('base64'),
    ])
    say(200, {
      kind: 'Secret',
      apiVersion: 'v1',
      metadata: { name, namespace, uid: `uid-${namespace}-${name}`, resourceVersion: String(found.version) },
      data: Object.fromEntries(data),
      type: 'Opaque',
    })
  }

  const server = pair === undefined ? createPlain(listener) : createTls(pair, listener)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  state.url = `${pair === undefined ? 'http' : 'https'}://127.0.0.1:${(server.address() as AddressInfo).port}`
  const ca = pair && Buffer.from(pair.cert).toString('base64')
  const config = {
    'current-context': 'here',
    contexts: [{ name: 'here', context: { cluster: 'one', user: 'me' } }],
    clusters: [
      {
        name: 'one',
        cluster: { server: state.url, ...(ca === undefined ? {} : { 'certificate-authority-data': ca }) },
      },
    ],
    users: [{ name: 'me', user: { token: ACCOUNT_TOKEN } }],
  }
  writeFileSync(state.kubeconfig, JSON.stringify(config), { mode: 0o600 })
  return state
}

function makePair(folder: string): { readonly key: string; readonly cert: string } | undefined {
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const request =
    'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=kubernetes'
  const names = ['-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', cert]
  try {
    execFileSync('openssl', [...request.split(' '), ...names], { stdio: 'pipe', timeout: 20_000 })
    return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') }
  } catch {
    return undefined
  }
}
