// The other ways into and through two phases (S26, S27): named operations, envelopes, functions of a program, seed 004.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Answer } from '../../src/contract/answer.ts'
import { defineOperation, defineTool } from '../../src/define-tool.ts'
import { createRuntime } from '../../src/runtime.ts'
import type { CallerDoor, Runtime } from '../../src/runtime-api.ts'
import type { Json, JsonObject } from '../../src/util/json.ts'
import { listenHttp, sendJson } from '../transport/tool-peer.ts'
import { gate, settleDown } from './harness.ts'
import { bodyOf, sent, startTwoPhaseTool } from './two-phase-tool.ts'
import { until } from './until.ts'

const MAY = { actor: 'ann', permissions: ['tool:book:invoke'] }

async function open(t: TestContext, options: Parameters<typeof createRuntime>[0] = {}) {
  const runtime = await createRuntime({ onWarning: () => {}, ...options })
  t.after(() => runtime.close({ drainMs: 0 }))
  return { runtime, door: runtime.as(MAY) }
}

async function apply(runtime: Runtime, text: string): Promise<void> {
  const applied = await runtime.resources.apply([{ text, file: 'book.yaml' }])
  assert.ok(applied.ok, JSON.stringify(applied.problems))
}

function tokenOf(answer: Answer): string {
  assert.equal(answer.state, 'prepared', JSON.stringify(answer.failure))
  return answer.commitToken ?? ''
}

test('S27: a prepare with an address of its own is sent the input beside the key', async (t) => {
  const tool = await startTwoPhaseTool()
  t.after(() => tool.close())
  const { runtime, door } = await open(t)
  await apply(runtime, tool.manifest(`prepare: { url: '${tool.peer.origin}/prepare/now' }`))
  const answer = await door.call({ tool: 'book', input: { seat: 1 }, idempotencyKey: 'k' })
  const [received] = sent(tool, 'prepare')
  assert.equal(received?.path, '/prepare/now')
  const [key] = tool.kept.keys()
  assert.deepEqual(bodyOf(received), { idempotency_key: key, input: { seat: 1 } })
  assert.equal((await door.commit(answer.callId, tokenOf(answer))).kind, 'ok')
  const [commit] = sent(tool, 'commit')
  assert.equal(commit?.path, '/commit/tool%20secret%2F0%3F', 'the token is one segment of the address')
  const other = await door.call({ tool: 'book', input: { seat: 2 } })
  assert.equal((await door.rollback(other.callId)).kind, 'ok')
  const [rollback] = sent(tool, 'rollback')
  assert.deepEqual([rollback?.method, rollback?.body], ['DELETE', ''])
})

test('S27: an external tool is sent its operations by name, in envelopes', async (t) => {
  const asked: { operation: Json | undefined; input: Json | undefined }[] = []
  const peer = await listenHttp((received, response) => {
    const body = bodyOf(received)
    const operation = (body.tool as JsonObject).operation
    asked.push({ operation, input: body.input })
    const ok = { tool_contract_version: 'v1', request_id: body.request_id ?? '', status: 'ok' }
    if (operation === 'invoke') sendJson(response, { ...ok, output: { preview: 1 }, commit_token: 'theirs' })
    else sendJson(response, { ...ok, output: operation === 'confirm' ? { done: true } : null })
  })
  t.after(() => peer.close())
  const { runtime, door } = await open(t)
  await apply(
    runtime,
    `
apiVersion: writ.dev/v1
kind: Tool
metadata: { name: book }
spec:
  type: external
  endpoint: ${peer.origin}/
  operations: { invoke: {}, confirm: {}, forget: {} }
  effect:
    class: external-communication
    two_phase: { commit: confirm, rollback: forget }
`,
  )
  const answer = await door.call({ tool: 'book', input: { seat: 1 } })
  assert.deepEqual(answer.output, { preview: 1 }, 'an envelope has a place of its own for the token')
  assert.equal((await door.commit(answer.callId, tokenOf(answer))).kind, 'ok')
  assert.deepEqual((await door.getCall(answer.callId))?.answer?.output, { done: true })
  const other = await door.call({ tool: 'book', input: { seat: 2 } })
  assert.equal((await door.rollback(other.callId)).kind, 'ok')
  assert.deepEqual(
    asked.map(({ operation }) => operation),
    ['invoke', 'confirm', 'invoke', 'forget'],
  )
  const { idempotency_key: key, ...rest } = (asked[1]?.input ?? {}) as JsonObject
  assert.equal(typeof key, 'string')
  assert.deepEqual(rest, { commit_token: 'theirs', input: { seat: 1 } })
})

/** A function of the program that prepares, and one that commits as the test says. */
function nativeBook(
  commit: () => Json | Promise<Json>,
  timeout = '30s',
  prepare: () => Json | Promise<Json> = () => ({ commit_token: 'mine', seat: 7 }),
) {
  return defineTool({
    name: 'book',
    effect: { class: 'external-communication', two_phase: { commit: 'confirm', rollback: 'forget' } },
    spec: { runtime: { timeout } },
    operations: {
      confirm: defineOperation({ effect: { class: 'external-communication' }, handler: commit }),
      forget: defineOperation({ effect: { class: 'external-communication' }, handler: () => null }),
    },
    handler: prepare,
  })
}

test('S26: what is not the token is the preview, and stays the output of a commit that says nothing', async (t) => {
  const { door } = await open(t, { tools: [nativeBook(() => null)] })
  const answer = await door.call({ tool: 'book' })
  assert.deepEqual(answer.output, { seat: 7 })
  assert.equal((await door.commit(answer.callId, tokenOf(answer))).kind, 'ok')
  assert.deepEqual((await door.getCall(answer.callId))?.answer?.output, { seat: 7 })
})

test('S28: the reply of a commit that was given up still settles it', async (t) => {
  const late = gate<Json>()
  const { door } = await open(t, { tools: [nativeBook(() => late.opened, '50ms')] })
  const answer = await door.call({ tool: 'book' })
  const result = await door.commit(answer.callId, tokenOf(answer))
  assert.equal(result.kind === 'refused' && result.failure.id, 'commit-unknown')
  late.open({ receipt: 1 })
  await until(async () => (await door.getCall(answer.callId))?.state === 'succeeded')
  assert.deepEqual((await door.getCall(answer.callId))?.answer?.output, { receipt: 1 })
})

test('S28: a prepare that answers late is not done: the same key prepares it again', async (t) => {
  const late = gate<Json>()
  let prepares = 0
  const prepare = () => (++prepares === 1 ? late.opened : { commit_token: 'mine' })
  const { door } = await open(t, { tools: [nativeBook(() => ({ receipt: 1 }), '50ms', prepare)] })
  const lost = await door.call({ tool: 'book', idempotencyKey: 'k' })
  assert.deepEqual([lost.effect, lost.failure?.retryable], ['unknown', true])
  late.open({ commit_token: 'mine' })
  await settleDown()
  assert.equal((await door.getCall(lost.callId))?.effect, 'unknown')
  const answer = await door.call({ tool: 'book', idempotencyKey: 'k' })
  assert.equal((await door.commit(answer.callId, tokenOf(answer))).kind, 'ok')
})

test('S26: a deadline that comes while it is being committed changes nothing', async (t) => {
  const slow = gate<Json>()
  let began = false
  const book = nativeBook(() => {
    began = true
    return slow.opened
  })
  const spec = book.manifest.spec as { operations: { invoke: { effect: { two_phase: JsonObject } } } }
  Object.assign(spec.operations.invoke.effect.two_phase, { deadline: '60ms' })
  const { door } = await open(t, { tools: [book] })
  const answer = await door.call({ tool: 'book' })
  const done = door.commit(answer.callId, tokenOf(answer))
  await until(() => began)
  // The time itself is what this is about.
  await new Promise((resolve) => setTimeout(resolve, 120))
  slow.open({ receipt: 1 })
  assert.equal((await done).kind, 'ok')
  assert.equal((await door.getCall(answer.callId))?.state, 'succeeded')
})

let serial = 0
function four(runtime: Runtime, fn: string, input: JsonObject, more: JsonObject = {}) {
  const call_id = `7f1c1a52-3c0c-4b8e-9d57-${String(++serial).padStart(12, '0')}`
  const body = {
    call_id,
    tool_id: 'book',
    tool_version: '>=0.0.0',
    fn,
    input,
    context: { actor_id: 'ann', trace_id: call_id, timezone: 'UTC', env: 'dev', clock: 'monotonic' },
    constraints: { timeout_ms: 5_000, deadline_unix_ms: Date.now() + 60_000, idempotency_key: call_id },
    ...more,
  }
  const decoded = runtime.dialects.decode(body, () => runtime.mint())
  assert.ok(decoded.ok, JSON.stringify(decoded))
  return decoded.call
}

test('S26: four-outcome callers may commit with fn: commit', async (t) => {
  let commits = 0
  const { runtime, door } = await open(t, { tools: [nativeBook(() => ({ receipt: ++commits }))] })
  const commit = (asking: CallerDoor, token: string, more: JsonObject = {}) =>
    asking.call(four(runtime, 'commit', { commit_token: token }, more))
  const prepared = await door.call(four(runtime, 'invoke', {}))
  const token = tokenOf(prepared)
  const dry = await commit(door, token, { dry_run: true })
  assert.deepEqual([dry.state, commits], ['succeeded', 0], 'a dry run commits nothing')
  const forged = await commit(door, `${token.split('.')[0]}.AAAA`)
  assert.deepEqual([forged.failure?.id, commits], ['commit-token-invalid', 0])
  const unknown = await commit(door, 'nothing')
  assert.equal(unknown.failure?.id, 'commit-token-invalid')
  const stranger = runtime.as({ ...MAY, actor: 'bob' })
  assert.deepEqual([(await commit(stranger, token)).failure?.id, commits], ['commit-token-invalid', 0])
  const denied = runtime.as({ actor: 'ann', permissions: [] })
  assert.deepEqual([(await commit(denied, token)).failure?.id, commits], ['permission-denied', 0])

  const done = await commit(door, token)
  assert.deepEqual(
    [done.state, done.effect, done.output, done.replayed],
    ['succeeded', 'done', { receipt: 1 }, false],
  )
  assert.notEqual(done.callId, prepared.callId)
  assert.equal((await door.getCall(prepared.callId))?.state, 'succeeded')
  assert.deepEqual((await door.getCall(done.callId))?.answer?.output, { receipt: 1 })
  const again = await commit(door, token)
  assert.deepEqual([again.failure?.id, commits], ['commit-repeated', 1])
  const encoded = runtime.dialects.get('four-outcome').encode(done)
  assert.ok(JSON.stringify(encoded).includes('"success"'))
})

test('S4: an operation that was made from an address cannot be called, and is not shown', async (t) => {
  const tool = await startTwoPhaseTool()
  t.after(() => tool.close())
  const { runtime, door } = await open(t)
  await apply(runtime, tool.manifest())
  for (const operation of ['$commit', '$rollback']) {
    const answer = await door.call({ tool: 'book', operation, input: {} })
    assert.equal(answer.failure?.id, 'operation-unknown')
    assert.deepEqual(answer.failure?.details.operations, ['invoke'])
  }
  assert.equal(tool.peer.received.length, 0)
})

test("S2: the request's net_allowlist is about every address that the call may need", async (t) => {
  const [tool, elsewhere] = [await startTwoPhaseTool(), await startTwoPhaseTool()]
  t.after(() => Promise.all([tool.close(), elsewhere.close()]))
  const { runtime, door } = await open(t)
  const text = tool.manifest().replace(`${tool.peer.origin}/commit`, `${elsewhere.peer.origin}/commit`)
  const allow = JSON.stringify([tool.peer.origin, elsewhere.peer.origin])
  await apply(runtime, text.replace(/^spec:$/m, `spec:\n  egress: {allow: ${allow}}`))
  const call = (netAllowlist: string[]) =>
    door.call({ ...four(runtime, 'invoke', {}), constraints: { netAllowlist } })
  assert.equal((await call([tool.peer.origin])).failure?.id, 'egress-denied')
  assert.equal(tool.peer.received.length, 0)
  assert.equal((await call([tool.peer.origin, elsewhere.peer.origin])).state, 'prepared')
})

test('S44: a policy that denies by now stops a commit; what is prepared stays so', async (t) => {
  const tool = await startTwoPhaseTool()
  t.after(() => tool.close())
  const { runtime, door } = await open(t)
  await apply(runtime, tool.manifest())
  const answer = await door.call({ tool: 'book', input: { seat: 1 } })
  const token = tokenOf(answer)
  const policy = { kind: 'AgentPolicy', metadata: { name: 'block' } }
  const block = (tools: string[]) =>
    apply(
      runtime,
      JSON.stringify({
        apiVersion: 'writ.dev/v1',
        ...policy,
        spec: { apply_mode: 'global', blocked_tools: tools },
      }),
    )
  await block(['book'])
  const refused = await door.commit(answer.callId, token)
  assert.equal(refused.kind === 'refused' && refused.failure.details.code, 'tool-blocked')
  assert.equal(sent(tool, 'commit').length, 0)
  await block(['other'])
  assert.equal((await door.commit(answer.callId, token)).kind, 'ok')
})
