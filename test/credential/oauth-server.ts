// A real OAuth 2 server (oidc-provider) on loopback, whose tokens can be revoked.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import Provider from 'oidc-provider'

export const CLIENT_ID = 'writ-agent'
export const CLIENT_SECRET = 's3cret of/the+client:1'

export interface OauthServer {
  readonly tokenURL: string
  /** How often it was asked for a token. */
  readonly asked: () => number
  /** Whether a token is one of its own and valid now. */
  isValid(token: string): Promise<boolean>
  revokeAll(): void
}

export async function startOauth(t: TestContext): Promise<OauthServer> {
  let handler: ((request: IncomingMessage, response: ServerResponse) => unknown) | undefined
  let asked = 0
  const server = createServer((request, response) => {
    if (request.url === '/token') asked++
    void handler?.(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: CLIENT_ID,
        client_secret: CLIENT_SECRET,
        grant_types: ['client_credentials'],
        response_types: [],
        redirect_uris: [],
        scope: 'orders:read orders:write',
      },
    ],
    scopes: ['orders:read', 'orders:write'],
    cookies: { keys: ['only-for-tests'] },
    features: { devInteractions: { enabled: false }, clientCredentials: { enabled: true } },
    ttl: { ClientCredentials: 600 },
  })
  handler = provider.callback()
  const revoked = new Set<string>()
  const issued = new Set<string>()
  provider.on('client_credentials.saved', (token) => {
    issued.add(token.jti)
  })
  t.after(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  return {
    tokenURL: `${issuer}/token`,
    asked: () => asked,
    async isValid(token) {
      const found = await provider.ClientCredentials.find(token)
      return found !== undefined && !revoked.has(found.jti)
    },
    revokeAll() {
      for (const id of issued) revoked.add(id)
    },
  }
}
