// Every example runs as a reader would run it, and says that it worked.
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { startBank } from '../../examples/external-tool/server.ts'
import { startWeather } from '../../examples/http-tool/server.ts'
import { createLocalAdmin } from '../../src/contract/caller.ts'
import { readManifests } from '../../src/resource/manifest.ts'
import { createRuntime } from '../../src/runtime.ts'

const root = new URL('../../examples/', import.meta.url)
const read = (file: string) => readFileSync(new URL(file, root), 'utf8')

async function doorWith(t: TestContext, file: string, from: string, to: string) {
  const runtime = await createRuntime()
  t.after(() => runtime.close({ drainMs: 0 }))
  const applied = await runtime.resources.apply([{ text: read(file).replace(from, to), file }])
  assert.deepEqual(
    applied.problems.filter((one) => one.severity === 'error'),
    [],
  )
  return runtime.as(createLocalAdmin())
}

test('the native tool runs by itself and asserts', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [new URL('native-tool.ts', root).pathname])
  assert.match(stdout, /sent once: ok/)
})

test('the http tool: a plain service becomes a governed tool', async (t) => {
  const weather = await startWeather()
  t.after(() => weather.stop())
  const door = await doorWith(t, 'http-tool/tool.yaml', 'http://127.0.0.1:7501/weather', weather.url)
  assert.deepEqual((await door.call({ tool: 'weather', input: { city: 'Oslo' } })).output, {
    city: 'Oslo',
    degrees: 4,
  })
  const nowhere = await door.call({ tool: 'weather', input: { city: 'Atlantis' } })
  assert.deepEqual([nowhere.failure?.id, nowhere.usage.attempt], ['upstream-rejected', 1])
})

test('the external tool: sent once, blocked when repeated, held when large', async (t) => {
  const bank = await startBank()
  t.after(() => bank.stop())
  const door = await doorWith(t, 'external-tool/tool.yaml', 'http://127.0.0.1:7502/', bank.url)
  const input = { to: 'alice', amount: 20 }
  const first = await door.call({ tool: 'transfer', input, idempotencyKey: 'rent-1' })
  assert.deepEqual([first.state, first.effect], ['succeeded', 'done'])
  assert.equal((await door.call({ tool: 'transfer', input, idempotencyKey: 'rent-1' })).replayed, true)
  assert.equal(
    (await door.call({ tool: 'transfer', input, idempotencyKey: 'rent-2' })).failure?.id,
    'effect-repeated',
  )
  assert.equal(
    (await door.call({ tool: 'transfer', input: { to: 'bob', amount: 5000 } })).state,
    'awaiting-approval',
  )
  const refused = await door.call({ tool: 'transfer', input: { to: 'nobody', amount: 1 } })
  assert.deepEqual([refused.effect, refused.failure?.retryable], ['not-done', false])
  assert.equal(bank.transfers.size, 1)
})

test('the Python service answers through Writ', async (t) => {
  const port = await freePort()
  const python = spawn('python3', [new URL('python-service/service.py', root).pathname, String(port)], {
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  t.after(async () => {
    python.kill()
    await once(python, 'exit')
  })
  await reachable(port)
  const door = await doorWith(
    t,
    'python-service/tool.yaml',
    'http://127.0.0.1:7503/',
    `http://127.0.0.1:${port}/`,
  )
  const answer = await door.call({ tool: 'python-service', operation: 'echo', input: { hello: 'world' } })
  assert.deepEqual([answer.state, answer.output], ['succeeded', { hello: 'world' }])
})

test('every manifest in examples/ is read without an error', () => {
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.yaml'),
  )
  assert.ok(files.length >= 5)
  for (const file of files) {
    const { documents, problems } = readManifests(read(file), file)
    assert.deepEqual(
      problems.filter((one) => one.severity === 'error'),
      [],
      file,
    )
    assert.ok(documents.length > 0, file)
  }
})

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

async function reachable(port: number): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    try {
      await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: '{}' })
      return
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
  throw new Error(`nothing listens on ${port}`)
}
