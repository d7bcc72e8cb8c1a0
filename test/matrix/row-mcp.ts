// Tools of MCP servers in the matrix of rows, over HTTP and over standard streams. A tool is there once its server was well:
// what is wrong with a server itself comes afterwards, as another declaration of it.
import type { ServerResponse } from 'node:http'
import { fileURLToPath } from 'node:url'
import type { Runtime } from '../../src/runtime-api.ts'
import type { Json, JsonObject } from '../../src/util/json.ts'
import type { Message } from '../fixtures/mcp-peer/answer.ts'
import { until } from '../pipeline/until.ts'
import { deadOrigin, listenHttp, type Peer } from '../transport/tool-peer.ts'
import { listenMute, type Mute } from './row-http.ts'
import { mcpAnswer } from './row-mcp-answer.ts'
import {
  apply,
  authOf,
  behaviourOf,
  document,
  envOf,
  HANGS,
  INSIDE,
  nameOf,
  OUTPUT_BYTES,
  type RowKit,
  type RowSubject,
  runtimeOf,
  STATUSES,
} from './row-subject.ts'
import type { Kind } from './row-table.ts'
import { headOf, inPieces, saidJson, speak, type Voice } from './row-voice.ts'

const PROGRAM = fileURLToPath(new URL('row-mcp-program.ts', import.meta.url))
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

/** With this credential it lists its tools: it is no other one while it is well. */
const FRESH = 'fresh token is refused, too'

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
  if (behaviour === FRESH) return 'unauthorized'
  return TOOLS[behaviour] ?? (behaviour in STATUSES ? behaviour : 'echo')
}

const serverOf = (way: string, kind: Kind): string => nameOf(SHARED.has(way) ? 'shared' : way, kind)

interface Declared {
  readonly name: string
  readonly kind: Kind
  readonly offered: readonly string[]
  /** Empty while it is well. */
  readonly way: string
}

interface KnownServer {
  readonly way: string
  readonly kind: Kind
  readonly labels: JsonObject
}

export async function openMcpRows(wire: 'http' | 'stdio', kit: RowKit): Promise<RowSubject> {
  const { declare, close } = wire === 'http' ? await openService(kit) : openPrograms(kit)
  const servers = new Map<string, KnownServer>()

  function serverDocument([name, known]: readonly [string, KnownServer], spoilt = ''): JsonObject {
    const { labels, kind } = known
    const way = known.way === FRESH ? FRESH : spoilt
    const offered = way === 'tool is no longer offered' ? [] : Object.keys(labels)
    const declared = declare({ name, kind, offered, way })
    return document('McpServer', name, { ...declared, concurrency: 64, tools: labels })
  }

  return {
    documents(way, kind) {
      const name = serverOf(way, kind)
      const known = servers.get(name)
      const labels = { ...known?.labels, [toolIn(way)]: labelsOf(way, kind) }
      servers.set(name, { way, kind, labels })
      return []
    },
    async spoil(runtime) {
      const all = [...servers]
      await apply(
        runtime,
        all.map((one) => serverDocument(one)),
      )
      await Promise.all(all.map(([name]) => phaseOf(runtime, name, 'Ready')))
      const spoilt = all.filter(([, { way }]) => SPOILT.has(way))
      await apply(
        runtime,
        spoilt.map((one) => serverDocument(one, one[1].way)),
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
  declare(server: Declared): JsonObject
  close(): Promise<void>
}

async function openService(kit: RowKit): Promise<Wire> {
  const { voice } = kit
  const peer = await listenHttp(({ path, body, headers }, response) => {
    const [, server = '', tools = ''] = path.split('/')
    const message = JSON.parse(body) as Message
    const said = voice.words(`${server}--${message.params?.name ?? ''}`, headers)
    const offered = decodeURIComponent(tools).split(',')
    respond(message, { offered: offered.filter((name) => name !== ''), said, voice }, response)
  })
  const mute = await listenMute()
  const dead = await deadOrigin()
  return {
    declare(server) {
      const endpoint = endpointOf(peer, dead, mute, server)
      return { transport: 'http', endpoint, ...authOf(server.way, server.kind, kit) }
    },
    async close() {
      await Promise.all([peer.close(), mute.close()])
    },
  }
}

function endpointOf(peer: Peer, dead: string, mute: Mute, { name, offered, way }: Declared): string {
  if (way === 'no connection') return `${dead}/mcp`
  if (way === 'handshake without end') return `https://${mute.address}/mcp`
  if (way === 'address out of reach') return `http://${INSIDE}/mcp`
  return `${peer.origin}/${name}/${encodeURIComponent(offered.join(','))}`
}

interface Serving {
  readonly offered: readonly string[]
  readonly said: readonly string[]
  readonly voice: Voice
}

function respond(message: Message, { offered, said, voice }: Serving, response: ServerResponse): void {
  const name = message.params?.name ?? ''
  const status = message.method === 'tools/call' && REFUSALS.some((one) => one === name) && STATUSES[name]
  if (status) {
    speak(voice, response, { message: said.join(' '), ...saidJson(said) }, said, status)
    return
  }
  const answer = mcpAnswer(message, offered, said)
  if (answer.kind === 'messages') {
    const [only, ...more] = answer.messages
    if (more.length === 0) speak(voice, response, (only ?? null) as Json, said)
    else stream(answer.messages, said, response)
  } else if (answer.kind === 'nothing') {
    if (message.method !== 'tools/call') response.writeHead(202, headOf(said)).end()
    else if (voice.echoes) response.writeHead(200, headOf(said)).write('{"jsonrpc":"2.0",')
  } else {
    response.writeHead(200, { 'content-type': 'application/json' })
    if (answer.kind === 'cut') response.write(answer.head, () => response.destroy())
    else pour(response, answer.head, said.join(' '))
  }
}

function stream(messages: readonly object[], said: readonly string[], response: ServerResponse): void {
  response.writeHead(200, { ...headOf(said), 'content-type': 'text/event-stream' })
  for (const one of messages)
    for (const piece of inPieces(`data: ${JSON.stringify(one)}\n\n`)) response.write(piece)
  response.end()
}

function pour(response: ServerResponse, head: string, text: string): void {
  response.write(head)
  const chunk = Buffer.alloc(0x4000, text)
  const more = () => {
    while (!response.destroyed && response.write(chunk)) {
      // Until the buffer is full.
    }
  }
  response.on('drain', more)
  more()
}

function openPrograms({ voice }: RowKit): Wire {
  const command = process.execPath
  const args = ['--disable-warning=ExperimentalWarning', PROGRAM]
  return {
    declare({ name, offered, way }) {
      const env: JsonObject[] = [
        { name: 'OFFERED', value: JSON.stringify(offered) },
        { name: 'NAME', value: name },
        ...envOf(way, { voice }),
      ]
      if (voice.program !== undefined) env.push({ name: 'ECHOES', value: voice.program.notes })
      if (way === 'handshake without end') env.push({ name: 'SILENT', value: 'yes' })
      const program = way === 'program is not there' ? { command: '/nowhere/at-all' } : { command, args }
      return { transport: 'stdio', ...program, env }
    },
    close: () => Promise.resolve(),
  }
}
