// The tool of the gRPC benchmarks, in a process of its own: answers every call with a small envelope.
import { createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { frameOf } from '../src/util/grpc-frame.ts'

const HEADERS = { ':status': 200, 'content-type': 'application/grpc+json' }
const server = createServer({ settings: { maxConcurrentStreams: 256 } })
server.on('stream', (stream) => {
  const chunks: Buffer[] = []
  stream.on('error', () => {})
  stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  stream.on('end', () => {
    const request = JSON.parse(Buffer.concat(chunks).subarray(5).toString()) as { request_id: string }
    stream.respond(HEADERS, { waitForTrailers: true })
    stream.once('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
    const envelope = { request_id: request.request_id, status: 'ok', output: { ok: true, at: 'peer' } }
    stream.end(frameOf(JSON.stringify(envelope)))
  })
})
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
process.on('disconnect', () => process.exit(0))
