// A test server that speaks the documented HTTP protocol of Vault's KV version 2, AppRole and token endpoints. It is no Vault:
// what a real one answers is in recorded.test.ts. This one can be changed in the middle of anything.
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'

export const ROLE_ID = 'role-0001'
export const SECRET_ID = 'secret-id-0000-0001'
export const ROOT = 'hvs.root-token'

export interface VaultServer {
  readonly url: string
  /** Method and path, in order. */
  readonly asked: string[]
  readonly namespaces: (string | undefined)[]
  /** What is at a path below the mount; undefined deletes it. */
  put(path: string, data: object | undefined): void
  /** Ends every token that a login gave. */
  endTokens(): void
  /** Of the next logins, in seconds. */
  lease: number
  renewable: boolean
  /** Answers this to everything, where set. */
  broken: { readonly status: number; readonly body: string } | undefined
}

export async function startVault(t: TestContext): Promise<VaultServer> {
  const kept = new Map<string, { version: number; created: string; data: object }>()
  const versions = new Map<string, number>()
  const tokens = new Set<string>()
  let logins = 0
  const state: VaultServer = {
    url: '',
    asked: [],
    namespaces: [],
    lease: 3600,
    renewable: true,
    broken: undefined,
    endTokens: () => tokens.clear(),
    put(path, data) {
      if (data === undefined) return void kept.delete(path)
      const version = (versions.get(path) ?? 0) + 1
      versions.set(path, version)
      kept.set(path, { version, created: `2026-01-01T00:00:00.${version}Z`, data })
    },
  }

  function answer(method: string, path: string, token: string, body: string): [number, object] {
    const auth = (client_token: string) => ({
      auth: { client_token, lease_duration: state.lease, renewable: state.renewable },
    })
    if (`${method} ${path}` === 'POST auth/approle/login') {
      const { role_id, secret_id } = JSON.parse(body)
      if (role_id !== ROLE_ID || secret_id !== SECRET_ID)
        return [400, { errors: ['invalid role or secret ID'] }]
      const made = `hvs.login-${++logins}`
      tokens.add(made)
      return [200, auth(made)]
    }
    if (token !== ROOT && !tokens.has(token)) return [403, { errors: ['permission denied'] }]
    if (path === 'auth/token/lookup-self') return [200, { data: { id: token } }]
    if (path === 'auth/token/renew-self') return [200, auth(token)]
    if (path === 'auth/token/revoke-self') {
      tokens.delete(token)
      return [204, {}]
    }
    const [, at = ''] = /^secret\/data\/(.+)$/.exec(path) ?? []
    const found = kept.get(at)
    if (found === undefined) return [404, { errors: [] }]
    const metadata = { version: found.version, created_time: found.created, destroyed: false }
    return [200, { data: { data: found.data, metadata } }]
  }

  const server = createServer(async (request, response) => {
    const path = decodeURIComponent((request.url ?? '').replace(/^\/v1\//, ''))
    state.asked.push(`${request.method} ${path}`)
    state.namespaces.push(request.headers['x-vault-namespace'] as string | undefined)
    const body = await textOf(request)
    const { broken } = state
    const [status, said] = broken
      ? [broken.status, undefined]
      : answer(request.method ?? '', path, String(request.headers['x-vault-token'] ?? ''), body)
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(broken?.body ?? (status === 204 ? '' : JSON.stringify(said)))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return Object.assign(state, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) text += chunk
  return text
}
