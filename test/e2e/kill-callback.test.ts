// kill -9 of a server while tools in other processes are at work for it: the work goes on, is sent once, and its end is
// heard by the next server, asked for or reported (S36).
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { until } from '../pipeline/until.ts'

const file = (path: string) => new URL(`../../${path}`, import.meta.url).pathname

/** A program that says where it listens. */
async function start(t: TestContext, command: string, args: readonly string[], says: RegExp) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  })
  // Read to its end: a program that cannot write any more may end over it.
  const url = await new Promise<string>((resolve, reject) => {
    let text = ''
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
      const found = says.exec(text)?.[1]
      if (found !== undefined) resolve(found)
    })
    child.once('exit', () => reject(new Error(`${command} did not come up: ${text}`)))
  })
  return { child, url }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

function manifest(name: string, endpoint: string): string {
  return `apiVersion: writ.dev/v1
kind: Tool
metadata: {name: ${name}}
spec:
  type: webhook-callback
  endpoint: ${endpoint}
  effect: {class: external-communication}
  webhook: {poll: 100ms}
  runtime: {timeout: 1h}
`
}

async function open(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'writ-kill-callback-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const data = join(folder, 'data')
  const args = ['up', '--port', String(port), '--public-url', url, '--data', data, '--log-level', 'error']
  const up = () => start(t, file('bin/writ'), args, /Address:\s+(\S+)\n/)
  const ask = async (path: string, init: RequestInit = {}) => {
    const token = readFileSync(join(data, 'admin-token'), 'utf8').trim()
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      connection: 'close',
    }
    const answer = await fetch(url + path, { ...init, headers: { ...headers, ...init.headers } })
    return (await answer.json()) as {
      id: string
      state: string
      effect: string
      answer?: { output: unknown }
      entry_state?: string
    }
  }
  const apply = (text: string) =>
    ask('/v1/apply', { method: 'POST', body: text, headers: { 'content-type': 'application/yaml' } })
  const call = (tool: string, input: object) =>
    ask('/v1/calls', {
      method: 'POST',
      headers: { prefer: 'respond-async' },
      body: JSON.stringify({ request_id: tool, tool: { name: tool }, input }),
    })
  return { up, ask, apply, call, folder }
}

async function kill(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL')
  await once(child, 'exit')
}

test('S36: what tools were at when the server was killed ends after the restart, and nothing is sent twice', async (t) => {
  const node = await start(
    t,
    process.execPath,
    [file('examples/callback-tool/server.ts'), '0'],
    /are made on (\S+)\n/,
  )
  const python = await start(
    t,
    'python3',
    [file('test/fixtures/callback-service/service.py')],
    /listening on (\S+)\n/,
  )
  const { up, ask, apply, call } = await open(t)
  const first = await up()
  await apply(`${manifest('in-node', node.url)}---\n${manifest('in-python', python.url)}`)
  const made = [
    await call('in-node', { year: 2026, seconds: 3 }),
    await call('in-python', { say: 'hello', seconds: 3, reports: false }),
  ]
  for (const { id } of made) {
    await until(async () => (await ask(`/v1/calls/${id}`)).entry_state === 'sent', 30_000)
  }
  await kill(first.child)
  await up()
  const ended = await Promise.all(
    made.map(({ id }) =>
      until(async () => {
        const now = await ask(`/v1/calls/${id}?wait=5`)
        assert.ok(now.state === 'running' || now.state === 'succeeded', `it is ${now.state}`)
        return now.state === 'succeeded' ? now : undefined
      }, 30_000),
    ),
  )
  assert.deepEqual(
    ended.map(({ answer }) => answer?.output),
    [
      { year: 2026, pages: 12 },
      { said: 'hello', language: 'Python' },
    ],
  )
})
