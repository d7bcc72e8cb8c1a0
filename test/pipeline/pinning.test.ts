// A key is pinned to the build it was sent to, for as long as the tool remembers it (S13, S22), and versions have an end.
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import { createWorld } from '../../src/runtime.ts'
import type { CallerDoor, Runtime } from '../../src/runtime-api.ts'
import { ToolError } from '../../src/transport/tool-error.ts'
import type { World } from '../../src/util/world.ts'
import { listenHttp, type Peer } from '../transport/tool-peer.ts'
import { NATURAL, READ, runtimeWith, steeredTool, WRITE } from './harness.ts'

/** The clocks of the machine, moved on when the test says so. */
function shiftedWorld(t: TestContext): { readonly world: World; shift: number } {
  const real = createWorld()
  t.after(() => real.network.destroy())
  const at = {
    shift: 0,
    world: {
      ...real,
      clock: {
        now: () => real.clock.now() + at.shift,
        monotonic: () => real.clock.monotonic() + at.shift,
      },
    },
  }
  return at
}

const EFFECTS = {
  natural: '{ class: external-communication, determinism: idempotent, idempotency: natural }',
  keyed:
    '{ class: external-communication, determinism: idempotent, idempotency: { keyed: { retention: 1h } } }',
  never: '{ class: external-communication }',
} as const

interface HttpTool {
  readonly runtime: Runtime
  readonly door: CallerDoor
  readonly peer: Peer
  /** Applies version 1.0.0 with this timeout: another one is another build. */
  apply(timeout: string): Promise<void>
  remove(): Promise<void>
}

/** An HTTP tool that fails its first request as told and answers every later one. */
async function httpTool(t: TestContext, effect: keyof typeof EFFECTS, status: number): Promise<HttpTool> {
  let first = true
  const peer = await listenHttp((_, response: ServerResponse) => {
    if (!first) response.writeHead(200, { 'content-type': 'application/json' }).end('"done"')
    else response.writeHead(status).end()
    first = false
  })
  t.after(() => peer.close())
  const { runtime, door } = await runtimeWith(t, [])
  return {
    runtime,
    door,
    peer,
    async apply(timeout) {
      const text = `
apiVersion: writ.dev/v1
kind: Tool
metadata: { name: put }
spec:
  type: http
  version: 1.0.0
  endpoint: ${peer.origin}/
  effect: ${EFFECTS[effect]}
  runtime: { timeout: ${timeout} }
`
      const applied = await runtime.resources.apply([{ text, file: 'put.yaml' }])
      assert.ok(applied.ok, JSON.stringify(applied.problems))
    },
    async remove() {
      const options = { namespace: 'default', kind: 'Tool', name: 'put', version: '1.0.0' }
      assert.equal(await runtime.resources.delete(options), 'deleted')
    },
  }
}

const ASK = { tool: 'put', input: { a: 1 }, idempotencyKey: 'k' } as const

for (const effect of ['natural', 'keyed'] as const) {
  for (const change of ['another build', 'no build'] as const) {
    test(`S22: an unknown ${effect} entry is sent again to its own build only; there is ${change}`, async (t) => {
      const { door, peer, apply, remove } = await httpTool(t, effect, 500)
      await apply('5s')
      const first = await door.call(ASK)
      assert.deepEqual([first.effect, first.failure?.retryable], ['unknown', true])
      if (change === 'another build') await apply('6s')
      else await remove()
      const second = await door.call(ASK)
      assert.deepEqual(
        [second.failure?.id, second.failure?.retryable, second.state, second.effect, second.replayed],
        ['outcome-unknown', false, 'unknown', 'unknown', true],
      )
      assert.equal(second.failure?.details.call_id, first.callId)
      assert.equal(peer.received.length, 1, 'nothing was sent')

      // The very same build again, by its digest: now the repeat is harmless.
      await apply('5s')
      const third = await door.call(ASK)
      assert.deepEqual([third.state, third.effect, third.usage.attempt], ['succeeded', 'done', 2])
      assert.equal(third.tool.digest, first.tool.digest)
      assert.equal(peer.received.length, 2)
    })
  }
}

for (const change of ['another build', 'no build'] as const) {
  test(`S13: an entry with nothing done goes on with its own build only; there is ${change}`, async (t) => {
    const { door, peer, apply, remove } = await httpTool(t, 'never', 429)
    await apply('5s')
    const first = await door.call(ASK)
    assert.deepEqual([first.effect, first.failure?.retryable], ['not-done', true])
    if (change === 'another build') await apply('6s')
    else await remove()
    const second = await door.call(ASK)
    assert.equal(second.failure?.id, 'version-unmatched')
    assert.equal(second.failure?.details.digest, first.tool.digest)
    assert.equal(peer.received.length, 1, 'nothing was sent')
    if (change === 'another build') {
      const fresh = await door.call({ ...ASK, idempotencyKey: 'another' })
      assert.equal(fresh.state, 'succeeded', 'another key is not pinned')
      assert.notEqual(fresh.tool.digest, first.tool.digest)
    }
  })
}

test('S13: what runs is the pinned version, although a newer one exists by now', async (t) => {
  for (const [name, spec, failure, effect] of [
    ['natural', NATURAL, new Error('lost'), 'unknown'],
    ['not-done', WRITE, new ToolError('busy', { effect: 'none', code: 'rate_limited' }), 'not-done'],
  ] as const) {
    const old = steeredTool(name, { ...spec, version: '1.0.0' })
    const next = steeredTool(name, { ...spec, version: '1.1.0' })
    const { runtime, door } = await runtimeWith(t, [old])
    old.behave(() => {
      if (old.sends.length === 1) throw failure
      return 'old'
    })
    next.behave(() => 'next')
    const ask = { tool: name, input: 1, idempotencyKey: 'k' }
    assert.equal((await door.call(ask)).effect, effect, name)
    runtime.define(next.definition)
    const again = await door.call(ask)
    assert.deepEqual([again.output, again.tool.version, again.usage.attempt], ['old', '1.0.0', 2], name)
    const fresh = await door.call({ ...ask, idempotencyKey: 'another' })
    assert.deepEqual([fresh.output, fresh.tool.version], ['next', '1.1.0'], name)
    assert.deepEqual([old.sends.length, next.sends.length], [2, 1], name)
  }
})

const KEYED = {
  effect: {
    class: 'external-communication',
    determinism: 'idempotent',
    idempotency: { keyed: { retention: '1h' } },
  },
} as const
const HOUR = 3_600_000

test('S22: a keyed repeat is harmless until the tool may have forgotten the key, and not sent afterwards', async (t) => {
  const at = shiftedWorld(t)
  const put = steeredTool('put', KEYED)
  const { door } = await runtimeWith(t, [put], { world: at.world })
  put.behave(() => {
    throw new Error('lost')
  })
  const first = await door.call(ASK)
  assert.deepEqual([first.effect, first.failure?.retryable], ['unknown', true])
  at.shift = HOUR - 120_000
  assert.deepEqual([(await door.call(ASK)).effect, put.sends.length], ['unknown', 2], 'still remembered')
  at.shift = HOUR + 1
  for (let index = 0; index < 2; index++) {
    const late = await door.call(ASK)
    assert.deepEqual(
      [late.failure?.id, late.failure?.retryable, late.state, late.effect, late.final],
      ['outcome-unknown', false, 'unknown', 'unknown', false],
    )
    assert.equal(put.sends.length, 2, 'counted from the first send, not from the last')
  }
})

test('S22: retries within one call end with the retention, too', async (t) => {
  const put = steeredTool('put', {
    effect: { ...KEYED.effect, idempotency: { keyed: { retention: '150ms' } } },
    runtime: { retry: { max_attempts: 20, backoff: '40ms', max_backoff: '40ms' } },
  })
  const { door } = await runtimeWith(t, [put])
  put.behave(() => {
    throw new Error('lost')
  })
  const answer = await door.call(ASK)
  assert.deepEqual(
    [answer.state, answer.effect, answer.failure?.retryable],
    ['unknown', 'unknown', false],
    'nobody may repeat it any more',
  )
  // At 0, 40, 80 and 120 ms at the earliest.
  assert.ok(put.sends.length >= 1 && put.sends.length <= 4, `${put.sends.length} sends`)
})

test('A deprecated version warns, and past its removal date it is gone, with its replacement named', async (t) => {
  const at = shiftedWorld(t)
  const day = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString()
  const removal = day(20)
  const read = steeredTool('read', {
    ...READ,
    version: '1.0.0',
    deprecation: { deprecated: day(10), removal, replacement: 'read-better' },
  })
  const { door } = await runtimeWith(t, [read], { world: at.world })
  const ask = { tool: 'read', input: 1 }
  assert.deepEqual((await door.call(ask)).warnings, [], 'not deprecated yet')
  at.shift = 11 * 86_400_000
  const warned = await door.call(ask)
  assert.equal(warned.state, 'succeeded')
  assert.deepEqual(warned.warnings, [`read 1.0.0 is deprecated and ends on ${removal}; use read-better`])
  at.shift = 21 * 86_400_000
  for (const version of [undefined, '1.0.0', '^1.0.0']) {
    const gone = await door.call(version === undefined ? ask : { ...ask, version })
    assert.deepEqual(
      [gone.failure?.id, gone.failure?.details.version, gone.failure?.details.replacement],
      ['tool-removed', '1.0.0', 'read-better'],
      String(version),
    )
  }
  assert.equal(read.sends.length, 2)
})
