// MCP over Streamable HTTP: what goes out, where it may go, and what becomes of answers that are none.
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { describe, it } from 'node:test'
import type { Credentials } from '../../src/credential/credential.ts'
import { createRedactor } from '../../src/credential/redactor.ts'
import type { McpHttp, ResolvedMcpServer } from '../../src/resource/resolved-mcp-server.ts'
import type { ResolvedTool } from '../../src/resource/resolved-tool.ts'
import { McpFailed } from '../../src/transport/mcp/session.ts'
import { createMcpSessions } from '../../src/transport/mcp/sessions.ts'
import { createMcpTransport } from '../../src/transport/mcp.ts'
import type { Reply, Send } from '../../src/transport/transport.ts'
import { Abort } from '../../src/util/abort.ts'
import type { Json } from '../../src/util/json.ts'
import { answer, handshake, type Message } from '../fixtures/mcp-peer/answer.ts'
import { makeServer, makeWorld, mcpTool } from './mcp-harness.ts'
import { makeSend, makeSink } from './send-fixture.ts'
import { listenHttp, type Received, sendJson } from './tool-peer.ts'
import { refusal, success } from './transport-contract.ts'

interface House {
  readonly received: readonly Received[]
  call(
    tool?: string,
    send?: Partial<Send>,
    overrides?: Partial<ResolvedTool>,
  ): Promise<Reply & { sent: number }>
}

type Handler = (message: Message, request: Received, response: ServerResponse) => boolean

/** A service of the older or newer revision; `odd` answers what it does not answer as it should. */
async function within(
  odd: Handler,
  run: (house: House) => Promise<void>,
  options: {
    readonly connection?: Partial<McpHttp>
    readonly server?: Partial<ResolvedMcpServer>
    readonly credentials?: Credentials
    readonly era?: 'modern' | 'legacy'
  } = {},
): Promise<void> {
  const world = makeWorld()
  const peer = await listenHttp((request, response) => {
    if (request.method !== 'POST') {
      response.writeHead(request.method === 'DELETE' ? 200 : 405).end()
      return
    }
    const message = JSON.parse(request.body) as Message
    if (odd(message, request, response)) return
    const said = handshake(message, options.era ?? 'modern') ?? answer(message)
    if (said === undefined) response.writeHead(202).end()
    else {
      if (message.method === 'initialize') response.setHeader('mcp-session-id', 'session-1')
      sendJson(response, said as Json)
    }
  })
  const server = makeServer(
    { kind: 'http', endpoint: `${peer.origin}/mcp`, allow: [], reach: 'loopback', ...options.connection },
    options.server,
  )
  const { credentials } = options
  const transport = createMcpTransport({
    world,
    mcpServer: () => server,
    ...(credentials === undefined ? {} : { credentials }),
  })
  try {
    await run({
      received: peer.received,
      async call(tool = 'echo', send = {}, overrides = {}) {
        const sink = makeSink()
        const reply = await transport.attempt(makeSend(mcpTool(tool, overrides), {}, send), sink)
        return { ...reply, sent: sink.sent }
      },
    })
  } finally {
    await transport.close()
    await world.network.close()
    await peer.close()
  }
}

const isCall = ({ method }: Message) => method === 'tools/call'
const honest: Handler = () => false

describe('MCP over HTTP', () => {
  for (const era of ['modern', 'legacy'] as const)
    it(`speaks the ${era} revision, asks for it once, and says goodbye to a session`, async () => {
      let all: readonly Received[] = []
      await within(
        honest,
        async ({ call, received }) => {
          all = received
          success(await call())
          success(await call())
          const methods = received.flatMap(({ body }) =>
            body === '' ? [] : [(JSON.parse(body) as Message).method],
          )
          const opened = era === 'modern' ? [] : ['initialize', 'notifications/initialized']
          assert.deepEqual(methods, ['server/discover', ...opened, 'tools/call', 'tools/call'])
          const last = received.findLast(({ method }) => method === 'POST')
          assert.equal(last?.headers['mcp-protocol-version'], era === 'modern' ? '2026-07-28' : '2025-11-25')
          assert.equal(last?.headers['mcp-session-id'], era === 'modern' ? undefined : 'session-1')
        },
        { era },
      )
      const goodbyes = all.filter(({ method }) => method === 'DELETE')
      assert.equal(goodbyes.length, era === 'modern' ? 0 : 1)
    })

  it('a server that ends its own stream again and again, and asks to be asked at once, is not asked at once', async () => {
    let asked = 0
    const world = makeWorld()
    const peer = await listenHttp((request, response) => {
      if (request.method === 'GET') {
        asked++
        response.writeHead(200, { 'content-type': 'text/event-stream' }).end('retry: 0\nid: 1\ndata:\n\n')
        return
      }
      const said = request.body === '' ? undefined : handshake(JSON.parse(request.body), 'legacy')
      if (said === undefined) response.writeHead(202).end()
      else sendJson(response, said as Json)
    })
    const sessions = createMcpSessions({ world })
    const connection = { kind: 'http', endpoint: `${peer.origin}/mcp`, allow: [], reach: 'loopback' } as const
    try {
      const began = performance.now()
      await sessions.use(makeServer(connection), new Abort(), async () => {})
      while (asked < 4) await new Promise((resolve) => setTimeout(resolve, 5))
      // Between four questions there are three pauses, of which timers may be a little early.
      assert.ok(performance.now() - began > 3 * 250 - 10)
    } finally {
      await sessions.close()
      await world.network.destroy()
      await peer.close()
    }
  })

  it('an answer in a stream of events is read, with the progress before it', () =>
    within(
      (message, _request, response) => {
        if (!isCall(message)) return false
        const progressToken = message.params?._meta?.progressToken
        const progress = {
          jsonrpc: '2.0',
          method: 'notifications/progress',
          params: { progressToken, progress: 1 },
        }
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        for (const one of [progress, answer(message)]) response.write(`data: ${JSON.stringify(one)}\n\n`)
        response.end()
        return true
      },
      async ({ call }) => void success(await call()),
    ))

  it('S23: a stream of events that ends without an answer is not definite', () =>
    within(
      (message, _request, response) => {
        if (!isCall(message)) return false
        response.writeHead(200, { 'content-type': 'text/event-stream' }).end(': nothing\n\n')
        return true
      },
      async ({ call }) => {
        const reply = await call()
        assert.deepEqual([refusal(reply).failure, refusal(reply).definite], ['connect-failed', false])
      },
    ))

  for (const [status, failure, definite] of [
    [401, 'upstream-unauthorized', true],
    [403, 'upstream-forbidden', true],
    [422, 'upstream-rejected', true],
    [429, 'upstream-throttled', true],
    [500, 'upstream-error', false],
    [503, 'upstream-error', false],
  ] as const)
    it(`HTTP ${status} to a call is ${failure}`, () =>
      within(
        (message, _request, response) => {
          if (!isCall(message)) return false
          response.writeHead(status, { 'retry-after': '2' }).end('the password is hunter2')
          return true
        },
        async ({ call }) => {
          const reply = await call()
          assert.deepEqual([refusal(reply).failure, refusal(reply).definite], [failure, definite])
          assert.doesNotMatch(JSON.stringify(reply), /hunter2/)
          assert.equal(reply.sent, 1)
        },
      ))

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

  it('a session that the server has forgotten is opened anew for the next attempt', () => {
    let forget = true
    return within(
      (message, _request, response) => {
        if (!isCall(message) || !forget) return false
        forget = false
        response.writeHead(404).end()
        return true
      },
      async ({ call }) => {
        const reply = refusal(await call())
        assert.deepEqual([reply.failure, reply.definite], ['connect-failed', true])
        success(await call())
      },
      { era: 'legacy' },
    )
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

  for (const [status, failure] of [
    [401, 'upstream-unauthorized'],
    [403, 'upstream-forbidden'],
    [500, 'connect-failed'],
  ] as const)
    it(`HTTP ${status} in the handshake is ${failure}, and nothing was sent`, () =>
      within(
        (_message, _request, response) => {
          response.writeHead(status).end('the password is hunter2')
          return true
        },
        async ({ call }) => {
          const reply = await call()
          assert.deepEqual([refusal(reply).failure, refusal(reply).definite, reply.sent], [failure, true, 0])
          assert.equal(refusal(reply).details?.http_status, status)
          assert.doesNotMatch(JSON.stringify(reply), /hunter2/)
        },
      ))

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

describe('the list of tools', () => {
  const tool = (name: string) => ({ name, inputSchema: { type: 'object' } })
  const listOf = async (page: (cursor: string | undefined) => Json) => {
    const world = makeWorld()
    const peer = await listenHttp((request, response) => {
      const message = JSON.parse(request.body) as Message & { params?: { cursor?: string } }
      const result = page(message.params?.cursor)
      sendJson(
        response,
        (handshake(message, 'modern') ?? { jsonrpc: '2.0', id: message.id ?? 0, result }) as Json,
      )
    })
    const sessions = createMcpSessions({ world })
    const server = makeServer({ kind: 'http', endpoint: peer.origin, allow: [], reach: 'loopback' })
    try {
      return await sessions.use(server, new Abort(), (session) => session.listTools(new Abort()))
    } finally {
      await sessions.close()
      await world.network.close()
      await peer.close()
    }
  }
  const whole = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' }

  it('has all pages, and what is no tool does not hide the others', async () => {
    const listed = await listOf((cursor) =>
      cursor === undefined
        ? { ...whole, tools: [tool('a'), { name: 42 }, 'no tool'], nextCursor: 'next' }
        : { ...whole, tools: [{ name: 'b', inputSchema: 'none' }] },
    )
    assert.deepEqual(
      listed.map(({ name }) => name),
      ['a', 'b'],
    )
    assert.deepEqual(listed[1]?.inputSchema, { type: 'object' })
  })

  it('that cannot be kept is refused without a word of the server', async () => {
    const odd = { type: 'object', 'canary-0123456789': 2 ** 60 }
    await assert.rejects(
      listOf(() => ({ ...whole, tools: [{ name: 'a', inputSchema: odd }] })),
      (error) =>
        error instanceof McpFailed && /cannot be kept/.test(error.message) && !/canary/.test(error.message),
    )
  })

  it('that never ends, or is too large, is refused', async () => {
    let page = 0
    await assert.rejects(
      listOf(() => ({ ...whole, tools: [], nextCursor: String(page++) })),
      (error) => error instanceof McpFailed && /more than 64 pages/.test(error.message),
    )
    const many = Array.from({ length: 5_001 }, (_, index) => tool(`tool-${index}`))
    await assert.rejects(
      listOf(() => ({ ...whole, tools: many })),
      (error) => error instanceof McpFailed && /more than 5000 tools/.test(error.message),
    )
  })
})
