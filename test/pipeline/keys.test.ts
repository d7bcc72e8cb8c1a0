// What a key remembers, who joins whom, and when an effect counts as repeated (S10, S13 to S20).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ToolError } from '../../src/transport/tool-error.ts'
import { EVERYTHING, gate, NATURAL, READ, runtimeWith, settleDown, steeredTool, WRITE } from './harness.ts'

test('S13: a second call with the same key is answered from the ledger and sends nothing', async (t) => {
  const pay = steeredTool('pay', WRITE)
  const { door } = await runtimeWith(t, [pay])
  const first = await door.call({ tool: 'pay', input: { amount: 1 }, requestId: 'r-1' })
  const again = await door.call({ tool: 'pay', input: { amount: 1 }, requestId: 'r-1' })
  assert.equal(first.state, 'succeeded')
  assert.deepEqual(again.output, { amount: 1 })
  assert.deepEqual([first.replayed, again.replayed], [false, true])
  assert.notEqual(first.callId, again.callId)
  assert.equal(pay.sends.length, 1)
})

test('S13: field order does not make another payload; another value does', async (t) => {
  const pay = steeredTool('pay', WRITE)
  const { door } = await runtimeWith(t, [pay])
  await door.call({ tool: 'pay', input: { amount: 1, to: 'x' }, idempotencyKey: 'k' })
  const reordered = await door.call({ tool: 'pay', input: { to: 'x', amount: 1 }, idempotencyKey: 'k' })
  assert.equal(reordered.replayed, true)
  const other = await door.call({ tool: 'pay', input: { amount: 2, to: 'x' }, idempotencyKey: 'k' })
  assert.equal(other.failure?.id, 'key-conflict')
  assert.equal(pay.sends.length, 1)
})

test('S13: two callers, two tools and two operations never share a key', async (t) => {
  const pay = steeredTool('pay', WRITE)
  const refund = steeredTool('refund', WRITE)
  const { runtime, door } = await runtimeWith(t, [pay, refund])
  const other = runtime.as({ actor: 'agent-b', permissions: EVERYTHING })
  for (const call of [door, other]) {
    for (const tool of ['pay', 'refund']) {
      const answer = await call.call({ tool, input: 1, idempotencyKey: 'same' })
      assert.equal(answer.replayed, false)
    }
  }
  assert.equal(pay.sends.length + refund.sends.length, 4)
})

test('S13: where an identity is declared, only its fields make another call; a reworded text is a warning', async (t) => {
  const mail = steeredTool('mail', {
    effect: {
      class: 'external-communication',
      identity: { fields: ['/to'], window: '1h', on_repeat: 'block' },
    },
  })
  const { door } = await runtimeWith(t, [mail])
  await door.call({ tool: 'mail', input: { to: 'a', text: 'hello' }, idempotencyKey: 'k' })
  const reworded = await door.call({
    tool: 'mail',
    input: { to: 'a', text: 'hi there' },
    idempotencyKey: 'k',
  })
  assert.equal(reworded.replayed, true)
  assert.match(reworded.warnings.join(), /first one counts/)
  const other = await door.call({ tool: 'mail', input: { to: 'b', text: 'hello' }, idempotencyKey: 'k' })
  assert.equal(other.failure?.id, 'key-conflict')
})

test('S10: calls with one key that arrive together share one send and one outcome', async (t) => {
  const pay = steeredTool('pay', WRITE)
  const { door } = await runtimeWith(t, [pay])
  const hold = gate<number>()
  pay.behave(() => hold.opened)
  const calls = Array.from({ length: 8 }, () => door.call({ tool: 'pay', input: 1, idempotencyKey: 'k' }))
  await settleDown()
  hold.open(7)
  const answers = await Promise.all(calls)
  assert.deepEqual(
    answers.map((one) => one.output),
    Array(8).fill(7),
  )
  assert.equal(answers.filter((one) => one.replayed).length, 7)
  assert.equal(pay.sends.length, 1)
})

test('S10: a joiner keeps its own wait, and is told that the call still runs', async (t) => {
  const pay = steeredTool('pay', WRITE)
  const { door } = await runtimeWith(t, [pay])
  const hold = gate<number>()
  pay.behave(() => hold.opened)
  const owner = door.start({ tool: 'pay', input: 1, idempotencyKey: 'k' })
  await settleDown()
  const joined = await door.call({
    tool: 'pay',
    input: 1,
    idempotencyKey: 'k',
    deadlineUnixMs: Date.now() + 30,
  })
  assert.deepEqual([joined.state, joined.final, joined.effect], ['running', false, 'pending'])
  hold.open(1)
  assert.equal((await owner.answer()).state, 'succeeded')
  const kept = await door.getCall(joined.callId)
  assert.equal(kept?.state, 'succeeded', 'the joiner that left learns the outcome by its own id')
})

test('S10: when the owner ends retryably, the joiner with the most time left takes over', async (t) => {
  const pay = steeredTool('pay', WRITE)
  const { door } = await runtimeWith(t, [pay])
  const hold = gate<void>()
  pay.behave(async () => {
    if (pay.sends.length > 1) return 'second'
    await hold.opened
    throw new ToolError('not now', { effect: 'none', code: 'rate_limited' })
  })
  const owner = door.call({ tool: 'pay', input: 1, idempotencyKey: 'k' })
  await settleDown()
  const joiners = [
    door.call({ tool: 'pay', input: 1, idempotencyKey: 'k', deadlineUnixMs: Date.now() + 5_000 }),
    door.call({ tool: 'pay', input: 1, idempotencyKey: 'k' }),
  ]
  await settleDown()
  hold.open()
  assert.equal((await owner).failure?.id, 'upstream-throttled')
  const [short, long] = await Promise.all(joiners)
  assert.deepEqual([short?.output, long?.output], ['second', 'second'])
  assert.deepEqual([short?.replayed, long?.replayed], [true, false])
  assert.deepEqual(
    pay.sends.map((one) => one.attempt),
    [1, 2],
  )
  assert.equal(new Set(pay.sends.map((one) => one.key)).size, 1)
})

test('S14: the same effect under another key is blocked, and the earlier call is named', async (t) => {
  const pay = steeredTool('pay', { effect: { class: 'irreversible', identity: ['/order'] } })
  const { runtime, door } = await runtimeWith(t, [pay])
  const named = runtime.as({ actor: 'agent-a', permissions: ['tool:pay:invoke'] })
  const first = await named.call({ tool: 'pay', input: { order: 'o-1', note: 'one' } })
  assert.equal(first.state, 'succeeded')
  const second = await named.call({ tool: 'pay', input: { order: 'o-1', note: 'another wording' } })
  assert.equal(second.failure?.id, 'effect-repeated')
  assert.equal(second.failure?.details.call_id, first.callId)
  assert.equal(second.output, undefined)
  assert.equal((await named.call({ tool: 'pay', input: { order: 'o-2' } })).state, 'succeeded')
  assert.equal(pay.sends.length, 2)
  void door
})

test('S14: two calls with one identity that race send once', async (t) => {
  const pay = steeredTool('pay', { effect: { class: 'external-communication', identity: ['/order'] } })
  const { door } = await runtimeWith(t, [pay])
  const answers = await Promise.all(
    Array.from({ length: 6 }, () => door.call({ tool: 'pay', input: { order: 1 } })),
  )
  assert.equal(answers.filter((one) => one.state === 'succeeded').length, 1)
  assert.equal(answers.filter((one) => one.failure?.id === 'effect-repeated').length, 5)
  assert.equal(pay.sends.length, 1)
})

test("S14: on_repeat replay shows a caller its own outcome, and never another caller's", async (t) => {
  const pay = steeredTool('pay', {
    effect: { class: 'external-communication', identity: { fields: ['/order'], on_repeat: 'replay' } },
  })
  const { runtime, door } = await runtimeWith(t, [pay])
  await door.call({ tool: 'pay', input: { order: 1, text: 'secret' } })
  const own = await door.call({ tool: 'pay', input: { order: 1, text: 'other' } })
  assert.deepEqual([own.replayed, own.output], [true, { order: 1, text: 'secret' }])
  const other = await runtime
    .as({ actor: 'agent-b', permissions: EVERYTHING })
    .call({ tool: 'pay', input: { order: 1 } })
  assert.equal(other.failure?.id, 'effect-repeated')
  assert.equal(other.output, undefined)
})

test('S14: on_repeat approve makes the repeat wait for somebody', async (t) => {
  const pay = steeredTool('pay', {
    effect: { class: 'external-communication', identity: { fields: ['/order'], on_repeat: 'approve' } },
  })
  const { door } = await runtimeWith(t, [pay])
  await door.call({ tool: 'pay', input: { order: 1 } })
  const second = await door.call({ tool: 'pay', input: { order: 1 } })
  assert.equal(second.state, 'awaiting-approval')
  assert.equal(pay.sends.length, 1)
})

test('S15: a tool that demands a key does not take a request id for one', async (t) => {
  const pay = steeredTool('pay', { effect: { class: 'external-communication', key: 'required' } })
  const { door } = await runtimeWith(t, [pay])
  assert.equal((await door.call({ tool: 'pay', requestId: 'r' })).failure?.id, 'key-missing')
  assert.equal((await door.call({ tool: 'pay', idempotencyKey: 'r' })).state, 'succeeded')
})

test('S16: invalid and denied calls leave the key as it was', async (t) => {
  const pay = steeredTool('pay', WRITE, {
    type: 'object',
    properties: { amount: { type: 'number' } },
    required: ['amount'],
  })
  const { runtime, door } = await runtimeWith(t, [pay])
  assert.equal((await door.call({ tool: 'pay', input: {}, requestId: 'r' })).state, 'invalid')
  assert.equal(
    (await runtime.as({ actor: 'agent-a' }).call({ tool: 'pay', input: { amount: 1 }, requestId: 'r' }))
      .state,
    'denied',
  )
  const answer = await door.call({ tool: 'pay', input: { amount: 1 }, requestId: 'r' })
  assert.deepEqual([answer.state, answer.replayed], ['succeeded', false])
})

test('S16: a failure that is retryable with nothing done is continued: attempt numbers and the key go on', async (t) => {
  const pay = steeredTool('pay', WRITE)
  const { door } = await runtimeWith(t, [pay])
  pay.behave(() => {
    if (pay.sends.length < 3) throw new ToolError('busy', { effect: 'none', code: 'rate_limited' })
    return 'done'
  })
  const answers = []
  for (let i = 0; i < 4; i++) answers.push(await door.call({ tool: 'pay', input: 1, idempotencyKey: 'k' }))
  assert.deepEqual(
    answers.map((one) => one.state),
    ['failed', 'failed', 'succeeded', 'succeeded'],
  )
  assert.deepEqual(
    answers.map((one) => one.replayed),
    [false, false, false, true],
  )
  assert.deepEqual(
    answers.map((one) => one.usage.attempt),
    [1, 2, 3, 3],
  )
  assert.deepEqual(
    pay.sends.map((one) => one.attempt),
    [1, 2, 3],
  )
})

test('S16: what failed for good is replayed, never run again', async (t) => {
  const pay = steeredTool('pay', WRITE)
  const { door } = await runtimeWith(t, [pay])
  pay.behave(() => {
    throw new ToolError('no such account', { effect: 'none', code: 'invalid_input' })
  })
  const first = await door.call({ tool: 'pay', input: 1, idempotencyKey: 'k' })
  const second = await door.call({ tool: 'pay', input: 1, idempotencyKey: 'k' })
  assert.deepEqual([first.effect, first.failure?.retryable], ['not-done', false])
  assert.deepEqual([second.replayed, second.failure?.id], [true, first.failure?.id])
  assert.equal(pay.sends.length, 1)
})

test('S16: an unknown effect holds its key; asking again never sends', async (t) => {
  const pay = steeredTool('pay', WRITE)
  const { door } = await runtimeWith(t, [pay])
  pay.behave(() => {
    throw new Error('lost')
  })
  const first = await door.call({ tool: 'pay', input: 1, idempotencyKey: 'k' })
  assert.deepEqual(
    [first.state, first.final, first.effect, first.failure?.retryable],
    ['unknown', false, 'unknown', false],
  )
  const second = await door.call({ tool: 'pay', input: 1, idempotencyKey: 'k' })
  assert.deepEqual(
    [second.failure?.id, second.effect, second.state],
    ['outcome-unknown', 'unknown', 'unknown'],
  )
  assert.equal(second.failure?.details.call_id, first.callId)
  assert.equal(pay.sends.length, 1)
})

test('S16: where a repeat is harmless, a later call finds out what became of the first', async (t) => {
  const put = steeredTool('put', NATURAL)
  const { door } = await runtimeWith(t, [put])
  put.behave(() => {
    if (put.sends.length === 1) throw new Error('lost')
    return 'stored'
  })
  const first = await door.call({ tool: 'put', input: 1, idempotencyKey: 'k' })
  assert.deepEqual(
    [first.state, first.final, first.effect, first.failure?.retryable],
    ['failed', true, 'unknown', true],
  )
  const second = await door.call({ tool: 'put', input: 1, idempotencyKey: 'k' })
  assert.deepEqual([second.state, second.effect, second.usage.attempt], ['succeeded', 'done', 2])
})

test('S17: a dry run reads the key, sends nothing, reserves nothing and is never replayed', async (t) => {
  const pay = steeredTool('pay', { limits: { rate: '1/h' } })
  const { door } = await runtimeWith(t, [pay])
  for (let i = 0; i < 3; i++) {
    const dry = await door.call({ tool: 'pay', input: 1, idempotencyKey: 'k', dryRun: true })
    assert.equal(dry.state, 'succeeded')
    assert.equal((dry.output as { dry_run: boolean }).dry_run, true)
  }
  assert.equal(pay.sends.length, 0)
  const real = await door.call({ tool: 'pay', input: 1, idempotencyKey: 'k' })
  assert.deepEqual([real.state, real.replayed, real.output], ['succeeded', false, 1])
  assert.equal(
    (await door.call({ tool: 'pay', input: 2, idempotencyKey: 'k2', dryRun: true })).failure?.id,
    'rate-limited',
  )
})

test('S19: the tool gets a key that is not the caller its own, equal on every attempt', async (t) => {
  const read = steeredTool('read', { ...READ, runtime: { retry: { max_attempts: 3 } } })
  const { door } = await runtimeWith(t, [read])
  read.behave(() => {
    if (read.sends.length < 3) throw new Error('flaky')
    return 1
  })
  await door.call({ tool: 'read', idempotencyKey: 'my-own-key' })
  assert.equal(new Set(read.sends.map((one) => one.key)).size, 1)
  assert.match(read.sends[0]?.key ?? '', /^[A-Za-z0-9_-]{43}$/)
  assert.ok(!read.sends[0]?.key.includes('my-own-key'))
  assert.deepEqual(
    read.sends.map((one) => one.attempt),
    [1, 2, 3],
  )
})

test('S20: reads with one key join while they run and are replayed afterwards', async (t) => {
  const read = steeredTool('read', READ)
  const { door } = await runtimeWith(t, [read])
  const both = await Promise.all([1, 2].map(() => door.call({ tool: 'read', input: 'x', requestId: 'r' })))
  assert.deepEqual(
    both.map((one) => one.effect),
    ['none', 'none'],
  )
  assert.equal(read.sends.length, 1)
  await settleDown(80)
  assert.equal((await door.call({ tool: 'read', input: 'x', requestId: 'r' })).replayed, true)
  assert.equal(read.sends.length, 1)
})
