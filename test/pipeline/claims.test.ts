// What a request says about the tool is compared, never believed (S2); and input that comes as text is read once (S3).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Call } from '../../src/contract/call.ts'
import type { Runtime } from '../../src/runtime-api.ts'
import type { Json, JsonObject } from '../../src/util/json.ts'
import { listenHttp } from '../transport/tool-peer.ts'
import { EVERYTHING, READ, runtimeWith, steeredTool, WRITE } from './harness.ts'

/** A v1 request as it comes over the wire. */
function wire(runtime: Runtime, tool: string, body: JsonObject = {}, claims: JsonObject = {}): Call {
  const request = { request_id: runtime.mint(), tool: { name: tool, ...claims }, ...body }
  const decoded = runtime.dialects.decode(request, runtime.mint)
  assert.ok(decoded.ok, JSON.stringify(decoded))
  return decoded.call
}

test('S2: a weaker runtime.mode than the declared one is refused, a stronger one cannot be had', async (t) => {
  const contained = steeredTool('contained', { ...WRITE, runtime: { isolation_mode: 'container' } })
  const open = steeredTool('open', WRITE)
  const { runtime, door } = await runtimeWith(t, [contained, open])
  const as = async (tool: string, mode: string) => {
    const { failure } = await door.call(wire(runtime, tool, { input: 1, runtime: { mode } }))
    return failure
  }
  for (const mode of ['none', 'wasm', 'sandboxed']) {
    const failure = await as('contained', mode)
    assert.equal(failure?.id, 'constraint-outside-limits', mode)
    assert.equal(failure?.retryable, false)
    assert.match(JSON.stringify(failure?.details.violations), /\/runtime\/mode.*weaker/)
  }
  assert.equal((await as('contained', 'kubernetes'))?.id, 'isolation-unavailable')
  assert.equal((await as('open', 'container'))?.id, 'isolation-unavailable')
  assert.equal(await as('open', 'none'), undefined, 'the declared one is no claim')
  assert.deepEqual([contained.sends.length, open.sends.length], [0, 1])
})

test("S2: an auth.profile or secret_ref other than the tool's is refused as out of scope", async (t) => {
  const guarded = steeredTool('guarded', { ...WRITE, auth: { profile: 'bearer', secretRef: 'own-key' } })
  const open = steeredTool('open', WRITE)
  const { runtime, door } = await runtimeWith(t, [guarded, open])
  const as = async (tool: string, auth: JsonObject) =>
    (await door.call(wire(runtime, tool, { input: 1, auth }))).failure?.id
  for (const auth of [
    { profile: 'basic' },
    { secret_ref: 'other-key' },
    { profile: 'bearer', secret_ref: 'other-key' },
    { profile: 'basic', secret_ref: 'own-key' },
  ]) {
    assert.equal(await as('guarded', auth), 'secret-out-of-scope', JSON.stringify(auth))
  }
  for (const auth of [{ profile: 'bearer' }, { secret_ref: 'any' }]) {
    assert.equal(await as('open', auth), 'secret-out-of-scope', 'a tool without one has none to lend')
  }
  // The tool's own, which this build cannot resolve: a refusal of another kind.
  assert.equal(await as('guarded', { profile: 'bearer', secret_ref: 'own-key' }), 'secret-missing')
  assert.deepEqual([guarded.sends.length, open.sends.length], [0, 0])
})

test("S2: a tool outside of the request's net_allowlist is not reached", async (t) => {
  const peer = await listenHttp((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('"reached"')
  })
  t.after(() => peer.close())
  const { runtime, door } = await runtimeWith(t, [])
  const text = `
apiVersion: writ.dev/v1
kind: Tool
metadata: { name: remote }
spec: { type: http, version: 1.0.0, endpoint: ${peer.origin}/run, effect: { class: read-only } }
`
  const applied = await runtime.resources.apply([{ text, file: 'remote.yaml' }])
  assert.ok(applied.ok, JSON.stringify(applied.problems))
  const ask = (net_allowlist: string[]) => {
    const id = runtime.mint()
    const request = {
      call_id: id,
      tool_id: 'remote',
      tool_version: '1.0.0',
      fn: 'invoke',
      input: {},
      context: { actor_id: 'agent-a', trace_id: id, timezone: 'UTC', env: 'dev' },
      constraints: {
        timeout_ms: 5_000,
        deadline_unix_ms: Date.now() + 5_000,
        idempotency_key: `key-of-${id}`,
        net_allowlist,
      },
    }
    const decoded = runtime.dialects.decode(request, runtime.mint)
    assert.ok(decoded.ok, JSON.stringify(decoded))
    return door.call(decoded.call)
  }
  const { port } = new URL(peer.origin)
  for (const list of [[], ['https://127.0.0.1'], ['other.example.com'], [`127.0.0.1:${Number(port) + 1}`]]) {
    const answer = await ask(list)
    assert.deepEqual([answer.failure?.id, answer.effect], ['egress-denied', 'none'], list.join())
  }
  assert.equal(peer.received.length, 0)
  assert.equal((await ask(['other.example.com', `127.0.0.1:${port}`])).output, 'reached')
  assert.equal(peer.received.length, 1)
})

test('S2: capabilities and risk_level of a request are warnings where they differ, and decide nothing', async (t) => {
  const tool = steeredTool('tool', { ...WRITE, capabilities: ['data.write'], risk_level: 'high' })
  const { runtime, door } = await runtimeWith(t, [tool])
  const differing = await door.call(
    wire(runtime, 'tool', { input: 1 }, { capabilities: ['data.read'], risk_level: 'low' }),
  )
  assert.equal(differing.state, 'succeeded')
  assert.equal(differing.warnings.length, 2)
  assert.match(differing.warnings.join('\n'), /capabilities.*\n.*risk_level.*'low'.*'high'/)
  const agreeing = await door.call(
    wire(runtime, 'tool', { input: 1 }, { capabilities: ['data.write'], risk_level: 'high' }),
  )
  assert.deepEqual([agreeing.state, agreeing.warnings], ['succeeded', []])
  // A claim to need less does not make the caller need less.
  const partly = runtime.as({ actor: 'a', permissions: ['tool:tool:invoke'] })
  for (const capabilities of [[], ['data.read']]) {
    const denied = await partly.call(wire(runtime, 'tool', { input: 1 }, { capabilities, risk_level: 'low' }))
    assert.deepEqual([denied.state, denied.failure?.details.missing], ['denied', ['capability:data.write']])
  }
  assert.equal(tool.sends.length, 2)
})

const SCHEMA = { type: 'object', properties: { a: { type: 'number' }, b: { type: 'string' } } }
const VALUE = { a: 1, b: 'x' }
const TEXT = ' { "b": "x",\n "a": 1 } '

test('S13: the same JSON as text and as a value is the same call, for a tool with a schema', async (t) => {
  const tool = steeredTool('tool', WRITE, SCHEMA)
  const { runtime, door } = await runtimeWith(t, [tool])
  const requests: readonly (readonly [string, JsonObject, JsonObject])[] = [
    ['value then text', { input: VALUE }, { input_raw: TEXT }],
    ['text then value', { input_raw: TEXT }, { input: VALUE }],
    ['text then other text', { input_raw: TEXT }, { input_raw: JSON.stringify(VALUE) }],
  ]
  for (const [name, first, second] of requests) {
    tool.sends.length = 0
    const key = { idempotency_key: name }
    const one = await door.call(wire(runtime, 'tool', { ...first, ...key }))
    const two = await door.call(wire(runtime, 'tool', { ...second, ...key }))
    assert.deepEqual([one.state, two.state, two.replayed], ['succeeded', 'succeeded', true], name)
    assert.deepEqual(
      tool.sends.map((one) => one.input),
      [VALUE],
      `${name}: what reaches the tool is the value`,
    )
    for (const other of [{ input_raw: '{"a":2,"b":"x"}' }, { input: { a: 2, b: 'x' } }, { input_raw: 'x' }]) {
      const three = await door.call(wire(runtime, 'tool', { ...other, ...key }))
      assert.equal(three.failure?.id, 'key-conflict', `${name}, then ${JSON.stringify(other)}`)
    }
    assert.equal(tool.sends.length, 1, name)
  }
})

test('S13: the same JSON as text and as a value is the same call, for a tool without a schema', async (t) => {
  const tool = steeredTool('tool', WRITE)
  const { runtime, door } = await runtimeWith(t, [tool])
  const requests: readonly (readonly [string, JsonObject, JsonObject, Json])[] = [
    ['value then text', { input: VALUE }, { input_raw: TEXT }, VALUE],
    ['the same text', { input_raw: TEXT }, { input_raw: TEXT }, TEXT],
    ['text then the same as a value', { input_raw: TEXT }, { input: TEXT }, TEXT],
    ['plain text', { input_raw: 'not { json' }, { input_raw: 'not { json' }, 'not { json'],
  ]
  for (const [name, first, second, sent] of requests) {
    tool.sends.length = 0
    const key = { idempotency_key: name }
    const one = await door.call(wire(runtime, 'tool', { ...first, ...key }))
    const two = await door.call(wire(runtime, 'tool', { ...second, ...key }))
    assert.deepEqual([one.state, two.state, two.replayed], ['succeeded', 'succeeded', true], name)
    assert.deepEqual(
      tool.sends.map((one) => one.input),
      [sent],
      name,
    )
    for (const other of [{ input_raw: '{"a":2,"b":"x"}' }, { input: { a: 2, b: 'x' } }, { input_raw: 'x' }]) {
      const three = await door.call(wire(runtime, 'tool', { ...other, ...key }))
      assert.equal(three.failure?.id, 'key-conflict', `${name}, then ${JSON.stringify(other)}`)
    }
  }
})

const RULES: Readonly<Record<string, JsonObject>> = {
  approval_triggers: { ...WRITE, approval_triggers: [{ field: '/amount', op: 'gt', value: 100 }] },
  identity: { effect: { class: 'external-communication', identity: ['/amount'] } },
  audit_fields: { ...WRITE, audit_fields: ['/amount'] },
}

for (const [rule, spec] of Object.entries(RULES)) {
  test(`S3: text cannot hide fields from ${rule}: it is refused, and JSON text is judged by its fields`, async (t) => {
    const pay = steeredTool('pay', spec)
    const { runtime, door } = await runtimeWith(t, [pay])
    const json = '{"amount": 5}'
    const hidden: readonly [string, JsonObject][] = [
      ['/input', { input: json }],
      ['/input', { input: 'just text' }],
      ['/input_raw', { input_raw: 'just text' }],
      ['/input_raw', { input_raw: JSON.stringify(json) }],
      ['/input_raw', { input_raw: '{"amount": 5, "amount": 500}' }],
    ]
    for (const [path, body] of hidden) {
      const { failure } = await door.call(wire(runtime, 'pay', body))
      assert.equal(failure?.id, 'input-invalid', JSON.stringify(body))
      assert.match(JSON.stringify(failure?.details.violations), new RegExp(`"path":"${path}`))
    }
    assert.equal(pay.sends.length, 0)
    assert.equal((await door.call(wire(runtime, 'pay', { input_raw: json }))).state, 'succeeded')
    assert.deepEqual(
      pay.sends.map((one) => one.input),
      [{ amount: 5 }],
      'the tool gets what the rule saw',
    )
  })
}

test('S3: input_raw is judged by its fields: a trigger fires, and an identity is recognised', async (t) => {
  const pay = steeredTool('pay', RULES.approval_triggers)
  const mail = steeredTool('mail', RULES.identity)
  const { runtime, door } = await runtimeWith(t, [pay, mail])
  const large = await door.call(wire(runtime, 'pay', { input_raw: '{"amount": 500}' }))
  assert.equal(large.state, 'awaiting-approval')
  assert.equal(
    (await door.call(wire(runtime, 'mail', { input: { amount: 5, text: 'a' } }))).state,
    'succeeded',
  )
  const repeat = await door.call(wire(runtime, 'mail', { input_raw: '{"text": "b", "amount": 5}' }))
  assert.equal(repeat.failure?.id, 'effect-repeated')
  assert.deepEqual([pay.sends.length, mail.sends.length], [0, 1])
})

test('S3: without a rule on fields text is input like any other', async (t) => {
  const read = steeredTool('read', READ)
  const { runtime } = await runtimeWith(t, [read])
  const door = runtime.as({ actor: 'a', permissions: EVERYTHING })
  assert.equal(
    (await door.call(wire(runtime, 'read', { input_raw: '{"amount": 5}' }))).output,
    '{"amount": 5}',
  )
  assert.equal((await door.call(wire(runtime, 'read', { input: 'text' }))).output, 'text')
})
