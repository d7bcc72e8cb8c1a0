// The transports over HTTP with real servers at their other end: node:http for honest ways, raw sockets for the others.

import type { ServerResponse } from 'node:http'
import { createDialects } from '../../src/contract/dialect/registry.ts'
import { createNetwork } from '../../src/egress/network.ts'
import { createExternalTransport } from '../../src/transport/external.ts'
import { createHttpTransport } from '../../src/transport/http.ts'
import type { TransportFactory } from '../../src/transport/transport.ts'
import { createWebhookCallbackTransport } from '../../src/transport/webhook-callback.ts'
import { createSystemWorld } from '../../src/util/clock.ts'
import type { Json, JsonObject } from '../../src/util/json.ts'
import { makeTool } from './send-fixture.ts'
import { deadOrigin, listenHttp, listenRaw, type Peer, type Received, sendJson } from './tool-peer.ts'
import { type Behaviour, HARMLESS, type Seen, type TransportUnderTest } from './transport-contract.ts'

/** Compiled once: a bench is opened for every case. */
const dialects = createDialects()

const HONEST: ReadonlySet<Behaviour> = new Set([
  'echo',
  'accept',
  'delay',
  'reject',
  'fail',
  'fail-harmless',
  'invalid-output',
])

interface Wire {
  readonly name: 'http' | 'external' | 'webhook-callback'
  readonly create: TransportFactory
  /** The input in a request. */
  read(request: Received): Json | undefined
  /** The body of a success. */
  write(output: Json, request: Received): Json
  harmless(request: Received): Json
}

const http: Wire = {
  name: 'http',
  create: createHttpTransport,
  read: ({ body }) => (body === '' ? undefined : (JSON.parse(body) as Json)),
  write: (output) => output,
  harmless: () => ({
    tool_contract_version: 'v1',
    ...HARMLESS,
  }),
}

const external: Wire = {
  name: 'external',
  create: createExternalTransport,
  read: ({ body }) => (JSON.parse(body) as JsonObject).input,
  write: (output, { body }) => ({
    request_id: (JSON.parse(body) as { request_id: string }).request_id,
    status: 'ok',
    output,
  }),
  harmless: ({ body }) => ({
    request_id: (JSON.parse(body) as { request_id: string }).request_id,
    ...HARMLESS,
  }),
}

/** Asked often, so that no case has to wait. */
const webhook: Wire = { ...external, name: 'webhook-callback', create: createWebhookCallbackTransport }

export const webhookUnderTest: TransportUnderTest = { ...underTest(webhook), takesOn: true }
export const httpUnderTest = underTest(http)
export const externalUnderTest = underTest(external)

function underTest(wire: Wire): TransportUnderTest {
  return {
    name: wire.name,
    without: {},
    async open() {
      const network = createNetwork()
      const world = createSystemWorld({ network })
      const transport = wire.create({ world, dialects })
      const works = new Map<string, { readonly end: Json; asked: number }>()
      const takeOn = (request: Received, response: ServerResponse, id: string | undefined) => {
        const work = works.get(id ?? '')
        if (id === undefined) {
          const { request_id } = JSON.parse(request.body) as { request_id: string }
          works.set(request_id, { end: wire.write(wire.read(request) ?? null, request), asked: 0 })
          response.writeHead(202).end()
        } else if (work === undefined) response.writeHead(404).end()
        else if (work.asked++ === 0) response.writeHead(204).end()
        else sendJson(response, work.end)
      }
      const honest = await listenHttp((request, response) => {
        const [behaviour, id] = request.path.slice(1).split('/') as [Behaviour, string | undefined]
        if (behaviour === 'accept') return takeOn(request, response, id)
        if (behaviour === 'reject') return sendJson(response, { message: 'hunter2 is not valid' }, 422)
        if (behaviour === 'fail') return response.writeHead(500).end('<h1>the password is hunter2</h1>')
        if (behaviour === 'fail-harmless') return sendJson(response, wire.harmless(request))
        if (behaviour === 'invalid-output') {
          return response.writeHead(200, { 'content-type': 'application/json' }).end('{"cut": [1, 2')
        }
        const output = wire.write(wire.read(request) ?? null, request)
        if (behaviour === 'delay') return setTimeout(() => sendJson(response, output), 50)
        return sendJson(response, output)
      })
      const dishonest = await listenRaw((socket, request) => {
        const behaviour = request.split(' ')[1]?.slice(1) as Behaviour
        if (behaviour === 'hang') return
        const head = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n'
        if (behaviour === 'hang-mid-body') socket.write(`${head}content-length: 100\r\n\r\n{"a":`)
        else if (behaviour === 'cut-mid-body') socket.end(`${head}content-length: 100\r\n\r\n{"a":`)
        else pour(socket, head)
      })
      const dead = await deadOrigin()
      const peers: Peer[] = [honest, dishonest]
      const received = () => peers.flatMap((peer) => peer.received.filter(({ method }) => method !== 'GET'))

      return {
        transport,
        get seen(): readonly Seen[] {
          return received().map((request) => ({
            input: wire.read(request),
            key: String(request.headers['idempotency-key']),
            attempt: Number(request.headers['writ-attempt']),
          }))
        },
        touched: () => peers.some((peer) => peer.bytes() > 0),
        tool(behaviour, overrides) {
          const origin = behaviour === 'refuse' ? dead : (HONEST.has(behaviour) ? honest : dishonest).origin
          return makeTool({
            type: wire.name,
            endpoint: `${origin}/${behaviour}`,
            ...(wire.name === 'webhook-callback' ? { webhook: { pollMs: 5 } } : {}),
            ...overrides,
          })
        },
        arrived: (count) => dishonest.arrived(count),
        async close() {
          await transport.close()
          // Not `close`: the hanging ones never end by themselves.
          await network.destroy()
          await Promise.all(peers.map((peer) => peer.close()))
        },
      }
    },
  }
}

/** Chunks without end, as fast as they are taken. */
function pour(socket: import('node:net').Socket, head: string): void {
  socket.write(`${head}transfer-encoding: chunked\r\n\r\n`)
  const chunk = `4000\r\n${'x'.repeat(0x4000)}\r\n`
  const more = () => {
    while (!socket.destroyed && socket.write(chunk)) {
      // Until the buffer is full.
    }
  }
  socket.on('drain', more)
  more()
}
