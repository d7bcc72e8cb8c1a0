// Many calls over each transport, some of them canceled in the midst, and then the end of the runtime: nothing is left.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createLocalAdmin } from '../../src/contract/caller.ts'
import { createRuntime } from '../../src/runtime.ts'
import type { CallerDoor, CallHandle, Runtime } from '../../src/runtime-api.ts'
import { until } from '../pipeline/until.ts'
import {
  type LeakPeer,
  type LeakTool,
  mcpToolOf,
  openCliPeer,
  openGrpcPeer,
  openHttpPeer,
  openMcpProgram,
  openMcpService,
} from './leak-peers.ts'

const IN_FLIGHT = 16
/** One in so many is canceled while the tool is at it. */
const CANCEL_EVERY = 50
/** What the runtime keeps of a call for a while takes less, what a socket or a program leaves behind more. */
const BYTES_PER_CALL = 2_048
/** Of compiled code, caches and chance, however many calls there are. */
const BYTES_BESIDE = 1_048_576
/** Of the runtime itself, whatever was called: looks at its store, its lease, connections that may be used again. */
const TIMERS_BESIDE = 16
const WITHIN_MS = 50_000

setFlagsFromString('--expose-gc')
const collect: () => void = runInNewContext('gc')

async function heapUsed(): Promise<number> {
  // What was freed by callbacks is gone after the second time.
  for (let times = 0; times < 2; times++) {
    collect()
    await new Promise((resolve) => setImmediate(resolve))
  }
  return process.memoryUsage().heapUsed
}

/** Processes that this one has started; none where the system does not tell. */
function children(): readonly string[] {
  try {
    const text = readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, 'utf8')
    return text.split(' ').filter((pid) => pid !== '')
  } catch {
    return []
  }
}

const resources = (): string => process.getActiveResourcesInfo().sort().join(' ')

const timers = (): number => process.getActiveResourcesInfo().filter((one) => one === 'Timeout').length

interface Before {
  readonly resources: string
  readonly children: number
  readonly timers: number
}

/** While the runtime goes on: what only its end lets go of would be a leak in a server that never ends. */
async function atRest(peer: LeakPeer, before: Before): Promise<void> {
  const programs = before.children + (peer.programs ?? 0)
  await until(() => children().length <= programs, WITHIN_MS)
  await until(() => timers() <= before.timers + TIMERS_BESIDE, WITHIN_MS).catch(() =>
    assert.fail(`${timers()} timers, and ${before.timers} before`),
  )
  assert.ok(peer.open() <= 4 * IN_FLIGHT, `${peer.open()} connections are open`)
}

async function ready(runtime: Runtime, { server }: LeakPeer): Promise<void> {
  if (server === undefined) return
  await until(() => runtime.mcp.status('default', server)?.phase === 'Ready', WITHIN_MS)
}

const left = (handle: CallHandle): Promise<void> =>
  new Promise((resolve) => {
    handle.onFact(({ kind }) => kind === 'attempt' && resolve())
  })

async function call(door: CallerDoor, name: (tool: LeakTool) => string, index: number): Promise<void> {
  if (index % CANCEL_EVERY === 0) {
    const handle = door.start({ tool: name('hang'), input: {} })
    await left(handle)
    handle.cancel()
    const { failure } = await handle.answer()
    assert.equal(failure?.id, 'canceled')
    return
  }
  const { state, failure } = await door.call({ tool: name(index % 2 === 0 ? 'read' : 'write'), input: {} })
  assert.equal(state, 'succeeded', failure?.message)
}

async function callMany(run: (index: number) => Promise<void>, from: number, to: number): Promise<void> {
  let next = from
  const worker = async () => {
    for (let index = next++; index < to; index = next++) await run(index)
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker))
}

async function many(t: TestContext, open: () => LeakPeer | Promise<LeakPeer>, calls: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'writ-leaks-'))
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  const before = { resources: resources(), children: children().length, timers: timers() }
  const peer = await open()
  const runtime = await createRuntime({
    store: { kind: 'sqlite', path: join(folder, 'writ.db') },
    onWarning: () => {},
    ...(peer.cliAllow === undefined ? {} : { cliAllow: peer.cliAllow }),
  })
  try {
    const text = peer.documents.map((one) => JSON.stringify(one)).join('\n---\n')
    const applied = await runtime.resources.apply([{ text, file: 'many' }])
    assert.ok(applied.ok, JSON.stringify(applied.problems))
    await ready(runtime, peer)
    const door = runtime.as(createLocalAdmin())
    const name = peer.server === undefined ? (tool: LeakTool) => tool : mcpToolOf
    const run = (index: number) => call(door, name, index)
    const warm = calls / 4
    const cpu = process.cpuUsage()
    await callMany(run, 0, warm)
    const early = await heapUsed()
    await callMany(run, warm, calls)
    const grown = (await heapUsed()) - early
    const { user, system } = process.cpuUsage(cpu)
    t.diagnostic(
      `${peer.connections()} connections; the heap grew by ${Math.round(grown / 1024)} KiB; ` +
        `${Math.round((user + system) / calls)} us of processor time for each call`,
    )
    await atRest(peer, before)
    assert.ok(grown < BYTES_BESIDE + (calls - warm) * BYTES_PER_CALL, `the heap grew by ${grown} bytes`)
    // Those that were canceled may take their connection with them.
    const most = 4 * IN_FLIGHT + calls / CANCEL_EVERY
    assert.ok(peer.connections() <= most, `${peer.connections()} connections for ${calls} calls`)
  } finally {
    await runtime.close()
    await until(() => peer.open() === 0, WITHIN_MS)
    await peer.close()
  }
  await until(() => children().length === before.children, WITHIN_MS)
  await until(() => resources() === before.resources, WITHIN_MS).catch(() =>
    assert.equal(resources(), before.resources),
  )
}

test('nothing is left of thousands of calls over http', (t) => many(t, () => openHttpPeer('http'), 2_000))

test('nothing is left of thousands of calls over external', (t) =>
  many(t, () => openHttpPeer('external'), 2_000))

test('nothing is left of thousands of calls over webhook-callback', (t) =>
  many(t, () => openHttpPeer('webhook-callback'), 2_000))

test('nothing is left of thousands of calls over grpc', (t) => many(t, openGrpcPeer, 2_000))

test('nothing is left of thousands of calls over mcp, a service', (t) => many(t, openMcpService, 2_000))

test('nothing is left of thousands of calls over mcp, a program', (t) => many(t, openMcpProgram, 2_000))

test('nothing is left of thousands of programs', (t) => many(t, openCliPeer, 2_000))
