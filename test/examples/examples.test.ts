// Every example runs as a reader would run it, and says that it worked.
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { startBank } from '../../examples/external-tool/server.ts'
import { startWeather } from '../../examples/http-tool/server.ts'
import { startSilence } from '../../examples/silent-service/server.ts'
import { startTour } from '../../examples/tour.ts'
import { createLocalAdmin } from '../../src/contract/caller.ts'
import { readManifests } from '../../src/resource/manifest.ts'
import { createRuntime } from '../../src/runtime.ts'
import { runWrit } from '../cli/writ-process.ts'

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
  assert.equal(stdout, '6 calls, 1 payment sent: ok\n')
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

test('the silent service: sent once, and nobody knows', async (t) => {
  const silence = await startSilence()
  t.after(() => silence.stop())
  const door = await doorWith(t, 'silent-service/tool.yaml', 'http://127.0.0.1:7504/', silence.url)
  const request = { tool: 'silent', input: { text: 'hello' }, idempotencyKey: 'once', timeoutMs: 200 }
  const first = await door.call(request)
  assert.deepEqual([first.state, first.effect], ['unknown', 'unknown'])
  assert.equal((await door.call(request)).failure?.id, 'outcome-unknown')
  assert.equal(silence.taken(), 1)
})

test('a service that finds its port taken says so to whoever started it', async (t) => {
  const holder = await hold(0)
  assert.ok(holder)
  t.after(holder.release)
  for (const start of [startWeather, startBank, startSilence]) {
    await assert.rejects(start(holder.port), { code: 'EADDRINUSE', port: holder.port })
  }
})

test('the tour starts whole or not at all, and writ up says why', async (t) => {
  const cwd = mkdtempSync(join(tmpdir(), 'writ-tour-'))
  t.after(() => rmSync(cwd, { recursive: true }))
  const writ = (...args: string[]) => runWrit(['up', '--port', '0', '--examples', ...args], { cwd })
  const bank = await hold(7502)
  await assert.rejects(startTour(), { code: 'EADDRINUSE' })
  const taken = await writ()
  assert.equal(taken.code, 1, taken.err)
  assert.match(taken.err, /^writ: port 750[12] is in use, and an example tool needs it$/m)
  assert.match(taken.err, /^Fix: stop what listens there/m)
  assert.doesNotMatch(taken.err, /bug in writ/)
  await bank?.release()

  const weather = await hold(7501)
  if (bank === undefined || weather === undefined) {
    t.skip('another program has port 7501 or 7502. Fix: stop it, such as a running npm start')
    return
  }
  await weather.release()
  rmSync(join(cwd, '.writ'), { recursive: true })
  const keys = ['--token-keys', 'keys.json']
  assert.equal((await runWrit(['token', 'rotate', '--file', 'keys.json'], { cwd })).code, 0)
  const refused = await runWrit(['up', '--port', '0', '--examples', '--profile', 'production', ...keys], {
    cwd,
    env: { WRIT_ADMIN_TOKEN: 'production-token-of-more-than-32-characters' },
  })
  assert.equal(refused.code, 1, refused.err)
  assert.match(refused.err, /^writ: the example tools are refused here$/m)
  assert.match(refused.err, /^ {2}examples\/\S+\.yaml:\d+:\d+: error: /m)
  assert.match(refused.err, /^Fix: start without --examples/m)
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
  // Cases of `writ policy test` are no manifests; that command runs them elsewhere.
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.yaml') && !file.endsWith('cases.yaml'),
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

/** Takes a port; undefined where somebody else has it already. */
async function hold(port: number): Promise<{ readonly port: number; release(): Promise<void> } | undefined> {
  const server = createServer()
  try {
    await once(server.listen(port, '127.0.0.1'), 'listening')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return undefined
    throw error
  }
  return {
    port: (server.address() as AddressInfo).port,
    async release() {
      server.close()
      await once(server, 'close')
    },
  }
}

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
