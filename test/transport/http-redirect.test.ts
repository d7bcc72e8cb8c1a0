// S25: a redirect is a send of its own. Followed only where declared, each hop held to the egress rules.
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { ResolvedTool } from '../../src/resource/resolved-tool.ts'
import type { Send } from '../../src/transport/transport.ts'
import { Abort } from '../../src/util/abort.ts'
import { http } from './http-harness.ts'
import { presented } from './presented.ts'
import { makeOperation, makeSend, makeSink, makeTool, REFUSED_ON } from './send-fixture.ts'
import { deadOrigin, listenHttp, type Peer, type Respond } from './tool-peer.ts'
import { refusal, success } from './transport-contract.ts'

const READ = makeOperation({
  effect: {
    class: 'read-only',
    determinism: 'pure',
    repeat: 'read',
    keyRequired: false,
    refusedOn: REFUSED_ON,
  },
})
const WRITE = makeOperation()

/** `/STATUS/WHERE` redirects to the path WHERE of `elsewhere`; anything else is an answer. */
async function redirecting(t: TestContext, elsewhere?: string): Promise<Peer> {
  const respond: Respond = ({ path }, response) => {
    const [, status, rest] = /^\/(3\d\d)(\/.*)$/.exec(path) ?? []
    if (status === undefined) return response.setHeader('content-type', 'application/json').end('"here"')
    return response.writeHead(Number(status), { location: `${elsewhere ?? ''}${rest}` }).end()
  }
  const peer = await listenHttp(respond)
  t.after(() => peer.close())
  return peer
}

interface Asked {
  readonly method?: string
  readonly most?: number
  readonly operation?: typeof READ
  readonly tool?: Partial<ResolvedTool>
  readonly send?: Partial<Send>
}

async function ask(peer: Peer, path: string, { method = 'GET', most = 3, ...more }: Asked = {}) {
  const part = { method, contentType: 'application/json', maxRedirects: most }
  const tool = makeTool(
    { endpoint: `${peer.origin}${path}`, http: part, ...more.tool },
    more.operation ?? READ,
  )
  const sink = makeSink()
  const reply = await http.attempt(makeSend(tool, { a: 1 }, more.send), sink)
  return { reply, sent: sink.sent }
}

describe('a redirect', () => {
  it('is not followed unless the tool declares it', async (t) => {
    const peer = await redirecting(t)
    const { reply, sent } = await ask(peer, '/302/x', { most: 0 })
    assert.equal(refusal(reply).failure, 'upstream-rejected')
    assert.match(refusal(reply).message ?? '', /redirects are not followed/)
    assert.deepEqual([sent, peer.received.length], [1, 1])
  })

  for (const status of [301, 302, 303, 307, 308]) {
    it(`${status} of a read with GET is followed, and counts as a send`, async (t) => {
      const peer = await redirecting(t)
      const { reply, sent } = await ask(peer, `/${status}/x`)
      assert.equal(success(reply).output, 'here')
      assert.deepEqual(
        peer.received.map(({ method, path }) => `${method} ${path}`),
        [`GET /${status}/x?a=1`, 'GET /x?a=1'],
      )
      assert.equal(sent, 2)
    })

    it(`${status} of a write is ${status < 307 ? 'not followed' : 'sent on as it is'}`, async (t) => {
      const peer = await redirecting(t)
      const { reply } = await ask(peer, `/${status}/x`, { method: 'POST', operation: WRITE })
      if (status < 307) {
        assert.deepEqual([refusal(reply).failure, refusal(reply).definite], ['upstream-rejected', false])
        assert.equal(peer.received.length, 1)
        return
      }
      assert.equal(success(reply).output, 'here')
      const [first, second] = peer.received
      assert.deepEqual([second?.method, second?.body, second?.path], ['POST', '{"a":1}', '/x'])
      assert.equal(second?.headers['idempotency-key'], first?.headers['idempotency-key'])
    })
  }

  it('that is one too many, or leads back, ends in a clear refusal', async (t) => {
    const peer = await redirecting(t)
    const tooMany = refusal((await ask(peer, '/307/307/307/x', { most: 2, method: 'POST' })).reply)
    assert.match(tooMany.message ?? '', /one more than the 2/)
    assert.equal(peer.received.length, 3)
    const circle = await listenHttp(({ path }, response) =>
      response.writeHead(302, { location: path.startsWith('/a') ? '/b' : '/a?a=1' }).end(),
    )
    t.after(() => circle.close())
    const { reply } = await ask(circle, '/a', { most: 10 })
    assert.deepEqual([refusal(reply).failure, circle.received.length], ['upstream-rejected', 2])
    assert.match(refusal(reply).message ?? '', /in a circle/)
  })

  it('to another origin is followed only where that is allowed, by tool and by request', async (t) => {
    const other = await redirecting(t)
    const peer = await redirecting(t, other.origin)
    const both = { netAllowlist: [peer.origin, other.origin] }
    const refusedBy = async (asked: Asked) => {
      const { failure, definite } = refusal((await ask(peer, '/307/x', asked)).reply)
      assert.equal(other.received.length, 0)
      return [failure, definite]
    }
    assert.deepEqual(await refusedBy({}), ['egress-denied', false])
    assert.deepEqual(await refusedBy({ method: 'POST', operation: WRITE }), ['upstream-rejected', false])
    const narrowed = { constraints: { netAllowlist: [peer.origin] } }
    assert.deepEqual(await refusedBy({ tool: both, send: narrowed }), ['egress-denied', false])
    assert.equal(success((await ask(peer, '/307/x', { tool: both })).reply).output, 'here')
  })

  it('leads to no other scheme, no user name, and never inside', async (t) => {
    const places = [
      ['file:///etc/passwd', 'upstream-rejected'],
      ['ftp://a.example/', 'upstream-rejected'],
      ['http://me:pw@127.0.0.1/', 'egress-denied'],
      ['http://169.254.169.254/latest/meta-data/', 'egress-denied'],
      ['http://10.0.0.1/', 'egress-denied'],
      ['http://[::ffff:10.0.0.1]/', 'egress-denied'],
      ['//evil.example/', 'egress-denied'],
    ] as const
    for (const [location, failure] of places) {
      const peer = await listenHttp((_request, response) => response.writeHead(302, { location }).end())
      t.after(() => peer.close())
      // The list alone would let some of them through; the dialled address would not.
      const netAllowlist = [peer.origin, 'http://10.0.0.1', 'http://169.254.169.254']
      const { reply, sent } = await ask(peer, '/', { tool: { netAllowlist } })
      assert.deepEqual([refusal(reply).failure, sent], [failure, 1], location)
    }
  })

  it('never takes a credential to another origin, not even on the way back', async (t) => {
    let back = ''
    const other = await listenHttp((_request, response) => response.writeHead(307, { location: back }).end())
    t.after(() => other.close())
    const peer = await redirecting(t, other.origin)
    back = `${peer.origin}/end`
    const credentials = presented(['authorization', 'Bearer geheim'], ['x-api-key', 'geheim'])
    const tool = { netAllowlist: [peer.origin, other.origin] }
    success((await ask(peer, '/307/x', { tool, send: { credentials }, method: 'POST' })).reply)
    assert.equal(peer.received[0]?.headers.authorization, 'Bearer geheim')
    for (const request of [other.received[0], peer.received[1]]) {
      assert.ok(request)
      assert.doesNotMatch(JSON.stringify(request), /geheim/)
    }
    const same = await redirecting(t)
    success((await ask(same, '/307/x', { send: { credentials } })).reply)
    assert.equal(same.received[1]?.headers['x-api-key'], 'geheim')
  })

  it('S23: after which nothing could be sent leaves a write unknown, whatever the reason', async (t) => {
    const dead = await deadOrigin()
    const peer = await redirecting(t, dead)
    const tool = { netAllowlist: [peer.origin, dead] }
    const lost = refusal((await ask(peer, '/307/x', { tool, method: 'POST', operation: WRITE })).reply)
    assert.deepEqual([lost.failure, lost.definite], ['connect-failed', false])
    // The lease ran out between the two.
    const sink = makeSink(() => {
      if (sink.sent > 1) throw new Error('not now')
    })
    const same = await redirecting(t)
    const part = { method: 'POST', contentType: 'application/json', maxRedirects: 1 }
    const write = makeTool({ endpoint: `${same.origin}/307/x`, http: part }, WRITE)
    const stopped = refusal(await http.attempt(makeSend(write, {}), sink))
    assert.deepEqual([stopped.definite, same.received.length], [false, 1])
  })

  it('is not followed after the abort', async (t) => {
    const abort = new Abort()
    const peer = await listenHttp((_request, response) => {
      abort.abort('canceled')
      response.writeHead(307, { location: '/x' }).end()
    })
    t.after(() => peer.close())
    const { reply } = await ask(peer, '/', { send: { abort }, method: 'POST', operation: WRITE })
    assert.deepEqual([refusal(reply).failure, refusal(reply).definite], ['canceled', false])
    assert.equal(peer.received.length, 1)
  })
})
