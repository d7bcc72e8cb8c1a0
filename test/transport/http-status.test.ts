// The http transport where things go wrong: how statuses become rows, endpoints that cannot be used, servers that lie.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { FailureId } from '../../src/contract/failures.ts'
import type { ResolvedTool } from '../../src/resource/resolved-tool.ts'
import { createExternalTransport } from '../../src/transport/external.ts'
import { attempt, body, dialects, http, world } from './http-harness.ts'
import { makeOperation, makeSend, makeSink, makeTool } from './send-fixture.ts'
import { listenHttp, listenRaw, type Respond, sendJson } from './tool-peer.ts'
import { refusal } from './transport-contract.ts'

describe('what the status of a tool means', () => {
  const cases: readonly [status: number, failure: FailureId, definite: boolean][] = [
    [400, 'upstream-rejected', true],
    [401, 'upstream-unauthorized', true],
    [403, 'upstream-forbidden', true],
    [404, 'upstream-rejected', true],
    [408, 'upstream-error', false],
    [409, 'upstream-conflict', false],
    [410, 'upstream-rejected', false],
    [412, 'upstream-conflict', false],
    [413, 'upstream-rejected', true],
    [422, 'upstream-rejected', true],
    [429, 'upstream-throttled', true],
    [500, 'upstream-error', false],
    [502, 'upstream-error', false],
    [503, 'upstream-error', false],
    [504, 'upstream-error', false],
  ]
  for (const [status, failure, definite] of cases) {
    it(`S23: HTTP ${status} is ${failure}, ${definite ? 'definite' : 'not definite'}`, async () => {
      const reply = refusal(
        (await attempt(body('the secret is hunter2', 'text/plain', status), { input: {} })).reply,
      )
      assert.equal(reply.failure, failure)
      assert.equal(reply.definite, definite)
      assert.equal(reply.details?.http_status, status)
      assert.equal(reply.details?.upstream_status, status)
      assert.doesNotMatch(JSON.stringify(reply), /hunter2/)
    })
  }

  it('S23: `refused_on` decides what is definite', async () => {
    const { effect } = makeOperation()
    const operation = { effect: { ...effect, refusedOn: [409] } }
    const at = async (status: number) =>
      refusal((await attempt(body('', undefined, status), { input: {}, operation })).reply)
    assert.equal((await at(409)).definite, true)
    assert.equal((await at(400)).definite, false)
  })

  it('W23: Retry-After is read as seconds and as a date', async () => {
    const after =
      (status: number, value: string): Respond =>
      (_request, response) =>
        response.writeHead(status, { 'retry-after': value }).end()
    const of = async (respond: Respond) => refusal((await attempt(respond, { input: {} })).reply)
    const seconds = await of(after(429, '7'))
    assert.equal(seconds.retryAfterMs, 7_000)
    assert.equal(seconds.details?.retry_after_ms, 7_000)
    assert.equal((await of(after(503, '2'))).retryAfterMs, 2_000)
    const date = (await of(after(429, new Date(Date.now() + 60_000).toUTCString()))).retryAfterMs
    assert.ok(date !== undefined && date > 50_000 && date <= 60_000, String(date))
    assert.equal((await of(after(429, 'Wed, 21 Oct 2015 07:28:00 GMT'))).retryAfterMs, 0)
    for (const value of ['soon', '-5', '1.5', '2026-01-01', '99999999999']) {
      assert.equal((await of(after(429, value))).retryAfterMs, undefined, value)
    }
    assert.equal((await of(after(500, '7'))).retryAfterMs, undefined)
  })

  it('S25, W10: a redirect is not followed, and only its origin is told', async () => {
    const elsewhere = await listenHttp((_request, response) => response.end('followed'))
    try {
      for (const status of [301, 302, 303, 307, 308]) {
        const location = `${elsewhere.origin}/steal?token=hunter2`
        const { reply } = await attempt(
          (_request, response) => response.writeHead(status, { location }).end(),
          { input: {} },
        )
        assert.equal(refusal(reply).failure, 'upstream-rejected')
        assert.equal(refusal(reply).definite, false)
        assert.equal(refusal(reply).details?.location, elsewhere.origin)
        assert.doesNotMatch(JSON.stringify(reply), /hunter2/)
      }
      assert.equal(elsewhere.bytes(), 0)
    } finally {
      await elsewhere.close()
    }
  })

  it('wins over a success inside, and decides over the words of a failure inside', async () => {
    const lies = await attempt(
      (_request, response) =>
        sendJson(response, { tool_contract_version: 'v1', status: 'ok', output: 1 }, 500),
      { input: {} },
    )
    assert.equal(refusal(lies.reply).failure, 'upstream-error')
    const error = {
      code: 'rate_limited',
      reason: 'tool_backend_failure',
      retryable: true,
      message: 'slow down',
      details: { retry_after_ms: 30 },
    }
    const words = await attempt((_request, response) => sendJson(response, { status: 'error', error }, 503), {
      input: {},
    })
    const reply = refusal(words.reply)
    assert.equal(reply.failure, 'upstream-throttled')
    assert.equal(reply.message, 'slow down')
    assert.equal(reply.retryAfterMs, 30)
    assert.equal(reply.toolRetryable, true)
    assert.equal(reply.definite, false, '503 is not definite, whatever the words')
  })

  it('S23: a refusal whose body is cut or too large is not definite', async () => {
    const raw = await listenRaw((socket) => socket.end('HTTP/1.1 422 No\r\ncontent-length: 50\r\n\r\nabc'))
    const tool = makeTool({ endpoint: raw.origin })
    const cut = refusal(await http.attempt(makeSend(tool, {}), makeSink()))
    await raw.close()
    assert.deepEqual([cut.failure, cut.definite, cut.details?.body], ['upstream-rejected', false, 'cut'])
    const limits = { inputBytes: 100, outputBytes: 10 }
    const large = refusal(
      (await attempt(body('x'.repeat(11), 'text/plain', 404), { input: {}, tool: { limits } })).reply,
    )
    assert.deepEqual(
      [large.failure, large.definite, large.details?.body],
      ['upstream-rejected', false, 'too-large'],
    )
  })
})

describe('endpoints that cannot be used', () => {
  const cases: readonly [string, Partial<ResolvedTool>, FailureId][] = [
    ['none at all', {}, 'config-invalid'],
    ['an empty one', { endpoint: '' }, 'config-invalid'],
    ['a relative one', { endpoint: '/run' }, 'config-invalid'],
    ['another scheme', { endpoint: 'ftp://127.0.0.1/' }, 'config-invalid'],
    ['a file', { endpoint: 'file:///etc/passwd' }, 'config-invalid'],
    ['a password inside', { endpoint: 'http://user:hunter2@127.0.0.1/' }, 'config-invalid'],
    [
      'S33: credentials',
      { endpoint: 'http://127.0.0.1/', auth: { profile: 'bearer', secretRef: 'x', scopes: [] } },
      'secret-missing',
    ],
    ['S33: isolation', { endpoint: 'http://127.0.0.1/', isolation: 'container' }, 'isolation-unavailable'],
  ]
  for (const [name, overrides, failure] of cases) {
    it(`${name}: ${failure}, definite, nothing sent`, async () => {
      for (const transport of [http, createExternalTransport({ world, dialects })]) {
        const sink = makeSink()
        const reply = refusal(await transport.attempt(makeSend(makeTool(overrides), {}), sink))
        assert.equal(reply.failure, failure)
        assert.equal(reply.definite, true)
        assert.equal(sink.sent, 0)
        assert.equal(typeof reply.details?.path, 'string')
        assert.doesNotMatch(JSON.stringify(reply), /hunter2/)
      }
    })
  }

  it('a header name that is no HTTP is a fault of the manifest', async () => {
    const { effect } = makeOperation()
    const operation = {
      effect: { ...effect, repeat: 'keyed' as const, keyed: { header: 'not a header', retentionMs: 1 } },
    }
    const peer = await listenHttp((_request, response) => response.end())
    const tool = makeTool({ endpoint: peer.origin }, makeOperation(operation))
    const reply = refusal(await http.attempt(makeSend(tool, {}), makeSink()))
    await peer.close()
    assert.deepEqual([reply.failure, reply.definite], ['config-invalid', true])
  })
})

describe('a server that says anything', () => {
  for (const [name, transport] of [
    ['http', http],
    ['external', createExternalTransport({ world, dialects })],
  ] as const) {
    it(`gets a reply out of the ${name} transport every time`, async () => {
      let bytes = Buffer.alloc(0)
      const peer = await listenRaw((socket) => socket.end(bytes))
      const status = fc.constantFrom(200, 201, 204, 301, 400, 404, 409, 422, 429, 500, 503, 600)
      const json = fc.oneof(
        fc.json(),
        fc
          .record({
            status: fc.constantFrom('ok', 'error', 'denied', 'success'),
            request_id: fc.constantFrom('req-1', 'x'),
          })
          .map((v) => JSON.stringify(v)),
        fc.string(),
      )
      const type = fc.constantFrom(
        'application/json',
        'text/plain',
        'application/x-thing',
        'text/html; charset=utf-16',
      )
      try {
        await fc.assert(
          fc.asyncProperty(
            status,
            type,
            json,
            fc.uint8Array({ maxLength: 30 }),
            async (code, contentType, text, tail) => {
              bytes = Buffer.concat([
                Buffer.from(
                  `HTTP/1.1 ${code} X\r\ncontent-type: ${contentType}\r\nconnection: close\r\n\r\n${text}`,
                ),
                tail,
              ])
              const reply = await transport.attempt(
                makeSend(makeTool({ endpoint: peer.origin }), {}),
                makeSink(),
              )
              assert.ok(
                reply.kind === 'success' || (reply.kind === 'failure' && typeof reply.definite === 'boolean'),
              )
            },
          ),
          { numRuns: 120 },
        )
      } finally {
        await peer.close()
      }
    })
  }
})
