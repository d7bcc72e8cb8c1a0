// Every transport in one run: a read by a bare client against the same read governed, in memory and on disk.
import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createLocalAdmin } from '../src/contract/caller.ts'
import { createRuntime } from '../src/runtime.ts'
import type { CallerDoor, Runtime } from '../src/runtime-api.ts'
import {
  type Direct,
  directGrpc,
  directMcp,
  directProgram,
  directUndici,
  envelopes,
  input,
  type McpPlace,
} from './direct.ts'
import { type Contestant, type Measured, measure } from './measure.ts'

const QUIET = '--disable-warning=ExperimentalWarning'
const MCP_PEER = fileURLToPath(new URL('./mcp-peer.ts', import.meta.url))
const IN_FLIGHT = [1, 16]
const READ = { class: 'read-only' }

interface Way {
  readonly title: string
  direct(): Direct | Promise<Direct>
  /** A Tool `read`, or an McpServer `bench` that has one. */
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
    for (const way of waysOf({ plain, envelope, grpc, mcp })) await contest(way, folder, quick)
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
  const overHttp = (type: string, url: string, body: () => object): Way => ({
    title: type,
    direct: () => directUndici(url, body),
    kind: 'Tool',
    spec: { type, endpoint: url, effect: READ },
    calls: 3_000,
  })
  const overMcp = (title: string, place: McpPlace): Way => ({
    title,
    direct: () => directMcp(place),
    kind: 'McpServer',
    spec: {
      ...place,
      concurrency: 64,
      tools: { read: { risk_level: 'low', operation_classes: ['read'], effect: READ } },
    },
    calls: 1_500,
  })
  return [
    overHttp('http', `http://${plain}/tool`, () => input),
    overHttp('external', `http://${envelope}/tool`, envelopes()),
    overHttp('webhook-callback', `http://${envelope}/tool`, envelopes()),
    {
      title: 'grpc',
      direct: () => directGrpc(grpc),
      kind: 'Tool',
      spec: { type: 'grpc', endpoint: grpc, grpc: { plaintext: true }, effect: READ },
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
        effect: READ,
        cli: { command: 'echo', args: ['{{.query}}'] },
      },
      calls: 300,
    },
  ]
}

async function contest(way: Way, folder: string, quick: boolean): Promise<void> {
  const direct = await way.direct()
  const options = { cliAllow: ['echo'], onWarning: () => {} }
  const path = join(folder, `transports-${way.title.replaceAll(/\W+/g, '-')}.db`)
  const memory = await createRuntime(options)
  const sqlite = await createRuntime({ ...options, store: { kind: 'sqlite', path } })
  try {
    const contestants: Contestant[] = [
      direct,
      governed('governed read, in memory', await declare(memory, way), way),
      governed('governed read, SQLite', await declare(sqlite, way), way),
    ]
    const calls = quick ? Math.ceil(way.calls / 20) : way.calls
    const lines: Measured[] = []
    for (const inFlight of IN_FLIGHT)
      lines.push(...(await measure(contestants, inFlight, { calls, rounds: 3 })))
    print(`a read over ${way.title}`, lines)
  } finally {
    await memory.close()
    await sqlite.close()
    await direct.close()
  }
}

function governed(name: string, door: CallerDoor, { kind }: Way): Contestant {
  const tool = kind === 'Tool' ? 'read' : 'bench--read'
  return {
    name,
    async run() {
      const answer = await door.call({ tool, input })
      if (answer.state !== 'succeeded') throw new Error(JSON.stringify(answer))
    },
  }
}

/** Once the tool is there. */
async function declare(runtime: Runtime, { kind, spec }: Way): Promise<CallerDoor> {
  const synced = new Promise<void>((resolve, reject) => {
    if (kind === 'Tool') resolve()
    runtime.events.on('mcp:synced', ({ phase }) =>
      phase === 'Ready' ? resolve() : reject(new Error(`the server is ${phase}`)),
    )
  })
  const metadata = { name: kind === 'Tool' ? 'read' : 'bench' }
  const text = JSON.stringify({ apiVersion: 'writ.dev/v1', kind, metadata, spec })
  const applied = await runtime.resources.apply([{ text, file: 'bench' }])
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

const HEADS = ['ratio', 'p50 ratio', 'calls/s', 'p50 us', 'p99 us', 'cpu us']

/** Throughput as a part of the direct call's, and p50 as a multiple of it. */
function print(title: string, lines: readonly Measured[]): void {
  console.log(`\n${title}`)
  const heads = HEADS.map((head) => head.padStart(10)).join('')
  console.log(`${'in flight'.padStart(9)}  ${'way'.padEnd(34)}${heads}`)
  for (const line of lines) {
    const direct = lines.find((one) => one.inFlight === line.inFlight) ?? line
    const cells = [
      (line.callsPerSecond / direct.callsPerSecond).toFixed(2),
      (line.p50Us / direct.p50Us).toFixed(2),
      line.callsPerSecond.toFixed(0),
      line.p50Us.toFixed(0),
      line.p99Us.toFixed(0),
      line.cpuUs.toFixed(0),
    ]
    const text = cells.map((cell) => cell.padStart(10)).join('')
    console.log(`${String(line.inFlight).padStart(9)}  ${line.name.padEnd(34)}${text}`)
  }
}
