// npm run bench: what governance costs, as ratios against the direct call in the same run.
// `-- --quick` for a glance, `-- --large` for a ledger of up to a million entries, `-- --only=calls|transports|policy|cedar|governance|ledger` for one part.
import { type ChildProcess, fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Agent, request } from 'undici'
import { createLocalAdmin } from '../src/contract/caller.ts'
import { defineTool } from '../src/define-tool.ts'
import { createRuntime } from '../src/runtime.ts'
import type { CallerDoor, Runtime } from '../src/runtime-api.ts'
import { cedarBench } from './cedar.ts'
import { directUndici, input } from './direct.ts'
import { fdatasyncP50Us } from './disk.ts'
import { governanceBench } from './governance.ts'
import { ledgerBench } from './ledger.ts'
import { type Contestant, type Measured, measure, print } from './measure.ts'
import { policyBench } from './policy.ts'
import { transportsBench } from './transports.ts'

const IN_FLIGHT = [1, 16, 64]
const folder = mkdtempSync(join(tmpdir(), 'writ-bench-'))
const quick = process.argv.includes('--quick')
/** Also up to a million entries in the ledger. */
const large = process.argv.includes('--large')
const only = process.argv.find((argument) => argument.startsWith('--only='))?.slice('--only='.length)
const wants = (part: string) => only === undefined || only === part
const scale = (calls: number) => (quick ? Math.ceil(calls / 10) : calls)

async function main(): Promise<void> {
  console.log(`node ${process.version}, fdatasync p50 ${fdatasyncP50Us(folder).toFixed(0)} us`)
  if (wants('calls')) await native()
  if (wants('transports')) await transportsBench({ folder, quick })
  if (wants('policy')) policyBench({ quick })
  if (wants('cedar')) cedarBench({ quick })
  if (wants('governance')) await governanceBench({ folder, quick })
  if (!wants('calls') && !wants('ledger')) return
  const peer = start('./peer.ts', [])
  try {
    const endpoint = `http://127.0.0.1:${await first(peer)}/tool`
    if (wants('calls')) await http(endpoint)
    if (wants('ledger')) await ledgerBench({ folder, endpoint, quick, large })
  } finally {
    peer.disconnect()
  }
}

async function native(): Promise<void> {
  const schema = {
    type: 'object',
    properties: { query: { type: 'string' }, limit: { type: 'integer' } },
    required: ['query'],
  } as const
  const handler = (value: unknown) => ({ found: (value as typeof input).limit })
  const tools = [
    defineTool({ name: 'read', input: schema, effect: { class: 'read-only' }, handler: handler as never }),
    defineTool({
      name: 'write',
      input: schema,
      effect: { class: 'external-communication' },
      handler: handler as never,
    }),
  ]
  const memory = await createRuntime({ tools })
  const sqlite = await createRuntime({ tools, store: { kind: 'sqlite', path: join(folder, 'native.db') } })
  const door = (runtime: Runtime) => runtime.as(createLocalAdmin())
  const [inMemory, durable] = [door(memory), door(sqlite)]
  const contestants: Contestant[] = [
    { name: 'direct', run: async () => handler(input) },
    { name: 'governed read, in memory', run: () => must(inMemory, 'read') },
    { name: 'governed write, in memory', run: () => must(inMemory, 'write') },
    { name: 'governed read, durable', run: () => must(durable, 'read') },
    { name: 'governed write, durable', run: () => must(durable, 'write') },
  ]
  const lines: Measured[] = []
  for (const inFlight of IN_FLIGHT)
    lines.push(
      ...(await measure(contestants, inFlight, { calls: scale(inFlight === 1 ? 1_000 : 8_000), rounds: 3 })),
    )
  print('native tool (the direct call is a function call: read the cpu column)', lines)
  await memory.close()
  await sqlite.close()
}

async function http(endpoint: string): Promise<void> {
  const manifest = (name: string, effect: string) =>
    `apiVersion: writ.dev/v1\nkind: Tool\nmetadata: {name: ${name}}\nspec: {type: http, endpoint: "${endpoint}", effect: {class: ${effect}}}\n`
  const runtime = await createRuntime({ store: { kind: 'sqlite', path: join(folder, 'http.db') } })
  const manifests = `${manifest('read', 'read-only')}---\n${manifest('write', 'external-communication')}`
  const applied = await runtime.resources.apply([{ text: manifests, file: 'bench' }])
  if (!applied.ok) throw new Error(JSON.stringify(applied.problems))
  const door = runtime.as(createLocalAdmin())
  const token = 'bench-token-bench-token-bench-token'
  const server = start('./server.ts', [join(folder, 'server.db'), manifests, token])
  const url = await first(server)
  const agent = new Agent({ pipelining: 1 })
  const direct = directUndici(endpoint, 'plain')
  let serial = 0
  const throughServer = async (tool: string) => {
    const reply = await request(`${url}/v1/calls`, {
      method: 'POST',
      body: JSON.stringify({ request_id: `b-${serial++}`, tool: { name: tool }, input }),
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      dispatcher: agent,
    })
    const answer = (await reply.body.json()) as { status: string }
    if (answer.status !== 'ok') throw new Error(JSON.stringify(answer))
  }
  const contestants: Contestant[] = [
    direct,
    { name: 'governed read', run: () => must(door, 'read') },
    { name: 'governed write, durable', run: () => must(door, 'write') },
    { name: 'read through the server', run: () => throughServer('read') },
    { name: 'write through the server', run: () => throughServer('write') },
  ]
  const lines: Measured[] = []
  for (const inFlight of IN_FLIGHT)
    lines.push(
      ...(await measure(contestants, inFlight, { calls: scale(inFlight === 1 ? 1_000 : 6_000), rounds: 3 })),
    )
  print('HTTP tool on loopback', lines)
  await direct.close()
  await agent.close()
  server.disconnect()
  await runtime.close()
}

function start(file: string, args: string[]): ChildProcess {
  return fork(new URL(file, import.meta.url), args, { execArgv: ['--disable-warning=ExperimentalWarning'] })
}

/** The first thing a child process says: where it listens. */
function first(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    child.once('message', (message) => resolve(String(message)))
    child.once('exit', (code) => reject(new Error(`a helper process ended with ${code}`)))
  })
}

async function must(door: CallerDoor, tool: string): Promise<void> {
  const answer = await door.call({ tool, input })
  if (answer.state !== 'succeeded') throw new Error(JSON.stringify(answer))
}

// Ended from outside, it still takes its processes and files with it.
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

try {
  await main()
} finally {
  rmSync(folder, { recursive: true, force: true })
}
