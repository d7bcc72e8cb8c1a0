// Ways in which a call could once be answered untruly, run without a decision about it, or be lost.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { createLocalAdmin } from '../../src/contract/caller.ts'
import { defineOperation, defineTool } from '../../src/define-tool.ts'
import { createRuntime, createWorld } from '../../src/runtime.ts'
import { createMemoryData } from '../../src/store/memory/memory-data.ts'
import { createMemoryStore } from '../../src/store/memory/memory-store.ts'
import { ToolError } from '../../src/transport/tool-error.ts'
import { EVERYTHING, gate, NATURAL, READ, runtimeWith, settleDown, steeredTool, WRITE } from './harness.ts'

test('a call that is accepted while its outcome is on the way keeps its outcome', async (t) => {
  const pay = steeredTool('pay', WRITE)
  const { door } = await runtimeWith(t, [pay])
  for (let index = 0; index < 50; index++) {
    const handle = door.start({ tool: 'pay', input: index, requestId: `r-${index}` })
    const accepted = (async () => {
      await settleDown(index % 3)
      await handle.accepted()
    })()
    const answer = await handle.answer()
    await accepted
    assert.equal(answer.state, 'succeeded')
    const kept = await door.getCall(handle.id)
    assert.deepEqual([kept?.state, kept?.effect, kept?.answer?.output], ['succeeded', 'done', index])
  }
})

test('S43: a joiner that takes a key over decides anew about the payload that runs', async (t) => {
  const effect = { class: 'external-communication', identity: { fields: ['/order'], on_repeat: 'block' } }
  const first = steeredTool('pay', { version: '1.0.0', effect })
  const triggers = [{ field: '/amount', op: 'gt', value: 100 }]
  const second = steeredTool('pay', { version: '2.0.0', effect, approval_triggers: triggers })
  const { door } = await runtimeWith(t, [first, second])
  first.behave(() => {
    throw new ToolError('busy', { code: 'rate_limited', effect: 'none' })
  })
  const ask = (version: string, amount: number) =>
    door.call({ tool: 'pay', version, input: { order: 'o', amount }, idempotencyKey: 'k' })
  await Promise.all([ask('1.0.0', 5000), ask('2.0.0', 5)])
  assert.deepEqual(second.sends, [], 'what nobody approved for version 2 is not sent to it')
  assert.ok(first.sends.every((send) => (send.input as { amount: number }).amount === 5000))
})

test('a call that joined a write and was cut off by a crash is told that the effect is unknown', async (t) => {
  const world = createWorld()
  const data = createMemoryData()
  const store = await createMemoryStore({ world, data })
  const pay = steeredTool('pay', WRITE)
  pay.behave(() => new Promise(() => {}))
  const first = await createRuntime({ world, store: { kind: 'given', store }, tools: [pay.definition] })
  const door = first.as({ actor: 'agent-a', permissions: EVERYTHING })
  const owner = door.start({ tool: 'pay', input: 1, idempotencyKey: 'k' })
  const joiner = door.start({ tool: 'pay', input: 1, idempotencyKey: 'k' })
  await Promise.all([owner.accepted(), joiner.accepted()])
  await settleDown(20)
  const next = { ...world, epoch: world.id() }
  const later = await createMemoryStore({ world: next, data })
  const second = await createRuntime({
    world: next,
    store: { kind: 'given', store: later },
    tools: [pay.definition],
  })
  for (const handle of [owner, joiner]) {
    const kept = await later.calls.get('default', handle.id)
    assert.deepEqual([kept?.state, kept?.effect, kept?.answer?.final], ['unknown', 'unknown', false])
    assert.equal(kept?.answer?.usage.attempt, 1)
  }
  t.after(async () => {
    await first.close({ drainMs: 0 })
    await second.close({ drainMs: 0 })
    await world.network.destroy()
  })
})

test('an entry that failed retryably and now needs approval waits for it', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'writ-suspend-'))
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  const effect = {
    class: 'external-communication',
    identity: { fields: ['/id'], on_repeat: 'approve' },
  } as const
  const pay = steeredTool('pay', { effect })
  const { door } = await runtimeWith(t, [pay], { store: { kind: 'sqlite', path: join(folder, 'writ.db') } })
  pay.behave(() => {
    throw new ToolError('busy', { code: 'rate_limited', effect: 'none' })
  })
  const input = { id: 1 }
  assert.equal(
    (await door.call({ tool: 'pay', input, idempotencyKey: 'a' })).failure?.id,
    'upstream-throttled',
  )
  pay.behave(() => 'done')
  assert.equal((await door.call({ tool: 'pay', input, idempotencyKey: 'b' })).state, 'succeeded')
  const again = await door.call({ tool: 'pay', input, idempotencyKey: 'a' })
  assert.ok(['awaiting-approval', 'invalid'].includes(again.state), `${again.state} ${again.failure?.id}`)
  assert.notEqual(again.failure?.id, 'internal')
  assert.equal(pay.sends.length, 2)
})

test('refusing a call that continues an unknown effect does not say that nothing happened', async (t) => {
  const put = steeredTool('put', { ...NATURAL, limits: { rate: '1/h' } })
  const { door } = await runtimeWith(t, [put])
  put.behave(() => {
    throw new Error('lost')
  })
  await door.call({ tool: 'put', input: 1, idempotencyKey: 'k' })
  const limited = await door.call({ tool: 'put', input: 1, idempotencyKey: 'k' })
  assert.deepEqual(
    [limited.failure?.id, limited.effect, limited.usage.attempt],
    ['rate-limited', 'unknown', 1],
  )
})

test('keys with a NUL or half a surrogate pair are refused in words, not by the database', async (t) => {
  const { door } = await runtimeWith(t, [steeredTool('pay', WRITE)])
  for (const idempotencyKey of ['a\0b', 'a\ud800']) {
    const answer = await door.call({ tool: 'pay', idempotencyKey })
    assert.deepEqual([answer.state, answer.failure?.id], ['invalid', 'envelope-invalid'])
  }
})

test('operations may be named like what every object has', async (t) => {
  const handler = () => 'ok'
  const names = ['valueOf', 'toString', 'hasOwnProperty']
  const operations = Object.fromEntries(
    names.map((name) => [name, defineOperation({ effect: { class: 'read-only' }, handler })]),
  )
  const odd = defineTool({ name: 'odd', effect: { class: 'read-only' }, handler, operations })
  const runtime = await createRuntime({ tools: [odd] })
  t.after(() => runtime.close())
  for (const operation of names) {
    const answer = await runtime.as(createLocalAdmin()).call({ tool: 'odd', operation })
    assert.equal(answer.output, 'ok', operation)
  }
})

test('S52: a second runtime on the same database is refused, and the first goes on', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'writ-lock-'))
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  const store = { kind: 'sqlite', path: join(folder, 'writ.db') } as const
  const pay = steeredTool('pay', WRITE)
  const first = await createRuntime({ store, tools: [pay.definition] })
  await assert.rejects(createRuntime({ store }), /in use by another Writ/)
  const answer = await first.as({ actor: 'a', permissions: EVERYTHING }).call({ tool: 'pay' })
  assert.equal(answer.state, 'succeeded')
  await Promise.all([first.close(), first.close()])
  const next = await createRuntime({ store })
  await next.close()
})

test('a runtime that cannot start lets go of what it had opened', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'writ-start-'))
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  const store = { kind: 'sqlite', path: join(folder, 'writ.db') } as const
  const broken = defineTool({ name: 'not a name', handler: () => null })
  await assert.rejects(createRuntime({ store, tools: [broken] }), /no valid name/)
  const next = await createRuntime({ store })
  await next.close()
})

test('S17: a dry run says what every stage would answer and invents no approval', async (t) => {
  const triggers = [{ field: '/amount', op: 'gt', value: 100, reason: 'large' }]
  const pay = steeredTool('pay', { ...WRITE, approval_triggers: triggers })
  const { door } = await runtimeWith(t, [pay])
  const dry = await door.call({ tool: 'pay', input: { amount: 5000 }, dryRun: true })
  assert.deepEqual([dry.state, dry.final, dry.effect], ['succeeded', true, 'none'])
  const output = dry.output as { decision: string; stages: { stage: string; reason: string }[] }
  assert.equal(output.decision, 'require-approval')
  assert.match(output.stages.find((one) => one.stage === 'authorize')?.reason ?? '', /large/)
  assert.ok(!JSON.stringify(dry).includes('approval_id'))
  assert.equal(await door.getCall(dry.callId), undefined)
  const refused = await door.call({ tool: 'pay', version: '9.x', input: { amount: 1 }, dryRun: true })
  assert.equal(refused.failure?.id, 'version-unmatched')
  assert.ok(Array.isArray(refused.failure?.details.stages))
})

test('S11: a call that waits for approval can be canceled, and stays so', async (t) => {
  const triggers = [{ field: '/amount', op: 'gt', value: 100 }]
  const pay = steeredTool('pay', { ...WRITE, approval_triggers: triggers })
  const { door } = await runtimeWith(t, [pay])
  const waiting = await door.call({ tool: 'pay', input: { amount: 101 }, idempotencyKey: 'k' })
  assert.equal(await door.cancelCall(waiting.callId), 'canceling')
  assert.equal((await door.getCall(waiting.callId))?.state, 'canceled')
  assert.equal(await door.cancelCall(waiting.callId), 'ended')
  const again = await door.call({ tool: 'pay', input: { amount: 101 }, idempotencyKey: 'k' })
  assert.deepEqual([again.state, again.replayed], ['canceled', true])
})

test('S55: a manifest cannot take the place of a tool of the program', async (t) => {
  const pay = steeredTool('pay', WRITE)
  const { runtime, door } = await runtimeWith(t, [pay])
  const text =
    'apiVersion: writ.dev/v1\nkind: Tool\nmetadata: {name: pay}\nspec: {endpoint: "http://127.0.0.1:9/"}\n'
  const applied = await runtime.resources.apply([{ text, file: 'pay.yaml' }])
  assert.equal(applied.ok, false)
  assert.match(applied.problems.map((one) => one.message).join(), /tool of this program/)
  assert.equal((await door.call({ tool: 'pay' })).state, 'succeeded')
})

test('S24: what runs says which attempt and which version', async (t) => {
  const read = steeredTool('read', { ...READ, version: '1.2.3' })
  const { door } = await runtimeWith(t, [read])
  const hold = gate<number>()
  read.behave(() => hold.opened)
  const handle = door.start({ tool: 'read' })
  await settleDown(20)
  const running = await handle.answer({ waitMs: 1 })
  assert.deepEqual([running.state, running.tool.version, running.usage.attempt], ['running', '1.2.3', 1])
  hold.open(1)
  assert.equal((await handle.answer()).usage.attempt, 1)
})
