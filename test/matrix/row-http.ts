// Tools over HTTP in the matrix of rows: real servers, honest ones over node:http, the others byte by byte.

import { once } from 'node:events'
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createServer, type Socket } from 'node:net'
import type { JsonObject } from '../../src/util/json.ts'
import { deadOrigin, listenHttp, listenRaw, type Received } from '../transport/tool-peer.ts'
import {
  authOf,
  behaviourOf,
  document,
  envelopeOf,
  HANGS,
  INSIDE,
  nameOf,
  type RowKit,
  type RowSubject,
  STATUSES,
  specOf,
} from './row-subject.ts'
import type { Kind } from './row-table.ts'
import { headOf, saidJson, speak, type Voice } from './row-voice.ts'

type HttpType = 'http' | 'external' | 'webhook-callback'

const RAW: ReadonlySet<string> = new Set([
  'cut in the reply',
  'output without end',
  'no reply of its protocol',
])

/** When the tool tells of the end of its work: with its answer, when it is asked, or by itself. */
export type Arrival = 'at once' | 'asked' | 'reported'

/** What is asked of a tool, and told by it. */
interface Asking {
  readonly type: HttpType
  readonly arrival: Arrival
  readonly voice: Voice
  readonly report: Report
}

/** Brings the report of a tool to the runtime. `callback` is what it was told with the request. */
export type Report = (callback: JsonObject, body: string) => void

export async function openHttpRows(
  type: HttpType,
  kit: RowKit,
  arrival: Arrival = 'at once',
  report: Report = () => {},
): Promise<RowSubject> {
  const { voice } = kit
  const asking = { type, arrival, voice, report }
  const honest = await listenHttp((request, response) => respond(asking, request, response))
  const dishonest = await listenRaw((socket, request) => misbehave(socket, request, voice))
  const mute = await listenMute()
  const dead = await deadOrigin()

  function endpointOf(way: string, kind: Kind): string {
    if (way === 'no connection') return dead
    if (way === 'handshake without end') return `https://${mute.address}`
    if (way === 'address out of reach') return `http://${INSIDE}`
    const { origin } = RAW.has(behaviourOf(way)) ? dishonest : honest
    return `${origin}/${encodeURIComponent(way)}/${kind}`
  }

  return {
    ...(arrival === 'reported' ? { options: { toolCallbacks: CALLBACKS } } : {}),
    documents(way, kind) {
      const common = { ...specOf(way, kind), ...authOf(way, kind, kit) }
      const name = nameOf(way, kind)
      if (way === 'neither type nor endpoint') return [document('Tool', name, common)]
      const get = way === 'input does not fit a query' ? { http: { method: 'GET' } } : {}
      const poll = type === 'webhook-callback' ? { webhook: { poll: '100ms' } } : {}
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

/** Nobody listens there: reports are brought by hand. */
const CALLBACKS = { publicUrl: 'http://writ.test', key: 'a-key-of-the-matrix-0123456789-0123456789' }

/** The way and the tool that a path is about. */
function placeIn(path: string): readonly [way: string, tool: string] {
  const [, segment = '', kind = ''] = path.split('/')
  const way = decodeURIComponent(segment)
  return [way, nameOf(way, kind as Kind)]
}

function respond(asking: Asking, request: Received, response: ServerResponse) {
  const { type, arrival, voice, report } = asking
  const [way, tool] = placeIn(request.path)
  const said = voice.words(tool, request.headers)
  const body = { ...saidJson(said), message: said.join(' ') }
  if (behaviourOf(way) === HANGS) {
    // It begins, where it has something to say.
    if (voice.echoes) response.writeHead(200, headOf(said)).write(JSON.stringify(body).slice(0, -1))
    return
  }
  const asked = request.method === 'GET'
  const isTold = asked && arrival === 'asked'
  if (asked && !isTold) return void response.writeHead(204, headOf(said)).end()
  if (way === 'work without end') return void speak(voice, response, body, said, 202)
  const status = STATUSES[way]
  if (status !== undefined) return speak(voice, response, body, said, status)
  const output: JsonObject = { n: way === 'output breaks its schema' ? 'no number' : 1, ...saidJson(said) }
  const reply = (requestId: string): JsonObject => {
    const told = envelopeOf(way, requestId, said)
    if (told !== undefined || type === 'http') return told ?? output
    return { request_id: requestId, status: 'ok', output }
  }
  if (isTold) return speak(voice, response, reply(request.path.split('/')[3] ?? ''), said)
  const sent = JSON.parse(request.body) as JsonObject
  // Tools of type http are not told of the request; those of the matrix have it in their input.
  const requestId = type === 'http' ? sent.id : sent.request_id
  if (arrival === 'at once') return speak(voice, response, reply(String(requestId)), said)
  response.on('finish', () => {
    if (arrival === 'reported') report(sent.callback as JsonObject, JSON.stringify(reply(String(requestId))))
  })
  speak(voice, response, body, said, 202)
}

const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n'

function misbehave(socket: Socket, request: string, voice: Voice): void {
  const [way, tool] = placeIn(request.split(' ')[1] ?? '')
  const said = voice.words(tool, headersIn(request))
  const body = JSON.stringify(saidJson(said))
  const head = `${HEAD}x-said: ${said[0]}\r\n`
  if (way === 'cut in the reply') socket.end(`${head}content-length: ${body.length + 100}\r\n\r\n${body}`)
  else if (way === 'no reply of its protocol') socket.end(`${said.join(' ')}\r\n\r\n`)
  else pour(socket, head, said.join(' '))
}

function headersIn(request: string): IncomingHttpHeaders {
  const lines = request.slice(0, request.indexOf('\r\n\r\n')).split('\r\n').slice(1)
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 2)]),
  )
}

/** Chunks without end, as fast as they are taken. */
function pour(socket: Socket, head: string, text: string): void {
  socket.write(`${head}transfer-encoding: chunked\r\n\r\n`)
  const chunk = `4000\r\n${Buffer.alloc(0x4000, text).toString('latin1')}\r\n`
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
