// What a start makes of what an earlier life of the process left behind (S36, S18).
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { createLocalAdmin } from '../../src/contract/caller.ts'
import { createEvents } from '../../src/event/event.ts'
import { createRuntime, createWorld, type RuntimeOptions } from '../../src/runtime.ts'
import type { Runtime } from '../../src/runtime-api.ts'
import { createMemoryData } from '../../src/store/memory/memory-data.ts'
import { createMemoryStore } from '../../src/store/memory/memory-store.ts'
import type { Json } from '../../src/util/json.ts'
import {
  EVERYTHING,
  FENCING,
  NATURAL,
  READ,
  type SteeredTool,
  settleDown,
  steeredTool,
  WRITE,
} from '../pipeline/harness.ts'
import { until } from '../pipeline/until.ts'

/** A runtime that is left hanging in the middle of its calls, as a killed process is, and one that starts after it. */
async function afterCrash(t: TestContext, tool: SteeredTool, options: Partial<RuntimeOptions> = {}) {
  const real = createWorld()
  let dead = false
  // Nothing fires in a process that was killed.
  const alive = (run: () => void) => () => {
    if (!dead) run()
  }
  const world = {
    ...real,
    after: (ms: number, run: () => void) => real.after(ms, alive(run)),
    soon: (run: () => void) => real.soon(alive(run)),
  }
  const data = createMemoryData()
  const common = { onWarning: () => {}, tools: [tool.definition], ...options }
  const store = await createMemoryStore({ world, data })
  const first = await createRuntime({ ...common, world, store: { kind: 'given', store } })
  const events = createEvents()
  const heard: { unknown: number; closed: number }[] = []
  events.on('recovery:ended', (event) => heard.push(event))
  const opened: Runtime[] = [first]
  t.after(async () => {
    for (const runtime of opened) await runtime.close({ drainMs: 0 })
    await world.network.destroy()
  })
  return {
    kill() {
      dead = true
      opened.shift()
    },
    first: first.as({ actor: 'a', permissions: EVERYTHING }),
    heard,
    async next(permissions = EVERYTHING) {
      const life = { ...real, epoch: real.id() }
      const later = await createMemoryStore({ world: life, data })
      const second = await createRuntime({
        ...common,
        world: life,
        store: { kind: 'given', store: later },
        events,
      })
      opened.push(second)
      return second.as({ actor: 'a', permissions })
    },
  }
}

test('S36: an entry that was intended and not settled becomes unknown, and one that cannot be asked about is never sent again', async (t) => {
  const pay = steeredTool('pay', WRITE)
  const crash = await afterCrash(t, pay)
  pay.behave(() => new Promise(() => {}))
  const handle = crash.first.start({ tool: 'pay', input: 1, idempotencyKey: 'k' })
  await until(() => pay.sends.length === 1)

  const door = await crash.next()
  assert.deepEqual(crash.heard, [{ unknown: 1, closed: 0 }])
  const kept = await door.getCall(handle.id)
  assert.deepEqual(
    [kept?.state, kept?.effect, kept?.answer?.failure?.id],
    ['unknown', 'unknown', 'interrupted'],
  )
  assert.notEqual(kept?.answer?.trace.traceId, '', 'the answer still belongs to its trace')
  const again = await door.call({ tool: 'pay', input: 1, idempotencyKey: 'k' })
  assert.equal(again.failure?.id, 'outcome-unknown')
  await settleDown(50)
  assert.equal(pay.sends.length, 1)
  await crash.next()
  assert.deepEqual(crash.heard[1], { unknown: 0, closed: 0 }, 'what was taken over is not taken over again')
})

test('S35: what the process that was taken over still brings home does not stand over what was made of it', async (t) => {
  const pay = steeredTool('pay', WRITE)
  const crash = await afterCrash(t, pay)
  const reply = Promise.withResolvers<unknown>()
  pay.behave(() => reply.promise)
  const handle = crash.first.start({ tool: 'pay', input: 1, idempotencyKey: 'k' })
  await until(() => pay.sends.length === 1)
  const door = await crash.next()
  reply.resolve('paid')
  const told = await handle.answer()
  assert.deepEqual([told.state, told.failure?.id], ['unknown', 'outcome-not-recorded'])
  assert.equal((await door.getCall(handle.id))?.state, 'unknown')
})

test('S36: an orphan whose repeat is harmless is sent again by itself, and its call ends with what came back', async (t) => {
  const put = steeredTool('put', NATURAL)
  const crash = await afterCrash(t, put)
  put.behave(() => new Promise(() => {}))
  const handle = crash.first.start({ tool: 'put', input: { to: 1 }, idempotencyKey: 'k' })
  await until(() => put.sends.length === 1)
  put.behave(() => 'put')
  const door = await crash.next()
  const ended = await until(async () => {
    const call = await door.getCall(handle.id)
    return call?.answer?.final ? call : undefined
  })
  assert.deepEqual([ended.state, ended.effect, ended.answer?.output], ['succeeded', 'done', 'put'])
  assert.deepEqual(
    put.sends.map((send) => [send.attempt, send.input, send.callId]),
    [
      [1, { to: 1 }, handle.id],
      [2, { to: 1 }, handle.id],
    ],
  )
  assert.equal(put.sends[0]?.key, put.sends[1]?.key)
})

test('S36: an orphan whose caller has stopped listening is not sent again, and stays unknown', async (t) => {
  const put = steeredTool('put', NATURAL)
  const crash = await afterCrash(t, put)
  put.behave(() => new Promise(() => {}))
  const gone = crash.first.start({
    tool: 'put',
    input: 1,
    idempotencyKey: 'k',
    deadlineUnixMs: Date.now() + 60,
  })
  await until(() => put.sends.length === 1)
  crash.kill()
  await settleDown(70)
  put.behave(() => 'put')
  const door = await crash.next()
  await settleDown(50)
  assert.equal((await door.getCall(gone.id))?.state, 'unknown')
  assert.equal(put.sends.length, 1, 'its caller stopped listening: nothing is started for it any more')
})

test('S27, S36: an orphan that can be asked about is asked, and settled by what the tool says', async (t) => {
  const pay = steeredTool('pay', FENCING)
  const crash = await afterCrash(t, pay)
  pay.behave(() => new Promise(() => {}))
  const done = crash.first.start({ tool: 'pay', input: 1, idempotencyKey: 'done' })
  const not = crash.first.start({ tool: 'pay', input: 2, idempotencyKey: 'not' })
  await until(() => pay.sends.length === 2)
  pay.say((question) =>
    (question as { input: Json }).input === 1 ? { state: 'done', output: 'paid' } : { state: 'not_done' },
  )
  const door = await crash.next()
  const settled = await until(async () => {
    const calls = await Promise.all([door.getCall(done.id), door.getCall(not.id)])
    return calls.every((call) => call?.answer?.final) ? calls : undefined
  })
  assert.deepEqual(
    settled.map((call) => [
      call?.state,
      call?.effect,
      call?.answer?.output,
      call?.answer?.failure?.retryable,
    ]),
    [
      ['succeeded', 'done', 'paid', undefined],
      ['failed', 'not-done', undefined, true],
    ],
  )
  assert.equal(pay.sends.length, 2)
  pay.behave(() => 'paid later')
  const again = await door.call({ tool: 'pay', input: 2, idempotencyKey: 'not' })
  assert.deepEqual(
    [again.output, again.usage.attempt],
    ['paid later', 2],
    'the next attempt of the same entry',
  )
  const replay = await door.call({ tool: 'pay', input: 1, idempotencyKey: 'done' })
  assert.deepEqual([replay.output, replay.replayed], ['paid', true])
})

test('A call that was accepted and never got an entry is closed as retryable, since nothing was sent', async (t) => {
  const read = steeredTool('read', READ)
  const crash = await afterCrash(t, read)
  read.behave(() => new Promise(() => {}))
  const handle = crash.first.start({ tool: 'read', requestId: 'r' })
  await handle.accepted()
  const kept = await (await crash.next()).getCall(handle.id)
  assert.deepEqual([kept?.state, kept?.effect, kept?.answer?.failure?.retryable], ['failed', 'none', true])
})

test('S18: what is past its lifetime is erased, and its key answers key-expired until that is forgotten, too', async (t) => {
  const pay = steeredTool('pay', WRITE)
  const world = createWorld()
  const store = await createMemoryStore({ world })
  const runtime = await createRuntime({ world, store: { kind: 'given', store }, tools: [pay.definition] })
  t.after(async () => {
    await runtime.close({ drainMs: 0 })
    await world.network.destroy()
  })
  const door = runtime.as({ actor: 'a', permissions: EVERYTHING })
  const done = await door.call({ tool: 'pay', input: { amount: 1 }, idempotencyKey: 'done' })
  pay.behave(() => {
    throw new Error('lost')
  })
  await door.call({ tool: 'pay', input: { amount: 1 }, idempotencyKey: 'unknown' })
  assert.ok((await store.entries.erase(world.clock.now() + 1, 100)) > 0)
  const expired = await door.call({ tool: 'pay', input: { amount: 1 }, idempotencyKey: 'done' })
  assert.equal(expired.failure?.id, 'key-expired')
  assert.equal(expired.failure?.details.call_id, done.callId)
  const held = await door.call({ tool: 'pay', input: { amount: 1 }, idempotencyKey: 'unknown' })
  assert.equal(held.failure?.id, 'outcome-unknown', 'an unknown entry is never erased')
  assert.equal(pay.sends.length, 2)
  assert.ok((await store.entries.forget(world.clock.now() + 1, 100)) > 0)
  pay.behave(() => 'new')
  assert.equal((await door.call({ tool: 'pay', input: { amount: 1 }, idempotencyKey: 'done' })).output, 'new')
})

test('S13, S27: an effect in question is still asked about after its tool was changed in place, or deleted', async (t) => {
  const asked: string[] = []
  const service = createServer((request, response) => {
    if (request.method === 'GET') {
      asked.push(request.url ?? '')
      response.setHeader('content-type', 'application/json').end(asked.length > 1 ? '{"state":"done"}' : '{}')
    } else request.socket.destroy()
  })
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve))
  t.after(() => service.close())
  const { port } = service.address() as AddressInfo
  const runtime = await createRuntime({ onWarning: () => {} })
  t.after(() => runtime.close({ drainMs: 0 }))
  const apply = (timeout: string) =>
    runtime.resources.apply([
      {
        file: 'pay.yaml',
        text: `
apiVersion: writ.dev/v1
kind: Tool
metadata: { name: pay }
spec:
  type: http
  endpoint: http://127.0.0.1:${port}/
  runtime: { timeout: ${timeout} }
  effect:
    class: external-communication
    status_query: { method: GET, url: 'http://127.0.0.1:${port}/{key}', state: /state, done: done, not_done: no, fencing: true }
`,
      },
    ])
  assert.deepEqual(
    (await apply('100ms')).problems.filter((one) => one.severity === 'error'),
    [],
  )
  const door = runtime.as(createLocalAdmin())
  const call = door.start({ tool: 'pay', input: 1, deadlineUnixMs: Date.now() + 400 })
  const answer = await call.answer()
  assert.equal(answer.state, 'unknown')
  assert.deepEqual(
    (await apply('200ms')).problems.filter((one) => one.severity === 'error'),
    [],
  )
  await runtime.resources.delete({ namespace: 'default', kind: 'Tool', name: 'pay' })
  const settled = await until(async () => {
    const found = await door.getCall(answer.callId)
    return found?.answer?.final ? found : undefined
  })
  assert.equal(settled.effect, 'done')
})
