// How long is waited between two attempts: backoff, jitter, and what an HTTP tool asks for with Retry-After.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { backoff, longestRun } from '../../src/pipeline/backoff.ts'
import type { Bounds } from '../../src/pipeline/stages.ts'
import type { Runtime } from '../../src/runtime-api.ts'
import { listenHttp, type Peer } from '../transport/tool-peer.ts'
import { runtimeWith } from './harness.ts'

const BOUNDS: Bounds = {
  timeoutMs: 1_000,
  maxAttempts: 6,
  backoffMs: 100,
  maxBackoffMs: 1_000,
  jitter: 'none',
}
const ATTEMPTS = [1, 2, 3, 4, 5, 6]
const CEILINGS = [100, 200, 400, 800, 1_000, 1_000]
/** As much as chance may come to; any closer to 1, and floating point would round a wait up to its ceiling. */
const ALMOST_ONE = 1 - 1e-9

const waits = (bounds: Bounds, random: () => number) =>
  ATTEMPTS.map((attempt) => backoff(bounds, attempt, random))

test('Backoff without jitter doubles from the first wait to the cap, and asks no chance', () => {
  const unasked = () => assert.fail('jitter none needs no randomness')
  assert.deepEqual(waits(BOUNDS, unasked), CEILINGS)
  assert.equal(backoff(BOUNDS, 5_000, unasked), 1_000, 'no overflow past the cap')
  assert.equal(
    backoff({ ...BOUNDS, maxBackoffMs: 30 }, 1, unasked),
    30,
    'the cap holds for the first wait, too',
  )
  assert.equal(backoff({ ...BOUNDS, backoffMs: 0 }, 4, unasked), 0)
})

test('Jitter full takes anything from 0 up to the ceiling, which it never reaches', () => {
  const full: Bounds = { ...BOUNDS, jitter: 'full' }
  assert.deepEqual(
    waits(full, () => 0),
    [0, 0, 0, 0, 0, 0],
  )
  assert.deepEqual(
    waits(full, () => 0.25),
    CEILINGS.map((most) => most / 4),
  )
  for (const [index, wait] of waits(full, () => ALMOST_ONE).entries()) {
    assert.ok(wait < (CEILINGS[index] ?? 0) && wait > (CEILINGS[index] ?? 0) * 0.99, `attempt ${index + 1}`)
  }
})

test('Jitter equal keeps half of the ceiling and leaves the other half to chance', () => {
  const equal: Bounds = { ...BOUNDS, jitter: 'equal' }
  assert.deepEqual(
    waits(equal, () => 0),
    CEILINGS.map((most) => most / 2),
  )
  assert.deepEqual(
    waits(equal, () => 0.5),
    CEILINGS.map((most) => most * 0.75),
  )
  for (const [index, wait] of waits(equal, () => ALMOST_ONE).entries()) {
    assert.ok(wait < (CEILINGS[index] ?? 0) && wait > (CEILINGS[index] ?? 0) * 0.99, `attempt ${index + 1}`)
  }
})

test('S9: the longest run is every attempt at its timeout and every wait between two of them', () => {
  assert.equal(longestRun({ ...BOUNDS, maxAttempts: 1 }), 1_000)
  assert.equal(longestRun({ ...BOUNDS, maxAttempts: 3 }), 3_000 + 100 + 200)
  assert.equal(longestRun(BOUNDS), 6_000 + 100 + 200 + 400 + 800 + 1_000)
  assert.equal(longestRun({ ...BOUNDS, maxBackoffMs: 150 }), 6_000 + 100 + 4 * 150)
  for (const jitter of ['full', 'equal'] as const) {
    assert.equal(longestRun({ ...BOUNDS, jitter }), longestRun(BOUNDS), `${jitter} is counted at its ceiling`)
  }
})

/** Refuses the first request as it is told, answers the next ones, and knows when each came. */
async function refusingPeer(
  t: TestContext,
  status: number,
  retryAfter: string,
): Promise<Peer & { readonly times: number[] }> {
  const times: number[] = []
  const peer = await listenHttp((_, response) => {
    times.push(performance.now())
    if (times.length === 1) response.writeHead(status, { 'retry-after': retryAfter }).end()
    else response.writeHead(200, { 'content-type': 'application/json' }).end('"later"')
  })
  t.after(() => peer.close())
  return { ...peer, times }
}

async function applyRead(runtime: Runtime, name: string, peer: Peer, more = ''): Promise<void> {
  const text = `
apiVersion: writ.dev/v1
kind: Tool
metadata: { name: ${name} }
spec:
  type: http
  endpoint: ${peer.origin}/
  effect: { class: read-only }
  runtime: { timeout: 5s, retry: { max_attempts: 3, backoff: 300ms } }
${more}`
  const applied = await runtime.resources.apply([{ text, file: `${name}.yaml` }])
  assert.ok(applied.ok, JSON.stringify(applied.problems))
}

test('Retry-After of a 429 or a 503 is waited for where it is longer than the own backoff', async (t) => {
  const { runtime, door } = await runtimeWith(t, [])
  const cases = [
    { name: 'throttled', status: 429, retryAfter: '1', least: 1_000 },
    { name: 'away', status: 503, retryAfter: '1', least: 1_000 },
    { name: 'at-once', status: 503, retryAfter: '0', least: 300 },
    { name: 'not-defined-for', status: 500, retryAfter: '60', least: 300 },
  ]
  await Promise.all(
    cases.map(async ({ name, status, retryAfter, least }) => {
      const peer = await refusingPeer(t, status, retryAfter)
      await applyRead(runtime, name, peer)
      const answer = await door.call({ tool: name })
      assert.deepEqual([answer.state, answer.output, answer.usage.attempt], ['succeeded', 'later', 2], name)
      const [first = 0, second = 0] = peer.times
      const waited = second - first
      assert.ok(waited >= least - 5 && waited < 20_000, `${name} waited ${waited} ms`)
    }),
  )
})

test('S9: a Retry-After past the deadline of the execution is told, and not waited for', async (t) => {
  const { runtime, door } = await runtimeWith(t, [])
  const deadlines = [
    { name: 'by-caller', more: '', options: () => ({ deadlineUnixMs: Date.now() + 6_000 }) },
    { name: 'by-limit', more: '  limits: { timeout_max: 5s }', options: () => ({}) },
    { name: 'by-attempts', more: '', options: () => ({ timeoutMs: 2_000 }) },
  ]
  for (const { name, more, options } of deadlines) {
    const peer = await refusingPeer(t, 503, '30')
    await applyRead(runtime, name, peer, more)
    const started = performance.now()
    const { failure, usage } = await door.call({ tool: name, ...options() })
    assert.ok(performance.now() - started < 4_000, `${name} did not wait`)
    assert.equal(peer.received.length, 1, name)
    assert.deepEqual(
      [failure?.id, failure?.retryable, failure?.details.retry_after_ms, failure?.details.exhausted],
      ['upstream-error', true, 30_000, 'deadline'],
      name,
    )
    assert.equal(usage.attempt, 1, name)
  }
})
