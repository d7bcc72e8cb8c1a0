// Tools behind TLS: HTTP/2 where it is offered and a repeat is harmless, HTTP/1.1 for everything else, and no connection
// at all to one that cannot prove who it is.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { constants, createSecureServer, type Http2SecureServer, type ServerHttp2Session } from 'node:http2'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { createNetwork } from '../../src/egress/network.ts'
import { createHttpTransport } from '../../src/transport/http.ts'
import { Abort } from '../../src/util/abort.ts'
import { createSystemWorld } from '../../src/util/clock.ts'
import { makeCertificates, NO_OPENSSL } from './certificate.ts'
import { makeOperation, makeSend, makeSink, makeTool } from './send-fixture.ts'
import { refusal, success } from './transport-contract.ts'

const made = makeCertificates()
const skip = made === undefined ? NO_OPENSSL : false
const trusted = getCACertificates('default')
const network = createNetwork()
const http = createHttpTransport({ world: createSystemWorld({ network }) })

before(() => setDefaultCACertificates([...trusted, made?.authority ?? '']))
after(async () => {
  setDefaultCACertificates(trusted)
  await network.destroy()
})

const { effect } = makeOperation()
const READ = makeOperation({ effect: { ...effect, class: 'read-only', repeat: 'read' } })
const WRITE = makeOperation()

async function ask(origin: string, path: string, operation = READ, abort = new Abort()) {
  const sink = makeSink()
  const tool = makeTool(
    { endpoint: `${origin}/${path}`, limits: { inputBytes: 1e6, outputBytes: 1e6 } },
    operation,
  )
  return { reply: await http.attempt(makeSend(tool, { path }, { abort }), sink), sent: sink.sent }
}

describe('a tool that offers HTTP/2', { skip }, () => {
  const sessions = new Set<ServerHttp2Session>()
  const seen: string[] = []
  let server: Http2SecureServer
  let origin = ''
  let arrived: (() => void) | undefined

  before(async () => {
    server = createSecureServer({ ...made?.pairs.good, allowHTTP1: true })
    server.on('session', (session) => {
      sessions.add(session)
      session.on('close', () => sessions.delete(session))
      session.on('error', () => {})
    })
    server.on('request', (request, response) => {
      seen.push(`${request.httpVersion} ${request.method} ${request.url}`)
      arrived?.()
      const { stream } = response
      stream?.on('error', () => {})
      if (request.url === '/hang') return
      if (request.url === '/reset') return stream.close(constants.NGHTTP2_INTERNAL_ERROR)
      if (request.url === '/refuse') return stream.close(constants.NGHTTP2_REFUSED_STREAM)
      if (request.url === '/leave') return stream.session?.destroy()
      response.setHeader('content-type', 'application/json')
      if (request.url !== '/pour') return response.end(`"${request.httpVersion}"`)
      const pour = () => {
        while (!response.destroyed && response.write('"x'.repeat(32_768)));
      }
      response.on('drain', pour)
      pour()
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    origin = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  after(() => {
    for (const session of sessions) session.destroy()
    server.close()
  })

  it('is asked over it where a repeat is harmless: many at once, one connection', async () => {
    const replies = await Promise.all(Array.from({ length: 40 }, () => ask(origin, 'read')))
    for (const { reply, sent } of replies) assert.deepEqual([success(reply).output, sent], ['2.0', 1])
    assert.equal(sessions.size, 1)
  })

  it('S22: is sent everything else over HTTP/1.1, which nobody sends again by himself', async () => {
    assert.equal(success((await ask(origin, 'write', WRITE)).reply).output, '1.1')
  })

  it('S22: that refuses a stream, resets one or goes away is not asked twice behind our back', async () => {
    for (const path of ['refuse', 'reset', 'leave']) {
      seen.length = 0
      const abort = new Abort()
      const { reply, sent } = await ask(origin, path, READ, abort)
      assert.deepEqual(
        [refusal(reply).failure, refusal(reply).definite, sent],
        ['connect-failed', false, 1],
        path,
      )
      assert.deepEqual(seen, [`2.0 POST /${path}`])
    }
    assert.equal(success((await ask(origin, 'read')).reply).output, '2.0', 'and is asked again later')
  })

  it('that sends without end is stopped at the limit', async () => {
    assert.equal(refusal((await ask(origin, 'pour')).reply).failure, 'output-too-large')
  })

  it('that hangs is left at the abort, and others go on over the same connection', async () => {
    const abort = new Abort()
    const there = new Promise<void>((resolve) => {
      arrived = resolve
    })
    const hanging = ask(origin, 'hang', READ, abort)
    await there
    arrived = undefined
    assert.equal(success((await ask(origin, 'read')).reply).output, '2.0')
    abort.abort('timeout')
    const { reply, sent } = await hanging
    assert.deepEqual([refusal(reply).failure, refusal(reply).definite, sent], ['timeout', false, 1])
    assert.equal(success((await ask(origin, 'read')).reply).output, '2.0')
  })
})

describe('a tool that cannot prove who it is', { skip }, () => {
  const cases = [
    ['self-signed', 'DEPTH_ZERO_SELF_SIGNED_CERT'],
    ['expired', 'CERT_HAS_EXPIRED'],
    ['other-host', 'ERR_TLS_CERT_ALTNAME_INVALID'],
  ] as const
  for (const [name, code] of cases) {
    it(`${name}: is sent nothing, over HTTP/2 or HTTP/1.1`, async (t) => {
      let requests = 0
      const server = createServer({ ...made?.pairs[name] }, (_request, response) => {
        requests++
        response.end()
      })
      server.on('tlsClientError', () => {})
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      t.after(() => {
        server.closeAllConnections()
        server.close()
      })
      const origin = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
      for (const operation of [READ, WRITE]) {
        const { reply, sent } = await ask(origin, '', operation)
        const { failure, definite, details } = refusal(reply)
        assert.deepEqual([failure, definite, sent, requests], ['connect-failed', true, 0, 0])
        assert.equal(details?.network_error, code)
      }
    })
  }
})
