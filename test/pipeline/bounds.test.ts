// What bounds a call: time, attempts, size and rate. A request only narrows what the tool declares (S2, S9).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Executed } from '../../src/pipeline/stages.ts'
import { verify } from '../../src/pipeline/verify.ts'
import type { Runtime } from '../../src/runtime-api.ts'
import type { JsonObject } from '../../src/util/json.ts'
import { never, SLACK_MS, standingWorld } from './bounds-fixture.ts'
import { READ, runtimeWith, steeredTool, WRITE } from './harness.ts'

/** A call as it comes over the wire, with its `runtime` block. */
function wire(runtime: Runtime, tool: string, asked: JsonObject) {
  const body = { request_id: runtime.mint(), tool: { name: tool }, runtime: asked }
  const decoded = runtime.dialects.decode(body, runtime.mint)
  assert.ok(decoded.ok, JSON.stringify(decoded))
  return decoded.call
}

test('S9: limits.timeout_max bounds all attempts together', async (t) => {
  const read = steeredTool('read', {
    ...READ,
    runtime: { timeout: '100ms', retry: { max_attempts: 50 } },
    limits: { timeout_max: '250ms' },
  })
  const { door } = await runtimeWith(t, [read])
  const deadlines: number[] = []
  read.behave((_, context) => {
    deadlines.push(context.deadlineUnixMs)
    return never()
  })
  const startedAt = Date.now()
  const started = performance.now()
  const answer = await door.call({ tool: 'read' })
  const took = performance.now() - started
  assert.ok(took >= 245 && took < 250 + SLACK_MS, `took ${took} ms`)
  assert.deepEqual(
    [answer.state, answer.failure?.id, answer.failure?.details.exhausted],
    ['timed-out', 'timeout', 'deadline'],
  )
  assert.ok(read.sends.length <= 3, `${read.sends.length} sends`)
  const last = (deadlines.at(-1) ?? 0) - startedAt
  assert.ok(last <= 250 + SLACK_MS, `the tool, too, was told the end of the execution, not ${last} ms`)
})

test('S2: max_attempts of a request only narrows', async (t) => {
  const read = steeredTool('read', { ...READ, runtime: { retry: { max_attempts: 3 } } })
  const { runtime, door } = await runtimeWith(t, [read])
  read.behave(() => {
    throw new Error('always')
  })
  for (const [asked, sends] of [
    [1, 1],
    [2, 2],
    [3, 3],
    [50, 3],
  ] as const) {
    read.sends.length = 0
    await door.call({ tool: 'read', maxAttempts: asked })
    assert.equal(read.sends.length, sends, `asked for ${asked}`)
    read.sends.length = 0
    await door.call(wire(runtime, 'read', { max_attempts: asked }))
    assert.equal(read.sends.length, sends, `asked for ${asked} over the wire`)
  }
})

test('S2: timeout_ms of a request only narrows', async (t) => {
  const read = steeredTool('read', { ...READ, runtime: { timeout: '2s' } })
  const { runtime, door } = await runtimeWith(t, [read])
  read.behave((_, context) => context.deadlineUnixMs - Date.now())
  for (const [asked, most] of [
    [900, 900],
    [2_000, 2_000],
    [600_000, 2_000],
  ] as const) {
    for (const answer of [
      await door.call({ tool: 'read', timeoutMs: asked }),
      await door.call(wire(runtime, 'read', { timeout_ms: asked })),
    ]) {
      const left = Number(answer.output)
      assert.ok(left <= most && left > 0, `asked for ${asked}, had ${left}`)
    }
  }
})

test('S2: backoff of a request only makes waits longer, up to the declared cap', async (t) => {
  const cases = [
    { name: 'nothing', asked: {}, waits: [30, 60, 100, null] },
    { name: 'shorter', asked: { backoff: '0' }, waits: [30, 60, 100, null] },
    { name: 'longer', asked: { backoff: '80ms' }, waits: [80, 100, 100, null] },
    { name: 'far-longer', asked: { backoff: '1h' }, waits: [100, 100, 100, null] },
    { name: 'higher-cap', asked: { max_backoff_ms: 60_000 }, waits: [30, 60, 100, null] },
  ]
  const retry = { max_attempts: 4, backoff: '30ms', max_backoff: '100ms', jitter: 'none' }
  const tools = cases.map(({ name }) => steeredTool(name, { ...READ, runtime: { retry } }))
  const { runtime, door } = await runtimeWith(t, tools)
  const seen = new Map<string, (number | null)[]>(cases.map(({ name }) => [name, []]))
  runtime.events.on('attempt:failed', (event) => seen.get(event.tool_id)?.push(event.retry_in_ms))
  for (const tool of tools) {
    tool.behave(() => {
      throw new Error('always')
    })
  }
  await Promise.all(cases.map(({ name, asked }) => door.call(wire(runtime, name, asked))))
  for (const { name, waits } of cases) assert.deepEqual(seen.get(name), waits, name)
})

test('S23: an output over its limit is no success: unknown for a write, failed for a read', async (t) => {
  const limits = { output_bytes: 100 }
  const read = steeredTool('read', { ...READ, limits })
  const write = steeredTool('write', { ...WRITE, limits })
  const { door } = await runtimeWith(t, [read, write])
  // Two quotes and two bytes for each of these.
  const fits = 'ä'.repeat(49)
  for (const tool of [read, write]) tool.behave(() => fits)
  assert.equal((await door.call({ tool: 'read' })).output, fits)
  assert.equal((await door.call({ tool: 'write' })).output, fits)
  for (const tool of [read, write]) tool.behave(() => `${fits}x`)
  const one = await door.call({ tool: 'read' })
  const two = await door.call({ tool: 'write', idempotencyKey: 'k' })
  assert.deepEqual(
    [one.failure?.id, one.effect, one.final, one.output],
    ['output-too-large', 'none', true, undefined],
  )
  assert.deepEqual(
    [two.failure?.id, two.effect, two.final, two.output],
    ['output-too-large', 'unknown', false, undefined],
  )
  assert.equal(two.failure?.details.limit_bytes, 100)
  assert.equal((await door.call({ tool: 'write', idempotencyKey: 'k' })).failure?.id, 'outcome-unknown')
})

test('S23: verify holds to the limit whatever a transport let through', async (t) => {
  const write = steeredTool('write', { ...WRITE, limits: { output_bytes: 100 } })
  const { runtime } = await runtimeWith(t, [write])
  const tool = runtime.tools('default').find(({ name }) => name === 'write')
  const operation = tool?.operations.invoke
  assert.ok(tool && operation)
  const after = (bytes: number) => {
    const execution = { attempt: 1, sent: true, effect: 'done', output: 'x', bytes, sideEffects: [] }
    const target = { tool, inputs: new Map(), outputs: new Map(), masks: new Map() }
    const result = verify({ execution, operation, target, decision: { matches: [] } } as unknown as Executed)
    assert.equal(result.kind, 'ok')
    return result.kind === 'ok' ? result.state.execution : assert.fail()
  }
  const fits = after(100)
  assert.deepEqual([fits.effect, fits.failure, fits.output], ['done', undefined, 'x'])
  const large = after(101)
  assert.deepEqual(
    [large.effect, large.failure?.id, large.failure?.retryable, large.output],
    ['unknown', 'output-too-large', false, undefined],
  )
})

test('A handler that ignores its signal holds the call no longer than the deadline and its grace', async (t) => {
  const write = steeredTool('write', { ...WRITE, runtime: { timeout: '150ms' } })
  const { door } = await runtimeWith(t, [write])
  write.behave(never)
  const started = performance.now()
  const answer = await door.call({ tool: 'write' })
  const took = performance.now() - started
  assert.ok(took >= 145 && took < 150 + 250 + SLACK_MS, `took ${took} ms`)
  assert.equal(answer.failure?.id, 'timeout-unknown-commit')
})

test('limits.rate holds in every window, to the millisecond', async (t) => {
  const at = standingWorld(t)
  const rated = steeredTool('rated', { ...READ, limits: { rate: '3/s' } })
  const { door } = await runtimeWith(t, [rated], { world: at.world })
  const call = async () => {
    const { failure } = await door.call({ tool: 'rated' })
    return failure === undefined ? 'ok' : [failure.id, failure.details.retry_after_ms]
  }
  const steps = [
    [0, 'ok'],
    [400, 'ok'],
    [900, 'ok'],
    [900, ['rate-limited', 100]],
    [999, ['rate-limited', 1]],
    [1_000, 'ok'],
    [1_399, ['rate-limited', 1]],
    [1_400, 'ok'],
    [1_400, ['rate-limited', 500]],
    [5_000, 'ok'],
    [5_000, 'ok'],
    [5_000, 'ok'],
    [5_000, ['rate-limited', 1_000]],
  ] as const
  for (const [time, expected] of steps) {
    at.time = time
    assert.deepEqual(await call(), expected, `at ${time} ms`)
  }
})

test('limits.rate counts the calls of a tool, and each of its versions holds to its own limit', async (t) => {
  const at = standingWorld(t)
  const limits = { '1.0.0': 2, '2.0.0': 5, '3.0.0': 20 }
  const versions = Object.keys(limits) as (keyof typeof limits)[]
  const tools = versions.map((version) =>
    steeredTool('rated', { ...READ, version, limits: { rate: `${limits[version]}/s` } }),
  )
  const { door } = await runtimeWith(t, tools, { world: at.world })
  const admitted: number[] = []
  const verdicts = new Set<string>()
  // Bursts and pauses in a fixed order that looks like none: every version is let in and refused, in every order.
  let seed = 7
  const chance = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((seed / 2_147_483_648) * below)
  }
  for (let index = 0; index < 1_500; index++) {
    at.time += chance(60) === 0 ? 600 + chance(900) : chance(20)
    const version = versions[chance(versions.length)] ?? '1.0.0'
    const recent = admitted.filter((time) => time > at.time - 1_000)
    const { failure } = await door.call({ tool: 'rated', version })
    const verdict = failure?.id ?? 'ok'
    const expected = recent.length < limits[version] ? 'ok' : 'rate-limited'
    assert.equal(verdict, expected, `${version} at ${at.time} ms, after ${recent.length} in the last second`)
    verdicts.add(`${version} ${verdict}`)
    if (verdict === 'ok') admitted.push(at.time)
  }
  assert.equal(verdicts.size, 6, [...verdicts].join())
})
