// A tool over gRPC with nothing but Node: orloj.tool.v1.ToolService/Execute, with envelopes as JSON messages.
import { createServer, type Http2Server, type ServerHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'

const PATH = '/orloj.tool.v1.ToolService/Execute'
const PER_EUR: Readonly<Record<string, number>> = { USD: 1.08, CZK: 25.3, NOK: 11.7 }
const INVALID_ARGUMENT = 3
const UNIMPLEMENTED = 12

interface Request {
  readonly request_id: string
  readonly input?: { readonly amount: number; readonly to: string }
}

/** Listens on a free port of this machine and says where. */
export async function startRates(port = 0): Promise<{ readonly address: string; stop(): Promise<void> }> {
  const server = createServer()
  server.on('stream', async (stream, headers) => {
    stream.on('error', () => {})
    const chunks: Buffer[] = []
    for await (const chunk of stream) chunks.push(chunk as Buffer)
    if (headers[':path'] !== PATH) return refuse(stream, UNIMPLEMENTED, 'no such method')
    // A flag and four bytes of length come before the message.
    const request = JSON.parse(Buffer.concat(chunks).subarray(5).toString()) as Request
    const { amount = 0, to = '' } = request.input ?? {}
    const rate = PER_EUR[to]
    if (rate === undefined) return refuse(stream, INVALID_ARGUMENT, `no rate for ${to}`)
    const output = { eur: amount, [to.toLowerCase()]: Math.round(amount * rate * 100) / 100 }
    answer(stream, { request_id: request.request_id, status: 'ok', output })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', resolve)
  })
  const sessions = sessionsOf(server)
  const { port: actual } = server.address() as AddressInfo
  return {
    address: `127.0.0.1:${actual}`,
    stop() {
      for (const session of sessions) session.close()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}

function answer(stream: ServerHttp2Stream, envelope: object): void {
  const message = Buffer.from(JSON.stringify(envelope))
  const head = Buffer.alloc(5)
  head.writeUInt32BE(message.length, 1)
  stream.respond({ ':status': 200, 'content-type': 'application/grpc+json' }, { waitForTrailers: true })
  stream.once('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
  stream.end(Buffer.concat([head, message]))
}

function refuse(stream: ServerHttp2Stream, status: number, message: string): void {
  stream.respond(
    {
      ':status': 200,
      'content-type': 'application/grpc+json',
      'grpc-status': String(status),
      'grpc-message': encodeURIComponent(message),
    },
    { endStream: true },
  )
}

function sessionsOf(server: Http2Server) {
  const sessions = new Set<{ close(): void }>()
  server.on('session', (session) => {
    sessions.add(session)
    session.once('close', () => sessions.delete(session))
  })
  return sessions
}

if (import.meta.main) console.log(`rates are told on ${(await startRates(7508)).address}`)
