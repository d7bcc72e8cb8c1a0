// MCP tools, over standard streams and over HTTP: a client of the official SDK against the same call governed.
import { fork } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { createLocalAdmin } from '../src/contract/caller.ts'
import { createRuntime } from '../src/runtime.ts'
import type { CallerDoor, Runtime } from '../src/runtime-api.ts'
import { type Measured, measure, print } from './measure.ts'

const PEER = fileURLToPath(new URL('./mcp-peer.ts', import.meta.url))
const QUIET = '--disable-warning=ExperimentalWarning'
const input = { query: 'latest market analysis', limit: 10 }
const IN_FLIGHT = [1, 16]

const LABELS = {
  read: { risk_level: 'low', operation_classes: ['read'], effect: { class: 'read-only' } },
  write: { risk_level: 'low', operation_classes: ['write'], effect: { class: 'external-communication' } },
}

export async function mcpBench({ folder, quick }: { folder: string; quick: boolean }): Promise<void> {
  const service = fork(PEER, [], { execArgv: [QUIET] })
  try {
    const port = await new Promise<string>((resolve) =>
      service.once('message', (said) => resolve(String(said))),
    )
    const endpoint = `http://127.0.0.1:${port}/mcp`
    const program = { command: process.execPath, args: [QUIET, PEER] }
    await contest(
      'MCP tool over standard streams',
      new StdioClientTransport(program),
      { transport: 'stdio', ...program },
      join(folder, 'mcp-stdio.db'),
      quick,
    )
    await contest(
      'MCP tool over HTTP on loopback',
      new StreamableHTTPClientTransport(new URL(endpoint)),
      { transport: 'http', endpoint },
      join(folder, 'mcp-http.db'),
      quick,
    )
  } finally {
    if (service.connected) service.disconnect()
  }
}

async function contest(
  title: string,
  wire: StdioClientTransport | StreamableHTTPClientTransport,
  spec: object,
  path: string,
  quick: boolean,
): Promise<void> {
  const client = new Client({ name: 'bench', version: '1' }, { versionNegotiation: { mode: 'auto' } })
  await client.connect(wire)
  const runtime = await createRuntime({ store: { kind: 'sqlite', path } })
  const door = await declared(runtime, spec)
  const call = async (tool: string) => {
    const answer = await door.call({ tool, input })
    if (answer.state !== 'succeeded') throw new Error(JSON.stringify(answer))
  }
  const contestants = [
    { name: 'direct SDK', run: () => client.callTool({ name: 'read', arguments: input }) },
    { name: 'governed read', run: () => call('bench--read') },
    { name: 'governed write, durable', run: () => call('bench--write') },
  ]
  const lines: Measured[] = []
  for (const inFlight of IN_FLIGHT)
    lines.push(...(await measure(contestants, inFlight, { calls: quick ? 50 : 1_500, rounds: 3 })))
  print(title, lines)
  await runtime.close()
  await client.close()
}

/** Once its tools are there. */
async function declared(runtime: Runtime, spec: object): Promise<CallerDoor> {
  const synced = new Promise<void>((resolve, reject) => {
    runtime.events.on('mcp:synced', ({ phase }) =>
      phase === 'Ready' ? resolve() : reject(new Error(`the server is ${phase}`)),
    )
  })
  const manifest = {
    apiVersion: 'writ.dev/v1',
    kind: 'McpServer',
    metadata: { name: 'bench' },
    spec: { ...spec, concurrency: 64, tools: LABELS },
  }
  const applied = await runtime.resources.apply([{ text: JSON.stringify(manifest), file: 'bench' }])
  if (!applied.ok) throw new Error(JSON.stringify(applied.problems))
  await synced
  return runtime.as(createLocalAdmin())
}
