// What ends before anything is sent: identity, validation, claims, limits, controls (S2, S3, S5, S33, S41).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EVERYTHING, gate, READ, runtimeWith, settleDown, steeredTool, WRITE } from './harness.ts'

test('S41: without a permission a caller learns nothing, not even that the tool exists', async (t) => {
  const pay = steeredTool('pay', WRITE)
  const { runtime } = await runtimeWith(t, [pay])
  const nobody = runtime.as({ actor: 'nobody' })
  const there = await nobody.call({ tool: 'pay', version: '9.x', operation: 'nope' })
  const notThere = await nobody.call({ tool: 'no-such-tool' })
  for (const answer of [there, notThere]) {
    assert.deepEqual(
      [answer.state, answer.failure?.id, answer.failure?.retryable],
      ['denied', 'permission-denied', false],
    )
    assert.ok(answer.failure?.details.policy_ref)
    assert.equal(answer.tool.version, undefined)
  }
  assert.deepEqual(there.failure?.details.missing, ['tool:pay:invoke'])
  assert.equal(pay.sends.length, 0)
})

test('S41: every declared capability and the permission class are needed', async (t) => {
  const pay = steeredTool('pay', {
    capabilities: ['network.write', 'data.write'],
    permission_class: 'payments',
  })
  const { runtime } = await runtimeWith(t, [pay])
  const as = (permissions: string[]) => runtime.as({ actor: 'a', permissions }).call({ tool: 'pay' })
  const partly = await as(['tool:pay:invoke', 'capability:data.write'])
  assert.deepEqual(partly.failure?.details.missing, ['capability:network.write', 'class:payments'])
  const all = await as([
    'tool:pay:invoke',
    'capability:data.write',
    'capability:network.write',
    'class:payments',
  ])
  assert.equal(all.state, 'succeeded')
})

test('S41: wildcards do not cover what cannot be undone', async (t) => {
  for (const effectClass of ['irreversible', 'financial-high-impact', 'administrative']) {
    const tool = steeredTool('danger', { effect: { class: effectClass, identity: ['/id'] } })
    const { runtime } = await runtimeWith(t, [tool])
    const wild = await runtime
      .as({ actor: 'a', permissions: EVERYTHING })
      .call({ tool: 'danger', input: { id: 1 } })
    assert.equal(wild.state, 'denied', effectClass)
    assert.match(wild.failure?.message ?? '', /wildcards/)
    const named = await runtime
      .as({ actor: 'a', permissions: ['tool:danger:invoke'] })
      .call({ tool: 'danger', input: { id: 1 } })
    assert.equal(named.state, 'succeeded', effectClass)
  }
})

test('A caller of another namespace is denied', async (t) => {
  const pay = steeredTool('pay', WRITE)
  const { door } = await runtimeWith(t, [pay])
  assert.equal((await door.call({ tool: 'pay', namespace: 'other' })).state, 'denied')
})

test('Unknown tools, operations and versions name what there is', async (t) => {
  const pay = steeredTool('pay', { ...WRITE, version: '1.2.0' })
  const { door } = await runtimeWith(t, [pay])
  assert.equal((await door.call({ tool: 'nope' })).failure?.id, 'tool-unknown')
  for (const operation of ['refund', '__proto__', 'constructor', 'toString']) {
    const answer = await door.call({ tool: 'pay', operation })
    assert.equal(answer.failure?.id, 'operation-unknown', operation)
    assert.deepEqual(answer.failure?.details.operations, ['invoke', 'status'])
  }
  const range = await door.call({ tool: 'pay', version: '2.x' })
  assert.equal(range.failure?.id, 'version-unmatched')
  assert.deepEqual(range.failure?.details.versions, ['1.2.0'])
  assert.equal((await door.call({ tool: 'pay', version: '^1.0.0' })).tool.version, '1.2.0')
})

test('S5: every violation is listed with its path, and fields outside the schema are violations', async (t) => {
  const pay = steeredTool('pay', WRITE, {
    type: 'object',
    properties: {
      amount: { type: 'number' },
      to: { type: 'object', properties: { iban: { type: 'string' } } },
    },
    required: ['amount'],
  })
  const { door } = await runtimeWith(t, [pay])
  const answer = await door.call({ tool: 'pay', input: { to: { iban: 1, bic: 'x' }, ammount: 5 } })
  assert.equal(answer.failure?.id, 'input-invalid')
  const violations = (answer.failure?.details.violations ?? []) as { path: string }[]
  const paths = violations.map((one) => one.path)
  for (const path of ['/to/iban', '/to/bic', '/ammount'])
    assert.ok(paths.includes(path), `${path} in ${paths}`)
  assert.equal(paths.length, 4, 'and that amount is missing')
  assert.equal(pay.sends.length, 0)
})

test('Past deadlines, inputs over the limit and values that are no JSON are refused', async (t) => {
  const pay = steeredTool('pay', { limits: { input_bytes: 100 } })
  const { door } = await runtimeWith(t, [pay])
  assert.equal(
    (await door.call({ tool: 'pay', deadlineUnixMs: Date.now() - 1 })).failure?.id,
    'deadline-past',
  )
  assert.equal((await door.call({ tool: 'pay', input: 'x'.repeat(200) })).failure?.id, 'input-too-large')
  for (const input of [Number.NaN, 2 ** 60, () => 1, { a: 1n }]) {
    assert.equal((await door.call({ tool: 'pay', input: input as never })).state, 'invalid', String(input))
  }
  for (const timeoutMs of [0, -1, Number.NaN]) {
    assert.equal((await door.call({ tool: 'pay', timeoutMs })).state, 'invalid')
  }
  assert.equal(pay.sends.length, 0)
})

test('Concurrency and rate are held exactly, and their refusals are retryable and leave the key free', async (t) => {
  const busy = steeredTool('busy', { limits: { concurrency: 2 } })
  const rated = steeredTool('rated', { limits: { rate: '3/h' } })
  const { door } = await runtimeWith(t, [busy, rated])
  const hold = gate<number>()
  busy.behave(() => hold.opened)
  const running = [1, 2, 3].map((n) => door.call({ tool: 'busy', input: n, requestId: `b-${n}` }))
  await settleDown(20)
  const refused = await (running[2] as Promise<{
    failure?: { id: string; retryable: boolean; details: Record<string, unknown> }
  }>)
  assert.deepEqual([refused.failure?.id, refused.failure?.retryable], ['concurrency-exceeded', true])
  assert.equal(typeof refused.failure?.details.retry_after_ms, 'number')
  hold.open(1)
  await Promise.all(running)
  assert.equal((await door.call({ tool: 'busy', input: 3, requestId: 'b-3' })).state, 'succeeded')
  const answers = []
  for (let n = 0; n < 5; n++) answers.push(await door.call({ tool: 'rated', input: n }))
  assert.deepEqual(
    answers.map((one) => one.failure?.id ?? 'ok'),
    ['ok', 'ok', 'ok', 'rate-limited', 'rate-limited'],
  )
})

test('S33: what cannot be enforced refuses the call and says where it is declared', async (t) => {
  const cases = [
    [{ runtime: { isolation_mode: 'container' } }, 'isolation-unavailable'],
    [{ auth: { secretRef: 'key' } }, 'secret-missing'],
  ] as const
  for (const [spec, failure] of cases) {
    const tool = steeredTool('guarded', spec)
    const { door } = await runtimeWith(t, [tool])
    const answer = await door.call({ tool: 'guarded' })
    assert.equal(answer.failure?.id, failure)
    assert.equal(answer.effect, 'none')
    assert.match(String(answer.failure?.details.path), /^spec\./)
    assert.equal(tool.sends.length, 0)
  }
})

test('S33: a refused call is told to do what apply has advised', async (t) => {
  const { runtime, door } = await runtimeWith(t, [])
  const spec = { risk_level: 'high', endpoint: 'http://tool.example.com/', effect: { class: 'read-only' } }
  const manifest = { apiVersion: 'writ.dev/v1', kind: 'Tool', metadata: { name: 'open' }, spec }
  const { problems } = await runtime.resources.apply([{ text: JSON.stringify(manifest), file: 'open.json' }])
  const advice = problems.find(({ path }) => path === 'spec.endpoint')?.fix
  assert.equal(advice, 'use https, or declare runtime.isolation_mode: none')
  const { failure } = await door.call({ tool: 'open' })
  assert.deepEqual([failure?.id, failure?.fix], ['isolation-unavailable', `spec.endpoint: ${advice}.`])
})

test('approval_triggers suspend the call on disk; asking again is told the same approval', async (t) => {
  const pay = steeredTool('pay', {
    approval_triggers: [{ field: '/amount', op: 'gt', value: 100, reason: 'large payment' }],
  })
  const { door } = await runtimeWith(t, [pay])
  assert.equal((await door.call({ tool: 'pay', input: { amount: 100 } })).state, 'succeeded')
  const first = await door.call({ tool: 'pay', input: { amount: 101 }, idempotencyKey: 'k' })
  assert.deepEqual(
    [first.state, first.final, first.effect, first.failure?.id],
    ['awaiting-approval', false, 'pending', 'approval-pending'],
  )
  assert.match(first.failure?.message ?? '', /large payment/)
  const again = await door.call({ tool: 'pay', input: { amount: 101 }, idempotencyKey: 'k' })
  assert.equal(again.failure?.details.approval_id, first.failure?.details.approval_id)
  const sly = await door.call({ tool: 'pay', input: { amount: '101' }, idempotencyKey: 'k3' })
  assert.equal(sly.state, 'awaiting-approval', 'a value that cannot be compared is asked about')
  assert.equal(pay.sends.length, 1)
})

test('explain says what every stage would answer, and changes nothing', async (t) => {
  const pay = steeredTool('pay', {
    limits: { rate: '1/h' },
    approval_triggers: [{ field: '/amount', op: 'gt', value: 100 }],
  })
  const { runtime, door } = await runtimeWith(t, [pay])
  const fine = await door.explain({ tool: 'pay', input: { amount: 1 } })
  assert.equal(fine.decision, 'allow')
  assert.deepEqual(fine.stages.map((one) => one.stage).slice(0, 4), [
    'recall',
    'resolve',
    'permit',
    'validate',
  ])
  assert.equal((await door.explain({ tool: 'pay', input: { amount: 1000 } })).decision, 'require-approval')
  const denied = await runtime.as({ actor: 'b' }).explain({ tool: 'pay', input: { amount: 1 } })
  assert.deepEqual([denied.decision, denied.failure?.id], ['deny', 'permission-denied'])
  assert.equal((await door.explain({ tool: 'nope' })).decision, 'error')
  assert.equal(pay.sends.length, 0)
  assert.equal((await door.call({ tool: 'pay', input: { amount: 1 } })).state, 'succeeded')
})

test('Calls are kept and shown to their caller alone', async (t) => {
  const read = steeredTool('read', READ)
  const { runtime, door } = await runtimeWith(t, [read])
  const answer = await door.call({ tool: 'read', input: { a: 1 }, requestId: 'r-1' })
  const refused = await door.call({ tool: 'nope' })
  await settleDown(80)
  const kept = await door.getCall(answer.callId)
  assert.deepEqual([kept?.state, kept?.answer?.output], ['succeeded', { a: 1 }])
  assert.equal((await door.getCall(refused.callId))?.state, 'failed')
  assert.equal((await door.listCalls({ limit: 10 })).length, 2)
  assert.equal((await door.listCalls({ limit: 10, requestId: 'r-1' })).length, 1)
  const other = runtime.as({ actor: 'agent-b', permissions: EVERYTHING })
  assert.equal(await other.getCall(answer.callId), undefined)
  assert.equal((await other.listCalls({ limit: 10 })).length, 0)
  assert.equal(await other.cancelCall(answer.callId), 'not-found')
})
