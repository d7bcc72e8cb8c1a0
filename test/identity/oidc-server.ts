// A real OpenID provider on loopback, which can be stopped, started again and given other keys.
import { generateKeyPairSync } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import Provider from 'oidc-provider'

export interface OidcServer {
  readonly issuer: string
  /** An access token of the client-credentials flow, as a JWT. */
  token(options?: { readonly resource?: string; readonly scope?: string }): Promise<string>
  /** Requests that came for the keys and for the configuration. */
  readonly asked: string[]
  /** From now on only this key signs and is shown. */
  rotate(): void
  stop(): Promise<void>
  start(): Promise<void>
}

export const AUDIENCE = 'https://writ.example'

export async function startOidc(): Promise<OidcServer> {
  const sockets = new Set<Socket>()
  const asked: string[] = []
  let handler: ReturnType<Provider['callback']> | undefined
  const make = () =>
    createServer((request, response) => {
      if (/jwks|openid-configuration/.test(request.url ?? '')) asked.push(request.url ?? '')
      void handler?.(request, response)
    }).on('connection', (socket) => {
      sockets.add(socket)
      socket.on('close', () => sockets.delete(socket))
    })
  let server: Server = make()
  await listen(server, 0)
  const { port } = server.address() as AddressInfo
  const issuer = `http://127.0.0.1:${port}`
  handler = provider(issuer, 'key-1')
  let keys = 1

  return {
    issuer,
    asked,
    async token({ resource = AUDIENCE, scope = 'call' } = {}) {
      const response = await fetch(`${issuer}/token`, {
        method: 'POST',
        headers: {
          authorization: `Basic ${Buffer.from('agent-7:agent-secret').toString('base64')}`,
          'content-type': 'application/x-www-form-urlencoded',
        },
        body: new URLSearchParams({ grant_type: 'client_credentials', resource, scope }),
      })
      const body = (await response.json()) as { access_token?: string }
      if (body.access_token === undefined) throw new Error(`no token: ${JSON.stringify(body)}`)
      return body.access_token
    },
    rotate() {
      keys += 1
      handler = provider(issuer, `key-${keys}`)
    },
    async stop() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
    async start() {
      server = make()
      await listen(server, port)
    },
  }
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', () => resolve())
  })
}

function provider(issuer: string, kid: string) {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const jwk = { ...privateKey.export({ format: 'jwk' }), kid, use: 'sig', alg: 'RS256' }
  const made = new Provider(issuer, {
    jwks: { keys: [jwk as never] },
    clients: [
      {
        client_id: 'agent-7',
        client_secret: 'agent-secret',
        grant_types: ['client_credentials'],
        response_types: [],
        redirect_uris: [],
      },
    ],
    scopes: ['call'],
    cookies: { keys: ['only-for-tests'] },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: async (_context, resource) => ({
          scope: 'call',
          audience: resource,
          accessTokenTTL: 600,
          accessTokenFormat: 'jwt',
        }),
      },
    },
    extraTokenClaims: async () => ({ groups: ['writ-support', 'everybody'], team: { namespace: 'blue' } }),
  })
  return made.callback()
}
