// Real MCP servers from npm and PyPI, over both wires and both revisions.
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { after, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createMcpHandler } from '@modelcontextprotocol/server'
import { ROOT } from '../../scripts/repo-files.ts'
import type { ResolvedMcpServer } from '../../src/resource/resolved-mcp-server.ts'
import { createMcpSessions } from '../../src/transport/mcp/sessions.ts'
import { createMcpTransport } from '../../src/transport/mcp.ts'
import { Abort } from '../../src/util/abort.ts'
import type { Json } from '../../src/util/json.ts'
import { createSdkServer } from '../fixtures/mcp-sdk/server.ts'
import { makeServer, makeWorld, mcpTool, programOf } from './mcp-harness.ts'
import { makeSend, makeSink } from './send-fixture.ts'
import { refusal, success } from './transport-contract.ts'

const run = promisify(execFile)
const NPM = join(ROOT, 'node_modules/@modelcontextprotocol')
const QUIET = '--disable-warning=ExperimentalWarning'

const world = makeWorld()
const sessions = createMcpSessions({ world })
after(async () => {
  await sessions.close()
  await world.network.close()
})

function use(server: ResolvedMcpServer) {
  const transport = createMcpTransport({ world, mcpSessions: sessions, mcpServer: () => server })
  return {
    tools: () => sessions.use(server, new Abort(), (session) => session.listTools(new Abort())),
    revision: () => sessions.use(server, new Abort(), async ({ revision }) => revision),
    async call(tool: string, input: Json) {
      const sink = makeSink()
      return { reply: await transport.attempt(makeSend(mcpTool(tool), input), sink), sink }
    },
  }
}

async function everything(server: ResolvedMcpServer): Promise<void> {
  const { tools, revision, call } = use(server)
  assert.equal(await revision(), '2025-11-25')
  const listed = await tools()
  const structured = listed.find(({ name }) => name === 'get-structured-content')
  assert.equal(structured?.inputSchema.type, 'object')
  assert.equal(structured?.outputSchema?.type, 'object')
  assert.equal(success((await call('echo', { message: 'hi' })).reply).output, 'Echo: hi')
  const weather = success((await call('get-structured-content', { location: 'New York' })).reply).output
  assert.deepEqual(Object.keys(weather as object).sort(), ['conditions', 'humidity', 'temperature'])
  const image = success((await call('get-tiny-image', {})).reply).output as { content: { type: string }[] }
  assert.deepEqual(
    image.content.map(({ type }) => type),
    ['text', 'image', 'text'],
  )
  const { sink } = await call('trigger-long-running-operation', { duration: 0.2, steps: 2 })
  assert.ok(sink.facts.length > 0, 'no progress was told')
  const wrong = refusal((await call('get-sum', { a: 'x' })).reply)
  assert.deepEqual([wrong.failure, wrong.definite], ['upstream-error', false])
}

describe('server-everything of npm', () => {
  it('works over standard streams, and sees no environment of ours', async () => {
    const server = makeServer(programOf([join(NPM, 'server-everything/dist/index.js'), 'stdio']), {
      name: 'everything',
    })
    await everything(server)
    const seen = success((await use(server).call('get-env', {})).reply).output
    // Node itself hands on where coverage goes, in a run that takes it.
    const names = Object.keys(JSON.parse(String(seen))).filter((name) => name !== 'NODE_V8_COVERAGE')
    assert.deepEqual(names, ['PATH'])
  })

  it('works over Streamable HTTP', async () => {
    const port = await freePort()
    const child = spawn(process.execPath, [join(NPM, 'server-everything/dist/index.js'), 'streamableHttp'], {
      env: { PORT: String(port) },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    try {
      await new Promise<void>((resolve, reject) => {
        child.once('exit', () => reject(new Error('server-everything ended')))
        for (const stream of [child.stdout, child.stderr])
          stream.on('data', (chunk: Buffer) => {
            if (/listening on port/i.test(String(chunk))) resolve()
          })
      })
      const endpoint = `http://127.0.0.1:${port}/mcp`
      const server = makeServer({ kind: 'http', endpoint, allow: [], reach: 'loopback' }, { name: 'web' })
      await everything(server)
      sessions.forget(server)
    } finally {
      child.kill('SIGKILL')
    }
  })
})

describe('server-memory of npm', () => {
  it('keeps what it is told, over thousands of calls and one process', async () => {
    const server = makeServer(
      programOf([join(NPM, 'server-memory/dist/index.js')], { MEMORY_FILE_PATH: '/dev/null' }),
      { name: 'memory', concurrency: 16 },
    )
    const { call } = use(server)
    const graph = success((await call('read_graph', {})).reply).output
    assert.deepEqual(graph, { entities: [], relations: [] })
    const before = process.memoryUsage().heapUsed
    const handles = process.getActiveResourcesInfo().length
    for (let round = 0; round < 125; round++) {
      const replies = await Promise.all(Array.from({ length: 16 }, () => call('read_graph', {})))
      for (const { reply } of replies) success(reply)
    }
    const grown = process.memoryUsage().heapUsed - before
    assert.ok(grown < 64 * 1_048_576, `the heap grew by ${grown} bytes`)
    assert.ok(process.getActiveResourcesInfo().length <= handles + 2)
  })
})

describe('a server of the newest SDK', () => {
  const program = fileURLToPath(new URL('../fixtures/mcp-sdk/stdio.ts', import.meta.url))

  async function adds(server: ResolvedMcpServer): Promise<void> {
    const { tools, revision, call } = use(server)
    assert.equal(await revision(), '2026-07-28')
    const [add] = await tools()
    assert.equal(add?.title, 'Add')
    assert.deepEqual(add?.annotations, { readOnlyHint: true })
    assert.deepEqual(success((await call('add', { a: 1, b: 2 })).reply).output, { sum: 3 })
    const wrong = refusal((await call('add', { a: 1 })).reply)
    assert.ok(['upstream-error', 'upstream-rejected'].includes(wrong.failure))
  }

  it('speaks 2026-07-28 over standard streams', () =>
    adds(makeServer(programOf([QUIET, program]), { name: 'sdk' })))

  it('speaks 2026-07-28 over Streamable HTTP', async () => {
    const handler = createMcpHandler(createSdkServer)
    const listener = createServer((request, response) => void serve(handler, request, response))
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
    const { port } = listener.address() as AddressInfo
    try {
      const endpoint = `http://127.0.0.1:${port}/mcp`
      await adds(makeServer({ kind: 'http', endpoint, allow: [], reach: 'loopback' }, { name: 'sdk-web' }))
    } finally {
      await handler.close()
      listener.closeAllConnections()
      listener.close()
    }
  })
})

describe('mcp-server-time of PyPI', () => {
  it('tells the time', async (context) => {
    const packages = await pythonPackages()
    if (packages === undefined) {
      context.skip('there is no python3 with pip, or no registry. Fix: install python3 and python3-pip')
      return
    }
    const connection = {
      kind: 'stdio' as const,
      command: 'python3',
      args: ['-m', 'mcp_server_time', '--local-timezone', 'Europe/Prague'],
      env: { PYTHONPATH: packages },
      envFrom: [],
    }
    const { tools, call } = use(makeServer(connection, { name: 'time' }))
    assert.deepEqual((await tools()).map(({ name }) => name).sort(), ['convert_time', 'get_current_time'])
    const { reply } = await call('convert_time', {
      source_timezone: 'UTC',
      time: '12:00',
      target_timezone: 'Asia/Tokyo',
    })
    assert.match(JSON.stringify(success(reply).output), /T21:00:00/)
    const wrong = refusal((await call('get_current_time', { timezone: 'Nowhere/Else' })).reply)
    assert.equal(wrong.failure, 'upstream-error')
  })
})

/** Installed once for all runs. */
async function pythonPackages(): Promise<string | undefined> {
  const folder = join(ROOT, 'node_modules/.cache/writ-mcp-server-time')
  if (existsSync(folder)) return folder
  const fresh = `${folder}-${process.pid}`
  try {
    await mkdir(fresh, { recursive: true })
    await run('python3', ['-m', 'pip', 'install', '--quiet', '--target', fresh, 'mcp-server-time'], {
      timeout: 120_000,
    })
    await rename(fresh, folder)
    return folder
  } catch {
    await rm(fresh, { recursive: true, force: true })
    return existsSync(folder) ? folder : undefined
  }
}

async function freePort(): Promise<number> {
  const probe = createServer()
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve))
  const { port } = probe.address() as AddressInfo
  await new Promise((resolve) => probe.close(resolve))
  return port
}

async function serve(
  handler: ReturnType<typeof createMcpHandler>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const headers = new Headers(request.headers as Record<string, string>)
  const body = request.method === 'POST' ? Buffer.concat(await request.toArray()) : null
  const url = `http://${request.headers.host}${request.url}`
  const answer = await handler.fetch(new Request(url, { method: request.method ?? 'GET', headers, body }))
  response.writeHead(answer.status, Object.fromEntries(answer.headers))
  if (answer.body === null) response.end()
  else await pipeline(Readable.fromWeb(answer.body as never), response).catch(() => {})
}
