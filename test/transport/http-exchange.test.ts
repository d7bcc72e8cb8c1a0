// One HTTP exchange against real servers: the sent boundary, the caps, and everything a peer can do wrong.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { after, describe, it } from 'node:test'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { Agent, buildConnector, Dispatcher } from 'undici'
import { type Exchange, type ExchangeRequest, exchange } from '../../src/transport/http-exchange.ts'
import { createNetwork } from '../../src/transport/network.ts'
import { Abort } from '../../src/util/abort.ts'
import { makeSink, type RecordingSink } from './send-fixture.ts'
import { deadOrigin, listenHttp, listenRaw, type Peer } from './tool-peer.ts'
import { pause } from './transport-contract.ts'

const network = createNetwork()
after(() => network.destroy())

type Answered = Extract<Exchange, { kind: 'answered' }>

function request(origin: string, overrides: Partial<ExchangeRequest> = {}): ExchangeRequest {
  return {
    origin,
    path: '/',
    method: 'POST',
    headers: [],
    body: '{}',
    maxBytes: 65_536,
    repeatHarmless: false,
    ...overrides,
  }
}

function run(
  origin: string,
  options: { abort?: Abort; sink?: RecordingSink; via?: Dispatcher } & Partial<ExchangeRequest> = {},
): Promise<Exchange> {
  const { abort = new Abort(), sink = makeSink(), via = network, ...overrides } = options
  return exchange(via, request(origin, overrides), abort, sink)
}

async function withRaw(
  respond: (socket: Socket, request: string, index: number) => void,
  use: (peer: Peer) => Promise<void>,
) {
  const peer = await listenRaw(respond)
  try {
    await use(peer)
  } finally {
    await peer.close()
  }
}

/** The answer to these very bytes, after which the server hangs up. */
async function answerTo(bytes: string | Buffer, options: Parameters<typeof run>[1] = {}): Promise<Exchange> {
  let result: Exchange | undefined
  await withRaw(
    (socket) => socket.end(bytes),
    async (peer) => {
      result = await run(peer.origin, options)
    },
  )
  return result as Exchange
}

function answered(result: Exchange): Answered {
  if (result.kind !== 'answered') assert.fail(JSON.stringify(result))
  return result
}

function textOf(result: Exchange): string {
  return Buffer.from(answered(result).body).toString()
}

function head(...lines: string[]): string {
  return `HTTP/1.1 200 OK\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`
}

describe('the sent boundary', () => {
  it('is before the first byte of a new connection and of one that is used again', async () => {
    const peer = await listenHttp((_request, response) => response.end('ok'))
    try {
      for (const round of [1, 2, 3]) {
        const before = peer.bytes()
        const sink = makeSink(() => assert.equal(peer.bytes(), before))
        assert.equal(answered(await run(peer.origin, { sink })).status, 200)
        assert.equal(sink.sent, 1)
        assert.ok(peer.bytes() > before)
        assert.equal(peer.received.length, round)
        // undici takes a connection back into use only a turn of the event loop later.
        await pause(10)
      }
      assert.equal(peer.connections(), 1, 'the connection was used again')
    } finally {
      await peer.close()
    }
  })

  it('is never reached when the connection is refused, the name is unknown, or TLS fails', async () => {
    const plain = await listenHttp((_request, response) => response.end('ok'))
    try {
      for (const origin of [
        await deadOrigin(),
        'http://nobody.invalid',
        plain.origin.replace('http:', 'https:'),
      ]) {
        const sink = makeSink()
        const result = await run(origin, { sink })
        assert.equal(result.kind, 'broken', origin)
        assert.equal(result.kind === 'broken' && result.sent, false, origin)
        assert.equal(sink.sent, 0, origin)
      }
      assert.equal(plain.received.length, 0)
    } finally {
      await plain.close()
    }
  })

  it('is not reached by a request that was aborted while it waited for its connection, not even later', async () => {
    const peer = await listenHttp((_request, response) => response.end('ok'))
    const connect = buildConnector({})
    const slow = new Agent({
      connect: (options, callback) => void setTimeout(() => connect(options, callback), 60),
    })
    try {
      const sink = makeSink()
      const abort = new Abort()
      const pending = run(peer.origin, { via: slow, sink, abort })
      await pause(10)
      abort.abort('timeout')
      assert.deepEqual(await pending, { kind: 'aborted', sent: false, reason: 'timeout' })
      await pause(150)
      assert.equal(peer.connections(), 1, 'the connection came up after the abort')
      assert.equal(peer.bytes(), 0)
      assert.equal(sink.sent, 0)
    } finally {
      await slow.destroy()
      await peer.close()
    }
  })

  it('a request that is aborted inside it sends nothing', async () => {
    const peer = await listenHttp((_request, response) => response.end('ok'))
    try {
      const abort = new Abort()
      const sink = makeSink(() => abort.abort('canceled'))
      assert.deepEqual(await run(peer.origin, { abort, sink }), {
        kind: 'aborted',
        sent: true,
        reason: 'canceled',
      })
      await pause(50)
      assert.equal(peer.bytes(), 0)
    } finally {
      await peer.close()
    }
  })

  it('S22: a dispatcher that sends again by itself is stopped at the second time', async () => {
    const peer = await listenRaw((socket) => socket.destroy())
    class Eager extends Dispatcher {
      override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
        return network.dispatch(options, {
          onRequestStart: (controller, context) => handler.onRequestStart?.(controller, context),
          onResponseStart: () => assert.fail('the peer never answers'),
          onResponseData: () => assert.fail('the peer never answers'),
          onResponseEnd: () => assert.fail('the peer never answers'),
          onResponseError: () => void setImmediate(() => network.dispatch(options, handler)),
        })
      }
    }
    try {
      const sink = makeSink()
      const result = await run(peer.origin, { via: new Eager(), sink })
      assert.deepEqual(result, { kind: 'broken', sent: true, code: 'RESEND_REFUSED' })
      await pause(50)
      assert.equal(peer.received.length, 1)
      assert.equal(sink.sent, 1)
    } finally {
      await peer.close()
    }
  })

  it('counts a connection that dies under the request as sent', async () => {
    const server = createTcpServer((socket) => {
      socket.on('error', () => {})
      socket.once('data', () => socket.resetAndDestroy())
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const sink = makeSink()
    const result = await run(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, { sink })
    assert.deepEqual([result.kind, result.kind === 'broken' && result.sent, sink.sent], ['broken', true, 1])
    server.close()
    await once(server, 'close')
  })

  it('reports a request that cannot be formed as not sent', async () => {
    const sink = makeSink()
    const result = await run('http://127.0.0.1:1', { sink, headers: ['bad header name', 'x'] })
    assert.deepEqual(result, { kind: 'broken', sent: false, code: 'UND_ERR_INVALID_ARG' })
    assert.equal(sink.sent, 0)
  })
})

describe('bodies', () => {
  const plain = JSON.stringify({ text: 'ž'.repeat(1_000) })

  it('are read whole by length, by chunks and to the end of the connection', async () => {
    const size = Buffer.byteLength(plain)
    assert.equal(textOf(await answerTo(`${head(`content-length: ${size}`)}${plain}`)), plain)
    assert.equal(
      textOf(
        await answerTo(`${head('transfer-encoding: chunked')}${size.toString(16)}\r\n${plain}\r\n0\r\n\r\n`),
      ),
      plain,
    )
    assert.equal(textOf(await answerTo(`${head('connection: close')}${plain}`)), plain)
    assert.equal(textOf(await answerTo('HTTP/1.1 204 No Content\r\n\r\n')), '')
  })

  it('are decoded from gzip, brotli and both kinds of deflate', async () => {
    for (const [encoding, bytes] of [
      ['gzip', gzipSync(plain)],
      ['x-gzip', gzipSync(plain)],
      ['br', brotliCompressSync(plain)],
      ['deflate', deflateSync(plain)],
      ['deflate', deflateRawSync(plain)],
      ['identity', Buffer.from(plain)],
      ['GZIP', gzipSync(plain)],
    ] as const) {
      const lines = head(`content-encoding: ${encoding}`, `content-length: ${bytes.length}`)
      assert.equal(textOf(await answerTo(Buffer.concat([Buffer.from(lines), bytes]))), plain, encoding)
    }
  })

  it('that are empty need no decoding', async () => {
    assert.equal(textOf(await answerTo(head('content-encoding: gzip', 'content-length: 0'))), '')
  })

  it('that are encoded in no known way, or broken inside, are malformed', async () => {
    const gzip = gzipSync(plain)
    for (const [encoding, bytes] of [
      ['zstd-of-sorts', gzip],
      ['gzip, br', gzip],
      ['gzip', Buffer.from(plain)],
      ['gzip', gzip.subarray(0, gzip.length - 9)],
      ['br', Buffer.from('no brotli at all')],
    ] as const) {
      const lines = head(`content-encoding: ${encoding}`, `content-length: ${bytes.length}`)
      const result = answered(await answerTo(Buffer.concat([Buffer.from(lines), bytes])))
      assert.equal(result.flaw, 'malformed', encoding)
      assert.equal(result.body.length, 0)
    }
  })

  it('that end too early are cut', async () => {
    for (const bytes of [
      `${head('content-length: 100')}abc`,
      `${head('transfer-encoding: chunked')}64\r\nabc`,
      `${head('transfer-encoding: chunked')}3\r\nabc\r\n`,
      `${head('transfer-encoding: chunked', 'connection: close')}64\r\nabc`,
      `${head('content-length: 100', 'connection: close')}abc`,
    ]) {
      assert.equal(answered(await answerTo(bytes)).flaw, 'cut', JSON.stringify(bytes))
    }
  })

  it('whose framing is broken are malformed', async () => {
    const bytes = `${head('transfer-encoding: chunked')}3\r\nabc\r\nnonsense\r\n`
    assert.equal(answered(await answerTo(bytes)).flaw, 'malformed')
  })

  it('A13.10: are refused by their declared length before they are read', async () => {
    await withRaw(
      (socket) => socket.write(head('content-length: 99999999999')),
      async (peer) => {
        const result = answered(await run(peer.origin))
        assert.equal(result.flaw, 'too-large')
      },
    )
  })

  it('A13.10: are refused when they pass the cap, whatever length was declared', async () => {
    const max = { maxBytes: 10 }
    assert.equal(
      answered(await answerTo(`${head('connection: close')}${'x'.repeat(11)}`, max)).flaw,
      'too-large',
    )
    assert.equal(
      answered(await answerTo(`${head('connection: close')}${'x'.repeat(10)}`, max)).flaw,
      undefined,
    )
  })

  it('that decode to far more than the cap stop at the cap, in bounded memory', async () => {
    const bomb = gzipSync(Buffer.alloc(200_000_000), { level: 9 })
    const lines = head('content-encoding: gzip', `content-length: ${bomb.length}`)
    const before = process.memoryUsage().arrayBuffers
    const result = answered(
      await answerTo(Buffer.concat([Buffer.from(lines), bomb]), { maxBytes: 1_048_576 }),
    )
    assert.equal(result.flaw, 'too-large')
    const grown = process.memoryUsage().arrayBuffers - before
    assert.ok(grown < 32 * 1_048_576, `${grown} bytes more after a bomb`)
  })

  it('made of endless empty blocks stop, too', async () => {
    const empty = gzipSync('')
    await withRaw(
      (socket) => {
        socket.write(head('content-encoding: gzip', 'connection: close'))
        const many = Buffer.concat(Array.from({ length: 1_000 }, () => empty))
        const more = () => {
          while (!socket.destroyed && socket.write(many)) {
            // Until the buffer is full.
          }
        }
        socket.on('drain', more)
        more()
      },
      async (peer) => assert.equal(answered(await run(peer.origin, { maxBytes: 4_096 })).flaw, 'too-large'),
    )
  })

  it('that come byte by byte cost no more memory than their bytes', async () => {
    const count = 200_000
    const body = '1\r\nx\r\n'.repeat(count)
    globalThis.gc?.()
    const before = process.memoryUsage().heapUsed
    const result = await answerTo(`${head('transfer-encoding: chunked')}${body}0\r\n\r\n`, {
      maxBytes: 1_048_576,
    })
    assert.equal(answered(result).body.length, count)
    assert.equal(textOf(result), 'x'.repeat(count))
    const grown = process.memoryUsage().heapUsed - before
    assert.ok(grown < 64 * 1_048_576, `${grown} bytes of heap for ${count} bytes of body`)
  })

  it('that drip end at the abort', async () => {
    const timers: NodeJS.Timeout[] = []
    await withRaw(
      (socket) => {
        socket.write(head('transfer-encoding: chunked'))
        timers.push(setInterval(() => socket.write('1\r\nx\r\n'), 5))
      },
      async (peer) => {
        const abort = new Abort()
        setTimeout(() => abort.abort('timeout'), 60)
        assert.deepEqual(await run(peer.origin, { abort }), {
          kind: 'aborted',
          sent: true,
          reason: 'timeout',
        })
      },
    )
    for (const timer of timers) clearInterval(timer)
  })

  it('that are aborted while they are being decoded let go of the decoder', async () => {
    const half = gzipSync(Buffer.alloc(1_000_000, 'ab')).subarray(0, 500)
    await withRaw(
      (socket) =>
        socket.write(Buffer.concat([Buffer.from(head('content-encoding: gzip', 'connection: close')), half])),
      async (peer) => {
        const abort = new Abort()
        setTimeout(() => abort.abort('canceled'), 40)
        assert.equal((await run(peer.origin, { abort, maxBytes: 10_000_000 })).kind, 'aborted')
      },
    )
  })
})

describe('peers that speak no proper HTTP', () => {
  const broken = async (bytes: string) => {
    const result = await answerTo(bytes)
    assert.equal(result.kind, 'broken', JSON.stringify(result))
    return result as Extract<Exchange, { kind: 'broken' }>
  }

  it('are told apart from those that hang up', async () => {
    assert.match((await broken('SSH-2.0-OpenSSH_9.6\r\n')).code, /^HPE_/)
    assert.match((await broken('HTTP/1.1 abc OK\r\n\r\n')).code, /^HPE_/)
    assert.equal((await broken(`${head(`x: ${'y'.repeat(70_000)}`)}`)).code, 'UND_ERR_HEADERS_OVERFLOW')
    assert.equal((await broken('')).code, 'UND_ERR_SOCKET')
    assert.equal((await broken('HTTP/1.1 200 OK\r\ncontent-le')).code, 'UND_ERR_SOCKET')
  })

  it('cannot smuggle an answer to a later request behind an earlier one', async () => {
    await withRaw(
      (socket, _request, index) => {
        const body = `answer ${index}`
        const extra = index === 1 ? `${head('content-length: 7')}planted` : ''
        socket.write(`${head(`content-length: ${body.length}`)}${body}${extra}`)
      },
      async (peer) => {
        assert.equal(textOf(await run(peer.origin)), 'answer 1')
        assert.equal(textOf(await run(peer.origin)), 'answer 2')
      },
    )
  })

  it('may say 1xx as often as they like before the answer', async () => {
    const hints = 'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'.repeat(50)
    assert.equal(textOf(await answerTo(`${hints}${head('content-length: 2')}ok`)), 'ok')
  })

  it('that switch protocols unasked are refused', async () => {
    assert.equal(
      (await answerTo('HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n')).kind,
      'broken',
    )
  })

  it('that answer before they have read the request are still heard', async () => {
    const server = createTcpServer((socket) => {
      socket.on('error', () => {}).resume()
      socket.end('HTTP/1.1 429 Too Many Requests\r\nretry-after: 1\r\ncontent-length: 0\r\n\r\n')
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const result = await run(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    // Whether the answer is taken or the connection counts as broken is a race that the peer began; both are ends.
    assert.ok(
      result.kind === 'broken' || (result.kind === 'answered' && result.status === 429),
      JSON.stringify(result),
    )
    server.close()
    await once(server, 'close')
  })

  it('get an end to every exchange, whatever bytes they send', async () => {
    let bytes = Buffer.alloc(0)
    const piece = fc.oneof(
      fc
        .constantFrom(
          'HTTP/1.1 200 OK\r\n',
          'HTTP/1.0 500 No\r\n',
          'HTTP/1.1 99999 ?\r\n',
          'content-length: 5\r\n',
          'content-length: -1\r\n',
          'content-length: 5\r\ncontent-length: 6\r\n',
          'transfer-encoding: chunked\r\n',
          'transfer-encoding: gzip, chunked\r\n',
          'content-encoding: gzip\r\n',
          'content-encoding: br\r\n',
          'connection: close\r\n',
          'location: /\u0000\r\n',
          '\r\n',
          '5\r\nhello\r\n',
          'ffffffffffffffff\r\n',
          '0\r\n\r\n',
          '{"status":"ok"}',
        )
        .map((text) => Buffer.from(text, 'latin1')),
      fc.uint8Array({ maxLength: 40 }).map((array) => Buffer.from(array)),
      fc.constant(gzipSync('hello')),
    )
    await withRaw(
      (socket) => socket.end(bytes),
      async (peer) => {
        await fc.assert(
          fc.asyncProperty(fc.array(piece, { maxLength: 8 }), async (pieces) => {
            bytes = Buffer.concat(pieces)
            const sink = makeSink()
            const result = await run(peer.origin, { sink })
            assert.ok(['answered', 'broken'].includes(result.kind))
            assert.equal(sink.sent, 1)
          }),
          { numRuns: 200 },
        )
      },
    )
  })
})
