// Calls over gRPC: the same as over HTTP in all but the protocol.
import assert from 'node:assert/strict'
import type { IncomingHttpHeaders } from 'node:http2'
import { connect } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { frameOf } from '../../src/util/grpc-frame.ts'
import { pause } from '../transport/transport-contract.ts'
import { type GrpcHarness, PATH, startGrpcHarness } from './grpc-harness.ts'
import { assertClean } from './harness.ts'

describe('the gRPC service', () => {
  let it_: GrpcHarness
  let ids = 0
  const v1 = (tool: string, input: unknown, rest: object = {}) => {
    return { request_id: `g-${++ids}`, tool: { name: tool }, input, ...rest }
  }
  before(async () => {
    it_ = await startGrpcHarness({ bodyLimit: 10_000 })
  })
  after(() => it_.close())

  it('answers a call with an envelope and OK', async () => {
    const request = v1('echo', { a: 'ž' })
    const reply = await it_.send(request)
    assert.deepEqual([reply.http, reply.status, reply.message], [200, 0, ''])
    assert.equal(reply.headers['content-type'], 'application/grpc+json')
    assert.equal(reply.body.request_id, request.request_id)
    assert.deepEqual([reply.body.status, reply.body.output], ['ok', { said: { a: 'ž' } }])
    const { body } = await it_.harness.record(reply.headers['writ-call-id'])
    assert.deepEqual([body.state, body.request_id], ['succeeded', request.request_id])
  })

  it('takes `application/grpc` for JSON as well, and every dialect', async () => {
    const legacy = { request_id: 'l-1', tool: 'echo', action: 'invoke', parameters: { b: 1 } }
    for (const headers of [{ 'content-type': 'application/grpc' }, {}]) {
      assert.equal((await it_.send(v1('echo', {}), { headers })).status, 0)
    }
    const { status, body } = await it_.send(legacy)
    assert.deepEqual([status, body.status, body.request_id], [0, 'success', 'l-1'], JSON.stringify(body))
  })

  it('what becomes of a call is in the envelope, with OK: a failure, a denial, an approval that is waited for', async () => {
    for (const [tool, input, word] of [
      ['nothing', {}, 'error'],
      ['wait', { ms: 'x' }, 'error'],
      ['pay', { amount: 101 }, 'denied'],
    ] as const) {
      const reply = await it_.send(v1(tool, input))
      assert.equal(reply.status, 0, `${tool}: ${reply.message}`)
      assert.ok([word, 'error', 'denied'].includes(reply.body.status), JSON.stringify(reply.body))
      assert.ok(reply.body.error.code)
    }
  })

  it('a key in metadata is the key of the call (S13), one that is sent twice is none', async () => {
    const headers = { 'idempotency-key': 'grpc-key-1' }
    const first = await it_.send(v1('post', { text: 'once' }), { headers })
    const again = await it_.send(v1('post', { text: 'once' }), { headers })
    assert.deepEqual([first.body.status, again.body.status], ['ok', 'ok'])
    assert.equal(it_.harness.effects.done.filter((text) => text === 'once').length, 1)
    const twice = await it_.send(v1('echo', {}), { headers: { 'idempotency-key': ['a', 'b'] } })
    assert.deepEqual([twice.status, /Idempotency-Key/.test(twice.message)], [3, true])
  })

  it('a trace in metadata is joined', async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    const reply = await it_.send(v1('echo', {}), { headers: { traceparent } })
    assert.equal(reply.body.trace.trace_id, '0af7651916cd43dd8448eb211c80319c')
  })

  it('S31: whoever is not known is UNAUTHENTICATED, and nothing was run', async () => {
    const before = it_.harness.effects.done.length
    for (const token of [null, 'wrong-token-0123456789-0123456789']) {
      const reply = await it_.send(v1('post', { text: 'no' }), { token })
      assert.equal(reply.status, 16)
      assert.match(reply.message, /Fix: Send "Authorization: Bearer TOKEN"/)
    }
    assert.equal(it_.harness.effects.done.length, before)
  })

  it('S31: what cannot be read is INVALID_ARGUMENT, RESOURCE_EXHAUSTED or UNIMPLEMENTED, with words that help', async () => {
    const asks: readonly (readonly [string, number, RegExp, Parameters<GrpcHarness['send']>[1]])[] = [
      ['no JSON', 3, /body/, { bytes: frameOf('{"a"') }],
      ['no message', 3, /has no message/, { bytes: Buffer.alloc(0) }],
      ['cut', 3, /ends before its length/, { bytes: frameOf('{"a": 1}').subarray(0, 8) }],
      ['two messages', 3, /more than one/, { bytes: Buffer.concat([frameOf('{}'), frameOf('{}')]) }],
      ['too large', 8, /larger than 10000 bytes/, { bytes: frameOf(JSON.stringify('x'.repeat(10_000))) }],
      ['announced too large', 8, /larger/, { bytes: Buffer.from([0, 0x7f, 0xff, 0xff, 0xff]) }],
      [
        'another method',
        12,
        /no method \/a\.B\/C.*Fix: call orloj\.tool\.v1\.ToolService\/Execute/,
        { headers: { ':path': '/a.B/C' } },
      ],
      ['protobuf', 12, /JSON/, { headers: { 'content-type': 'application/grpc+proto' } }],
      ['a strange timeout', 3, /grpc-timeout/, { headers: { 'grpc-timeout': 'soon' } }],
      ['a strange namespace', 3, /namespace/, { headers: { 'writ-namespace': 'A B' } }],
    ]
    for (const [what, status, words, ask] of asks) {
      const reply = await it_.send(v1('echo', {}), ask)
      assert.deepEqual([what, reply.http, reply.status], [what, 200, status], reply.message)
      assert.match(reply.message, words)
      assertClean(reply.message)
    }
    assert.equal((await it_.send({ tool: 1 })).status, 3)
  })

  it('a compressed message is UNIMPLEMENTED, with what is read; without the name of an encoding it is INTERNAL', async () => {
    const zipped = gzipSync(JSON.stringify(v1('post', { text: 'zipped' })))
    const head = Buffer.from([1, 0, 0, 0, zipped.length])
    const bytes = Buffer.concat([head, zipped])
    for (const encoding of ['gzip', 'deflate', 'snappy']) {
      for (const path of [PATH, '/grpc.health.v1.Health/Check']) {
        const reply = await it_.send(null, { bytes, headers: { ':path': path, 'grpc-encoding': encoding } })
        assert.deepEqual([reply.http, reply.status], [200, 12], reply.message)
        assert.equal(reply.headers['grpc-accept-encoding'], 'identity')
        assert.match(
          reply.message,
          new RegExp(`compressed \\(${encoding}\\); what is read is identity.*Fix: `),
        )
      }
    }
    for (const headers of [{}, { 'grpc-encoding': 'identity' }]) {
      const reply = await it_.send(null, { bytes, headers })
      assert.equal(reply.status, 13, reply.message)
      assert.match(reply.message, /Compressed-Flag/)
    }
    // A message that is sent as it is is read, whatever was announced.
    const plain = await it_.send(v1('echo', {}), { headers: { 'grpc-encoding': 'gzip' } })
    assert.equal(plain.status, 0, plain.message)
    assert.equal(it_.harness.effects.done.includes('zipped'), false)
  })

  it('whoever does not speak gRPC is told in HTTP', async () => {
    assert.equal((await it_.send({}, { headers: { 'content-type': 'application/json' } })).http, 415)
    const get = it_.session.request({ ':path': PATH, 'content-type': 'application/grpc' })
    const [head] = await new Promise<[{ ':status'?: number | undefined }]>((resolve) =>
      get.on('response', (came) => resolve([came])),
    )
    assert.equal(head[':status'], 405)
    get.close()
    const socket = connect(Number(it_.address.split(':')[1]), '127.0.0.1')
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
    socket.on('error', () => {})
    socket.resume()
    await new Promise((resolve) => socket.once('close', resolve))
    assert.equal((await it_.send(v1('echo', {}))).status, 0, 'others are not harmed')
  })

  it('S9: the deadline of the caller ends its wait, and a read that nobody shares (S11)', async () => {
    const { aborted } = it_.harness.effects
    const before = aborted.length
    const reply = await it_.send(v1('wait', { ms: 60_000 }), { headers: { 'grpc-timeout': '50m' } })
    assert.equal(reply.status, 4)
    assert.match(reply.message, /GET \/v1\/calls\//)
    for (let waited = 0; aborted.length === before && waited < 2_000; waited += 5) await pause(5)
    assert.equal(aborted.length, before + 1)
  })

  it('S11: a caller that takes its call back ends a read, and never a write', async () => {
    const { effects } = it_.harness
    const before = effects.aborted.length
    const leave = (tool: string, input: object) =>
      it_.send(v1(tool, input), { onStream: (cancel) => setTimeout(cancel, 50) }).then(
        () => 'answered',
        () => 'gone',
      )
    await leave('wait', { ms: 60_000 })
    for (let waited = 0; effects.aborted.length === before && waited < 2_000; waited += 5) await pause(5)
    assert.equal(effects.aborted.length, before + 1)
    await leave('post', { text: 'left behind', ms: 150 })
    for (let waited = 0; !effects.done.includes('left behind') && waited < 2_000; waited += 5) await pause(5)
    assert.ok(effects.done.includes('left behind'))
    assert.equal(effects.aborted.length, before + 1)
  })

  it('many calls at once do not mix', async () => {
    const replies = await Promise.all(Array.from({ length: 200 }, (_, n) => it_.send(v1('echo', { n }))))
    assert.deepEqual(
      replies.map(({ body }) => body.output.said.n),
      Array.from({ length: 200 }, (_, n) => n),
    )
  })

  it('grpc.health.v1: SERVING without a token, for this service and no other', async () => {
    const ask = (bytes: Uint8Array) =>
      it_.send(null, {
        token: null,
        bytes,
        headers: { ':path': '/grpc.health.v1.Health/Check', 'content-type': 'application/grpc' },
      })
    const name = 'orloj.tool.v1.ToolService'
    for (const bytes of [frameOf(''), frameOf(`\n${String.fromCharCode(name.length)}${name}`)]) {
      const reply = await ask(bytes)
      assert.deepEqual([reply.status, [...reply.body]], [0, [0, 0, 0, 0, 2, 8, 1]])
    }
    assert.equal((await ask(frameOf('\n\u0001x'))).status, 5)
  })
})

describe('the end of the gRPC service', () => {
  it('lets calls under way end, turns new ones away with UNAVAILABLE, and leaves nothing open', async () => {
    const one = await startGrpcHarness()
    const running = one.send({ request_id: 'd-1', tool: { name: 'wait' }, input: { ms: 300 } })
    await pause(100)
    const ended = Promise.withResolvers<void>()
    const drained = one.grpc.drain(ended.promise)
    const late = await one.send({ request_id: 'd-2', tool: { name: 'echo' }, input: {} })
    assert.equal(late.status, 14)
    assert.equal(late.headers['grpc-retry-pushback-ms'], '1000')
    ended.resolve()
    assert.equal((await running).body.status, 'ok')
    await drained
    await one.close()
  })

  it('closes idle connections, and bounds how long a request may take', async () => {
    const one = await startGrpcHarness({
      limits: { keepAliveTimeoutMs: 50, requestTimeoutMs: 80, lingerMs: 50 },
    })
    const stream = one.session.request({
      ':method': 'POST',
      ':path': PATH,
      'content-type': 'application/grpc+json',
      authorization: 'Bearer test-token-0123456789-0123456789',
    })
    const [head] = await new Promise<[IncomingHttpHeaders]>((resolve) =>
      stream.on('response', (came) => resolve([came])),
    )
    assert.deepEqual([head['grpc-status'], /80 ms/.test(String(head['grpc-message']))], ['3', true])
    stream.on('error', () => {})
    await new Promise((resolve) => one.session.once('close', resolve))
    await one.close()
  })
})
