// What may be sent again, by what the tool declares (S21 to S24), and what cancel and time do to a send (S9, S11).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ToolError } from '../../src/transport/tool-error.ts'
import { gate, NATURAL, READ, runtimeWith, settleDown, steeredTool, UNDECLARED, WRITE } from './harness.ts'
import { until } from './until.ts'

const RETRIES = {
  runtime: { timeout: '1s', retry: { max_attempts: 3, backoff: '1ms', max_backoff: '2ms' } },
} as const
const KEYED = {
  effect: {
    class: 'external-communication',
    determinism: 'idempotent',
    idempotency: { keyed: { header: 'Idempotency-Key', retention: '1h' } },
  },
} as const

test('S22: only reads and declared idempotent tools are sent again after a byte may have left', async (t) => {
  const cases = [
    { name: 'read', spec: READ, sends: 3, effect: 'none', retryable: true },
    { name: 'natural', spec: NATURAL, sends: 3, effect: 'unknown', retryable: true },
    { name: 'keyed', spec: KEYED, sends: 3, effect: 'unknown', retryable: true },
    { name: 'write', spec: WRITE, sends: 1, effect: 'unknown', retryable: false },
    { name: 'undeclared', spec: UNDECLARED, sends: 1, effect: 'unknown', retryable: false },
    {
      name: 'queryable',
      spec: {
        effect: {
          class: 'external-communication',
          status_query: { operation: 'status', quiet: '50ms' },
        },
      },
      sends: 1,
      effect: 'unknown',
      retryable: false,
    },
  ] as const
  for (const { name, spec, sends, effect, retryable } of cases) {
    const tool = steeredTool(name, { ...spec, ...RETRIES })
    const { runtime } = await runtimeWith(t, [tool])
    const door = runtime.as({ actor: 'agent-a', permissions: [`tool:${name}:invoke`] })
    tool.behave(() => {
      throw new Error('crash')
    })
    const answer = await door.call({ tool: name, input: 1 })
    assert.equal(tool.sends.length, sends, name)
    assert.deepEqual([answer.effect, answer.failure?.retryable], [effect, retryable], name)
    assert.equal(answer.usage.attempt, sends, name)
    if (sends > 1) assert.equal(answer.failure?.details.exhausted, 'attempts', name)
    else
      assert.equal(answer.failure?.details.transient, true, `${name}: S24 says that the fault was transient`)
  }
})

test('S23: an error that the tool declares to have had no effect is definite, and a write may try again', async (t) => {
  const pay = steeredTool('pay', { ...RETRIES, errors: [{ code: 'busy', effect: 'none' }] })
  const { door } = await runtimeWith(t, [pay])
  pay.behave(() => {
    if (pay.sends.length < 2) throw new ToolError('later', { code: 'busy' })
    return 'ok'
  })
  const answer = await door.call({ tool: 'pay', input: 1 })
  assert.equal(answer.effect === 'not-done' || answer.state === 'succeeded', true)
  assert.ok(pay.sends.length <= 2)
})

test("S24: a tool's own retryable counts where a repeat is harmless, and is only told elsewhere", async (t) => {
  for (const [name, spec, retryable] of [
    ['read', READ, true],
    ['write', WRITE, false],
  ] as const) {
    const tool = steeredTool(name, spec)
    const { door } = await runtimeWith(t, [tool])
    tool.behave(() => {
      throw new ToolError('again please', { code: 'weird', retryable: true })
    })
    const { failure } = await door.call({ tool: name })
    assert.equal(failure?.retryable, retryable, name)
    assert.equal(failure?.details.transient, retryable ? undefined : true, name)
  }
})

test('S24: a tool that says it is not retryable is believed', async (t) => {
  const read = steeredTool('read', { ...READ, ...RETRIES })
  const { door } = await runtimeWith(t, [read])
  read.behave(() => {
    throw new ToolError('never', { retryable: false })
  })
  assert.equal((await door.call({ tool: 'read' })).failure?.retryable, false)
  assert.equal(read.sends.length, 1)
})

test('A timeout of a read is retryable; of a write it is unknown, and nothing is sent again', async (t) => {
  const read = steeredTool('read', { ...READ })
  const write = steeredTool('write', { ...WRITE, runtime: { retry: { max_attempts: 5 } } })
  const { door } = await runtimeWith(t, [read, write])
  for (const tool of [read, write]) tool.behave(() => new Promise(() => {}))
  const slow = await door.call({ tool: 'read', timeoutMs: 150 })
  assert.deepEqual(
    [slow.state, slow.failure?.id, slow.failure?.retryable, slow.effect],
    ['timed-out', 'timeout', true, 'none'],
  )
  const lost = await door.call({ tool: 'write', timeoutMs: 150 })
  assert.deepEqual(
    [lost.state, lost.failure?.id, lost.failure?.retryable, lost.effect],
    ['unknown', 'timeout-unknown-commit', false, 'unknown'],
  )
  assert.equal(write.sends.length, 1)
})

test('S9: execution never passes the deadline of the caller, retries and backoff included', async (t) => {
  const read = steeredTool('read', {
    ...READ,
    runtime: { timeout: '1s', retry: { max_attempts: 50, backoff: '20ms' } },
  })
  const { door } = await runtimeWith(t, [read])
  read.behave(() => {
    throw new Error('always')
  })
  const started = performance.now()
  const answer = await door.call({ tool: 'read', deadlineUnixMs: Date.now() + 120 })
  assert.ok(performance.now() - started < 1_000)
  assert.equal(answer.failure?.retryable, true)
  assert.equal(answer.failure?.details.exhausted, 'deadline')
  assert.ok(read.sends.length > 1)
})

test('S11: cancel before anything was sent is canceled, stored, and replayed', async (t) => {
  const pay = steeredTool('pay', WRITE)
  const { door } = await runtimeWith(t, [pay])
  const handle = door.start({ tool: 'pay', input: 1, idempotencyKey: 'k' })
  handle.cancel()
  const answer = await handle.answer()
  assert.equal(answer.state, 'canceled')
  assert.equal(pay.sends.length, 0)
})

test('S11: cancel after the send is canceled for a read, unknown for a write that did not confirm', async (t) => {
  const read = steeredTool('read', READ)
  const write = steeredTool('write', WRITE)
  const { door } = await runtimeWith(t, [read, write])
  for (const tool of [read, write]) tool.behave(() => new Promise(() => {}))
  const reading = door.start({ tool: 'read' })
  const writing = door.start({ tool: 'write', idempotencyKey: 'k' })
  await settleDown(20)
  reading.cancel()
  writing.cancel()
  const [one, two] = await Promise.all([reading.answer(), writing.answer()])
  assert.deepEqual([one.state, one.effect, one.failure?.id], ['canceled', 'none', 'canceled'])
  assert.deepEqual([two.state, two.effect, two.failure?.id], ['unknown', 'unknown', 'canceled'])
})

test('S11: hanging up ends an unshared read and nothing else', async (t) => {
  const read = steeredTool('read', READ)
  const write = steeredTool('write', WRITE)
  const { door } = await runtimeWith(t, [read, write])
  const hold = gate<string>()
  for (const tool of [read, write]) tool.behave(() => hold.opened)
  const alone = door.start({ tool: 'read', requestId: 'alone' })
  const shared = door.start({ tool: 'read', requestId: 'shared' })
  const joiner = door.start({ tool: 'read', requestId: 'shared' })
  const writing = door.start({ tool: 'write' })
  await settleDown(20)
  for (const handle of [alone, shared, writing]) handle.hangUp()
  await settleDown()
  hold.open('ok')
  assert.equal((await alone.answer()).state, 'canceled')
  assert.deepEqual(
    (await Promise.all([shared.answer(), joiner.answer(), writing.answer()])).map((one) => one.state),
    Array(3).fill('succeeded'),
  )
})

test('An output that breaks its schema is no success: unknown for a write, failed for a read', async (t) => {
  const schema = { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] }
  const read = steeredTool('read', { ...READ, output_schema: schema })
  const write = steeredTool('write', { ...WRITE, output_schema: schema })
  const { door } = await runtimeWith(t, [read, write])
  for (const tool of [read, write]) tool.behave(() => ({ id: 7 }))
  const one = await door.call({ tool: 'read' })
  const two = await door.call({ tool: 'write' })
  assert.deepEqual(
    [one.failure?.id, one.effect, one.final, one.output],
    ['output-invalid', 'none', true, undefined],
  )
  assert.deepEqual(
    [two.failure?.id, two.effect, two.final, two.output],
    ['output-invalid', 'unknown', false, undefined],
  )
  assert.match(JSON.stringify(one.failure?.details.violations), /\/id/)
})

test('S28: a handler that ignores its signal does not hold the call, and its late answer settles the effect', async (t) => {
  const write = steeredTool('write', WRITE)
  const { door } = await runtimeWith(t, [write])
  const hold = gate<string>()
  write.behave(() => hold.opened)
  const answer = await door.call({ tool: 'write', idempotencyKey: 'k', timeoutMs: 150 })
  assert.equal(answer.state, 'unknown')
  hold.open('late')
  await until(async () => (await door.getCall(answer.callId))?.answer?.final)
  const again = await door.call({ tool: 'write', idempotencyKey: 'k' })
  assert.deepEqual([again.output, again.replayed, write.sends.length], ['late', true, 1])
})
