// Tools of MCP servers in the matrix of rows, over HTTP and over standard streams. A tool is there once its server was well:
// what is wrong with a server itself comes afterwards, as another declaration of it.
import type { ServerResponse } from 'node:http'
import { fileURLToPath } from 'node:url'
import type { Runtime } from '../../src/runtime-api.ts'
import type { Json, JsonObject } from '../../src/util/json.ts'
import { answer, handshake, type Message, result } from '../fixtures/mcp-peer/answer.ts'
import { until } from '../pipeline/until.ts'
import { deadOrigin, listenHttp, type Peer, sendJson } from '../transport/tool-peer.ts'
import { listenMute, type Mute } from './row-http.ts'
import {
  apply,
  authOf,
  behaviourOf,
  document,
  HANGS,
  INSIDE,
  nameOf,
  OUTPUT_BYTES,
  OUTPUT_SCHEMA,
  type RowSubject,
  runtimeOf,
  STATUSES,
} from './row-subject.ts'
import type { Kind } from './row-table.ts'

const PROGRAM = fileURLToPath(new URL('../fixtures/mcp-peer/stdio.ts', import.meta.url))
/** Busy machines start programs slowly. */
const READY_WITHIN_MS = 50_000

/** The tool of the peer that a way calls; a status of HTTP is a tool of that name. */
const TOOLS: Readonly<Record<string, string>> = {
  [HANGS]: 'hang',
  'output breaks its schema': 'echo',
  'output without end': 'huge',
  'cut in the reply': 'cut-mid-body',
  'no reply of its protocol': 'invalid-output',
  'input is no object': 'text',
  rejected: 'reject',
  fault: 'fail',
}

/** Statuses that a call is answered with over HTTP. */
const REFUSALS = ['unauthorized', 'forbidden', 'conflict', 'throttled'] as const

/** These share a server; every other way has one of its own, so that none stands in the way of another. */
const SHARED: ReadonlySet<string> = new Set([
  ...REFUSALS,
  'canceled',
  'the runtime ends',
  'output breaks its schema',
  'input is no object',
  'no reply of its protocol',
  'rejected',
  'fault',
])

function toolIn(way: string): string {
  const behaviour = behaviourOf(way)
  if (behaviour === 'fresh token is refused, too') return 'unauthorized'
  return TOOLS[behaviour] ?? (behaviour in STATUSES ? behaviour : 'echo')
}

const serverOf = (way: string, kind: Kind): string => nameOf(SHARED.has(way) ? 'shared' : way, kind)

const definitions = (names: Iterable<string>): JsonObject[] =>
  [...names].map((name) => ({
    name,
    description: 'of the matrix',
    inputSchema: { type: 'object', properties: { n: { type: 'string' } } },
    ...(name === 'echo' ? { outputSchema: OUTPUT_SCHEMA } : {}),
  }))

/** How a server is declared; `way` is absent while it is well. */
type Declare = (tools: Iterable<string>, way?: string) => JsonObject

export async function openMcpRows(wire: 'http' | 'stdio', tokens: Peer): Promise<RowSubject> {
  const { declare, close } = wire === 'http' ? await openService(tokens) : openPrograms()
  const servers = new Map<string, { readonly way: string; readonly labels: JsonObject }>()

  function serverDocument(name: string, way?: string): JsonObject {
    const labels = servers.get(name)?.labels ?? {}
    const offered = way === 'tool is no longer offered' ? [] : Object.keys(labels)
    return document('McpServer', name, { ...declare(offered, way), concurrency: 64, tools: labels })
  }

  return {
    documents(way, kind) {
      const name = serverOf(way, kind)
      const known = servers.get(name)
      const labels = { ...known?.labels, [toolIn(way)]: labelsOf(way, kind) }
      servers.set(name, { way, labels })
      return []
    },
    async spoil(runtime) {
      const names = [...servers.keys()]
      await apply(
        runtime,
        names.map((name) => serverDocument(name)),
      )
      await Promise.all(names.map((name) => phaseOf(runtime, name, 'Ready')))
      const spoilt = names.filter((name) => SPOILT.has(servers.get(name)?.way ?? ''))
      await apply(
        runtime,
        spoilt.map((name) => serverDocument(name, servers.get(name)?.way)),
      )
      await until(
        () => runtime.tools('default').filter(({ withheld }) => withheld !== undefined).length === 2,
        READY_WITHIN_MS,
      )
    },
    toolOf: (way, kind) => `${serverOf(way, kind)}--${toolIn(way)}`,
    inputOf(way) {
      if (way === 'input is no object') return 'text'
      return way === 'output breaks its schema' ? { n: 'no number' } : {}
    },
    close,
  }
}

function labelsOf(way: string, kind: Kind): JsonObject {
  return {
    risk_level: 'low',
    operation_classes: [kind],
    runtime: runtimeOf(way),
    limits: { output_bytes: OUTPUT_BYTES },
    ...(kind === 'read' ? { effect: { class: 'read-only' } } : {}),
  }
}

function phaseOf(runtime: Runtime, name: string, phase: string): Promise<unknown> {
  return until(() => runtime.mcp.status('default', name)?.phase === phase, READY_WITHIN_MS)
}

/** What is wrong with the server, not with a call. */
const SPOILT: ReadonlySet<string> = new Set([
  'no connection',
  'program is not there',
  'handshake without end',
  'address out of reach',
  'secret is not there',
  'secret of another namespace',
  'token is refused',
  'tool is no longer offered',
])

interface Wire {
  readonly declare: Declare
  close(): Promise<void>
}

async function openService(tokens: Peer): Promise<Wire> {
  const peer = await listenHttp(({ path, body }, response) => {
    const offered = decodeURIComponent(path.slice(1)).split(',')
    respond(JSON.parse(body) as Message, offered, response)
  })
  const mute = await listenMute()
  const dead = await deadOrigin()
  return {
    declare(tools, way) {
      const endpoint = endpointOf(peer, dead, mute, way, [...tools])
      return { transport: 'http', endpoint, ...(way === undefined ? {} : authOf(way, tokens)) }
    },
    async close() {
      await Promise.all([peer.close(), mute.close()])
    },
  }
}

function endpointOf(
  peer: Peer,
  dead: string,
  mute: Mute,
  way: string | undefined,
  tools: readonly string[],
): string {
  if (way === 'no connection') return `${dead}/mcp`
  if (way === 'handshake without end') return `https://${mute.address}/mcp`
  if (way === 'address out of reach') return `http://${INSIDE}/mcp`
  return `${peer.origin}/${encodeURIComponent(tools.join(','))}`
}

function respond(message: Message, offered: readonly string[], response: ServerResponse) {
  const greeting = handshake(message, 'modern')
  if (greeting !== undefined) return sendJson(response, greeting as Json)
  if (message.method === 'tools/list') {
    const tools = definitions(offered.filter((name) => name !== ''))
    return sendJson(response, result(message.id, { tools, ttlMs: 0, cacheScope: 'private' }) as Json)
  }
  if (message.method !== 'tools/call') return void response.writeHead(202).end()
  const name = message.params?.name ?? ''
  const status = REFUSALS.some((one) => one === name) ? STATUSES[name] : undefined
  if (status !== undefined) return sendJson(response, { message: 'it says' }, status)
  const said = answer(message)
  if (said !== undefined) return sendJson(response, said as Json)
  if (name === 'hang') return
  response.writeHead(200, { 'content-type': 'application/json' })
  response.write('{"jsonrpc":')
  if (name === 'cut-mid-body') return void response.write('"', () => response.destroy())
  const more = () => {
    while (!response.destroyed && response.write('x'.repeat(0x4000))) {
      // Until the buffer is full.
    }
  }
  response.on('drain', more)
  more()
}

function openPrograms(): Wire {
  const command = process.execPath
  const args = ['--disable-warning=ExperimentalWarning', PROGRAM]
  return {
    declare(tools, way) {
      const env: JsonObject[] = [{ name: 'PEER_TOOLS', value: JSON.stringify(definitions(tools)) }]
      if (way === 'handshake without end') env.push({ name: 'PEER_BAD', value: 'silent' })
      if (way === 'secret is not there') env.push({ name: 'KEY', secretRef: 'nowhere' })
      if (way === 'secret of another namespace') env.push({ name: 'KEY', secretRef: 'blue/key' })
      const program = way === 'program is not there' ? { command: '/nowhere/at-all' } : { command, args }
      return { transport: 'stdio', ...program, env }
    },
    close: () => Promise.resolve(),
  }
}
