// Peers that keep nothing of what they are asked, so that what is still there after many calls is ours.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createHttp2Server, type ServerHttp2Session } from 'node:http2'
import type { AddressInfo, Server, Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { frameOf } from '../../src/util/grpc-frame.ts'
import type { JsonObject } from '../../src/util/json.ts'
import { answer, handshake, type Message, result } from '../fixtures/mcp-peer/answer.ts'

const PROGRAM = fileURLToPath(new URL('../fixtures/mcp-peer/stdio.ts', import.meta.url))

/** `read` and `write` are well, `hang` never answers. */
export const TOOLS = ['read', 'write', 'hang'] as const
export type LeakTool = (typeof TOOLS)[number]

export interface LeakPeer {
  readonly documents: readonly JsonObject[]
  readonly cliAllow?: readonly string[]
  /** Of an MCP server the tools have other names, and are there once it was asked. */
  readonly server?: string
  /** Which are kept running between calls. @default none */
  readonly programs?: number
  /** At this moment; 0 where there are none. */
  open(): number
  /** Of all times. */
  connections(): number
  close(): Promise<void>
}

function tool(name: LeakTool, spec: JsonObject): JsonObject {
  const effect = { class: name === 'read' ? 'read-only' : 'external-communication' }
  return { apiVersion: 'writ.dev/v1', kind: 'Tool', metadata: { name }, spec: { effect, ...spec } }
}

interface Listening {
  readonly port: number
  open(): number
  connections(): number
  close(): Promise<void>
}

async function listen(server: Server): Promise<Listening> {
  const sockets = new Set<Socket>()
  let connections = 0
  server.on('connection', (socket: Socket) => {
    connections++
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    open: () => sockets.size,
    connections: () => connections,
    async close() {
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

function sendJson(response: ServerResponse, value: object): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}

const envelope = (requestId: unknown) => ({ request_id: requestId, status: 'ok', output: { found: 1 } })

export async function openHttpPeer(type: 'http' | 'external' | 'webhook-callback'): Promise<LeakPeer> {
  const peer = await listen(
    createServer(async (request, response) => {
      const [, name, id] = (request.url ?? '').split('/')
      const body = await bodyOf(request).catch(() => undefined)
      if (name === 'hang' || body === undefined) return
      if (id !== undefined) return sendJson(response, envelope(id))
      if (type === 'webhook-callback') return void response.writeHead(202).end()
      const { request_id } = JSON.parse(body) as JsonObject
      return sendJson(response, type === 'http' ? { found: 1 } : envelope(request_id))
    }),
  )
  const poll = type === 'webhook-callback' ? { webhook: { poll: '100ms' } } : {}
  const documents = TOOLS.map((name) =>
    tool(name, { type, endpoint: `http://127.0.0.1:${peer.port}/${name}`, ...poll }),
  )
  return { ...peer, documents }
}

export async function openGrpcPeer(): Promise<LeakPeer> {
  const server = createHttp2Server()
  server.on('session', (session: ServerHttp2Session) => session.on('error', () => {}))
  server.on('stream', (stream) => {
    const chunks: Buffer[] = []
    stream.on('error', () => {})
    stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    stream.on('end', () => {
      if (stream.destroyed) return
      const asked = JSON.parse(Buffer.concat(chunks).subarray(5).toString()) as JsonObject
      if ((asked.tool as JsonObject).name === 'hang') return
      stream.respond({ ':status': 200, 'content-type': 'application/grpc+json' }, { waitForTrailers: true })
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
      stream.end(frameOf(JSON.stringify(envelope(asked.request_id))))
    })
  })
  const peer = await listen(server as unknown as Server)
  const spec = { type: 'grpc', endpoint: `127.0.0.1:${peer.port}`, grpc: { plaintext: true } }
  return { ...peer, documents: TOOLS.map((name) => tool(name, spec)) }
}

const SCRIPTS: Readonly<Record<LeakTool, string>> = {
  read: 'echo found',
  write: 'echo found',
  hang: 'exec sleep 600',
}

export function openCliPeer(): LeakPeer {
  const documents = TOOLS.map((name) =>
    tool(name, {
      type: 'cli',
      runtime: { isolation_mode: 'none' },
      cli: { command: 'sh', args: ['-c', SCRIPTS[name]], env: { PATH: '/usr/bin:/bin' } },
    }),
  )
  return { documents, cliAllow: ['sh'], open: () => 0, connections: () => 0, close: () => Promise.resolve() }
}

/** What the fixture calls them. */
const MCP_TOOLS: Readonly<Record<LeakTool, string>> = { read: 'echo', write: 'text', hang: 'hang' }

export const mcpToolOf = (name: LeakTool): string => `many--${MCP_TOOLS[name]}`

const DEFINITIONS = TOOLS.map((name) => ({
  name: MCP_TOOLS[name],
  description: 'one of many',
  inputSchema: { type: 'object' },
}))

function mcpServer(spec: JsonObject): JsonObject {
  const labels = TOOLS.map((name) => [
    MCP_TOOLS[name],
    {
      risk_level: 'low',
      operation_classes: [name === 'read' ? 'read' : 'write'],
      effect: { class: name === 'read' ? 'read-only' : 'external-communication' },
    },
  ])
  return {
    apiVersion: 'writ.dev/v1',
    kind: 'McpServer',
    metadata: { name: 'many' },
    spec: { ...spec, concurrency: 64, tools: Object.fromEntries(labels) },
  }
}

export async function openMcpService(): Promise<LeakPeer> {
  const peer = await listen(
    createServer(async (request, response) => {
      const message = JSON.parse(await bodyOf(request)) as Message
      const greeting = handshake(message, 'modern')
      if (greeting !== undefined) return sendJson(response, greeting)
      if (message.method === 'tools/list') {
        const list = { tools: DEFINITIONS, ttlMs: 0, cacheScope: 'private' }
        return sendJson(response, result(message.id, list))
      }
      if (message.method !== 'tools/call') return void response.writeHead(202).end()
      const said = answer(message)
      return said === undefined ? undefined : sendJson(response, said)
    }),
  )
  const documents = [mcpServer({ transport: 'http', endpoint: `http://127.0.0.1:${peer.port}/mcp` })]
  return { ...peer, documents, server: 'many' }
}

export function openMcpProgram(): LeakPeer {
  const spec = {
    transport: 'stdio',
    command: process.execPath,
    args: ['--disable-warning=ExperimentalWarning', PROGRAM],
    env: [{ name: 'PEER_TOOLS', value: JSON.stringify(DEFINITIONS) }],
  }
  const documents = [mcpServer(spec)]
  return {
    documents,
    server: 'many',
    programs: 1,
    open: () => 0,
    connections: () => 0,
    close: () => Promise.resolve(),
  }
}
