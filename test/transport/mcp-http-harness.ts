// An MCP service over HTTP whose odd answers a test writes, and calls of its tools.
import type { ServerResponse } from 'node:http'
import type { Credentials } from '../../src/credential/credential.ts'
import type { McpHttp, ResolvedMcpServer } from '../../src/resource/resolved-mcp-server.ts'
import type { ResolvedTool } from '../../src/resource/resolved-tool.ts'
import { createMcpTransport } from '../../src/transport/mcp.ts'
import type { Reply, Send } from '../../src/transport/transport.ts'
import type { Json } from '../../src/util/json.ts'
import { answer, handshake, type Message } from '../fixtures/mcp-peer/answer.ts'
import { makeServer, makeWorld, mcpTool } from './mcp-harness.ts'
import { makeSend, makeSink } from './send-fixture.ts'
import { listenHttp, type Received, sendJson } from './tool-peer.ts'

export interface House {
  readonly received: readonly Received[]
  call(
    tool?: string,
    send?: Partial<Send>,
    overrides?: Partial<ResolvedTool>,
  ): Promise<Reply & { sent: number }>
}

export type Handler = (message: Message, request: Received, response: ServerResponse) => boolean

/** A service of the older or newer revision; `odd` answers what it does not answer as it should. */
export async function within(
  odd: Handler,
  run: (house: House) => Promise<void>,
  options: {
    readonly connection?: Partial<McpHttp>
    readonly server?: Partial<ResolvedMcpServer>
    readonly credentials?: Credentials
    readonly era?: 'modern' | 'legacy'
  } = {},
): Promise<void> {
  const world = makeWorld()
  const peer = await listenHttp((request, response) => {
    if (request.method !== 'POST') {
      response.writeHead(request.method === 'DELETE' ? 200 : 405).end()
      return
    }
    const message = JSON.parse(request.body) as Message
    if (odd(message, request, response)) return
    const said = handshake(message, options.era ?? 'modern') ?? answer(message)
    if (said === undefined) response.writeHead(202).end()
    else {
      if (message.method === 'initialize') response.setHeader('mcp-session-id', 'session-1')
      sendJson(response, said as Json)
    }
  })
  const server = makeServer(
    { kind: 'http', endpoint: `${peer.origin}/mcp`, allow: [], reach: 'loopback', ...options.connection },
    options.server,
  )
  const { credentials } = options
  const transport = createMcpTransport({
    world,
    mcpServer: () => server,
    ...(credentials === undefined ? {} : { credentials }),
  })
  try {
    await run({
      received: peer.received,
      async call(tool = 'echo', send = {}, overrides = {}) {
        const sink = makeSink()
        const reply = await transport.attempt(makeSend(mcpTool(tool, overrides), {}, send), sink)
        return { ...reply, sent: sink.sent }
      },
    })
  } finally {
    await transport.close()
    await world.network.close()
    await peer.close()
  }
}

export const isCall = ({ method }: Message) => method === 'tools/call'
export const honest: Handler = () => false
