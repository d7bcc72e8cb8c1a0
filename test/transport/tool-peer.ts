// A tool on loopback that behaves as its path says: honest ways over node:http, dishonest ones byte by byte on the socket.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import {
  type AddressInfo,
  createServer as createTcpServer,
  type Socket,
  type Server as TcpServer,
} from 'node:net'
import type { Json } from '../../src/util/json.ts'

/** One request as the peer got it, complete. */
export interface Received {
  readonly path: string
  readonly method: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

export interface Peer {
  readonly origin: string
  readonly received: Received[]
  /** Every byte that reached it, also of requests that were never complete. */
  bytes(): number
  connections(): number
  /** Resolves once `count` requests are complete. */
  arrived(count: number): Promise<void>
  close(): Promise<void>
}

export type Respond = (request: Received, response: ServerResponse) => void

/** An honest HTTP server. */
export async function listenHttp(
  respond: Respond,
  configure: (server: Server) => void = () => {},
): Promise<Peer> {
  const received: Received[] = []
  const arrivals = createArrivals(received)
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const complete: Received = {
      path: request.url ?? '',
      method: request.method ?? '',
      headers: request.headers,
      body: Buffer.concat(chunks).toString(),
    }
    received.push(complete)
    arrivals.look()
    respond(complete, response)
  })
  configure(server)
  return listening(server, received, arrivals.wait)
}

/** A server that answers a complete request with whatever it likes, or with nothing. */
export async function listenRaw(
  respond: (socket: Socket, request: string, index: number) => void,
): Promise<Peer> {
  const received: Received[] = []
  const arrivals = createArrivals(received)
  const server = createTcpServer((socket) => {
    let text = ''
    socket.on('error', () => {
      // The client hanging up is what most of these tests provoke.
    })
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      const end = text.indexOf('\r\n\r\n')
      if (end < 0) return
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0)
      if (text.length < end + 4 + length) return
      const request = text.slice(0, end + 4 + length)
      text = text.slice(request.length)
      const [method = '', path = ''] = request.split(' ', 2)
      received.push({
        path,
        method,
        headers: {},
        body: Buffer.from(request.slice(end + 4), 'latin1').toString(),
      })
      arrivals.look()
      respond(socket, request, received.length)
    })
  })
  return listening(server, received, arrivals.wait)
}

async function listening(server: TcpServer, received: Received[], arrived: Peer['arrived']): Promise<Peer> {
  const sockets = track(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    bytes: sockets.bytes,
    connections: sockets.count,
    arrived,
    close: () => shut(server, sockets),
  }
}

/** A port on which nobody listens. */
export async function deadOrigin(): Promise<string> {
  const server = createTcpServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return `http://127.0.0.1:${port}`
}

export function sendJson(response: ServerResponse, value: Json, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}

interface Sockets {
  bytes(): number
  count(): number
  destroy(): void
}

function track(server: TcpServer): Sockets {
  const all: Socket[] = []
  server.on('connection', (socket) => all.push(socket))
  return {
    bytes: () => all.reduce((sum, socket) => sum + socket.bytesRead, 0),
    count: () => all.length,
    destroy: () => {
      for (const socket of all) socket.destroy()
    },
  }
}

async function shut(server: TcpServer, sockets: Sockets): Promise<void> {
  sockets.destroy()
  server.close()
  await once(server, 'close')
}

function createArrivals(received: readonly Received[]) {
  let waiting: { count: number; resolve: () => void }[] = []
  return {
    look() {
      const ready = waiting.filter((one) => received.length >= one.count)
      waiting = waiting.filter((one) => received.length < one.count)
      for (const one of ready) one.resolve()
    },
    wait: (count: number) =>
      received.length >= count
        ? Promise.resolve()
        : new Promise<void>((resolve) => waiting.push({ count, resolve })),
  }
}
