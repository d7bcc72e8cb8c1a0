// One HTTP exchange against real servers: the sent boundary, and everything a peer can do wrong.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { Agent, buildConnector, Dispatcher } from 'undici'
import type { Exchange } from '../../src/transport/http-exchange.ts'
import { Abort } from '../../src/util/abort.ts'
import { answered, answerTo, head, network, run, textOf, withRaw } from './exchange-harness.ts'
import { makeSink } from './send-fixture.ts'
import { deadOrigin, listenHttp, listenRaw } from './tool-peer.ts'
import { pause } from './transport-contract.ts'

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
