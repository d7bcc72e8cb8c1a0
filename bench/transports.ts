// Every transport in one run: what a careful caller does without Writ against the same call governed.
import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createLocalAdmin } from '../src/contract/caller.ts'
import { createRuntime } from '../src/runtime.ts'
import type { CallerDoor, Runtime } from '../src/runtime-api.ts'
import {
  type BodyKind,
  type Direct,
  directGrpc,
  directMcp,
  directProgram,
  directUndici,
  input,
  type McpPlace,
} from './direct.ts'
import { type Contestant, directOf, type Measured, measure, print } from './measure.ts'

const QUIET = '--disable-warning=ExperimentalWarning'
const MCP_PEER = fileURLToPath(new URL('./mcp-peer.ts', import.meta.url))
const IN_FLIGHT = [1, 16]
/** How many are in flight in the table of docs/reference/performance.md. */
const SHOWN_IN_FLIGHT = 16
const READ = { class: 'read-only' }
const WRITE = { class: 'external-communication' }
const LABELS = {
  read: { risk_level: 'low', operation_classes: ['read'], effect: READ },
  write: { risk_level: 'low', operation_classes: ['write'], effect: WRITE },
}

interface Way {
  readonly title: string
  direct(): Direct | Promise<Direct>
  /** Tools `read` and `write` of this spec, or an McpServer `bench` that has both. */
  readonly kind: 'Tool' | 'McpServer'
  readonly spec: object
  /** Of a full run, in each round. */
  readonly calls: number
}

export async function transportsBench({ folder, quick }: { folder: string; quick: boolean }): Promise<void> {
  const peers: ChildProcess[] = []
  const listen = async (file: string): Promise<string> => {
    const peer = fork(new URL(file, import.meta.url), [], { execArgv: [QUIET] })
    peers.push(peer)
    return `127.0.0.1:${await first(peer)}`
  }
  try {
    const [plain, envelope] = [await listen('./peer.ts'), await listen('./envelope-peer.ts')]
    const [grpc, mcp] = [await listen('./grpc-peer.ts'), await listen('./mcp-peer.ts')]
    const rows: string[] = []
    for (const way of waysOf({ plain, envelope, grpc, mcp })) {
      const lines = await contest(way, folder, quick)
      print(`over ${way.title}`, lines)
      rows.push(rowOf(way, lines))
    }
    console.log(['\nfor docs/reference/performance.md, Every transport:', ...TABLE_HEAD, ...rows].join('\n'))
  } finally {
    for (const peer of peers) peer.disconnect()
  }
}

interface Addresses {
  readonly plain: string
  readonly envelope: string
  readonly grpc: string
  readonly mcp: string
}

function waysOf({ plain, envelope, grpc, mcp }: Addresses): readonly Way[] {
  const overHttp = (title: string, type: string, endpoint: string, body: BodyKind): Way => ({
    title,
    direct: () => directUndici(endpoint, body),
    kind: 'Tool',
    spec: { type, endpoint },
    calls: 3_000,
  })
  const overMcp = (title: string, place: McpPlace): Way => ({
    title,
    direct: () => directMcp(place),
    kind: 'McpServer',
    spec: {
      ...place,
      concurrency: 64,
      tools: LABELS,
    },
    calls: 1_500,
  })
  return [
    overHttp('http', 'http', `http://${plain}/tool`, 'plain'),
    overHttp('http, a tool that takes 5 ms', 'http', `http://${plain}/slow`, 'plain'),
    overHttp('external', 'external', `http://${envelope}/tool`, 'envelope'),
    overHttp('webhook-callback, answered at once', 'webhook-callback', `http://${envelope}/tool`, 'envelope'),
    {
      title: 'grpc',
      direct: () => directGrpc(grpc),
      kind: 'Tool',
      spec: { type: 'grpc', endpoint: grpc, grpc: { plaintext: true } },
      calls: 3_000,
    },
    overMcp('mcp over HTTP', { transport: 'http', endpoint: `http://${mcp}/mcp` }),
    overMcp('mcp over standard streams', {
      transport: 'stdio',
      command: process.execPath,
      args: [QUIET, MCP_PEER],
    }),
    {
      title: 'cli (echo)',
      direct: () => directProgram('/bin/echo'),
      kind: 'Tool',
      spec: {
        type: 'cli',
        runtime: { isolation_mode: 'none' },
        cli: { command: 'echo', args: ['{{.query}}'] },
      },
      calls: 300,
    },
  ]
}

async function contest(way: Way, folder: string, quick: boolean): Promise<readonly Measured[]> {
  const direct = await way.direct()
  const options = { cliAllow: ['echo'], onWarning: () => {} }
  const path = join(folder, `transports-${way.title.replaceAll(/\W+/g, '-')}.db`)
  const memory = await createRuntime(options)
  const sqlite = await createRuntime({ ...options, store: { kind: 'sqlite', path } })
  try {
    const [inMemory, durable] = [await declare(memory, way), await declare(sqlite, way)]
    const contestants: Contestant[] = [
      direct,
      governed(READ_MEMORY, inMemory, 'read', way),
      governed(READ_SQLITE, durable, 'read', way),
      governed(WRITE_SQLITE, durable, 'write', way),
    ]
    const lines: Measured[] = []
    for (const inFlight of IN_FLIGHT) {
      const calls = Math.ceil(way.calls / (quick ? 6 : 1) / (inFlight === 1 ? 3 : 1))
      lines.push(...(await measure(contestants, inFlight, { calls, rounds: 3 })))
    }
    return lines
  } finally {
    await memory.close()
    await sqlite.close()
    await direct.close()
  }
}

const READ_MEMORY = 'governed read, in memory'
const READ_SQLITE = 'governed read, SQLite'
const WRITE_SQLITE = 'governed write, SQLite'

function governed(name: string, door: CallerDoor, does: 'read' | 'write', { kind }: Way): Contestant {
  const tool = kind === 'Tool' ? does : `bench--${does}`
  return {
    name,
    async run() {
      const answer = await door.call({ tool, input })
      if (answer.state !== 'succeeded') throw new Error(JSON.stringify(answer))
    },
  }
}

/** Once the tools are there. */
async function declare(runtime: Runtime, { kind, spec }: Way): Promise<CallerDoor> {
  const synced = new Promise<void>((resolve, reject) => {
    if (kind === 'Tool') resolve()
    runtime.events.on('mcp:synced', ({ phase }) =>
      phase === 'Ready' ? resolve() : reject(new Error(`the server is ${phase}`)),
    )
  })
  const manifest = (name: string, more: object) => ({
    text: JSON.stringify({ apiVersion: 'writ.dev/v1', kind, metadata: { name }, spec: { ...spec, ...more } }),
    file: `${name}.json`,
  })
  const applied = await runtime.resources.apply(
    kind === 'Tool'
      ? [manifest('read', { effect: READ }), manifest('write', { effect: WRITE })]
      : [manifest('bench', {})],
  )
  if (!applied.ok) throw new Error(JSON.stringify(applied.problems))
  await synced
  return runtime.as(createLocalAdmin())
}

/** The first thing a child process says: where it listens. */
function first(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    child.once('message', (message) => resolve(String(message)))
    child.once('exit', (code) => reject(new Error(`a helper process ended with ${code}`)))
  })
}

const TABLE_HEAD = [
  '| transport | direct: p50, cpu | read, in memory: p50, cpu | read, SQLite: p50, cpu | write, SQLite: p50, cpu |',
  '|---|---|---|---|---|',
]

/** A row of the table in docs/reference/performance.md: the direct call in microseconds, the others as multiples of it. */
function rowOf({ title }: Way, lines: readonly Measured[]): string {
  const shown = lines.filter(({ inFlight }) => inFlight === SHOWN_IN_FLIGHT)
  const [direct, ...others] = shown
  if (direct === undefined) throw new Error(`nothing was measured with ${SHOWN_IN_FLIGHT} in flight`)
  const cells = others.map((line) => {
    const { p50Us, cpuUs } = directOf(line, shown)
    return `${(line.p50Us / p50Us).toFixed(1)}, ${(line.cpuUs / cpuUs).toFixed(1)} (${line.cpuUs.toFixed(0)} us)`
  })
  const own = `${direct.p50Us.toFixed(0)} us, ${direct.cpuUs.toFixed(0)} us`
  return `| ${[title, own, ...cells].join(' | ')} |`
}
