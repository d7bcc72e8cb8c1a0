// What evidence holds of a call: who, what and how it ended; hashes of payloads, and never a payload (S20, S40).
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createRuntime, createWorld } from '../../src/runtime.ts'
import { createMemoryStore } from '../../src/store/memory/memory-store.ts'
import type { EvidenceRecord } from '../../src/store/store.ts'
import { ToolError } from '../../src/transport/tool-error.ts'
import type { Json } from '../../src/util/json.ts'
import {
  EVERYTHING,
  gate,
  NATURAL,
  READ,
  type SteeredTool,
  settleDown,
  steeredTool,
  WRITE,
} from './harness.ts'
import { until } from './until.ts'

async function evidentRuntime(t: TestContext, ...tools: SteeredTool[]) {
  const world = createWorld()
  t.after(() => world.network.destroy())
  const store = await createMemoryStore({ world })
  const runtime = await createRuntime({
    world,
    store: { kind: 'given', store },
    tools: tools.map((tool) => tool.definition),
  })
  t.after(() => runtime.close({ drainMs: 0 }))
  const of = async (callId: string) => {
    await store.flush()
    return store.evidence.forCall('default', callId)
  }
  const all = async (): Promise<EvidenceRecord[]> => {
    await store.flush()
    const found: EvidenceRecord[] = []
    for (const epoch of await store.evidence.epochs()) {
      for (const link of await store.evidence.links(epoch, 1, 10_000)) found.push(...link.records)
    }
    return found
  }
  return { runtime, door: runtime.as({ actor: 'agent-a', permissions: EVERYTHING }), of, all }
}

const last = (records: readonly EvidenceRecord[]) => records.at(-1)?.body ?? assert.fail('no evidence')

const CARD = {
  type: 'object',
  properties: {
    amount: { type: 'number' },
    note: { type: 'string' },
    token: { type: 'string', writeOnly: true },
    card: {
      type: 'object',
      writeOnly: true,
      properties: { number: { type: 'string' } },
    },
    payer: {
      type: 'object',
      properties: { name: { type: 'string' }, pin: { type: 'string', writeOnly: true } },
    },
  },
}

test('S40: audit_fields are copied into evidence, those that are writeOnly as ***, and nothing else', async (t) => {
  const pay = steeredTool(
    'pay',
    {
      ...WRITE,
      audit_fields: ['/amount', '/token', '/card/number', '/payer', '/payer/pin', '/payer/name', '/note'],
    },
    CARD,
  )
  const { door, of } = await evidentRuntime(t, pay)
  const secret = 'secret-7391'
  const input = {
    amount: 12,
    token: secret,
    card: { number: secret },
    payer: { name: 'Ada', pin: secret },
  }
  const answer = await door.call({ tool: 'pay', input })
  const records = await of(answer.callId)
  assert.deepEqual(last(records).audit_fields, {
    '/amount': 12,
    '/token': '***',
    '/card/number': null,
    '/payer': { name: 'Ada', pin: '***' },
    '/payer/pin': '***',
    '/payer/name': 'Ada',
    '/note': null,
  })
  assert.ok(!JSON.stringify(records).includes(secret))
  assert.deepEqual(pay.sends[0]?.input, input, 'the tool gets what was asked')
})

test('S40: audit_fields are in the evidence of a call that failed, of reads, and of tools without a schema', async (t) => {
  const spec = { audit_fields: ['/amount', '/none'] }
  const read = steeredTool('read', { ...READ, ...spec })
  const write = steeredTool('write', { ...WRITE, ...spec })
  const plain = steeredTool('plain', WRITE)
  const { door, of } = await evidentRuntime(t, read, write, plain)
  write.behave(() => {
    throw new Error('lost')
  })
  for (const [tool, type] of [
    ['read', 'tool.completed'],
    ['write', 'tool.unknown'],
  ] as const) {
    const answer = await door.call({ tool, input: { amount: 1, rest: 'x' } })
    const records = await of(answer.callId)
    assert.equal(records.at(-1)?.type, type)
    assert.deepEqual(last(records).audit_fields, { '/amount': 1, '/none': null }, tool)
  }
  const answer = await door.call({ tool: 'plain', input: { amount: 1 } })
  assert.equal('audit_fields' in last(await of(answer.callId)), false)
})

const CANARY = 'canary-4f1d'

test('S40: no evidence of any outcome holds a value of an input or output', async (t) => {
  const shape = {
    type: 'object',
    properties: { text: { type: 'string' }, n: { type: 'number' } },
    additionalProperties: true,
  }
  const retries = { runtime: { retry: { max_attempts: 2, backoff: '1ms' } } }
  const read = steeredTool('read', { ...READ, ...retries })
  const write = steeredTool('write', WRITE)
  const natural = steeredTool('natural', { ...NATURAL, ...retries })
  const shaped = steeredTool('shaped', { ...WRITE, output_schema: { type: 'number' } }, shape)
  const asking = steeredTool('asking', { ...WRITE, approval_triggers: [{ field: '/text', op: 'exists' }] })
  const once = steeredTool('once', { effect: { class: 'external-communication', identity: ['/text'] } })
  const rated = steeredTool('rated', {
    ...WRITE,
    limits: { rate: '1/h', input_bytes: 200, output_bytes: 60 },
  })
  const tools = [read, write, natural, shaped, asking, once, rated]
  const { runtime, door, of, all } = await evidentRuntime(t, ...tools)
  const input: Json = { text: CANARY, deep: [{ [CANARY]: CANARY }] }
  const ids: string[] = []
  const seen = new Set<string>()
  const call = async (tool: string, more: object = {}, by = door) => {
    const answer = await by.call({ tool, input, ...more })
    ids.push(answer.callId)
    seen.add(`${answer.failure?.id ?? answer.state}${answer.replayed ? ' again' : ''}`)
    return answer
  }
  const behave = (handler: () => unknown) => {
    for (const tool of tools) tool.behave(handler)
  }
  const echo = (code: string, effect?: 'none') => () => {
    throw new ToolError(`no ${CANARY}`, {
      code,
      // Also under names that Writ's own failures use.
      details: { echoed: input, missing: [CANARY], call_id: CANARY, reasons: [CANARY], entry_id: CANARY },
      ...(effect === undefined ? {} : { effect }),
    })
  }

  behave(() => ({ output: CANARY }))
  for (const tool of ['read', 'write']) {
    await call(tool, { idempotencyKey: 'k1' })
    await call(tool, { idempotencyKey: 'k1' })
    await call(tool, { idempotencyKey: 'k1', input: `other ${CANARY}` })
  }
  await call('shaped', { idempotencyKey: 'k1' })
  await call('shaped', { idempotencyKey: 'k1' })
  await call('shaped', { input: { text: 7, n: CANARY } })
  await call('asking', { idempotencyKey: 'k1' })
  await call('asking', { idempotencyKey: 'k1' })
  await call('asking', { input: CANARY })
  await call('once')
  await call('once')
  await call('rated')
  await call('rated')
  await call('rated', { input: CANARY.repeat(50) })
  await call('write', {}, runtime.as({ actor: 'nobody' }))
  await call('no-such-tool')
  await call('write', { operation: CANARY.slice(0, 3) })
  await call('write', { deadlineUnixMs: 1 })
  await call('write', { [`in${CANARY}`]: CANARY })
  await call('write', { input: { text: CANARY, wrong: Number.NaN } })

  // A tool whose error repeats what it was given, kept and replayed.
  for (const [key, code, effect] of [
    ['k2', 'invalid_input', 'none'],
    ['k3', 'invalid_input', undefined],
    ['k6', 'permission_denied', 'none'],
    ['k7', 'approval_pending', undefined],
    ['k8', 'of-its-own', undefined],
  ] as const) {
    behave(echo(code, effect))
    for (const tool of ['read', 'write', 'natural']) {
      const first = await call(tool, { idempotencyKey: key })
      assert.match(JSON.stringify(first.failure), new RegExp(CANARY), 'the caller is told')
      await call(tool, { idempotencyKey: key })
    }
  }
  behave(() => {
    throw new Error(`lost ${CANARY}`)
  })
  for (const tool of ['read', 'write', 'natural']) {
    await call(tool, { idempotencyKey: 'k4' })
    await call(tool, { idempotencyKey: 'k4' })
  }
  behave(() => CANARY.repeat(20))
  await call('once', { input: { text: `another ${CANARY}` } })
  behave(() => new Promise(() => {}))
  await call('read', { timeoutMs: 150 })
  await call('write', { timeoutMs: 150 })
  const hold = gate<string>()
  behave(() => hold.opened)
  const running = [
    door.start({ tool: 'write', input, idempotencyKey: 'k5' }),
    door.start({ tool: 'write', input, idempotencyKey: 'k5' }),
    door.start({ tool: 'read', input }),
  ]
  await settleDown(20)
  for (const handle of running) handle.cancel()
  for (const handle of running) {
    const answer = await handle.answer()
    ids.push(answer.callId)
    seen.add(answer.failure?.id ?? answer.state)
  }

  for (const one of [
    'succeeded',
    'succeeded again',
    'key-conflict',
    'output-invalid',
    'outcome-unknown again',
    'input-invalid',
    'approval-pending',
    'effect-repeated',
    'rate-limited',
    'input-too-large',
    'permission-denied',
    'tool-unknown',
    'operation-unknown',
    'deadline-past',
    'envelope-invalid',
    'upstream-rejected again',
    'tool-crashed',
    'timeout',
    'timeout-unknown-commit',
    'canceled',
  ]) {
    assert.ok(seen.has(one), `${one} is missing in: ${[...seen].join(', ')}`)
  }
  const records = await all()
  for (const record of records) {
    assert.ok(!JSON.stringify(record).includes(CANARY), `${record.type}: ${JSON.stringify(record)}`)
  }
  // Those that are equal to one of the second before are only counted.
  const alone = await Promise.all(ids.map(async (id) => (await of(id)).length > 0))
  const counted = await until(async () => {
    const more = (await all()).filter((record) => record.type === 'request.refused.repeated')
    const sum = more.reduce((total, record) => total + Number(record.body.count), 0)
    return sum >= alone.filter((has) => !has).length ? sum : undefined
  })
  assert.equal(counted, alone.filter((has) => !has).length, 'every call left evidence, or was counted')
  assert.ok(records.length > ids.length)
})

test('S40: equal refusals of one caller within a second share a counted record, and each call is still kept', async (t) => {
  const { runtime, all } = await evidentRuntime(t, steeredTool('pay', WRITE))
  const door = runtime.as({ actor: 'loop', permissions: [] })
  const calls = await Promise.all(Array.from({ length: 25 }, () => door.call({ tool: 'pay', input: 1 })))
  await door.call({ tool: 'other', input: 1 })
  const refused = await until(async () => {
    const found = (await all()).filter((record) => record.type.startsWith('request.refused'))
    return found.some((record) => record.type === 'request.refused.repeated') ? found : undefined
  })
  assert.deepEqual(refused.map((record) => [record.type, record.body.tool, record.body.count]).toSorted(), [
    ['request.refused', 'other', undefined],
    ['request.refused', 'pay', undefined],
    ['request.refused.repeated', 'pay', 24],
  ])
  for (const call of calls) assert.equal((await door.getCall(call.callId))?.state, 'denied')
})
