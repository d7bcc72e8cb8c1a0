// The body of an answer: decoded, cut off at its cap, and never more than the memory that it may take.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { Abort } from '../../src/util/abort.ts'
import { answered, answerTo, head, run, textOf, withRaw } from './exchange-harness.ts'

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
