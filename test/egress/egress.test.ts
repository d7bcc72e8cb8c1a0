// The one way out: what it lets through, what it refuses, and what its errors say.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { gzipSync } from 'node:zlib'
import { createEgress, type EgressOptions } from '../../src/egress/egress.ts'
import { EgressFailed } from '../../src/egress/egress-failed.ts'
import { createNetwork } from '../../src/egress/network.ts'
import { createSystemWorld } from '../../src/util/clock.ts'

function door(t: TestContext, options: Partial<EgressOptions> = {}) {
  const network = createNetwork()
  t.after(() => network.destroy())
  return createEgress({ world: createSystemWorld({ network }), reach: 'loopback', ...options })
}

async function serve(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const failed = (reason: string, message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof EgressFailed, String(error))
  assert.equal(error.reason, reason)
  assert.match(error.message, message)
  assert.doesNotMatch(error.message, /geheim/)
  return true
}

describe('egress', () => {
  it('sends and gives status, headers and body', async (t) => {
    const url = await serve(t, (request, response) => {
      response.writeHead(201, { 'X-Asked': `${request.method} ${request.headers['x-own']}` })
      request.pipe(response)
    })
    const headers = { 'x-own': 'yes' }
    const reply = await door(t).send({ url, method: 'POST', headers, body: 'hello' })
    assert.equal(reply.status, 201)
    assert.equal(reply.headers['x-asked'], 'POST yes')
    assert.equal(Buffer.from(reply.body).toString(), 'hello')
  })

  it('follows no redirect: it is a reply like any other', async (t) => {
    let asked = 0
    const url = await serve(t, (_request, response) => {
      asked++
      response.writeHead(302, { location: '/elsewhere' }).end()
    })
    assert.equal((await door(t).send({ url })).status, 302)
    assert.equal(asked, 1)
  })

  it('uses no proxy of the environment', async (t) => {
    const url = await serve(t, (_request, response) => response.end('straight'))
    for (const name of ['http_proxy', 'HTTP_PROXY']) {
      const before = process.env[name]
      process.env[name] = 'http://127.0.0.1:9'
      t.after(() => {
        if (before === undefined) delete process.env[name]
        else process.env[name] = before
      })
    }
    assert.equal(Buffer.from((await door(t).send({ url })).body).toString(), 'straight')
  })

  it('refuses other schemes, credentials and what cannot be read, before anything is sent', async (t) => {
    const egress = door(t)
    const refuse = (url: string, why: RegExp) => assert.rejects(egress.send({ url }), failed('refused', why))
    await refuse('file:///etc/passwd?geheim', /none that can be read|no http or https/)
    await refuse('ftp://example.com/geheim', /ftp:\/\/example\.com: is no http or https address/)
    await refuse('gopher://example.com/geheim', /no http or https/)
    await refuse('geheim', /can be read/)
    await refuse('http://', /can be read/)
    await refuse('https://user:geheim@example.com/', /https:\/\/example\.com: has credentials/)
    await refuse(`https://example.com/${'a'.repeat(9000)}`, /can be read/)
    assert.equal(egress.check('https://example.com/a').host, 'example.com')
  })

  it('asks the rule of its user, and names the origin alone', async (t) => {
    const allow = ({ hostname }: URL) => (hostname === 'good.example' ? undefined : 'is not on the list')
    const egress = door(t, { allow })
    assert.doesNotThrow(() => egress.check('https://good.example/x'))
    const refused = failed('refused', /^https:\/\/bad\.example: is not on the list$/)
    assert.throws(() => egress.check('https://bad.example/geheim?geheim=1'), refused)
    await assert.rejects(egress.send({ url: 'https://bad.example/geheim' }), refused)
    await assert.rejects(
      async () => egress.open({ scheme: 'smtp', host: 'bad.example', port: 25 }),
      failed('refused', /^smtp:\/\/bad\.example:25: is not on the list$/),
    )
  })

  it('ends a peer that never answers, and one that never ends', async (t) => {
    const silent = await serve(t, () => {})
    await assert.rejects(
      door(t).send({ url: `${silent}/geheim`, timeoutMs: 50 }),
      failed('timeout', /took longer than 50 ms/),
    )
    const endless = await serve(t, (_request, response) => {
      response.writeHead(200)
      const timer = setInterval(() => response.write('.'), 5)
      response.once('close', () => clearInterval(timer))
    })
    await assert.rejects(door(t).send({ url: endless, timeoutMs: 100 }), failed('timeout', /100 ms/))
  })

  it('keeps no more than it was asked to, announced or not', async (t) => {
    const body = 'x'.repeat(5000)
    const announced = await serve(t, (_request, response) => response.end(body))
    const chunked = await serve(t, (_request, response) => {
      response.write(body)
      response.end(body)
    })
    for (const url of [announced, chunked])
      await assert.rejects(door(t).send({ url, maxBytes: 4999 }), failed('too-large', /more than 4999 bytes/))
    assert.equal((await door(t).send({ url: announced, maxBytes: 5000 })).body.length, 5000)
  })

  it('takes no header that is too long, and no encoding that was not asked for', async (t) => {
    const long = await serve(t, (_request, response) => {
      response.writeHead(200, { 'x-long': 'x'.repeat(20_000) }).end()
    })
    await assert.rejects(door(t).send({ url: long }), failed('unreachable', /UND_ERR_HEADERS_OVERFLOW/))
    const zipped = await serve(t, (_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('x'.repeat(100_000)))
    })
    await assert.rejects(door(t).send({ url: zipped }), failed('malformed', /encoding/))
  })

  it('says that nobody is there, without the path', async (t) => {
    const server = createTcpServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    server.close()
    await once(server, 'close')
    const url = `http://127.0.0.1:${port}/geheim?token=geheim`
    await assert.rejects(door(t).send({ url }), failed('unreachable', /ECONNREFUSED/))
    await assert.rejects(
      door(t).open({ scheme: 'smtp', host: '127.0.0.1', port }),
      failed('unreachable', /smtp:\/\/127\.0\.0\.1:\d+: ECONNREFUSED/),
    )
  })

  it('opens a connection for other protocols', async (t) => {
    const server = createTcpServer((socket) => socket.end('220 hello')).listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.after(() => server.close())
    const { port } = server.address() as AddressInfo
    const socket: Socket = await door(t).open({ scheme: 'smtp', host: '127.0.0.1', port })
    t.after(() => socket.destroy())
    const [chunk] = (await once(socket, 'data')) as [Buffer]
    assert.equal(chunk.toString(), '220 hello')
  })
})
