// MCP over Streamable HTTP: what goes out, and what becomes of answers that are none.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createMcpSessions } from '../../src/transport/mcp/sessions.ts'
import { Abort } from '../../src/util/abort.ts'
import type { Json } from '../../src/util/json.ts'
import { answer, handshake, type Message } from '../fixtures/mcp-peer/answer.ts'
import { makeServer, makeWorld } from './mcp-harness.ts'
import { honest, isCall, within } from './mcp-http-harness.ts'
import { listenHttp, type Received, sendJson } from './tool-peer.ts'
import { refusal, success } from './transport-contract.ts'

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
})
