// The guard judges what is dialled: literals in every notation, names by what they stand for, and nothing by its text alone.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { describe, it, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { fetch } from 'undici'
import { Blocked, blockedLiteral, dial, guardedLookup, type Resolve } from '../../src/egress/dial.ts'
import { createEgress } from '../../src/egress/egress.ts'
import { EgressFailed } from '../../src/egress/egress-failed.ts'
import { createNetwork, withReach } from '../../src/egress/network.ts'
import { createOwnReach } from '../../src/egress/own-reach.ts'
import { exchange } from '../../src/transport/http-exchange.ts'
import { Abort } from '../../src/util/abort.ts'
import { classOf, REACHES, type Reach } from '../../src/util/address-class.ts'
import { createSystemWorld } from '../../src/util/clock.ts'
import { makeSink } from '../transport/send-fixture.ts'
import { listenHttp } from '../transport/tool-peer.ts'

const hostOf = (text: string): string => new URL(`http://${text}/`).hostname

describe('an address', () => {
  const classes: readonly (readonly [string, ReturnType<typeof classOf>])[] = [
    ['127.0.0.1', 'loopback'],
    ['127.255.255.254', 'loopback'],
    ['[::1]', 'loopback'],
    ['[::ffff:127.0.0.1]', 'loopback'],
    ['[::ffff:7f00:1]', 'loopback'],
    ['[::127.0.0.1]', 'loopback'],
    ['2130706433', 'loopback'],
    ['0x7f000001', 'loopback'],
    ['0x7f.1', 'loopback'],
    ['0177.0.0.1', 'loopback'],
    ['127.1', 'loopback'],
    ['10.0.0.1', 'private'],
    ['012.0.0.1', 'private'],
    ['172.16.0.1', 'private'],
    ['172.31.255.255', 'private'],
    ['172.32.0.1', 'public'],
    ['192.168.1.1', 'private'],
    ['100.64.0.1', 'private'],
    ['[fd12:3456::1]', 'private'],
    ['[::ffff:10.1.2.3]', 'private'],
    ['[64:ff9b::10.0.0.1]', 'private'],
    ['169.254.169.254', 'forbidden'],
    ['2852039166', 'forbidden'],
    ['[::ffff:169.254.169.254]', 'forbidden'],
    ['[fe80::1]', 'forbidden'],
    ['[fd00:ec2::254]', 'forbidden'],
    ['[fd20:ce::254]', 'forbidden'],
    ['[::ffff:0:10.0.0.1]', 'forbidden'],
    ['[64:ff9b:1::10.0.0.1]', 'forbidden'],
    ['100.100.100.200', 'forbidden'],
    ['168.63.129.16', 'forbidden'],
    ['0.0.0.0', 'forbidden'],
    ['0', 'forbidden'],
    ['[::]', 'forbidden'],
    ['224.0.0.1', 'forbidden'],
    ['255.255.255.255', 'forbidden'],
    ['[ff02::1]', 'forbidden'],
    ['[2002:7f00:1::]', 'forbidden'],
    ['8.8.8.8', 'public'],
    ['[2606:4700::1111]', 'public'],
  ]
  for (const [text, expected] of classes) {
    it(`${text} is ${expected}`, () => {
      const host = hostOf(text)
      assert.equal(classOf(host.startsWith('[') ? host.slice(1, -1) : host), expected)
      for (const reach of REACHES) {
        const within =
          expected === 'public' ||
          (expected === 'loopback' && (reach === 'loopback' || reach === 'private')) ||
          (expected === 'private' && (reach === 'private' || reach === 'intranet'))
        assert.equal(blockedLiteral(host, reach) === undefined, within, reach)
      }
    })
  }
})

/** A resolver of one name, which answers as it likes each time. */
function resolver(answers: readonly (readonly string[])[]): { resolve: Resolve; asked: () => number } {
  let asked = 0
  return {
    asked: () => asked,
    resolve: (_name, _options, callback) => {
      const answer = answers[Math.min(asked++, answers.length - 1)] ?? []
      const found = answer.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
      queueMicrotask(() => callback(null, found))
    },
  }
}

describe('a name', () => {
  const lookUp = (answer: readonly string[], reach: Reach) =>
    new Promise((resolve, reject) => {
      const lookup = guardedLookup(reach, resolver([answer]).resolve)
      lookup('a.example', { all: true }, (error, found) => (error ? reject(error) : resolve(found)))
    })

  it('is blocked by one bad address among good ones, and by none at all', async () => {
    await assert.rejects(lookUp(['8.8.8.8', '127.0.0.1'], 'public'), Blocked)
    await assert.rejects(lookUp(['8.8.8.8', '169.254.169.254'], 'private'), Blocked)
    await assert.rejects(lookUp(['::ffff:10.0.0.1'], 'loopback'), Blocked)
    await assert.rejects(lookUp([], 'private'), Blocked)
    assert.deepEqual(await lookUp(['8.8.8.8'], 'public'), [{ address: '8.8.8.8', family: 4 }])
  })
})

async function opened(t: TestContext, options: Parameters<typeof createNetwork>[0] = {}) {
  const peer = await listenHttp((_request, response) => response.end('ok'))
  const network = createNetwork(options)
  t.after(async () => {
    await network.destroy()
    await peer.close()
  })
  const port = new URL(peer.origin).port
  const send = async (host: string, reach?: Reach) => {
    const sink = makeSink()
    const request = {
      origin: `http://${host}:${port}`,
      path: '/',
      method: 'POST',
      headers: [],
      body: '{}',
      maxBytes: 100,
      repeatHarmless: false,
      ...(reach === undefined ? {} : { reach }),
    }
    const came = await exchange(network, request, new Abort(), sink)
    return { kind: came.kind, sent: sink.sent }
  }
  return { peer, network, port, send }
}

describe('a connection', () => {
  it('goes nowhere but public addresses unless it says more', async (t) => {
    const { peer, send } = await opened(t)
    for (const host of ['127.0.0.1', 'localhost', '2130706433', '[::ffff:127.0.0.1]'])
      assert.deepEqual(await send(host), { kind: 'blocked', sent: 0 }, host)
    assert.deepEqual(await send('localhost', 'intranet'), { kind: 'blocked', sent: 0 })
    assert.deepEqual(await send('169.254.169.254', 'private'), { kind: 'blocked', sent: 0 })
    assert.equal(peer.connections(), 0)
    assert.deepEqual(await send('127.0.0.1', 'loopback'), { kind: 'answered', sent: 1 })
    assert.deepEqual(await send('2130706433', 'private'), { kind: 'answered', sent: 1 })
  })

  it('that was made with one reach is not there for another', async (t) => {
    const { peer, send } = await opened(t)
    assert.equal((await send('127.0.0.1', 'loopback')).kind, 'answered')
    assert.equal((await send('127.0.0.1', 'public')).kind, 'blocked')
    assert.equal(peer.connections(), 1)
  })

  it('of a name is looked up once: what was judged is what is dialled', async (t) => {
    // A name that is good when it is first asked for, and this machine from then on.
    const rebinding = resolver([['192.0.2.1'], ['127.0.0.1']])
    const { peer, send } = await opened(t, { resolve: rebinding.resolve })
    assert.deepEqual(await send('rebind.example', 'public'), { kind: 'blocked', sent: 0 })
    assert.equal(rebinding.asked(), 1)
    assert.deepEqual(await send('rebind.example', 'public'), { kind: 'blocked', sent: 0 })
    assert.equal(rebinding.asked(), 2, 'and anew for each connection')
    assert.equal(peer.connections(), 0)
    const inner = resolver([['127.0.0.1'], ['192.0.2.1']])
    const other = await opened(t, { resolve: inner.resolve })
    assert.equal((await other.send('inner.example', 'loopback')).kind, 'answered')
    assert.deepEqual([inner.asked(), other.peer.connections()], [1, 1])
  })

  it('of a fetch, and one for another protocol, is guarded too', async (t) => {
    const { peer, network, port } = await opened(t)
    const world = createSystemWorld({ network })
    await assert.rejects(fetch(peer.origin, { dispatcher: withReach(network, 'public') }))
    const reply = await fetch(peer.origin, { dispatcher: withReach(network, 'loopback') })
    assert.equal(await reply.text(), 'ok')
    const refused = (error: unknown) => error instanceof EgressFailed && error.reason === 'refused'
    const to = { port: Number(port), timeoutMs: 2000 }
    await assert.rejects(dial(world, { ...to, host: 'localhost', reach: 'public' }), refused)
    await assert.rejects(dial(world, { ...to, host: '[::ffff:7f00:1]', reach: 'intranet' }), refused)
    const socket = await dial(world, { ...to, host: '127.0.0.1', reach: 'loopback' })
    socket.destroy()
  })
})

describe('what the server itself may reach', () => {
  it('is public; this machine in profile local; and what the operator names', async (t) => {
    const { peer, network, port } = await opened(t)
    const world = createSystemWorld({ network })
    const status = async (profile: 'local' | 'production', named: readonly string[], url: string) => {
      const reach = createOwnReach({ profile, private: named })
      const reply = await createEgress({ world, reach }).send({ url })
      return reply.status
    }
    const refused = (error: unknown) => error instanceof EgressFailed && error.reason === 'refused'
    assert.equal(await status('local', [], peer.origin), 200)
    await assert.rejects(status('production', [], peer.origin), refused)
    await assert.rejects(status('production', [], `http://localhost:${port}`), refused)
    await assert.rejects(status('production', ['http://127.0.0.1:1'], peer.origin), refused)
    assert.equal(await status('production', [`HTTP://LOCALHOST:${port}/`], `http://localhost:${port}`), 200)
    const metadata = 'http://169.254.169.254'
    await assert.rejects(status('production', [metadata], `${metadata}/latest`), refused)
  })

  it('names mail servers and default ports as well, and nothing that is no origin', () => {
    const reach = createOwnReach({
      profile: 'production',
      private: ['smtp://Mail.internal', 'https://v.internal:443'],
    })
    assert.equal(reach(new URL('smtp://mail.internal:25')), 'private')
    assert.equal(reach(new URL('smtp://mail.internal:587')), 'public')
    assert.equal(reach(new URL('https://v.internal/x')), 'private')
    assert.equal(reach(new URL('https://v.internal.evil.example/x')), 'public')
    for (const wrong of [
      'vault',
      'https://a.internal/path',
      'https://me:pw@a.internal',
      'ftp://a.internal',
      '',
    ])
      assert.throws(() => createOwnReach({ profile: 'local', private: [wrong] }), /egress_private: .*Fix:/)
  })
})

describe('proxies of the environment', () => {
  it('are used by nobody, even where the platform is told to', async (t) => {
    const { peer } = await opened(t)
    const proxy = await listenHttp((_request, response) => response.writeHead(502).end('through the proxy'))
    t.after(() => proxy.close())
    const program = `
      import { createNetwork } from './src/egress/network.ts'
      import { createEgress } from './src/egress/egress.ts'
      import { createSystemWorld } from './src/util/clock.ts'
      const world = createSystemWorld({ network: createNetwork() })
      const reply = await createEgress({ world, reach: 'loopback' }).send({ url: process.argv[1] })
      console.log(reply.status, Buffer.from(reply.body).toString())
      await world.network.destroy()`
    const env = { ...process.env, NODE_USE_ENV_PROXY: '1', NO_PROXY: '', no_proxy: '' }
    for (const name of ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY']) {
      Object.assign(env, { [name]: proxy.origin, [name.toLowerCase()]: proxy.origin })
    }
    const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', program, peer.origin]
    const { stdout } = await promisify(execFile)(process.execPath, args, { env })
    assert.equal(stdout.trim(), '200 ok')
    assert.equal(proxy.connections(), 0)
  })
})
