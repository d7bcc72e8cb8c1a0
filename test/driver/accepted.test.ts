// Long work of tools: taken on, followed without holding anything, ended once by whoever is first (S9, S11, S28, S36).
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createLocalAdmin } from '../../src/contract/caller.ts'
import { createEvents } from '../../src/event/event.ts'
import { createRuntime, type RuntimeOptions } from '../../src/runtime.ts'
import type { CallerDoor, Runtime } from '../../src/runtime-api.ts'
import type { JsonObject } from '../../src/util/json.ts'
import { settleDown } from '../pipeline/harness.ts'
import { until } from '../pipeline/until.ts'
import { type CallbackPeer, envelopeOf, startCallbackPeer } from '../transport/callback-peer.ts'

const WRITE = { class: 'external-communication' }
const READ = { class: 'read-only' }

async function openPeer(t: TestContext): Promise<CallbackPeer> {
  const peer = await startCallbackPeer()
  t.after(() => peer.close())
  return peer
}

async function open(
  t: TestContext,
  peer: CallbackPeer,
  spec: JsonObject = {},
  options: RuntimeOptions = {},
): Promise<{ runtime: Runtime; door: CallerDoor; ended: string[] }> {
  const events = createEvents()
  const ended: string[] = []
  events.on('call:ended', ({ call_id, state }) => ended.push(`${call_id} ${state}`))
  const runtime = await createRuntime({ events, onWarning: () => {}, ...options })
  t.after(() => runtime.close({ drainMs: 0 }))
  const manifest = {
    apiVersion: 'writ.dev/v1',
    kind: 'Tool',
    metadata: { name: 'report' },
    spec: {
      type: 'webhook-callback',
      endpoint: peer.url,
      effect: WRITE,
      webhook: { poll: '100ms' },
      runtime: { timeout: '20s' },
      ...spec,
    },
  }
  const applied = await runtime.resources.apply([{ text: JSON.stringify(manifest), file: 'report.json' }])
  assert.deepEqual(
    applied.problems.filter(({ severity }) => severity === 'error'),
    [],
  )
  return { runtime, door: runtime.as(createLocalAdmin()), ended }
}

const ASK = { tool: 'report', input: { year: 2026 }, requestId: 'r-1', idempotencyKey: 'k' }

async function taken(peer: CallbackPeer, requestId = 'r-1'): Promise<void> {
  await until(() => peer.jobs.has(requestId))
}

test('an answer that is there at once is the answer', async (t) => {
  const peer = await openPeer(t)
  peer.answer = (request, response) => {
    const { request_id } = JSON.parse(request.body) as { request_id: string }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(envelopeOf(request_id, { pages: 1 })))
    return true
  }
  const { door, ended } = await open(t, peer)
  const answer = await door.call(ASK)
  assert.deepEqual([answer.state, answer.output, answer.usage.attempt], ['succeeded', { pages: 1 }, 1])
  assert.deepEqual([peer.received.length, ended.length], [1, 1])
})

test('work that is taken on is asked for, and its caller hears of the end', async (t) => {
  const peer = await openPeer(t)
  const { door, ended } = await open(t, peer)
  const handle = door.start(ASK)
  const answer = handle.answer()
  await until(() => (peer.jobs.get('r-1')?.polls ?? 0) >= 2)
  const open1 = await door.getCall(handle.id)
  assert.deepEqual([open1?.state, open1?.effect], ['running', 'pending'])
  assert.deepEqual(ended, [], 'it has not ended yet')
  peer.end('r-1', { pages: 3 })
  const { state, effect, output, usage, final } = await answer
  assert.deepEqual(
    [state, effect, output, final, usage.attempt],
    ['succeeded', 'done', { pages: 3 }, true, 1],
  )
  assert.deepEqual(ended, [`${handle.id} succeeded`], 'and is told of once (S53)')
  const kept = await door.getCall(handle.id)
  assert.deepEqual([kept?.state, kept?.answer?.output], ['succeeded', { pages: 3 }])
  const again = await door.call(ASK)
  assert.deepEqual([again.replayed, again.output], [true, { pages: 3 }])
  assert.equal(peer.received.filter(({ method }) => method === 'POST').length, 1)
})

test('201, 204 and a 200 that says pending are no end; an error that ends the work is told as it is', async (t) => {
  const peer = await openPeer(t)
  const statuses = [201, 204, 200]
  peer.answer = (request, response) => {
    if (request.method !== 'POST') return false
    const status = statuses.shift() ?? 202
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(status === 200 ? '{"status":"running"}' : undefined)
    return true
  }
  const { door } = await open(t, peer)
  for (const requestId of ['a', 'b', 'c']) {
    const answer = door.call({ ...ASK, requestId, idempotencyKey: requestId })
    await taken(peer, requestId)
    const error = { code: 'invalid_input', reason: 'x', retryable: false, message: 'no such year' }
    peer.fail(requestId, error)
    const { state, effect, failure } = await answer
    assert.deepEqual([state, effect, failure?.message], ['failed', 'not-done', 'no such year'])
  }
})

test('S23: an end that says nothing of the effect leaves it unknown, and the tool goes on being asked', async (t) => {
  const peer = await openPeer(t)
  const { door } = await open(t, peer)
  const answer = door.call(ASK)
  await taken(peer)
  peer.fail('r-1', { code: 'execution_failed', reason: 'x', retryable: true, message: 'disk full' })
  const { state, effect, failure } = await answer
  assert.deepEqual([state, effect, failure?.asking], ['unknown', 'unknown', true])
})

test('Retry-After holds once, and a tool that cannot be asked for a while is asked again', async (t) => {
  const peer = await openPeer(t)
  const at: number[] = []
  const ways = [
    (response: import('node:http').ServerResponse) => response.writeHead(503).end(),
    (response: import('node:http').ServerResponse) => response.destroy(),
    (response: import('node:http').ServerResponse) => response.writeHead(404).end(),
    (response: import('node:http').ServerResponse) => response.writeHead(202, { 'retry-after': '1' }).end(),
  ]
  peer.answer = (request, response) => {
    if (request.method !== 'GET') return false
    at.push(performance.now())
    const way = ways.shift()
    way?.(response)
    return way !== undefined
  }
  const { door } = await open(t, peer)
  const answer = door.call(ASK)
  await taken(peer)
  peer.end('r-1', 'late')
  assert.equal((await answer).output, 'late')
  const gaps = at.slice(1).map((one, index) => one - (at[index] ?? 0))
  assert.ok((gaps[3] ?? 0) >= 990, `asked again after ${gaps[3]} ms, not after the second it wanted`)
})

test('a refused question is no answer about the work: the effect stays unknown', async (t) => {
  const peer = await openPeer(t)
  peer.answer = (request, response) => {
    if (request.method !== 'GET') return false
    response.writeHead(403).end()
    return true
  }
  const { door } = await open(t, peer)
  const { state, effect, failure } = await door.call(ASK)
  assert.deepEqual([state, effect, failure?.id], ['unknown', 'unknown', 'upstream-forbidden'])
})

test('row 44: work that never ends in its time is unknown for a write, and over for a read', async (t) => {
  const peer = await openPeer(t)
  const { door } = await open(t, peer, { runtime: { timeout: '150ms' } })
  const write = await door.call(ASK)
  assert.deepEqual(
    [write.state, write.effect, write.failure?.id, write.failure?.asking],
    ['unknown', 'unknown', 'callback-timeout', true],
  )
  peer.end('r-1', 'after all')
  const settled = await until(async () => {
    const call = await door.getCall(write.callId)
    return call?.state === 'succeeded' ? call : undefined
  })
  assert.deepEqual([settled.effect, settled.answer?.output], ['done', 'after all'], 'S28')

  const reader = await open(t, peer, { effect: READ, runtime: { timeout: '150ms' } })
  const read = await reader.door.call({ ...ASK, requestId: 'r-2' })
  assert.deepEqual([read.state, read.effect, read.failure?.id], ['timed-out', 'none', 'callback-timeout'])
  assert.equal(read.failure?.retryable, true)
})

test('S11: cancel ends a read, and leaves a write unknown; nobody asks on its behalf in the foreground', async (t) => {
  const peer = await openPeer(t)
  for (const [effect, state, requestId] of [
    [READ, 'canceled', 'read'],
    [WRITE, 'unknown', 'write'],
  ] as const) {
    const { door } = await open(t, peer, { effect, webhook: { poll: '1m' }, runtime: { timeout: '1h' } })
    const handle = door.start({ ...ASK, requestId })
    const answer = handle.answer()
    await taken(peer, requestId)
    await until(async () => (await door.getCall(handle.id))?.entry?.state === 'sent')
    assert.equal(await door.cancelCall(handle.id), 'canceling')
    assert.equal((await answer).state, state)
  }
})

test('the handle of a started call cancels it, too', async (t) => {
  const peer = await openPeer(t)
  const { door } = await open(t, peer, { effect: READ, webhook: { poll: '1m' }, runtime: { timeout: '1h' } })
  const handle = door.start(ASK)
  const answer = handle.answer()
  await taken(peer)
  handle.cancel()
  assert.equal((await answer).state, 'canceled')
})

test('whoever waits for a while is told that it runs, and who asks with the same key joins it', async (t) => {
  const peer = await openPeer(t)
  const { door } = await open(t, peer)
  const first = await door.call(ASK, { waitMs: 100 })
  assert.deepEqual([first.state, first.final], ['running', false])
  const joined = door.call(ASK)
  await settleDown(30)
  peer.end('r-1', 7)
  assert.deepEqual([(await joined).output, (await joined).replayed], [7, true])
  assert.equal(peer.jobs.size, 1)
})

test('limits.concurrency counts work until it has ended', async (t) => {
  const peer = await openPeer(t)
  const { door } = await open(t, peer, { limits: { concurrency: 1 } })
  const first = door.call(ASK)
  await taken(peer)
  await until(async () => (await door.listOpen({ states: ['sent'], limit: 1 })).length === 1)
  const second = await door.call({ ...ASK, requestId: 'r-2', idempotencyKey: 'k2' })
  assert.equal(second.failure?.id, 'concurrency-exceeded')
  peer.end('r-1', 1)
  await first
  await until(async () => {
    const third = await door.call({ ...ASK, requestId: 'r-3', idempotencyKey: 'k3' }, { waitMs: 50 })
    return third.state === 'running'
  })
})

test('S23: an output that breaks its schema is no definite answer, and is not shown', async (t) => {
  const peer = await openPeer(t)
  const { door } = await open(t, peer, { output_schema: { type: 'object', required: ['pages'] } })
  const answer = door.call(ASK)
  await taken(peer)
  peer.end('r-1', { wrong: true })
  const { state, failure, output } = await answer
  assert.deepEqual([state, failure?.id, output], ['unknown', 'output-invalid', undefined])
})

test('a reply for another request is no answer to this one', async (t) => {
  const peer = await openPeer(t)
  peer.answer = (request, response, job) => {
    if (request.method !== 'GET' || job === undefined) return false
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(envelopeOf('another', 1)))
    return true
  }
  const { door } = await open(t, peer)
  const { state, failure } = await door.call(ASK)
  assert.deepEqual([state, failure?.id], ['unknown', 'reply-malformed'])
})

test('a runtime that closes leaves the work at the tool, and holds nothing', async (t) => {
  const peer = await openPeer(t)
  const { door, runtime } = await open(t, peer, { webhook: { poll: '10m' }, runtime: { timeout: '24h' } })
  const answer = door.call(ASK)
  await taken(peer)
  await until(async () => (await door.listOpen({ states: ['sent'], limit: 1 })).length === 1)
  await runtime.close({ drainMs: 0 })
  assert.equal((await answer).state, 'running')
  await sleep(5)
})

test('S44: a freeze that ends what is under way ends work at its tool, too', async (t) => {
  const peer = await openPeer(t)
  const { door } = await open(t, peer, { webhook: { poll: '1m' }, runtime: { timeout: '1h' } })
  const handle = door.start(ASK)
  const answer = handle.answer()
  await until(async () => (await door.getCall(handle.id))?.entry?.state === 'sent')
  const frozen = await door.freeze({ what: 'tool', name: 'report' }, { reason: 'stop it', inFlight: 'end' })
  assert.equal(frozen.kind, 'ok')
  const { state, failure } = await answer
  assert.deepEqual([state, failure?.id], ['unknown', 'canceled'])
})

test('S36: work is followed by the next life: its call stays open, its place is taken, its end is told', async (t) => {
  const peer = await openPeer(t)
  const folder = mkdtempSync(join(tmpdir(), 'writ-accepted-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const store = { kind: 'sqlite', path: join(folder, 'ledger.db') } as const
  const spec = { limits: { concurrency: 1 } }
  const first = await open(t, peer, spec, { store })
  const handle = first.door.start(ASK)
  await until(async () => (await first.door.getCall(handle.id))?.entry?.state === 'sent')
  await first.runtime.close({ drainMs: 0 })
  const second = await open(t, peer, spec, { store })
  assert.equal((await second.door.getCall(handle.id))?.state, 'running')
  const other = await second.door.call({ ...ASK, requestId: 'r-2', idempotencyKey: 'k-2' })
  assert.equal(other.failure?.id, 'concurrency-exceeded')
  peer.end('r-1', 'told to the second')
  const joined = await second.door.call(ASK)
  assert.deepEqual([joined.output, joined.replayed], ['told to the second', true])
  const told = () => second.ended.filter((one) => one.startsWith(handle.id))
  await until(async () => told().length > 0)
  assert.deepEqual(told(), [`${handle.id} succeeded`])
  assert.equal(peer.received.filter(({ method }) => method === 'POST').length, 1)
})
