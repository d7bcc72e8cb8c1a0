// Tools over HTTP in the matrix of rows: real servers, honest ones over node:http, the others byte by byte.

import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createServer, type Socket } from 'node:net'
import type { Json, JsonObject } from '../../src/util/json.ts'
import {
  deadOrigin,
  listenHttp,
  listenRaw,
  type Peer,
  type Received,
  sendJson,
} from '../transport/tool-peer.ts'
import {
  authOf,
  behaviourOf,
  document,
  envelopeOf,
  HANGS,
  INSIDE,
  nameOf,
  type RowSubject,
  STATUSES,
  specOf,
} from './row-subject.ts'
import type { Kind } from './row-table.ts'

type HttpType = 'http' | 'external' | 'webhook-callback'

const RAW: ReadonlySet<string> = new Set([
  'cut in the reply',
  'output without end',
  'no reply of its protocol',
])

export async function openHttpRows(type: HttpType, tokens: Peer): Promise<RowSubject> {
  const honest = await listenHttp((request, response) => respond(type, request, response))
  const dishonest = await listenRaw((socket, request) =>
    misbehave(socket, wayIn(request.split(' ')[1] ?? '')),
  )
  const mute = await listenMute()
  const dead = await deadOrigin()

  function endpointOf(way: string, kind: Kind): string {
    if (way === 'no connection') return dead
    if (way === 'handshake without end') return `https://${mute.address}`
    if (way === 'address out of reach') return `http://${INSIDE}`
    const behaviour = behaviourOf(way)
    const { origin } = RAW.has(behaviour) ? dishonest : honest
    return `${origin}/${encodeURIComponent(behaviour)}/${kind}`
  }

  return {
    documents(way, kind) {
      const common = { ...specOf(way, kind), ...authOf(way, tokens) }
      const name = nameOf(way, kind)
      if (way === 'neither type nor endpoint') return [document('Tool', name, common)]
      const get = way === 'input does not fit a query' ? { http: { method: 'GET' } } : {}
      const poll = type === 'webhook-callback' ? { webhook: { poll: '20ms' } } : {}
      const endpoint = endpointOf(way, kind)
      return [document('Tool', name, { ...common, ...get, ...poll, type, endpoint })]
    },
    toolOf: nameOf,
    inputOf: (way, id) => (way === 'input does not fit a query' ? { q: { deep: 1 } } : { id }),
    async close() {
      await Promise.all([honest.close(), dishonest.close(), mute.close()])
    },
  }
}

const wayIn = (path: string): string => decodeURIComponent(path.split('/')[1] ?? '')

function respond(type: HttpType, request: Received, response: ServerResponse) {
  const way = wayIn(request.path)
  if (way === HANGS) return
  if (request.method === 'GET') return void response.writeHead(204).end()
  if (way === 'work without end') return void response.writeHead(202).end()
  const status = STATUSES[way]
  if (status !== undefined) return sendJson(response, { message: 'it says' }, status)
  const requestId = type === 'http' ? httpId(request) : envelopeId(request)
  const output: Json = { n: way === 'output breaks its schema' ? 'no number' : 1 }
  const told = envelopeOf(way, requestId)
  if (told !== undefined || type === 'http') return sendJson(response, told ?? output)
  sendJson(response, { request_id: requestId, status: 'ok', output })
}

const envelopeId = ({ body }: Received): string => (JSON.parse(body) as { request_id: string }).request_id

/** Tools of type http are not told of the request; those of the matrix have it in their input. */
const httpId = ({ body }: Received): string => String((JSON.parse(body) as JsonObject).id ?? '')

const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n'

function misbehave(socket: Socket, way: string): void {
  if (way === 'cut in the reply') socket.end(`${HEAD}content-length: 100\r\n\r\n{"a":`)
  else if (way === 'no reply of its protocol') socket.end('GREETINGS\r\n\r\n')
  else pour(socket)
}

/** Chunks without end, as fast as they are taken. */
function pour(socket: Socket): void {
  socket.write(`${HEAD}transfer-encoding: chunked\r\n\r\n`)
  const chunk = `4000\r\n${'x'.repeat(0x4000)}\r\n`
  const more = () => {
    while (!socket.destroyed && socket.write(chunk)) {
      // Until the buffer is full.
    }
  }
  socket.on('drain', more)
  more()
}

export interface Mute {
  /** host:port */
  readonly address: string
  close(): Promise<void>
}

/** Takes connections and never says a word. */
export async function listenMute(): Promise<Mute> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
