// MCP over Streamable HTTP: where it may go, and what it shows.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createCredentials } from '../../src/credential/create-credentials.ts'
import type { Credentials } from '../../src/credential/credential.ts'
import { createRedactor } from '../../src/credential/redactor.ts'
import { testSecrets } from '../credential/fixture.ts'
import type { Message } from '../fixtures/mcp-peer/answer.ts'
import { makeWorld } from './mcp-harness.ts'
import { type Handler, honest, isCall, within } from './mcp-http-harness.ts'
import { listenHttp, sendJson } from './tool-peer.ts'
import { refusal, success } from './transport-contract.ts'

describe('MCP over HTTP', () => {
  for (const status of [302, 307, 308])
    it(`S25: a redirect (${status}) is not followed, whether in the handshake or for a call`, async () => {
      let elsewhere = 0
      const away = await listenHttp((_request, response) => {
        elsewhere++
        response.end()
      })
      const to =
        (only: (message: Message) => boolean): Handler =>
        (message, _request, response) => {
          if (!only(message)) return false
          response.writeHead(status, { location: `${away.origin}/mcp` }).end()
          return true
        }
      await within(to(isCall), async ({ call }) => {
        const reply = refusal(await call())
        assert.equal(reply.failure, 'upstream-rejected')
        assert.match(reply.message ?? '', /redirects are not followed/)
      })
      await within(
        to(() => true),
        async ({ call }) => {
          const reply = await call()
          assert.deepEqual([refusal(reply).failure, reply.sent], ['connect-failed', 0])
        },
      )
      assert.equal(elsewhere, 0)
      await away.close()
    })

  it('an address that the server may not reach is refused before anything is sent', () =>
    within(
      honest,
      async ({ call, received }) => {
        const reply = await call()
        assert.deepEqual([refusal(reply).failure, reply.sent], ['egress-denied', 0])
        assert.equal(received.length, 0)
      },
      { connection: { reach: 'public' } },
    ))

  it('S2: the allowlist of a request narrows it, and an allowlist without its endpoint denies it', async () => {
    await within(honest, async ({ call }) => {
      const reply = await call('echo', { constraints: { netAllowlist: ['https://elsewhere.example'] } })
      assert.equal(refusal(reply).failure, 'egress-denied')
    })
    await within(honest, async ({ call }) => assert.equal(refusal(await call()).failure, 'egress-denied'), {
      connection: { allow: ['https://elsewhere.example'] },
    })
  })

  it('isolation sandboxed is the strict profile of the guard; others cannot be had', () =>
    within(honest, async ({ call }) => {
      success(await call('echo', {}, { isolation: 'sandboxed' }))
      assert.equal(
        refusal(await call('echo', {}, { isolation: 'container' })).failure,
        'isolation-unavailable',
      )
    }))

  it('what is shown is resolved for each request, never comes back, and a refused token is renewed once', () => {
    let version = 0
    let rejected = 0
    const credentials: Credentials = {
      async present() {
        version++
        const token = `canary-${version}-0123456789`
        return {
          ok: true,
          presented: {
            headers: [['authorization', `Bearer ${token}`]],
            env: {},
            version: String(version),
            redactor: createRedactor([token]),
            rejected: () => {
              rejected++
              return true
            },
          },
        }
      },
      version: async () => String(version),
      read: async () => undefined,
      close: async () => {},
    }
    let refuse = false
    return within(
      (message, { headers }, response) => {
        if (!isCall(message)) return false
        if (refuse) response.writeHead(401).end()
        else {
          const said = { content: [{ type: 'text', text: `you said ${headers.authorization}` }] }
          sendJson(response, {
            jsonrpc: '2.0',
            id: message.id ?? 0,
            result: { resultType: 'complete', ...said },
          })
        }
        return true
      },
      async ({ call, received }) => {
        const first = success(await call())
        assert.match(String(first.output), /^you said Bearer /)
        assert.doesNotMatch(String(first.output), /canary/)
        const shown = received.map(({ headers }) => headers.authorization)
        assert.deepEqual(shown, ['Bearer canary-1-0123456789', 'Bearer canary-2-0123456789'])
        refuse = true
        assert.equal(refusal(await call()).failure, 'token-expired')
        assert.equal(rejected, 1)
        assert.equal(refusal(await call('echo', { renewed: true })).failure, 'upstream-unauthorized')
      },
      {
        credentials,
        server: { auth: { profile: 'bearer', secretRef: 'token', scopes: [] } },
      },
    )
  })

  for (const era of ['modern', 'legacy'] as const)
    it(`S2: the scopes of a request narrow the token of its call, and of nothing else (${era})`, async (t) => {
      const asked: string[] = []
      const tokens = await listenHttp((request, response) => {
        const scope = new URLSearchParams(request.body).get('scope') ?? ''
        asked.push(scope)
        const access_token = `token-for-${scope.replaceAll(/\W/g, '-')}`
        sendJson(response, { access_token, token_type: 'Bearer', expires_in: 600 })
      })
      const world = makeWorld()
      t.after(() => Promise.all([tokens.close(), world.network.destroy()]))
      const secrets = testSecrets()
      secrets.set('client', { client_id: 'robot', client_secret: 'canary-0123456789' })
      const credentials = createCredentials({ world, providers: [secrets] })
      const scopes = ['orders:read', 'orders:write']
      const auth = {
        profile: 'oauth2_client_credentials' as const,
        secretRef: 'client',
        tokenURL: `${tokens.origin}/token`,
        scopes,
      }
      const whole = 'Bearer token-for-orders-read-orders-write'
      await within(
        honest,
        async ({ call, received }) => {
          for (const none of [['everything'], []]) {
            const reply = await call('echo', { constraints: { scopes: none } })
            const { failure, definite, message, details } = refusal(reply)
            assert.deepEqual([failure, definite, reply.sent], ['secret-out-of-scope', true, 0])
            assert.match(message ?? '', /scopes leave none of those .* Fix: .*: orders:read, orders:write\./)
            assert.deepEqual(details, { path: '/auth/scopes' })
          }
          assert.deepEqual([asked, received.length], [[], 0])
          for (const some of [['orders:read', 'everything'], undefined])
            success(await call('echo', some === undefined ? {} : { constraints: { scopes: some } }))
          const shown = (calls: boolean) =>
            received
              .filter(({ body }) => body !== '' && isCall(JSON.parse(body)) === calls)
              .map(({ headers }) => headers.authorization)
          assert.deepEqual(shown(true), ['Bearer token-for-orders-read', whole])
          assert.deepEqual(new Set(shown(false)), new Set([whole]))
          assert.deepEqual(asked, ['orders:read orders:write', 'orders:read'])
        },
        { era, credentials, server: { auth } },
      )
    })

  it('nothing is sent without the declared credential', () =>
    within(
      honest,
      async ({ call, received }) => {
        const reply = await call()
        assert.deepEqual([refusal(reply).failure, reply.sent], ['secret-missing', 0])
        assert.equal(received.length, 0)
      },
      { server: { auth: { profile: 'bearer', secretRef: 'token', scopes: [] } } },
    ))
})
