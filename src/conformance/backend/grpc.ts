// Services over gRPC that speak the contract: an envelope in, an envelope out, each as one JSON message.
import { once } from 'node:events'
import { createServer, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { GRPC_TYPE } from '../../contract/grpc-service.ts'
import { createFrameReader, frameOf } from '../../util/grpc-frame.ts'
import { isJsonObject, type JsonObject } from '../../util/json.ts'
import { parseStrictJson } from '../../util/strict-json.ts'
import { type Ask, createOperations } from '../operations.ts'
import { type Backend, COMMON_LIMITATIONS, manifestOf, REMOTE_ISOLATION } from './backend.ts'
import { answerEnvelope } from './envelope-service.ts'
import { credentialsOf } from './loopback.ts'

/** Far more than any case sends. */
const MAX_MESSAGE_BYTES = 1_048_576
const INVALID_ARGUMENT = '3'

export const grpcBackend: Backend = {
  name: 'grpc',
  limitations: COMMON_LIMITATIONS,
  isolation: REMOTE_ISOLATION,
  hasEndpoint: true,
  givesStatus: false,
  presents: 'profiles',
  notes: Object.freeze([
    'A reply that is no envelope, or answers another request_id, is refused: of a write it is then not known whether it happened.',
    'Messages are JSON, and replies may be compressed with gzip; streams of messages are not read.',
  ]),
  async openPeer({ world }) {
    const operations = createOperations(world)
    const service = await listen((body, how) => answerEnvelope(body, operations, how))
    return {
      offer: (tool) => {
        const spec = { ...tool.spec, grpc: { plaintext: true } }
        return { kind: 'manifest', manifest: manifestOf({ ...tool, spec }, 'grpc', service.address) }
      },
      sends: operations.sends,
      close: service.close,
    }
  },
}

async function listen(
  answer: (body: JsonObject, how: Pick<Ask, 'signal' | 'credentials'>) => Promise<JsonObject>,
) {
  const sessions = new Set<ServerHttp2Session>()
  const server = createServer()
  server.on('session', (session) => {
    sessions.add(session)
    session.on('error', () => {})
    session.once('close', () => sessions.delete(session))
  })
  server.on('stream', (stream, headers) => {
    const gone = new AbortController()
    const reader = createFrameReader(MAX_MESSAGE_BYTES)
    stream.on('error', () => {})
    stream.on('data', (chunk: Buffer) => void reader.push(chunk))
    stream.once('close', () => {
      if (!stream.headersSent) gone.abort()
    })
    stream.once('end', () => {
      const message = reader.end()
      const parsed = typeof message === 'object' ? parseStrictJson(message) : undefined
      if (parsed?.ok !== true || !isJsonObject(parsed.value)) {
        refuse(stream)
        return
      }
      answer(parsed.value, { signal: gone.signal, credentials: credentialsOf(headers) }).then(
        (reply) => respond(stream, reply),
        () => stream.close(),
      )
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      const closed = once(server, 'close')
      server.close()
      for (const session of sessions) session.destroy()
      await closed
    },
  }
}

function respond(stream: ServerHttp2Stream, reply: JsonObject): void {
  if (stream.destroyed) return
  stream.respond({ ':status': 200, 'content-type': GRPC_TYPE }, { waitForTrailers: true })
  stream.once('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
  stream.end(frameOf(JSON.stringify(reply)))
}

function refuse(stream: ServerHttp2Stream): void {
  if (stream.destroyed) return
  const status = { 'grpc-status': INVALID_ARGUMENT, 'grpc-message': 'no envelope' }
  stream.respond({ ':status': 200, 'content-type': GRPC_TYPE, ...status }, { endStream: true })
}
