// gRPC services of tests, over node:http2 itself, so that they can do what no library would.
import { once } from 'node:events'
import {
  createSecureServer,
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  type Settings,
} from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import { frameOf } from '../../src/util/grpc-frame.ts'
import type { Json, JsonObject } from '../../src/util/json.ts'
import type { Pair } from './certificate.ts'

export interface GrpcAsked {
  readonly headers: IncomingHttpHeaders
  readonly envelope: JsonObject
}

export type GrpcRespond = (
  stream: ServerHttp2Stream,
  asked: GrpcAsked,
  session: ServerHttp2Session,
) => void | Promise<void>

export interface GrpcPeer {
  /** host:port */
  readonly address: string
  readonly asked: readonly GrpcAsked[]
  /** Streams whose caller took them back, by their error code. */
  readonly dropped: number[]
  readonly sessions: ReadonlySet<ServerHttp2Session>
  /** How many connections were ever made. */
  connections(): number
  /** Calls that were begun, if only in part. */
  streams(): number
  arrived(count: number): Promise<void>
  close(): Promise<void>
}

interface Options {
  readonly pair?: Pair | undefined
  readonly settings?: Settings
  /** 0 takes a free one. */
  readonly port?: number
}

export async function listenGrpc(respond: GrpcRespond, options: Options = {}): Promise<GrpcPeer> {
  const { pair, settings } = options
  const common = settings === undefined ? {} : { settings }
  const server = pair === undefined ? createServer(common) : createSecureServer({ ...pair, ...common })
  const asked: GrpcAsked[] = []
  const dropped: number[] = []
  const sessions = new Set<ServerHttp2Session>()
  const sockets = new Set<Socket>()
  const waiting: { readonly count: number; readonly resolve: () => void }[] = []
  let connections = 0
  let streams = 0
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  })
  server.on('sessionError', () => {})
  server.on('session', (session) => {
    connections++
    sessions.add(session)
    session.on('error', () => {})
    session.on('close', () => sessions.delete(session))
  })
  server.on('stream', (stream, headers) => {
    streams++
    stream.on('error', () => {})
    stream.on('close', () => {
      if (stream.rstCode !== 0) dropped.push(stream.rstCode)
    })
    const chunks: Buffer[] = []
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.on('end', () => {
      const body = Buffer.concat(chunks)
      if (body.length < 5 || stream.session === undefined) return
      const one = { headers, envelope: JSON.parse(body.subarray(5).toString('utf8')) as JsonObject }
      asked.push(one)
      for (const { count, resolve } of waiting) if (asked.length >= count) resolve()
      void respond(stream, one, stream.session as ServerHttp2Session)
    })
  })
  server.listen(options.port ?? 0, '127.0.0.1')
  await once(server, 'listening')
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    dropped,
    sessions,
    connections: () => connections,
    streams: () => streams,
    arrived: (count) =>
      asked.length >= count ? Promise.resolve() : new Promise((resolve) => waiting.push({ count, resolve })),
    async close() {
      const closed = once(server, 'close')
      server.close()
      for (const session of sessions) session.destroy()
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

const HEAD = { ':status': 200, 'content-type': 'application/grpc+json' } as const

/** Headers, raw bytes and trailers: what is undefined is left out. */
export function answerRaw(
  stream: ServerHttp2Stream,
  bytes: Uint8Array | undefined,
  trailers: Readonly<Record<string, string>> | undefined,
  headers: Readonly<Record<string, string | number>> = HEAD,
): void {
  stream.respond(headers, trailers === undefined ? {} : { waitForTrailers: true })
  if (trailers !== undefined) stream.on('wantTrailers', () => stream.sendTrailers(trailers))
  stream.end(bytes)
}

export function answerMessage(stream: ServerHttp2Stream, message: Json): void {
  answerRaw(stream, frameOf(JSON.stringify(message)), { 'grpc-status': '0' })
}

/** Without any message: headers and trailers in one. */
export function answerStatus(
  stream: ServerHttp2Stream,
  status: number | string,
  more: Readonly<Record<string, string>> = {},
): void {
  stream.respond({ ...HEAD, 'grpc-status': String(status), ...more }, { endStream: true })
}

export function okEnvelope({ envelope }: GrpcAsked, output: Json): JsonObject {
  return { request_id: envelope.request_id ?? '', status: 'ok', output }
}
