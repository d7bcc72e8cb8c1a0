// What leaves for a gRPC tool, where to, and what keeps it from leaving.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ResolvedTool } from '../../src/resource/resolved-tool.ts'
import { Abort } from '../../src/util/abort.ts'
import { makeCertificates, NO_OPENSSL } from './certificate.ts'
import { attempt, createGrpc, grpcTool, refused } from './grpc-harness.ts'
import { answerMessage, type GrpcRespond, listenGrpc, okEnvelope } from './grpc-peer.ts'
import { presented } from './presented.ts'
import { makeOperation, makeSend, makeSink } from './send-fixture.ts'
import { refusal, success } from './transport-contract.ts'

const echo: GrpcRespond = (stream, asked) =>
  answerMessage(stream, okEnvelope(asked, asked.envelope.input ?? null))

describe('a call over gRPC', () => {
  it('names the method, the codec, the deadline, key, attempt and trace', async () => {
    const { peer } = await attempt(echo, { send: { attempt: 3, timeoutMs: 1_500.4 } })
    const { ':path': path, ':method': method, ...headers } = peer.asked[0]?.headers ?? {}
    assert.deepEqual([method, path], ['POST', '/orloj.tool.v1.ToolService/Execute'])
    assert.equal(headers['content-type'], 'application/grpc+json')
    assert.equal(headers.te, 'trailers')
    const left = Number(/^(\d+)m$/.exec(String(headers['grpc-timeout']))?.[1])
    assert.ok(left > 0 && left <= 1_501, String(headers['grpc-timeout']))
    assert.match(String(headers['idempotency-key']), /^k3y_/)
    assert.equal(headers['writ-attempt'], '3')
    assert.equal(headers.traceparent, '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01')
    assert.equal(headers['user-agent'], 'writ')
  })

  it('S7: has the envelope of the dialect of the tool, and answers in any are read', async () => {
    const { peer } = await attempt(echo)
    assert.deepEqual(peer.asked[0]?.envelope.input, { city: 'Brno' })
    assert.equal(peer.asked[0]?.envelope.tool_contract_version, 'v1')
    const four = await attempt(echo, { tool: { contract: 'four-outcome' } })
    assert.equal(four.peer.asked[0]?.envelope.tool_id, 'probe')
    const legacy = await attempt(
      (stream, { envelope }) =>
        answerMessage(stream, { request_id: envelope.request_id ?? '', status: 'success', result: { n: 1 } }),
      { tool: { contract: 'legacy' } },
    )
    assert.deepEqual(success(legacy.reply).output, { n: 1 })
  })

  it('shows the credential in metadata, replacing what has its name, and does not name it in the envelope', async () => {
    const auth = { profile: 'bearer' as const, secretRef: 'secret-name', scopes: [] }
    const credentials = presented(['Authorization', 'Bearer t0ken'], ['User-Agent', 'theirs'])
    const { peer } = await attempt(echo, { tool: { auth }, send: { credentials } })
    assert.equal(peer.asked[0]?.headers.authorization, 'Bearer t0ken')
    assert.equal(peer.asked[0]?.headers['user-agent'], 'theirs')
    assert.equal(JSON.stringify(peer.asked[0]?.envelope).includes('secret-name'), false)
  })

  it('a deadline of years fits into eight digits', async () => {
    const { peer } = await attempt(echo, { send: { timeoutMs: 1e9 } })
    assert.equal(peer.asked[0]?.headers['grpc-timeout'], '1000000S')
  })

  it('that is given up is taken back with CANCEL', async () => {
    const abort = new Abort()
    const peer = await listenGrpc(() => abort.abort('canceled'))
    const grpc = createGrpc()
    const reply = refusal(await grpc.attempt(makeSend(grpcTool(peer), {}, { abort }), makeSink()))
    assert.deepEqual([reply.failure, reply.definite], ['canceled', false])
    for (let tries = 0; peer.dropped.length === 0 && tries < 400; tries++)
      await new Promise((resolve) => setTimeout(resolve, 5))
    assert.deepEqual(peer.dropped, [8])
    await grpc.close()
    await peer.close()
  })
})

describe('nothing is sent', () => {
  const cases = [
    [
      'without the declared credential',
      { tool: { auth: { profile: 'bearer', secretRef: 's', scopes: [] } } },
      'secret-missing',
    ],
    [
      'in plain text that is not declared',
      { tool: { grpc: undefined, endpoint: 'http://127.0.0.1:1' } },
      'config-invalid',
    ],
    ['to no endpoint', { tool: { endpoint: undefined } }, 'config-invalid'],
    ['with a password in the endpoint', { tool: { endpoint: 'grpc://a:b@127.0.0.1:1' } }, 'config-invalid'],
    ['with a boundary that is not there', { tool: { isolation: 'container' } }, 'isolation-unavailable'],
    ['beyond the reach of the tool', { tool: { reach: 'public' } }, 'egress-denied'],
    ['outside the allowed origins', { tool: { netAllowlist: ['https://api.example.com'] } }, 'egress-denied'],
    [
      'outside of what the request allows',
      { send: { constraints: { netAllowlist: ['https://a.example'] } } },
      'egress-denied',
    ],
    [
      'with a credential that the protocol has no place for',
      { send: { credentials: presented(['Grpc-Status', '0']) } },
      'config-invalid',
    ],
    [
      'with a header that breaks a line',
      { send: { credentials: presented(['X-Key', 'a\r\nb']) } },
      'config-invalid',
    ],
    [
      'to an address of an operation',
      { operation: { request: { method: 'GET', url: 'https://x.example/{key}' } } },
      'config-invalid',
    ],
  ] as const
  for (const [what, options, failure] of cases) {
    it(`${what}: ${failure}, definite`, async () => {
      const { reply, sink, peer } = await attempt(echo, options as Parameters<typeof attempt>[1])
      assert.deepEqual([refusal(reply).failure, refusal(reply).definite], [failure, true])
      assert.deepEqual([sink.sent, peer.streams()], [0, 0])
    })
  }

  it('with a key in a header that is not free', async () => {
    const { effect } = makeOperation()
    const keyed = { header: 'TE', retentionMs: 1000 }
    const reply = await refused(echo, { operation: { effect: { ...effect, keyed } as typeof effect } })
    assert.deepEqual(
      [reply.failure, reply.details?.path],
      ['config-invalid', 'spec.effect.idempotency.keyed.header'],
    )
  })
})

function overTls(peer: Parameters<typeof grpcTool>[0], endpoint: string): ResolvedTool {
  const { grpc: _plaintext, ...tool } = grpcTool(peer, { endpoint })
  return tool
}

describe('TLS', () => {
  const made = makeCertificates()
  const skip = made === undefined && NO_OPENSSL

  it('is the default, with HTTP/2 agreed on', { skip }, async () => {
    const peer = await listenGrpc(echo, { pair: made?.pairs.good })
    const grpc = createGrpc({ ca: made?.authority })
    const port = peer.address.split(':')[1]
    for (const endpoint of [
      `localhost:${port}`,
      `grpc://localhost:${port}`,
      `grpcs://localhost:${port}`,
      `https://localhost:${port}`,
    ]) {
      const tool = overTls(peer, endpoint)
      assert.deepEqual(success(await grpc.attempt(makeSend(tool, { n: 1 }), makeSink())).output, { n: 1 })
    }
    assert.equal(peer.connections(), 1)
    await grpc.close()
    await peer.close()
  })

  for (const name of ['expired', 'other-host', 'self-signed'] as const) {
    it(`a certificate that is ${name} is connect-failed: nothing was sent`, { skip }, async () => {
      const peer = await listenGrpc(echo, { pair: made?.pairs[name] })
      const grpc = createGrpc({ ca: made?.authority })
      const endpoint = `localhost:${peer.address.split(':')[1]}`
      const sink = makeSink()
      const reply = refusal(await grpc.attempt(makeSend(overTls(peer, endpoint), {}), sink))
      assert.deepEqual([reply.failure, reply.definite, sink.sent], ['connect-failed', true, 0])
      await grpc.close()
      await peer.close()
    })
  }

  it('a peer without it is connect-failed, and one with it is none for plain text', { skip }, async () => {
    const plain = await listenGrpc(echo)
    const grpc = createGrpc({ ca: made?.authority, connectTimeoutMs: 1_000 })
    const one = makeSend(overTls(plain, plain.address), {})
    assert.equal(refusal(await grpc.attempt(one, makeSink())).failure, 'connect-failed')
    const secure = await listenGrpc(echo, { pair: made?.pairs.good })
    const other = makeSend(grpcTool(secure), {})
    assert.equal(refusal(await grpc.attempt(other, makeSink())).failure, 'connect-failed')
    await grpc.close()
    await plain.close()
    await secure.close()
  })
})
