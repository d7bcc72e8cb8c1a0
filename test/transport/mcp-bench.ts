// The MCP transport with a peer at its other end: a program that speaks the older revision, a service that speaks the newer.

import { createMcpSessions } from '../../src/transport/mcp/sessions.ts'
import { createMcpTransport } from '../../src/transport/mcp.ts'
import { Abort } from '../../src/util/abort.ts'
import type { Json } from '../../src/util/json.ts'
import { answer, handshake, type Message, type SeenCall, seenOf } from '../fixtures/mcp-peer/answer.ts'
import { createNotes, makeServer, makeWorld, mcpTool, peerProgram } from './mcp-harness.ts'
import { deadOrigin, listenHttp, sendJson } from './tool-peer.ts'
import type { Behaviour, Seen, TransportUnderTest } from './transport-contract.ts'

const WITHOUT = { accept: 'MCP has no handle for work that ends later' } as const

const HONEST: ReadonlySet<Behaviour> = new Set(['echo', 'delay', 'reject', 'fail', 'fail-harmless'])

const toSeen = ({ input, key, attempt }: SeenCall): Seen => ({
  input: input as Json,
  key: String(key),
  attempt: Number(attempt),
})

export const mcpStdioUnderTest: TransportUnderTest = {
  name: 'mcp',
  variant: 'over standard streams',
  objectsOnly: true,
  without: WITHOUT,
  async open() {
    const world = makeWorld()
    const notes = createNotes()
    const connection = peerProgram(notes, { PEER_ERA: 'legacy' })
    const absent = { ...connection, command: '/nowhere/at-all' }
    const sessions = createMcpSessions({ world })
    // A program takes longer to start than a case gives an attempt to end.
    await sessions.use(makeServer(connection, { name: 'honest' }), new Abort(), async () => {})
    const transport = createMcpTransport({
      world,
      mcpSessions: sessions,
      mcpServer: (_namespace, name) => makeServer(name === 'refuse' ? absent : connection, { name }),
    })
    return {
      transport,
      get seen() {
        return notes.calls.map(toSeen)
      },
      touched: () => notes.calls.length > 0,
      // Each that is not honest has a program of its own, so that none stands in the way of another.
      tool: (behaviour, overrides) =>
        mcpTool(behaviour, {
          mcp: { server: HONEST.has(behaviour) ? 'honest' : behaviour, tool: behaviour },
          ...overrides,
        }),
      arrived: (count) => notes.until(() => notes.calls.length >= count),
      async close() {
        await transport.close()
        await sessions.close()
        await world.network.destroy()
        notes.close()
      },
    }
  },
}

export const mcpHttpUnderTest: TransportUnderTest = {
  name: 'mcp',
  variant: 'over HTTP',
  objectsOnly: true,
  without: WITHOUT,
  async open() {
    const world = makeWorld()
    const seen: SeenCall[] = []
    let tell = () => {}
    const peer = await listenHttp((request, response) => {
      const message = JSON.parse(request.body) as Message
      const greeting = handshake(message, 'modern')
      if (greeting !== undefined) return sendJson(response, greeting as Json)
      if (message.method !== 'tools/call') return response.writeHead(202).end()
      seen.push(seenOf(message))
      tell()
      const said = answer(message)
      if (message.params?.name === 'delay') return setTimeout(() => sendJson(response, said as Json), 50)
      if (said !== undefined) return sendJson(response, said as Json)
      const behaviour = message.params?.name as Behaviour
      if (behaviour === 'hang') return
      response.writeHead(200, { 'content-type': 'application/json' })
      response.write('{"jsonrpc":')
      if (behaviour === 'cut-mid-body') return setTimeout(() => response.destroy(), 10)
      if (behaviour !== 'huge') return
      const more = () => {
        while (!response.destroyed && response.write('x'.repeat(0x4000))) {
          // Until the buffer is full.
        }
      }
      response.on('drain', more)
      more()
    })
    const dead = await deadOrigin()
    const transport = createMcpTransport({
      world,
      mcpServer: (_namespace, name) =>
        makeServer(
          {
            kind: 'http',
            endpoint: `${name === 'refuse' ? dead : peer.origin}/mcp`,
            allow: [],
            reach: 'loopback',
          },
          { name },
        ),
    })
    return {
      transport,
      get seen() {
        return seen.map(toSeen)
      },
      touched: () => seen.length > 0,
      tool: (behaviour, overrides) =>
        mcpTool(behaviour, { mcp: { server: behaviour, tool: behaviour }, ...overrides }),
      async arrived(count) {
        while (seen.length < count)
          await new Promise<void>((resolve) => {
            tell = resolve
          })
      },
      async close() {
        await transport.close()
        await world.network.destroy()
        await peer.close()
      },
    }
  },
}
