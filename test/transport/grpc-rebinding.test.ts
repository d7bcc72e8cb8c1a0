// gRPC and names: what a name stands for is judged when it is dialled, and what was judged is what is dialled (S51).
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { createDialects } from '../../src/contract/dialect/registry.ts'
import type { Resolve } from '../../src/egress/dial.ts'
import { createEgress } from '../../src/egress/egress.ts'
import { EgressFailed } from '../../src/egress/egress-failed.ts'
import { createNetwork } from '../../src/egress/network.ts'
import { createGrpcTransport } from '../../src/transport/grpc.ts'
import type { Reach } from '../../src/util/address-class.ts'
import { createSystemWorld } from '../../src/util/clock.ts'
import { grpcTool } from './grpc-harness.ts'
import { answerMessage, listenGrpc, okEnvelope } from './grpc-peer.ts'
import { makeSend, makeSink } from './send-fixture.ts'
import { refusal, success } from './transport-contract.ts'

/** A tool under a name that stands for what `answers` says: the first time, the second time, and the last from then on. */
async function named(t: TestContext, answers: readonly (readonly string[])[], reach: Reach) {
  const asked: string[] = []
  const resolve: Resolve = (name, _options, callback) => {
    const answer = answers[Math.min(asked.length, answers.length - 1)] ?? []
    asked.push(name)
    queueMicrotask(() =>
      callback(
        null,
        answer.map((address) => ({ address, family: 4 })),
      ),
    )
  }
  const network = createNetwork({ resolve })
  const world = createSystemWorld({ network })
  const grpc = createGrpcTransport({ world, dialects: createDialects() })
  const peer = await listenGrpc((stream, one) => answerMessage(stream, okEnvelope(one, 1)))
  t.after(async () => {
    await grpc.close()
    await peer.close()
    await network.destroy()
  })
  const port = Number(peer.address.split(':')[1])
  const tool = grpcTool(peer, { endpoint: `tool.example:${port}`, reach })
  async function call() {
    const sink = makeSink()
    return { reply: await grpc.attempt(makeSend(tool, {}), sink), sent: sink.sent }
  }
  return { call, peer, asked, world, port }
}

describe('a gRPC tool under a name', () => {
  it('is looked up once for a connection, and what was judged is dialled', async (t) => {
    const { call, asked, peer } = await named(t, [['127.0.0.1'], ['192.0.2.1']], 'loopback')
    success((await call()).reply)
    success((await call()).reply)
    assert.deepEqual(asked, ['tool.example'])
    assert.equal(peer.connections(), 1)
  })

  it('that stands for something else later is refused with the next connection: nothing is sent', async (t) => {
    const { call, asked, peer } = await named(t, [['127.0.0.1'], ['10.0.0.1']], 'loopback')
    success((await call()).reply)
    const [session] = peer.sessions
    session?.destroy()
    // The end of the connection is heard of a moment later; a send in between is lost, and no rebinding.
    for (;;) {
      const { reply, sent } = await call()
      if (refusal(reply).failure === 'connect-failed') continue
      assert.deepEqual([refusal(reply).failure, refusal(reply).definite, sent], ['egress-denied', true, 0])
      break
    }
    assert.deepEqual(asked, ['tool.example', 'tool.example'])
    assert.equal(peer.connections(), 1)
  })

  it('is refused for one inner address among good ones, and for none at all', async (t) => {
    for (const answer of [['93.184.216.34', '127.0.0.1'], ['127.0.0.1'], ['169.254.169.254'], []]) {
      const { call, peer } = await named(t, [answer], 'public')
      const { reply, sent } = await call()
      assert.deepEqual([refusal(reply).failure, refusal(reply).definite, sent], ['egress-denied', true, 0])
      assert.equal(peer.connections(), 0)
    }
  })

  it('is named as connections of other protocols are: one network has one way to look up', async (t) => {
    const { world, port, asked } = await named(t, [['127.0.0.1']], 'public')
    const open = (reach: Reach) =>
      createEgress({ world, reach }).open({ host: 'mail.example', port, scheme: 'smtp' })
    await assert.rejects(
      open('public'),
      (error) => error instanceof EgressFailed && error.reason === 'refused',
    )
    const socket = await open('loopback')
    socket.destroy()
    assert.deepEqual(asked, ['mail.example', 'mail.example'])
  })
})
