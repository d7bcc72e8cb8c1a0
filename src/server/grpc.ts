// Serves orloj.tool.v1.ToolService over gRPC, so that a Writ can be a tool of another. HTTP/2 without TLS of its own.
import { createServer, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import { GRPC_PATH } from '../contract/grpc-service.ts'
import type { Timer } from '../util/world.ts'
import { encodingOf, type GrpcEdge, type GrpcRequest, serveExecute } from './grpc-calls.ts'
import { CompressedMessage, readMessage } from './grpc-message.ts'
import { endCompressed, endWithMessage, endWithStatus, NOT_FOUND, UNIMPLEMENTED } from './grpc-status.ts'
import { healthOf } from './health.ts'
import { listen } from './listen.ts'
import type { Server, ServerOptions } from './server.ts'
import { DEFAULT_BODY_LIMIT, DEFAULT_LIMITS } from './server-limits.ts'

export type GrpcServerOptions = Pick<
  ServerOptions,
  'runtime' | 'authenticate' | 'world' | 'metrics' | 'logger' | 'host' | 'port' | 'bodyLimit' | 'limits'
>

const SERVICE = GRPC_PATH.slice(1, GRPC_PATH.lastIndexOf('/'))
const HEALTH_PATH = '/grpc.health.v1.Health/Check'
/** At a time, on one connection. */
const MAX_STREAMS = 256
const MAX_HEADER_BYTES = 16 * 1024
const MAX_HEALTH_BYTES = 256
const SERVING = '\u0001'
const NOT_SERVING = '\u0002'

export function createGrpcServer(options: GrpcServerOptions): Server {
  const limits = { ...DEFAULT_LIMITS, ...options.limits }
  const { world } = options
  const sessions = new Set<ServerHttp2Session>()
  let draining = false
  const edge: GrpcEdge = {
    runtime: options.runtime,
    world,
    metrics: options.metrics,
    logger: options.logger,
    bodyLimit: options.bodyLimit ?? DEFAULT_BODY_LIMIT,
    draining: () => draining,
    authenticate: options.authenticate,
    requestTimeoutMs: limits.requestTimeoutMs,
  }
  const server = createServer({
    settings: { maxConcurrentStreams: MAX_STREAMS, maxHeaderListSize: MAX_HEADER_BYTES, enablePush: false },
  })
  server.maxConnections = limits.maxConnections

  server.on('session', (session) => {
    let streams = 0
    let idle: Timer | undefined
    const rest = (): void => {
      idle = world.after(limits.keepAliveTimeoutMs, () => session.close())
    }
    sessions.add(session)
    // A peer that breaks the protocol or leaves is no fault of ours.
    session.on('error', () => {})
    session.on('stream', (stream: ServerHttp2Stream) => {
      streams++
      idle?.cancel()
      stream.once('close', () => {
        streams--
        if (streams === 0 && !session.closed && !session.destroyed) rest()
      })
    })
    session.once('close', () => {
      idle?.cancel()
      sessions.delete(session)
    })
    rest()
  })

  server.on('stream', (stream, headers, _flags, rawHeaders) => {
    stream.on('error', () => {})
    discardRest(stream)
    void serve({ stream, headers, rawHeaders })
  })

  /** A stream that was answered before all of it came is not read for ever. */
  function discardRest(stream: ServerHttp2Stream): void {
    stream.once('finish', () => {
      if (stream.readableEnded || stream.destroyed) return
      const timer = world.after(limits.lingerMs, () => stream.close())
      stream.once('close', () => timer.cancel())
      stream.resume()
    })
  }

  async function serve(request: GrpcRequest): Promise<void> {
    const { stream, headers } = request
    const { ':method': method, ':path': path = '', 'content-type': type = '' } = headers
    if (method !== 'POST' || !type.toLowerCase().startsWith('application/grpc')) {
      // As the protocol says: whoever does not speak it is told in its own.
      stream.respond({ ':status': method === 'POST' ? 415 : 405 }, { endStream: true })
      return
    }
    if (path === GRPC_PATH) return serveExecute(edge, request)
    if (path === HEALTH_PATH) return serveHealth(request)
    const shown = path.slice(0, 128)
    endWithStatus(stream, UNIMPLEMENTED, `There is no method ${shown}. Fix: call ${GRPC_PATH.slice(1)}.`)
  }

  /** In an encoding of its own, which is two bytes long. Needs no token, as /readyz. */
  async function serveHealth({ stream, headers }: GrpcRequest): Promise<void> {
    let asked: string
    try {
      asked = (await readMessage(edge, stream, MAX_HEALTH_BYTES)).toString('latin1')
    } catch (error) {
      if (error instanceof CompressedMessage) {
        endCompressed(stream, encodingOf(headers))
        return
      }
      asked = 'what nobody could read'
    }
    if (asked !== '' && asked !== `\n${String.fromCharCode(SERVICE.length)}${SERVICE}`) {
      endWithStatus(stream, NOT_FOUND, 'There is no such service here.')
      return
    }
    const { ready } = await healthOf(edge)
    const state = ready && !draining ? SERVING : NOT_SERVING
    endWithMessage(stream, `\b${state}`, { 'content-type': 'application/grpc' })
  }

  let drain: Promise<void> | undefined
  let closing: Promise<void> | undefined
  const closed = (): Promise<void> => {
    closing ??= new Promise((resolve) => {
      if (server.listening) server.close(() => resolve())
      else resolve()
    })
    return closing
  }

  return {
    listen: () => listen(server, options.host, options.port),
    drain(ended = Promise.resolve()) {
      draining = true
      drain ??= (async () => {
        await Promise.allSettled([ended])
        const end = closed()
        // Streams under way are answered first.
        for (const session of sessions) session.close()
        await end
      })()
      return drain
    },
    close() {
      draining = true
      const end = closed()
      for (const session of sessions) session.destroy()
      return end
    },
  }
}
