// Connections to gRPC tools: shared, bounded, replaced when they end, and never a reason to send twice or to lose a call.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { Abort } from '../../src/util/abort.ts'
import { createGrpc, grpcTool, reading } from './grpc-harness.ts'
import { answerMessage, type GrpcRespond, listenGrpc, okEnvelope } from './grpc-peer.ts'
import { makeSend, makeSink } from './send-fixture.ts'
import { pause, refusal, success } from './transport-contract.ts'

const echo: GrpcRespond = (stream, asked) =>
  answerMessage(stream, okEnvelope(asked, asked.envelope.input ?? null))

async function service(
  t: TestContext,
  respond: GrpcRespond = echo,
  options: Parameters<typeof listenGrpc>[1] = {},
) {
  const peer = await listenGrpc(respond, options)
  t.after(() => peer.close())
  return peer
}

describe('connections', () => {
  it('2,000 calls share one connection, and nothing is left of them', async (t) => {
    const peer = await service(t)
    const grpc = createGrpc()
    const tool = grpcTool(peer)
    const call = async (n: number) => success(await grpc.attempt(makeSend(tool, { n }), makeSink()))
    const batch = async (from: number) => {
      for (let n = from; n < from + 500; n += 50)
        await Promise.all(Array.from({ length: 50 }, (_, i) => call(n + i)))
    }
    await batch(0)
    const handles = process.getActiveResourcesInfo().length
    const { arrayBuffers } = process.memoryUsage()
    for (const from of [500, 1_000, 1_500]) await batch(from)
    assert.equal(peer.asked.length, 2_000)
    assert.equal(peer.connections(), 1)
    assert.ok(process.getActiveResourcesInfo().length <= handles + 2)
    const grown = process.memoryUsage().arrayBuffers - arrayBuffers
    assert.ok(grown < 16 * 1_048_576, `${grown} bytes more are kept`)
    await grpc.close()
    for (let waited = 0; peer.sessions.size > 0 && waited < 2_000; waited += 5) await pause(5)
    assert.equal(peer.sessions.size, 0, 'closed with the transport')
  })

  it('no more calls at a time than the peer takes; the rest get more connections, and then wait', async (t) => {
    let now = 0
    let most = 0
    const peer = await service(
      t,
      async (stream, asked) => {
        most = Math.max(most, ++now)
        await pause(5)
        now--
        answerMessage(stream, okEnvelope(asked, null))
      },
      { settings: { maxConcurrentStreams: 2 } },
    )
    const grpc = createGrpc()
    const tool = grpcTool(peer)
    const replies = await Promise.all(
      Array.from({ length: 60 }, () => grpc.attempt(makeSend(tool, {}), makeSink())),
    )
    for (const reply of replies) success(reply)
    assert.equal(peer.connections(), 8)
    assert.ok(most <= 16, `${most} at a time`)
  })

  it('a call that waits for room and is aborted sent nothing, and the room goes to the next', async (t) => {
    const held: (() => void)[] = []
    const peer = await service(
      t,
      (stream, asked) => void held.push(() => answerMessage(stream, okEnvelope(asked, null))),
      { settings: { maxConcurrentStreams: 1 } },
    )
    const grpc = createGrpc()
    const tool = grpcTool(peer)
    const first = Array.from({ length: 8 }, () => grpc.attempt(makeSend(tool, {}), makeSink()))
    await peer.arrived(8)
    const abort = new Abort()
    const sink = makeSink()
    const waits = grpc.attempt(makeSend(tool, {}, { abort }), sink)
    const next = grpc.attempt(makeSend(tool, {}), makeSink())
    await pause(10)
    abort.abort('timeout')
    const reply = refusal(await waits)
    assert.deepEqual([reply.failure, reply.definite, sink.sent], ['timeout-before-send', true, 0])
    held[0]?.()
    await peer.arrived(9)
    for (const answer of held.slice(1)) answer()
    for (const one of [...first, next]) success(await one)
  })

  it('an idle connection is closed', async (t) => {
    const peer = await service(t)
    const grpc = createGrpc({ idleMs: 20 })
    const send = () => grpc.attempt(makeSend(grpcTool(peer), {}), makeSink())
    success(await send())
    const [session] = peer.sessions
    assert.ok(session)
    await once(session, 'close')
    success(await send())
    assert.equal(peer.connections(), 2)
  })

  it('a connection that the peer has ended is replaced', async (t) => {
    const peer = await service(t)
    const grpc = createGrpc()
    const send = () => grpc.attempt(makeSend(grpcTool(peer), {}), makeSink())
    success(await send())
    for (const session of peer.sessions) session.destroy()
    await pause(20)
    success(await send())
    assert.equal(peer.connections(), 2)
  })

  it('after GOAWAY calls under way end, and new ones go elsewhere', async (t) => {
    const held: (() => void)[] = []
    const peer = await service(t, (stream, asked, session) => {
      if ((asked.envelope.input as { n: number }).n > 1) return answerMessage(stream, okEnvelope(asked, 2))
      session.goaway(0)
      held.push(() => answerMessage(stream, okEnvelope(asked, 1)))
    })
    const grpc = createGrpc()
    const first = grpc.attempt(makeSend(grpcTool(peer), { n: 1 }), makeSink())
    await peer.arrived(1)
    await pause(20)
    assert.equal(success(await grpc.attempt(makeSend(grpcTool(peer), { n: 2 }), makeSink())).output, 2)
    held[0]?.()
    assert.equal(success(await first).output, 1)
    assert.equal(peer.connections(), 2)
  })

  it('a peer that is gone without a word is found out before a write, which goes over a new connection', async (t) => {
    const peer = await service(t)
    const line = await lineTo(t, peer)
    const grpc = createGrpc()
    success(await grpc.attempt(makeSend(grpcTool(line), {}), makeSink()))
    line.cut()
    await pause(1_050)
    const sink = makeSink()
    success(await grpc.attempt(makeSend(grpcTool(line), {}), sink))
    assert.deepEqual([sink.sent, peer.asked.length, peer.connections()], [1, 2, 2])
  })

  it('a read that nobody answered makes the connection doubtful for the next one', async (t) => {
    const peer = await service(t)
    const line = await lineTo(t, peer)
    const grpc = createGrpc()
    const tool = grpcTool(line, {}, reading())
    success(await grpc.attempt(makeSend(tool, {}), makeSink()))
    line.cut()
    const abort = new Abort()
    const lost = grpc.attempt(makeSend(tool, {}, { abort }), makeSink())
    await pause(1_050)
    abort.abort('timeout')
    assert.equal(refusal(await lost).failure, 'timeout')
    success(await grpc.attempt(makeSend(tool, {}), makeSink()))
    assert.equal(peer.connections(), 2)
  })
})

/** A way to the peer whose first connection can be cut so that neither end hears of it. */
async function lineTo(t: TestContext, peer: { readonly address: string }) {
  const sockets: Socket[] = []
  let isCut = false
  const middle = createServer((socket) => {
    const [host, port] = peer.address.split(':')
    const other = connect(Number(port), host)
    const isFirst = sockets.length === 0
    sockets.push(socket, other)
    for (const [from, to] of [
      [socket, other],
      [other, socket],
    ] as const) {
      from.on('error', () => {})
      from.on('data', (data) => {
        if (!(isCut && isFirst)) to.write(data)
      })
    }
  })
  middle.listen(0, '127.0.0.1')
  await once(middle, 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    middle.close()
  })
  return {
    address: `127.0.0.1:${(middle.address() as AddressInfo).port}`,
    cut() {
      isCut = true
    },
  }
}

describe('S23: a call that the peer never looked at is definite', () => {
  it('REFUSED_STREAM', async (t) => {
    const peer = await service(t, (stream) => stream.close(7))
    const reply = refusal(await createGrpc().attempt(makeSend(grpcTool(peer), {}), makeSink()))
    assert.deepEqual([reply.failure, reply.definite], ['connect-failed', true])
  })

  for (const code of [0, 2]) {
    it(`GOAWAY with code ${code} and a last stream below it; a stream above it is in doubt`, async (t) => {
      const peer = await service(t, (_stream, _asked, session) => {
        if (peer.asked.length < 2) return
        session.goaway(code, 1)
        setImmediate(() => session.destroy())
      })
      const grpc = createGrpc()
      const tool = grpcTool(peer)
      const first = grpc.attempt(makeSend(tool, {}), makeSink())
      await peer.arrived(1)
      const second = refusal(await grpc.attempt(makeSend(tool, {}), makeSink()))
      assert.deepEqual([second.failure, second.definite], ['connect-failed', true])
      const doubtful = refusal(await first)
      assert.deepEqual([doubtful.failure, doubtful.definite], ['connect-failed', false])
    })
  }
})

describe('a peer that is none', () => {
  async function raw(t: TestContext, talk: (socket: Socket) => void) {
    const server = createServer((socket) => {
      socket.on('error', () => {})
      talk(socket)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.after(() => server.close())
    return { address: `127.0.0.1:${(server.address() as AddressInfo).port}` }
  }

  it('that speaks HTTP/1, hangs up, or says nothing is connect-failed: nothing was sent', async (t) => {
    const talks: readonly ((socket: Socket) => void)[] = [
      (socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'),
      (socket) => socket.destroy(),
      (socket) => socket.once('data', () => socket.destroy()),
      (socket) => setTimeout(() => socket.destroy(), 200),
    ]
    for (const talk of talks) {
      const peer = await raw(t, talk)
      const sink = makeSink()
      const grpc = createGrpc({ connectTimeoutMs: 100 })
      const reply = refusal(await grpc.attempt(makeSend(grpcTool(peer), {}), sink))
      assert.deepEqual([reply.failure, reply.definite, sink.sent], ['connect-failed', true, 0])
    }
  })

  it('that never says a word does not hold up an abort or the end', async (t) => {
    const sockets: Socket[] = []
    const peer = await raw(t, (socket) => void sockets.push(socket))
    const grpc = createGrpc()
    const abort = new Abort()
    const pending = grpc.attempt(makeSend(grpcTool(peer), {}, { abort }), makeSink())
    const other = grpc.attempt(makeSend(grpcTool(peer), {}), makeSink())
    await pause(20)
    abort.abort('timeout')
    assert.equal(refusal(await pending).failure, 'timeout-before-send')
    await grpc.close()
    const reply = refusal(await other)
    assert.deepEqual([reply.failure, reply.definite], ['connect-failed', true])
    for (const socket of sockets) socket.destroy()
  })
})
