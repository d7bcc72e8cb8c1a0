// Tools behind TLS: with a certificate that is trusted they are reached, with another one nothing is sent.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { createNetwork } from '../../src/egress/network.ts'
import { createHttpTransport } from '../../src/transport/http.ts'
import { createSystemWorld } from '../../src/util/clock.ts'
import { makeSend, makeSink, makeTool } from './send-fixture.ts'
import { refusal, success } from './transport-contract.ts'

/** Part of the machine, not of this package. */
const OPENSSL = 'openssl'

interface Pair {
  readonly key: string
  readonly cert: string
}

/** A certificate of a day for 127.0.0.1, signed by itself; undefined where the machine has no openssl. */
function makePair(): Pair | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'writ-tls-'))
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const request =
    'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=writ-test'
  const names = ['-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', cert]
  try {
    execFileSync(OPENSSL, [...request.split(' '), ...names], { stdio: 'pipe', timeout: 20_000 })
    return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return undefined
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const pair = makePair()
const skip = pair === undefined ? 'no openssl to make a certificate with; install it to run this' : false

describe('a tool behind TLS', { skip }, () => {
  const network = createNetwork()
  const http = createHttpTransport({ world: createSystemWorld({ network }) })
  const trusted = getCACertificates('default')
  const bodies: string[] = []
  let server: Server
  let origin = ''

  before(async () => {
    server = createServer({ ...pair }, async (request, response) => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      bodies.push(Buffer.concat(chunks).toString())
      response.setHeader('content-type', 'application/json').end('{"seen":true}')
    })
    server.on('tlsClientError', () => {
      // A client that does not trust the certificate hangs up; that is tested below.
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    origin = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  })

  after(async () => {
    setDefaultCACertificates(trusted)
    await network.destroy()
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })

  const attempt = async () => {
    const sink = makeSink()
    const tool = makeTool({ type: 'http', endpoint: origin })
    const reply = await http.attempt(makeSend(tool, { city: 'Brno' }), sink)
    return { reply, sent: sink.sent }
  }

  it('is sent nothing while its certificate is not trusted', async () => {
    const { reply, sent } = await attempt()
    const { failure, definite, details } = refusal(reply)
    assert.deepEqual([failure, definite, sent], ['connect-failed', true, 0])
    assert.equal(details?.network_error, 'DEPTH_ZERO_SELF_SIGNED_CERT')
    assert.deepEqual(bodies, [])
  })

  it('is reached once its certificate is trusted', async () => {
    setDefaultCACertificates([...trusted, pair?.cert ?? ''])
    const { reply, sent } = await attempt()
    assert.deepEqual(success(reply).output, { seen: true })
    assert.equal(sent, 1)
    assert.deepEqual(bodies, ['{"city":"Brno"}'])
  })
})
