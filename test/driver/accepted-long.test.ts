// Work that takes hours, and thousands of such works at once: nothing is held for them but their names.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Dispatcher } from 'undici'
import { createLocalAdmin } from '../../src/contract/caller.ts'
import { createRuntime, createWorld } from '../../src/runtime.ts'
import type { Runtime } from '../../src/runtime-api.ts'
import type { JsonObject } from '../../src/util/json.ts'
import type { Timer, World } from '../../src/util/world.ts'
import { until } from '../pipeline/until.ts'
import { envelopeOf, startCallbackPeer } from '../transport/callback-peer.ts'

const HOUR_MS = 3_600_000

/** A network with one tool in it, that answers at once and counts. */
class ToolNetwork extends Dispatcher {
  readonly asked: string[] = []
  answer: (
    method: string,
    path: string,
    body: string,
  ) => { status: number; body?: JsonObject; headers?: Readonly<Record<string, string>> } = () => ({
    status: 202,
  })

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const controller = { aborted: false, reason: null, paused: false, abort() {}, pause() {}, resume() {} }
    this.asked.push(`${options.method} ${options.path}`)
    handler.onRequestStart?.(controller, {})
    const { status, body, headers } = this.answer(options.method, options.path, String(options.body))
    handler.onResponseStart?.(controller, status, { 'content-type': 'application/json', ...headers }, '')
    if (body !== undefined) handler.onResponseData?.(controller, Buffer.from(JSON.stringify(body)))
    handler.onResponseEnd?.(controller, {})
    return true
  }

  override close(): Promise<void>
  override close(callback: () => void): void
  override close(callback?: () => void): Promise<void> | void {
    if (callback === undefined) return Promise.resolve()
    callback()
  }
}

/** A world whose time passes only when a test says so. */
function slowWorld(network: Dispatcher) {
  let passed = 0
  const began = Date.now()
  const timers = new Set<{ readonly at: number; readonly run: () => void }>()
  const world: World = {
    ...createWorld(),
    network,
    clock: { now: () => began + passed, monotonic: () => passed },
    after(ms, run): Timer {
      const one = { at: passed + Math.max(0, ms), run }
      timers.add(one)
      return { cancel: () => timers.delete(one) }
    },
  }
  const turn = async () => {
    for (let n = 0; n < 6; n++) await new Promise((resolve) => setImmediate(resolve))
  }
  async function pass(ms: number): Promise<void> {
    const end = passed + ms
    for (;;) {
      await turn()
      const [next] = [...timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)
      if (next === undefined) break
      timers.delete(next)
      passed = Math.max(passed, next.at)
      next.run()
    }
    passed = end
  }
  return { world, pass, waiting: () => timers.size }
}

async function apply(runtime: Runtime, endpoint: string, spec: JsonObject): Promise<void> {
  const manifest = {
    apiVersion: 'writ.dev/v1',
    kind: 'Tool',
    metadata: { name: 'report' },
    spec: { type: 'webhook-callback', endpoint, effect: { class: 'external-communication' }, ...spec },
  }
  const { problems } = await runtime.resources.apply([
    { text: JSON.stringify(manifest), file: 'report.json' },
  ])
  assert.deepEqual(
    problems.filter(({ severity }) => severity === 'error'),
    [],
  )
}

test('work of three hours is asked for every minute, by one timer, and its caller hears of the end', async () => {
  const network = new ToolNetwork()
  const { world, pass, waiting } = slowWorld(network)
  const runtime = await createRuntime({ world, onWarning: () => {} })
  await apply(runtime, 'http://127.0.0.1:9/', { webhook: { poll: '1m' }, runtime: { timeout: '12h' } })
  const door = runtime.as(createLocalAdmin())
  await pass(1_000)
  const idle = waiting()
  const handle = door.start({ tool: 'report', input: 1, requestId: 'long:one' })
  await pass(HOUR_MS)
  const open = await door.getCall(handle.id)
  assert.deepEqual([open?.state, open?.entry?.state], ['running', 'sent'])
  assert.equal((await runtime.health()).inFlight, 0, 'no call is under way')
  assert.ok(waiting() <= idle + 1, `${waiting()} timers wait, and ${idle} before it began`)
  await pass(2 * HOUR_MS)
  const polls = network.asked.filter((one) => one.startsWith('GET'))
  assert.deepEqual([polls.length, polls[0]], [180, 'GET /long%3Aone'])
  network.answer = () => ({ status: 200, body: envelopeOf('long:one', 'three hours') })
  await pass(60_000)
  const ended = await door.getCall(handle.id)
  assert.deepEqual([ended?.state, ended?.answer?.output], ['succeeded', 'three hours'])
  assert.ok((ended?.answer?.usage.durationMs ?? 0) >= 3 * HOUR_MS)
  assert.equal(network.asked.filter((one) => one.startsWith('POST')).length, 1)
  const closed = runtime.close({ drainMs: 0 })
  await pass(1_000)
  await closed
})

test('a tool that declares no pause is asked every two seconds; Retry-After changes the next pause alone', async () => {
  const network = new ToolNetwork()
  const { world, pass } = slowWorld(network)
  const runtime = await createRuntime({ world, onWarning: () => {} })
  await apply(runtime, 'http://127.0.0.1:9/', { runtime: { timeout: '1h' } })
  const at: number[] = []
  network.answer = (method) => {
    at.push(world.clock.monotonic())
    return method === 'GET' && at.length === 3
      ? { status: 202, headers: { 'retry-after': '30' } }
      : { status: 202 }
  }
  runtime.as(createLocalAdmin()).start({ tool: 'report', input: 1, requestId: 'r' })
  await pass(40_000)
  const pauses = at.slice(1).map((one, index) => one - (at[index] ?? 0))
  assert.deepEqual(pauses.slice(0, 5), [2_000, 2_000, 30_000, 2_000, 2_000])
  const closed = runtime.close({ drainMs: 0 })
  await pass(1_000)
  await closed
})

test('row 44: work that is not over after its two hours is unknown, and is asked for less and less', async () => {
  const network = new ToolNetwork()
  const { world, pass } = slowWorld(network)
  const runtime = await createRuntime({ world, onWarning: () => {} })
  await apply(runtime, 'http://127.0.0.1:9/', { webhook: { poll: '10m' }, runtime: { timeout: '2h' } })
  const door = runtime.as(createLocalAdmin())
  const handle = door.start({ tool: 'report', input: 1, requestId: 'r' })
  await pass(2 * HOUR_MS + 1_000)
  const call = await door.getCall(handle.id)
  assert.deepEqual([call?.state, call?.answer?.failure?.id], ['unknown', 'callback-timeout'])
  network.answer = () => ({ status: 200, body: envelopeOf('r', 'after all') })
  await pass(120_000)
  assert.equal((await door.getCall(handle.id))?.state, 'succeeded', 'S28')
  const closed = runtime.close({ drainMs: 0 })
  await pass(1_000)
  await closed
})

const CALLS = 2_000
const KEY = 'a-key-of-the-test-0123456789-0123456789-0123456789'

test('2,000 works at once hold no socket and little memory, and each ends by its own report', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'writ-accepted-'))
  const peer = await startCallbackPeer()
  const runtime = await createRuntime({
    store: { kind: 'sqlite', path: join(folder, 'ledger.db') },
    onWarning: () => {},
    toolCallbacks: { publicUrl: 'http://writ.test', key: KEY },
  })
  t.after(async () => {
    await runtime.close({ drainMs: 0 })
    await peer.close()
    rmSync(folder, { recursive: true, force: true })
  })
  await apply(runtime, peer.url, { webhook: { poll: '1h' }, runtime: { timeout: '24h' } })
  const door = runtime.as(createLocalAdmin())
  const begin = (n: number) => door.call({ tool: 'report', input: n, requestId: `r-${n}` }, { waitMs: 0 })

  const before = await settledHeap()
  const ids = new Map<number, string>()
  for (let n = 0; n < CALLS; n += 100) {
    const some = Array.from({ length: 100 }, (_, index) => n + index)
    for (const [index, answer] of (await Promise.all(some.map(begin))).entries()) {
      ids.set(n + index, answer.callId)
    }
    // As many connections as a peer takes at a time.
    await until(async () => (await runtime.health()).openEntries.sent === n + some.length, 60_000)
  }
  await until(() => sockets() <= 1, 20_000)
  assert.equal((await runtime.health()).inFlight, 0)
  assert.equal(peer.jobs.size, CALLS)
  // Of each the test itself keeps what the tool was sent; the runtime keeps a name and a timer.
  const perCall = ((await settledHeap()) - before) / CALLS
  assert.ok(perCall < 8_192, `${Math.round(perCall)} bytes are held for each`)

  const report = async (n: number) => {
    const { token = '' } = peer.jobs.get(`r-${n}`)?.callback ?? {}
    const body = Buffer.from(JSON.stringify(envelopeOf(`r-${n}`, n)))
    const timestamp = String(Math.floor(Date.now() / 1000))
    const mac = createHmac('sha256', token).update(`${timestamp}.`).update(body).digest('hex')
    const callId = ids.get(n) ?? ''
    return runtime.report({ namespace: 'default', callId, timestamp, signature: `v1=${mac}`, body })
  }
  for (let n = 0; n < CALLS; n += 100) {
    const results = await Promise.all(Array.from({ length: 100 }, (_, index) => report(n + index)))
    assert.ok(results.every(({ kind }) => kind === 'taken'))
  }
  const last = await door.getCall(ids.get(CALLS - 1) ?? '')
  assert.deepEqual([last?.state, last?.answer?.output], ['succeeded', CALLS - 1])
  assert.equal((await runtime.health()).openEntries.sent ?? 0, 0)
})

function sockets(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length
}

async function settledHeap(): Promise<number> {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  for (let n = 0; n < 3; n++) {
    collect()
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return process.memoryUsage().heapUsed
}
