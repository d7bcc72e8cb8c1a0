// Tools that misbehave on the wire: each has its row, ends in bounded time and memory, and harms nobody else.
import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { Abort } from '../../src/util/abort.ts'
import { http } from './http-harness.ts'
import { makeSend, makeSink, makeTool } from './send-fixture.ts'
import { listenRaw } from './tool-peer.ts'
import { refusal } from './transport-contract.ts'

const JSON_HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n'
const LIMIT = 262_144

function pour(socket: Socket, chunk: string | Buffer): void {
  const more = () => {
    while (!socket.destroyed && socket.writable && socket.write(chunk));
  }
  socket.on('drain', more)
  more()
}

interface BadPeer {
  readonly says: string
  readonly failure: string
  /** It never ends by itself. */
  readonly hangs?: true
  respond(socket: Socket): void
}

const PEERS: readonly BadPeer[] = [
  { says: 'hangs before a byte', failure: 'timeout-unknown-commit', hangs: true, respond: () => {} },
  {
    says: 'drips its header, a byte at a time',
    failure: 'timeout-unknown-commit',
    hangs: true,
    respond(socket) {
      const timer = setInterval(() => socket.write('x'), 1000)
      socket.write('HTTP/1.1 200 OK\r\nx-long: ')
      socket.on('close', () => clearInterval(timer))
    },
  },
  {
    says: 'stops in the middle of its body',
    failure: 'timeout-unknown-commit',
    hangs: true,
    respond: (socket) => socket.write(`${JSON_HEAD}content-length: 10\r\n\r\n{"a"`),
  },
  {
    says: 'announces 10 GB',
    failure: 'output-too-large',
    respond: (socket) => socket.write(`${JSON_HEAD}content-length: 10737418240\r\n\r\n{`),
  },
  {
    says: 'sends without end and without a length',
    failure: 'output-too-large',
    respond(socket) {
      socket.write(`${JSON_HEAD}\r\n"`)
      pour(socket, 'x'.repeat(65_536))
    },
  },
  {
    says: 'sends a bomb: little that unpacks to much',
    failure: 'output-too-large',
    respond(socket) {
      const packed = gzipSync(Buffer.alloc(64 * 1024 * 1024, 0x20))
      socket.write(`${JSON_HEAD}content-encoding: gzip\r\ncontent-length: ${packed.length}\r\n\r\n`)
      socket.write(packed)
    },
  },
  {
    says: 'calls something JSON that is none',
    failure: 'output-invalid',
    respond: (socket) => socket.end(`${JSON_HEAD}content-length: 6\r\n\r\n<html>`),
  },
  {
    says: 'cuts its JSON off, and means it',
    failure: 'output-invalid',
    respond: (socket) => socket.end(`${JSON_HEAD}content-length: 7\r\n\r\n{"a":[1`),
  },
  {
    says: 'sends bytes that are no UTF-8',
    failure: 'output-invalid',
    respond(socket) {
      socket.write(`${JSON_HEAD}content-length: 5\r\n\r\n`)
      socket.end(Buffer.from([0x22, 0xff, 0xfe, 0xfd, 0x22]))
    },
  },
  {
    says: 'floods its header with one field',
    failure: 'reply-malformed',
    respond(socket) {
      socket.write('HTTP/1.1 200 OK\r\nx-long: ')
      pour(socket, 'x'.repeat(65_536))
    },
  },
  {
    says: 'floods its header with many fields',
    failure: 'reply-malformed',
    respond(socket) {
      socket.write('HTTP/1.1 200 OK\r\n')
      pour(socket, 'x-field: value\r\n'.repeat(4096))
    },
  },
  {
    says: 'speaks something else',
    failure: 'reply-malformed',
    respond: (socket) => socket.end('220 mail.example.com ESMTP\r\n'),
  },
  { says: 'hangs up', failure: 'connect-failed', respond: (socket) => socket.destroy() },
]

describe('a tool that', () => {
  for (const { says, failure, hangs, respond } of PEERS) {
    it(`${says}: ${failure}`, async () => {
      const peer = await listenRaw((socket) => {
        socket.on('error', () => {})
        respond(socket)
      })
      try {
        const abort = new Abort()
        const tool = makeTool({ endpoint: peer.origin, limits: { inputBytes: 1000, outputBytes: LIMIT } })
        const before = process.memoryUsage().rss
        const sink = makeSink()
        const pending = http.attempt(makeSend(tool, {}, { abort }), sink)
        if (hangs) {
          await peer.arrived(1)
          abort.abort('timeout')
        }
        const { definite, ...refused } = refusal(await pending)
        assert.deepEqual([refused.failure, definite, sink.sent], [failure, false, 1])
        assert.ok(process.memoryUsage().rss - before < 128 * 1024 * 1024, 'in bounded memory')
      } finally {
        await peer.close()
      }
    })
  }
})
