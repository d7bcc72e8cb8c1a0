// kill -9 in the middle of calls, and a restart: nothing is sent twice, nothing that was answered is lost.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createClient } from '../../src/client/client.ts'

const CALLS = 200
const bin = new URL('../../bin/writ', import.meta.url).pathname

/** A tool that counts what really happened, by the key it was given. */
async function startTool(t: TestContext): Promise<{
  readonly url: string
  readonly effects: Map<string, number>
  /** Resolves when it has just done something that nobody was told of yet. */
  busy(): Promise<void>
}> {
  const effects = new Map<string, number>()
  let tell = () => {}
  const server = createServer((request, response) => {
    const key = String(request.headers['idempotency-key'])
    request.resume().on('end', () => {
      effects.set(key, (effects.get(key) ?? 0) + 1)
      tell()
      setTimeout(
        () => response.writeHead(200, { 'content-type': 'application/json' }).end('{"done":true}'),
        30,
      )
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const busy = () =>
    new Promise<void>((resolve) => {
      tell = resolve
    })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, effects, busy }
}

interface Running {
  readonly child: ChildProcess
  readonly url: string
}

async function up(data: string): Promise<Running> {
  const child = spawn(bin, ['up', '--port', '0', '--data', data, '--log-level', 'error'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  for await (const chunk of child.stdout ?? []) {
    text += chunk
    const url = /Address:\s+(\S+)/.exec(text)?.[1]
    if (url !== undefined) return { child, url }
  }
  throw new Error(`writ did not come up: ${text}`)
}

test('200 calls, kill -9 in their midst, restart: every effect happens at most once and every call has an end', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'writ-kill-'))
  const data = join(folder, 'data')
  const tool = await startTool(t)
  const first = await up(data)
  t.after(() => {
    first.child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  })
  const token = readFileSync(join(data, 'admin-token'), 'utf8').trim()
  const client = createClient({ url: first.url, token })
  const manifest = `apiVersion: writ.dev/v1\nkind: Tool\nmetadata: {name: pay}\nspec: {type: http, endpoint: "${tool.url}", effect: {class: external-communication}, limits: {concurrency: 64}}\n`
  await client.apply(manifest)

  const request = (index: number) => ({ request_id: `r-${index}`, tool: { name: 'pay' }, input: { index } })
  const answered = new Map<number, string>()
  let next = 0
  const worker = async () => {
    for (let index = next++; index < CALLS; index = next++) {
      try {
        answered.set(index, (await client.call(request(index))).state)
      } catch {
        return
      }
      // In the middle of everything: some are answered, one is at the tool for sure, some are on their way to the disk.
      if (answered.size === CALLS / 4) tool.busy().then(() => first.child.kill('SIGKILL'))
    }
  }
  await Promise.all(Array.from({ length: 32 }, worker))
  await client.close()
  assert.ok(answered.size < CALLS, 'the kill came in time')

  const second = await up(data)
  t.after(async () => {
    second.child.kill('SIGTERM')
    await once(second.child, 'exit')
  })
  const again = createClient({ url: second.url, token })
  t.after(() => again.close())
  const states = new Map<string, number>()
  for (let index = 0; index < CALLS; index++) {
    const reply = await again.call(request(index))
    states.set(reply.state, (states.get(reply.state) ?? 0) + 1)
    if (answered.get(index) === 'succeeded') {
      assert.deepEqual(
        [reply.state, reply.replayed],
        ['succeeded', true],
        `what was answered stays so: ${index}`,
      )
    }
    assert.ok(['succeeded', 'unknown'].includes(reply.state), `${index}: ${reply.state}`)
  }
  for (const [key, times] of tool.effects) assert.equal(times, 1, `sent ${times} times: ${key}`)
  assert.ok((states.get('unknown') ?? 0) > 0, 'what was under way is unknown, not silently repeated')
  assert.ok((states.get('unknown') ?? 0) <= 32, 'and no more than was under way')
  const open = await again.listCalls({ state: 'unknown', limit: 100 })
  assert.equal(open.calls.length > 0, true)
})
