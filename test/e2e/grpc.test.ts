// gRPC with peers that others have written: Go's and Python's libraries as tools, Go's as a caller, and a Writ as a tool.
import assert from 'node:assert/strict'
import { after, describe, it, type TestContext } from 'node:test'
import { createLocalAdmin } from '../../src/contract/caller.ts'
import type { FailureId } from '../../src/contract/failures.ts'
import { createRuntime, defineTool } from '../../src/index.ts'
import { createWorld } from '../../src/runtime.ts'
import type { CallerDoor } from '../../src/runtime-api.ts'
import { createAdminTokenAuth, createGrpcServer } from '../../src/server/index.ts'
import { createMetrics } from '../../src/telemetry/metrics.ts'
import { startGrpcHarness } from '../server/grpc-harness.ts'
import { TOKEN } from '../server/harness.ts'
import { buildGo, callGo, installGrpcio, startPeer, startPython } from './grpc-peers.ts'

const go = buildGo({ after })
const python = installGrpcio()

const PEERS = [
  {
    name: 'Go',
    skip: 'skip' in go && go.skip,
    start: (t: TestContext) => startPeer(t, 'program' in go ? go.program : '', ['serve']),
  },
  {
    name: 'Python',
    skip: 'skip' in python && python.skip,
    start: (t: TestContext) => startPython(t, 'path' in python ? python.path : ''),
  },
] as const

interface Told {
  readonly input: object
  readonly key: string
  readonly attempt: string
  readonly traceparent: string
  readonly left_ms: number
  readonly canceled: number
}

async function doorTo(t: TestContext, address: string): Promise<CallerDoor> {
  const runtime = await createRuntime({ onWarning: () => {} })
  t.after(() => runtime.close({ drainMs: 0 }))
  const manifest = (name: string, effect: string) =>
    `apiVersion: writ.dev/v1\nkind: Tool\nmetadata: {name: ${name}}\nspec:\n  type: grpc\n  endpoint: ${address}\n  grpc: {plaintext: true}\n  runtime: {timeout: 5s}\n  effect: {class: ${effect}}\n`
  const text = `${manifest('look', 'read-only')}---\n${manifest('act', 'external-communication')}`
  const applied = await runtime.resources.apply([{ text, file: 'test' }])
  assert.deepEqual(
    applied.problems.filter(({ severity }) => severity === 'error'),
    [],
  )
  return runtime.as(createLocalAdmin())
}

/** S31, by what the pipeline makes of it. */
const ROWS: readonly (readonly [number, FailureId])[] = [
  [1, 'upstream-error'],
  [2, 'upstream-error'],
  [3, 'upstream-rejected'],
  [4, 'timeout'],
  [5, 'upstream-rejected'],
  [6, 'upstream-conflict'],
  [7, 'upstream-forbidden'],
  [8, 'upstream-throttled'],
  [9, 'upstream-conflict'],
  [10, 'upstream-conflict'],
  [11, 'upstream-rejected'],
  [12, 'upstream-rejected'],
  [13, 'upstream-error'],
  [14, 'connect-failed'],
  [15, 'upstream-error'],
  [16, 'upstream-unauthorized'],
]

for (const { name, skip, start } of PEERS) {
  describe(`a tool in ${name}`, { skip }, () => {
    it('is called with its key, attempt, trace and deadline in metadata', async (t) => {
      const door = await doorTo(t, (await start(t)).address)
      const answer = await door.call({ tool: 'act', input: { say: 'ahoj ž', n: 1.5 } })
      assert.equal(answer.state, 'succeeded', JSON.stringify(answer.failure))
      const told = answer.output as unknown as Told
      assert.deepEqual(told.input, { say: 'ahoj ž', n: 1.5 })
      assert.match(told.key, /^[\w-]{43}$/)
      assert.equal(told.attempt, '1')
      assert.ok(told.traceparent.includes(answer.trace.traceId))
      assert.ok(told.left_ms > 0 && told.left_ms <= 5_000, String(told.left_ms))
    })

    it('S31: every status that its library can send is one row', async (t) => {
      const door = await doorTo(t, (await start(t)).address)
      for (const [status, failure] of ROWS) {
        const answer = await door.call({ tool: 'look', input: { status } })
        assert.deepEqual([status, answer.failure?.id], [status, failure])
        assert.equal(answer.failure?.details.grpc_status, status)
        if (failure === 'upstream-rejected') assert.match(answer.failure?.message ?? '', /as asked: ž$/)
      }
    })

    it('hears that a call was given up at its deadline', async (t) => {
      const door = await doorTo(t, (await start(t)).address)
      // The connection is there, so that the time is the tool's.
      assert.equal((await door.call({ tool: 'look', input: {} })).state, 'succeeded')
      const late = await door.call({ tool: 'look', input: { sleep_ms: 30_000 }, timeoutMs: 1_000 })
      assert.equal(late.failure?.id, 'timeout')
      for (let tries = 0; ; tries++) {
        const { canceled } = (await door.call({ tool: 'look', input: { tries } })).output as unknown as Told
        if (canceled === 1) break
        assert.ok(tries < 500, 'it never heard of it')
      }
    })

    it('may compress its answers with gzip', async (t) => {
      const door = await doorTo(t, (await start(t)).address)
      const input = { compress: 'gzip', text: 'ahoj ž '.repeat(2_000) }
      const answer = await door.call({ tool: 'look', input })
      assert.equal(answer.state, 'succeeded', JSON.stringify(answer.failure))
      assert.deepEqual((answer.output as unknown as Told).input, input)
    })

    it('many calls at once share its connection', async (t) => {
      const door = await doorTo(t, (await start(t)).address)
      const answers = await Promise.all(
        Array.from({ length: 100 }, (_, n) => door.call({ tool: 'look', input: { n } })),
      )
      assert.deepEqual(
        answers.map(({ output }) => (output as unknown as Told | undefined)?.input),
        Array.from({ length: 100 }, (_, n) => ({ n })),
      )
    })
  })
}

describe('a caller in Go', { skip: 'skip' in go && go.skip }, () => {
  it('calls tools of this server with its own library', async (t) => {
    const { address, close } = await startGrpcHarness()
    t.after(close)
    const program = 'program' in go ? go.program : ''
    const call = (token: string, envelope: object, env: Readonly<Record<string, string>> = {}) =>
      callGo(program, address, token, envelope, env)
    const ok = await call(TOKEN, { request_id: 'go-1', tool: { name: 'echo' }, input: { a: 'ž' } })
    assert.deepEqual([ok.code, ok.reply.status, ok.reply.output], [0, 'ok', { said: { a: 'ž' } }])
    assert.match(ok.call_id, /^[0-9a-f-]{36}$/)
    const stranger = await call('', { request_id: 'go-2', tool: { name: 'echo' } })
    assert.deepEqual([stranger.code, stranger.reply], [16, null])
    const wrong = await call(TOKEN, { tool: 7 })
    assert.equal(wrong.code, 3)
    assert.match(wrong.message, /Fix: /)
    const envelope = { request_id: 'go-3', tool: { name: 'echo' }, input: { text: 'x'.repeat(5_000) } }
    const zipped = await call(TOKEN, envelope, { GRPC_COMPRESS: 'gzip' })
    assert.deepEqual([zipped.code, zipped.reply], [12, null])
    assert.match(zipped.message, /compressed \(gzip\); what is read is identity/)
  })
})

describe('a Writ as a tool of another', () => {
  it('carries key, trace and attempt through, and causes an effect once', async (t) => {
    const world = createWorld()
    const seen: { key: string; traceId: string }[] = []
    const inner = await createRuntime({
      world,
      onWarning: () => {},
      tools: [
        defineTool({
          name: 'act',
          effect: { class: 'external-communication' },
          handler(input, { key, trace }) {
            seen.push({ key, traceId: trace.traceId })
            return { did: input }
          },
        }),
        defineTool({ name: 'look', effect: { class: 'read-only' }, handler: () => ({ seen: seen.length }) }),
      ],
    })
    const metrics = createMetrics({ events: inner.events, health: () => inner.health() })
    const server = createGrpcServer({
      runtime: inner,
      world,
      metrics,
      authenticate: createAdminTokenAuth(TOKEN),
      host: '127.0.0.1',
      port: 0,
    })
    const { url } = await server.listen()
    t.after(async () => {
      await server.close()
      await inner.close({ drainMs: 0 })
      await metrics.close()
      await world.network.close()
    })
    const outer = await createRuntime({ onWarning: () => {} })
    t.after(() => outer.close({ drainMs: 0 }))
    const spec = (name: string, effect: string) =>
      `apiVersion: writ.dev/v1\nkind: Tool\nmetadata: {name: ${name}}\nspec: {type: grpc, endpoint: "${url}", grpc: {plaintext: true}, effect: {class: ${effect}}, auth: {profile: bearer, secretRef: inner}}\n`
    const secret = `apiVersion: writ.dev/v1\nkind: Secret\nmetadata: {name: inner}\nspec: {stringData: {value: ${TOKEN}}}\n`
    const text = [secret, spec('act', 'external-communication'), spec('look', 'read-only')].join('---\n')
    const applied = await outer.resources.apply([{ text, file: 'test' }])
    assert.deepEqual(
      applied.problems.filter(({ severity }) => severity === 'error'),
      [],
    )
    const door = outer.as(createLocalAdmin())
    const first = await door.call({ tool: 'act', input: { n: 1 }, idempotencyKey: 'once' })
    assert.deepEqual(
      [first.state, first.output],
      ['succeeded', { did: { n: 1 } }],
      JSON.stringify(first.failure),
    )
    assert.equal((await door.call({ tool: 'act', input: { n: 1 }, idempotencyKey: 'once' })).replayed, true)
    assert.equal(seen.length, 1)
    assert.equal(seen[0]?.traceId, first.trace.traceId)
    assert.deepEqual((await door.call({ tool: 'look', input: {} })).output, { seen: 1 })
    const calls = await inner.as(createLocalAdmin()).listCalls({ limit: 10 })
    assert.equal(calls.filter(({ tool }) => tool === 'act').length, 1)
    const shown = JSON.stringify(await door.listCalls({ limit: 10 }))
    assert.equal(shown.includes(TOKEN), false, 'the token of the inner one is nowhere to be seen')
  })
})
