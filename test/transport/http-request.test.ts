// How a plain HTTP service is asked: methods, media types, credentials, and what keeps a request from being sent.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ResolvedTool } from '../../src/resource/resolved-tool.ts'
import { readRequest } from '../../src/transport/endpoint.ts'
import { createWebhookCallbackTransport } from '../../src/transport/webhook-callback.ts'
import type { Json } from '../../src/util/json.ts'
import { attempt, body, http, world } from './http-harness.ts'
import { presented } from './presented.ts'
import { makeOperation, makeSend, makeSink, makeTool } from './send-fixture.ts'
import { listenHttp } from './tool-peer.ts'
import { refusal, success } from './transport-contract.ts'

type HttpPart = Exclude<ResolvedTool['http'], undefined>

const asks = (part: Partial<HttpPart>) => ({
  tool: { http: { method: 'POST', contentType: 'application/json', maxRedirects: 0, ...part } },
})

const ok = body('{"seen":true}', 'application/json')

describe('a request with a body', () => {
  for (const method of ['POST', 'PUT', 'PATCH']) {
    it(`is sent with ${method} where the tool declares it`, async () => {
      const { reply, request } = await attempt(ok, { ...asks({ method }), input: { city: 'Brno' } })
      assert.deepEqual(success(reply).output, { seen: true })
      assert.deepEqual([request.method, request.path], [method, '/run?mode=fast'])
      assert.equal(request.body, '{"city":"Brno"}')
    })
  }

  it('is JSON of the declared type', async () => {
    const contentType = 'application/vnd.api+json'
    const { request } = await attempt(ok, { ...asks({ contentType }), input: { a: [1] } })
    assert.deepEqual([request.headers['content-type'], request.body], [contentType, '{"a":[1]}'])
  })

  it('is a form of the top-level fields', async () => {
    const contentType = 'application/x-www-form-urlencoded'
    const input = { name: 'Jan & Éva=ü', n: 1.5, yes: true, 'a b': '+' }
    const { request } = await attempt(ok, { ...asks({ contentType }), input })
    assert.equal(request.headers['content-type'], contentType)
    assert.deepEqual(Object.fromEntries(new URLSearchParams(request.body)), {
      name: 'Jan & Éva=ü',
      n: '1.5',
      yes: 'true',
      'a b': '+',
    })
  })

  it('is the text as it is, of any other type', async () => {
    for (const contentType of ['text/plain; charset=utf-8', 'application/xml', 'text/csv']) {
      // With a schema the text is checked by it, and still goes out as it is.
      const operation = { inputSchema: { type: 'string' } }
      const { request } = await attempt(ok, { ...asks({ contentType }), operation, input: '<a>ü</a>' })
      assert.deepEqual([request.headers['content-type'], request.body], [contentType, '<a>ü</a>'])
    }
  })
})

describe('a request without a body', () => {
  for (const method of ['GET', 'DELETE']) {
    it(`${method} has the fields of the input behind the query of the endpoint`, async () => {
      const input = { q: 'a&b=c d', page: 2, all: false, '': 'x' }
      const { request } = await attempt(ok, { ...asks({ method }), input })
      assert.deepEqual([request.method, request.body], [method, ''])
      assert.equal(request.path, '/run?mode=fast&q=a%26b%3Dc%20d&page=2&all=false&=x')
      assert.equal(request.headers['content-type'], undefined)
      const bare = await attempt(ok, asks({ method }))
      assert.equal(bare.request.path, '/run?mode=fast')
    })
  }

  it('has half of a surrogate pair as a replacement, not as an exception', async () => {
    const { request } = await attempt(ok, { ...asks({ method: 'GET' }), input: { q: 'a\ud800' } })
    assert.equal(request.path, '/run?mode=fast&q=a%EF%BF%BD')
  })
})

describe('an input that cannot travel so', () => {
  const form = { contentType: 'application/x-www-form-urlencoded' }
  const cases: readonly (readonly [Partial<HttpPart>, Json, string, RegExp])[] = [
    [{ method: 'GET' }, { a: { b: 1 } }, '/input/a', /text, a number or a boolean/],
    [{ method: 'GET' }, { a: [1] }, '/input/a', /text, a number or a boolean/],
    [{ method: 'DELETE' }, { a: null }, '/input/a', /text, a number or a boolean/],
    [{ method: 'GET' }, { mode: 'slow' }, '/input/mode', /set by the endpoint/],
    [{ method: 'GET' }, 'text', '/input', /must be an object/],
    [{ method: 'GET' }, { q: 'x'.repeat(20_000) }, '/input', /longer than/],
    [form, { 'a/b': [] }, '/input/a~1b', /text, a number or a boolean/],
    [form, 7, '/input', /must be an object/],
    [{ contentType: 'text/plain' }, { a: 1 }, '/input', /must be text/],
  ]
  for (const [part, input, path, says] of cases) {
    it(`is refused at ${path} (${part.method ?? part.contentType}), and nothing is sent`, async () => {
      const { reply, request } = await attempt(ok, { ...asks(part), input })
      const { failure, definite, details } = refusal(reply)
      assert.deepEqual([failure, definite, request], ['input-invalid', true, undefined])
      const [first] = (details?.violations ?? []) as { path: string; message: string }[]
      assert.equal(first?.path, path)
      assert.match(first?.message ?? '', says)
    })
  }
})

describe('a credential', () => {
  const auth = { profile: 'bearer' as const, secretRef: 'key', scopes: [] }

  it('is shown in its headers, in place of our own of that name', async () => {
    const credentials = presented(['authorization', 'Bearer geheim'], ['user-agent', 'declared'])
    const { request } = await attempt(ok, { tool: { auth }, send: { credentials }, input: {} })
    assert.equal(request.headers.authorization, 'Bearer geheim')
    assert.equal(request.headers['user-agent'], 'declared')
  })

  it('that is declared and not at hand lets nothing be sent', async () => {
    const { reply, request } = await attempt(ok, { tool: { auth }, input: {} })
    assert.deepEqual([refusal(reply).failure, refusal(reply).definite], ['secret-missing', true])
    assert.equal(request, undefined)
  })
})

describe('the egress rules at a send', () => {
  const denied = async (tool: Partial<ResolvedTool>, asked?: readonly string[]) => {
    const constraints = asked === undefined ? {} : { send: { constraints: { netAllowlist: asked } } }
    const { reply, request } = await attempt(ok, { tool, ...constraints, input: {} })
    assert.equal(request, undefined)
    const { failure, definite } = refusal(reply)
    assert.deepEqual([failure, definite], ['egress-denied', true])
  }

  it('block an endpoint that the reach of the tool does not include', () => denied({ reach: 'public' }))

  it('block one outside its own list', () => denied({ netAllowlist: ['https://api.example.com'] }))

  it("S2: block one outside the request's list, and every one where that is empty", async () => {
    await denied({}, ['https://api.example.com'])
    await denied({}, [])
  })

  it('S2: let a request narrow to the endpoint', async () => {
    const peer = await listenHttp(ok)
    try {
      const send = { constraints: { netAllowlist: [peer.origin] } }
      const tool = makeTool({ endpoint: peer.origin, netAllowlist: [peer.origin, 'https://a.example'] })
      success(await http.attempt(makeSend(tool, {}, send), makeSink()))
    } finally {
      await peer.close()
    }
  })

  it('sandboxed: reach the own endpoint, on this machine also without TLS', async () => {
    const { reply } = await attempt(ok, { tool: { isolation: 'sandboxed' }, input: {} })
    success(reply)
    await denied({ isolation: 'sandboxed', endpoint: 'http://tool.example.com/' })
    const operation = makeOperation({ request: { method: 'POST', url: 'https://other.example.com/{key}' } })
    const tool = makeTool({ isolation: 'sandboxed', endpoint: 'https://tool.example.com/' }, operation)
    const refused = refusal(await http.attempt(makeSend(tool, {}), makeSink()))
    assert.deepEqual([refused.failure, refused.definite], ['egress-denied', true])
  })

  it('S33: no other isolation is taken for it', async () => {
    const { reply, request } = await attempt(ok, { tool: { isolation: 'container' }, input: {} })
    assert.deepEqual([refusal(reply).failure, request], ['isolation-unavailable', undefined])
  })
})

describe('connections', () => {
  it('are used again: fifty calls one after the other, and not fifty connections', async () => {
    const peer = await listenHttp(ok)
    try {
      for (const repeat of ['natural', 'never'] as const) {
        const before = peer.connections()
        const { effect } = makeOperation()
        const tool = makeTool({ endpoint: peer.origin }, makeOperation({ effect: { ...effect, repeat } }))
        for (let call = 0; call < 50; call++) success(await http.attempt(makeSend(tool, {}), makeSink()))
        // A reply may be read to its end a moment before its connection is free: then there is a second one.
        assert.ok(peer.connections() - before <= 2, `${repeat}: ${peer.connections() - before}`)
      }
    } finally {
      await peer.close()
    }
  })
})

/** Folded by whoever reads an address, or by the next one who decodes it. */
const DOTS = ['.', '..', '%2e', '%2E%2e', '.%2E', '%2e.']

describe('the address of a named operation', () => {
  it('holds the token of the tool as one segment, or is not asked at all (S27)', async () => {
    const peer = await listenHttp(ok)
    try {
      const url = `${peer.origin}/tx/{token}/commit`
      const tool = makeTool({ endpoint: peer.origin }, makeOperation({ request: { method: 'POST', url } }))
      const ask = (commitToken: string) => http.attempt(makeSend(tool, {}, { commitToken }), makeSink())
      for (const token of ['../x', '%2e%2e%2e', 'a/b?c#d', '...']) success(await ask(token))
      assert.deepEqual(
        peer.received.map(({ path }) => path),
        ['/tx/..%2Fx/commit', '/tx/%252e%252e%252e/commit', '/tx/a%2Fb%3Fc%23d/commit', '/tx/.../commit'],
      )
      for (const token of DOTS) {
        const reply = refusal(await ask(token))
        assert.deepEqual([reply.failure, reply.definite], ['config-invalid', true])
        assert.match(reply.message ?? '', /no address can hold the token '.+' of the tool/)
      }
      assert.equal(peer.received.length, 4)
    } finally {
      await peer.close()
    }
  })

  it('is no other one where a token makes dots of what stands beside it', async () => {
    const url = 'http://127.0.0.1:9/tx/.{token}/commit'
    const tool = makeTool({ endpoint: url }, makeOperation({ request: { method: 'POST', url } }))
    const reply = refusal(await http.attempt(makeSend(tool, {}, { commitToken: '.' }), makeSink()))
    assert.deepEqual([reply.failure, reply.definite], ['config-invalid', true])
    const request = readRequest(tool, url)
    assert.deepEqual(request.ok && request.fill('key', '').ok, false)
    assert.ok(request.ok && request.fill('key', 'a').ok)
  })

  it('nor is long work asked for by an id that is no segment', async () => {
    const peer = await listenHttp(ok)
    const webhook = createWebhookCallbackTransport({ world })
    try {
      const tool = makeTool({ type: 'webhook-callback', endpoint: `${peer.origin}/jobs` })
      for (const requestId of DOTS) {
        const reply = await webhook.attach?.({}, makeSend(tool, {}, { requestId }), makeSink())
        assert.partialDeepStrictEqual(reply, { kind: 'accepted', missed: 'config-invalid' })
      }
      assert.equal(peer.received.length, 0)
    } finally {
      await peer.close()
    }
  })
})
