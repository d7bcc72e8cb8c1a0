// S31: every status of gRPC is one row, and everything that is no proper answer is one, too.
import assert from 'node:assert/strict'
import type { ServerHttp2Stream } from 'node:http2'
import { describe, it } from 'node:test'
import { deflateSync, gzipSync } from 'node:zlib'
import { createDialects } from '../../src/contract/dialect/registry.ts'
import type { FailureId } from '../../src/contract/failures.ts'
import { readUnary } from '../../src/transport/grpc-reply.ts'
import { frameOf } from '../../src/util/grpc-frame.ts'
import { attempt, reading, refused } from './grpc-harness.ts'
import { answerMessage, answerRaw, answerStatus, okEnvelope } from './grpc-peer.ts'
import { makeOperation, makeSend, makeTool } from './send-fixture.ts'
import { success } from './transport-contract.ts'

const GZIP = { ':status': 200, 'content-type': 'application/grpc+json', 'grpc-encoding': 'gzip' }

/** One message that says that it is compressed, whatever it is. */
function answerCompressed(stream: ServerHttp2Stream, bytes: Uint8Array, encoding: string): void {
  const head = Buffer.from([1, 0, 0, 0, 0])
  head.writeUInt32BE(bytes.length, 1)
  const headers = { ...GZIP, 'grpc-encoding': encoding }
  answerRaw(stream, Buffer.concat([head, bytes]), { 'grpc-status': '0' }, headers)
}

const STATUSES: readonly (readonly [number, string, FailureId, boolean])[] = [
  [1, 'CANCELLED', 'upstream-error', false],
  [2, 'UNKNOWN', 'upstream-error', false],
  [3, 'INVALID_ARGUMENT', 'upstream-rejected', true],
  [4, 'DEADLINE_EXCEEDED', 'timeout-unknown-commit', false],
  [5, 'NOT_FOUND', 'upstream-rejected', true],
  [6, 'ALREADY_EXISTS', 'upstream-conflict', false],
  [7, 'PERMISSION_DENIED', 'upstream-forbidden', true],
  [8, 'RESOURCE_EXHAUSTED', 'upstream-throttled', true],
  [9, 'FAILED_PRECONDITION', 'upstream-conflict', false],
  [10, 'ABORTED', 'upstream-conflict', false],
  [11, 'OUT_OF_RANGE', 'upstream-rejected', true],
  [12, 'UNIMPLEMENTED', 'upstream-rejected', true],
  [13, 'INTERNAL', 'upstream-error', false],
  [14, 'UNAVAILABLE', 'connect-failed', false],
  [15, 'DATA_LOSS', 'upstream-error', false],
  [16, 'UNAUTHENTICATED', 'upstream-unauthorized', true],
  [99, 'UNKNOWN', 'upstream-error', false],
]

describe('S31: the status', () => {
  for (const [status, name, failure, definite] of STATUSES) {
    it(`${status} ${name} is ${failure}, ${definite ? 'definite' : 'not definite'}`, async () => {
      for (const trailersOnly of [true, false]) {
        const reply = await refused((stream) =>
          trailersOnly
            ? answerStatus(stream, status, { 'grpc-message': 'so%20it says' })
            : answerRaw(stream, undefined, { 'grpc-status': String(status), 'grpc-message': 'so%20it says' }),
        )
        assert.deepEqual([reply.failure, reply.definite], [failure, definite])
        assert.deepEqual(reply.details, { grpc_status: status, grpc_status_name: name })
        const said = failure === 'upstream-error' ? '' : ': so it says'
        assert.equal(reply.message, `the tool answered gRPC ${name}${said}`)
      }
    })
  }

  it('is a timeout where the tool resets the stream when its time is over, and a broken connection before', () => {
    const send = makeSend(makeTool({ type: 'grpc' }), undefined, { deadlineUnixMs: 10_000 })
    const dialects = createDialects()
    const read = (refused: boolean, now: number) => {
      const reply = readUnary({ kind: 'broken', refused, code: 'RST_STREAM 8' }, send, dialects, now)
      return reply.kind === 'failure' ? [reply.failure, reply.definite] : reply.kind
    }
    assert.deepEqual(read(false, 9_000), ['connect-failed', false])
    assert.deepEqual(read(false, 9_999), ['timeout-unknown-commit', false])
    assert.deepEqual(read(true, 10_001), ['connect-failed', true])
  })

  it('DEADLINE_EXCEEDED of a read is a timeout that may be repeated (S22)', async () => {
    const reply = await refused((stream) => answerStatus(stream, 4), { operation: reading() })
    assert.equal(reply.failure, 'timeout')
  })

  it('is definite by what `refused_on` says of the HTTP status that means the same (S23)', async () => {
    const { effect } = makeOperation()
    const wary = { effect: { ...effect, refusedOn: [] } }
    assert.equal((await refused((stream) => answerStatus(stream, 3), { operation: wary })).definite, false)
    const sure = { effect: { ...effect, refusedOn: [409] } }
    assert.equal((await refused((stream) => answerStatus(stream, 9), { operation: sure })).definite, true)
  })

  it('after a message is believed, not the message', async () => {
    const reply = await refused((stream, asked) =>
      answerRaw(stream, frameOf(JSON.stringify(okEnvelope(asked, 1))), { 'grpc-status': '10' }),
    )
    assert.equal(reply.failure, 'upstream-conflict')
  })

  it('says with retry-after or grpc-retry-pushback-ms when to come again', async () => {
    for (const [header, value] of [
      ['retry-after', '3'],
      ['grpc-retry-pushback-ms', '3000'],
    ] as const) {
      const reply = await refused((stream) => answerStatus(stream, 8, { [header]: value }))
      assert.equal(reply.retryAfterMs, 3_000)
    }
    const none = await refused((stream) => answerStatus(stream, 8, { 'grpc-retry-pushback-ms': '-1' }))
    assert.equal(none.retryAfterMs, undefined)
  })

  it('has words that are decoded, bounded, and never break a line', async () => {
    const words = async (message: string) =>
      (await refused((stream) => answerStatus(stream, 3, { 'grpc-message': message }))).message ?? ''
    assert.match(await words('%C5%BElu%C5%A5%0Atwo'), /: žluť two$/)
    assert.match(await words('100%'), /: 100%$/)
    assert.ok((await words('a'.repeat(5_000))).length < 500)
  })
})

const HTML = { ':status': 200, 'content-type': 'text/html' }

describe('a compressed reply', () => {
  it('in gzip, which is offered, is read', async () => {
    const { reply, peer } = await attempt((stream, asked) =>
      answerCompressed(stream, gzipSync(JSON.stringify(okEnvelope(asked, { n: 'ž' }))), 'gzip'),
    )
    assert.equal(peer.asked[0]?.headers['grpc-accept-encoding'], 'identity,gzip')
    assert.equal(peer.asked[0]?.headers['grpc-encoding'], undefined)
    assert.deepEqual(success(reply).output, { n: 'ž' })
  })

  it('is one by its flag: a message that is sent as it is is read as it is', async () => {
    const { reply } = await attempt((stream, asked) =>
      answerRaw(stream, frameOf(JSON.stringify(okEnvelope(asked, 1))), { 'grpc-status': '0' }, GZIP),
    )
    assert.equal(success(reply).output, 1)
  })
})

describe('a reply that is no answer', () => {
  const cases: readonly (readonly [string, Parameters<typeof refused>[0], FailureId])[] = [
    [
      'has no grpc-status',
      (s, a) => answerRaw(s, frameOf(JSON.stringify(okEnvelope(a, 1))), undefined),
      'reply-malformed',
    ],
    ['has a grpc-status that is no number', (s) => answerStatus(s, 'fine'), 'reply-malformed'],
    ['has no message', (s) => answerStatus(s, 0), 'reply-malformed'],
    ['is not gRPC', (s) => answerRaw(s, Buffer.from('<h1>hello</h1>'), undefined, HTML), 'reply-malformed'],
    [
      'has messages that are no JSON',
      (s) =>
        answerRaw(
          s,
          frameOf('{}'),
          { 'grpc-status': '0' },
          { ':status': 200, 'content-type': 'application/grpc+proto' },
        ),
      'reply-malformed',
    ],
    [
      'is compressed',
      (s) => answerRaw(s, Buffer.from([1, 0, 0, 0, 2, 1, 2]), { 'grpc-status': '0' }),
      'reply-malformed',
    ],
    [
      'is compressed in a way that was not offered',
      (s, a) => answerCompressed(s, deflateSync(JSON.stringify(okEnvelope(a, 1))), 'deflate'),
      'reply-malformed',
    ],
    [
      'is no gzip although it says so',
      (s, a) => answerCompressed(s, Buffer.from(JSON.stringify(okEnvelope(a, 1))), 'gzip'),
      'reply-malformed',
    ],
    [
      'is cut within what is compressed',
      (s, a) => answerCompressed(s, gzipSync(JSON.stringify(okEnvelope(a, 1))).subarray(0, -9), 'gzip'),
      'reply-malformed',
    ],
    [
      'is larger than the limit once it is decompressed',
      (s, a) => answerCompressed(s, gzipSync(JSON.stringify(okEnvelope(a, 'x'.repeat(50_000_000)))), 'gzip'),
      'output-too-large',
    ],
    [
      'announces more than could be meant, compressed',
      (s) => answerRaw(s, Buffer.from([1, 0x7f, 0xff, 0xff, 0xff]), { 'grpc-status': '0' }, GZIP),
      'output-too-large',
    ],
    [
      'has a flag that nobody knows',
      (s) => answerRaw(s, Buffer.from([2, 0, 0, 0, 2, 0x7b, 0x7d]), { 'grpc-status': '0' }, GZIP),
      'reply-malformed',
    ],
    [
      'has two messages',
      (s) => answerRaw(s, Buffer.concat([frameOf('{}'), frameOf('{}')]), { 'grpc-status': '0' }),
      'reply-malformed',
    ],
    [
      'has something after its message',
      (s) => answerRaw(s, Buffer.concat([frameOf('{}'), Buffer.from('x')]), { 'grpc-status': '0' }),
      'reply-malformed',
    ],
    [
      'is cut within its message',
      (s) => answerRaw(s, frameOf('{"a": 1}').subarray(0, 9), { 'grpc-status': '0' }),
      'connect-failed',
    ],
    [
      'is cut within the length',
      (s) => answerRaw(s, Buffer.from([0, 0]), { 'grpc-status': '0' }),
      'connect-failed',
    ],
    [
      'is not UTF-8',
      (s) => answerRaw(s, Buffer.from([0, 0, 0, 0, 3, 0x22, 0xff, 0x22]), { 'grpc-status': '0' }),
      'reply-malformed',
    ],
    [
      'answers another request',
      (s) => answerMessage(s, { request_id: 'req-2', status: 'ok', output: 1 }),
      'reply-malformed',
    ],
    ['is no envelope', (s) => answerMessage(s, { temperature: 4 }), 'reply-malformed'],
    ['is reset', (s) => s.close(2), 'connect-failed'],
    [
      'is reset after its headers',
      (s) => {
        s.respond({ ':status': 200, 'content-type': 'application/grpc+json' })
        s.write(Buffer.from([0]), () => setImmediate(() => s.close(2)))
      },
      'connect-failed',
    ],
    ['ends with the connection', (_s, _a, session) => session.destroy(), 'connect-failed'],
  ]
  for (const [what, respond, failure] of cases) {
    it(`because it ${what} is ${failure}, and not definite`, async () => {
      const { reply, sink } = await attempt(respond)
      assert.ok(reply.kind === 'failure', JSON.stringify(reply))
      assert.deepEqual([reply.failure, reply.definite], [failure, false])
      assert.equal(sink.sent, 1)
    })
  }

  it('an HTTP status without gRPC is what it is for every other tool', async () => {
    for (const [status, failure, definite] of [
      [401, 'upstream-unauthorized', true],
      [404, 'upstream-rejected', true],
      [429, 'upstream-throttled', true],
      [503, 'upstream-error', false],
    ] as const) {
      const reply = await refused((stream) =>
        answerRaw(stream, Buffer.from('<h1>no</h1>'), undefined, { ':status': status, 'retry-after': '2' }),
      )
      assert.deepEqual([reply.failure, reply.definite], [failure, definite])
      assert.equal(reply.details?.http_status, status)
    }
  })
})
