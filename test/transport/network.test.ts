// The connections to HTTP tools: which are kept, for how long, and what is never kept.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Dispatcher } from 'undici'
import { createNetwork } from '../../src/egress/network.ts'
import { exchange } from '../../src/transport/http-exchange.ts'
import { Abort } from '../../src/util/abort.ts'
import { makeSink } from './send-fixture.ts'
import { listenHttp, type Peer } from './tool-peer.ts'
import { pause } from './transport-contract.ts'

function send(network: Dispatcher, peer: Peer, repeatHarmless: boolean) {
  const request = {
    origin: peer.origin,
    path: '/',
    method: 'POST',
    headers: [],
    body: '{}',
    maxBytes: 100,
    repeatHarmless,
    reach: 'loopback' as const,
  }
  return exchange(network, request, new Abort(), makeSink())
}

describe('the network', () => {
  it('S25: keeps connections of harmless repeats longer than those of other sends', async () => {
    // The peer promises to keep its side open for long; that does not count for writes.
    const peer = await listenHttp(
      (_request, response) => response.end('ok'),
      (server) => {
        server.keepAliveTimeout = 60_000
      },
    )
    const network = createNetwork({ writeIdleMs: 60 })
    try {
      await send(network, peer, true)
      await pause(200)
      await send(network, peer, true)
      assert.equal(peer.connections(), 1)
      await send(network, peer, false)
      await pause(200)
      await send(network, peer, false)
      assert.equal(peer.connections(), 3)
    } finally {
      await network.destroy()
      await peer.close()
    }
  })

  it('S25: a send that must not be repeated does not die with a connection that the peer let go stale', async () => {
    // A peer that closes idle connections without a word, as many balancers do.
    const peer = await listenHttp(
      (_request, response) => response.end('ok'),
      (server) => {
        server.keepAliveTimeout = 0
        server.on('connection', (socket) => socket.setTimeout(150, () => socket.destroy()))
      },
    )
    const network = createNetwork({ writeIdleMs: 50 })
    try {
      for (let round = 0; round < 5; round++) {
        assert.equal((await send(network, peer, false)).kind, 'answered')
        await pause(145 + round * 3)
      }
    } finally {
      await network.destroy()
      await peer.close()
    }
  })

  it('W24: has as many connections to one origin as there are sends at once', async () => {
    const peer = await listenHttp((_request, response) => void setTimeout(() => response.end('ok'), 40))
    const network = createNetwork()
    try {
      await Promise.all(Array.from({ length: 32 }, () => send(network, peer, true)))
      assert.equal(peer.connections(), 32)
    } finally {
      await network.destroy()
      await peer.close()
    }
  })

  it('once closed or destroyed sends nothing more, and says so', async () => {
    const peer = await listenHttp((_request, response) => response.end('ok'))
    const closed = createNetwork()
    await closed.close()
    const destroyed = createNetwork()
    await new Promise<void>((resolve) => destroyed.destroy(null, resolve))
    for (const network of [closed, destroyed]) {
      const result = await send(network, peer, false)
      assert.deepEqual([result.kind, result.kind === 'broken' && result.sent], ['broken', false])
    }
    await peer.close()
  })
})
