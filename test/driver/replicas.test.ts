// Several processes over one store: leases, joining, taking over, canceling, shares (S10, S11, S35, S38).
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createLocalAdmin } from '../../src/contract/caller.ts'
import { createEvents } from '../../src/event/event.ts'
import { createRuntime, createWorld } from '../../src/runtime.ts'
import type { CallerDoor, Runtime } from '../../src/runtime-api.ts'
import { createMemoryData } from '../../src/store/memory/memory-data.ts'
import { createMemoryStore } from '../../src/store/memory/memory-store.ts'
import { type Store, StoreUnavailable } from '../../src/store/store.ts'
import {
  EVERYTHING,
  FENCING,
  NATURAL,
  READ,
  type SteeredTool,
  steeredTool,
  WRITE,
} from '../pipeline/harness.ts'
import { until } from '../pipeline/until.ts'

const LEASE_MS = 400

interface Replica {
  readonly runtime: Runtime
  readonly door: CallerDoor
  readonly store: Store
  readonly ended: string[]
  /** As a stopped process: nothing happens in it until it goes on. */
  freeze(): void
  thaw(): void
}

function place(t: TestContext, tools: readonly SteeredTool[]) {
  const data = createMemoryData()
  const world = createWorld()
  const opened: Runtime[] = []
  t.after(async () => {
    for (const runtime of opened) await runtime.close({ drainMs: 0 })
    await world.network.destroy()
  })
  return async (through: (store: Store) => Store = (store) => store): Promise<Replica> => {
    let frozen: (() => void)[] | undefined
    // Nothing fires in a frozen process until it goes on.
    const held = (run: () => void) => () => {
      if (frozen === undefined) run()
      else frozen.push(run)
    }
    const life = {
      ...world,
      epoch: world.id(),
      after: (ms: number, run: () => void) => world.after(ms, held(run)),
      soon: (run: () => void) => world.soon(held(run)),
    }
    const store = through(await createMemoryStore({ world: life, data, leaseMs: LEASE_MS }))
    const events = createEvents()
    const ended: string[] = []
    events.on('life:ended', ({ epoch }) => ended.push(epoch))
    const runtime = await createRuntime({
      world: life,
      store: { kind: 'given', store },
      events,
      onWarning: () => {},
      tools: tools.map((tool) => tool.definition),
    })
    opened.push(runtime)
    return {
      runtime,
      door: runtime.as({ actor: 'a', permissions: EVERYTHING }),
      store,
      ended,
      freeze() {
        frozen = []
      },
      thaw() {
        const waiting = frozen ?? []
        frozen = undefined
        for (const run of waiting) run()
      },
    }
  }
}

const ready = (replica: Replica) => until(async () => (await replica.runtime.health()).ready)

test('S10: a call joined on one replica is answered when another one settles it', async (t) => {
  const pay = steeredTool('pay', WRITE)
  const reply = Promise.withResolvers<unknown>()
  pay.behave(() => reply.promise)
  const start = place(t, [pay])
  const [a, b] = [await start(), await start()]
  await Promise.all([ready(a), ready(b)])
  const owner = a.door.start({ tool: 'pay', input: 1, idempotencyKey: 'k' })
  await until(() => pay.sends.length === 1)
  const joiner = b.door.start({ tool: 'pay', input: 1, idempotencyKey: 'k' })
  await until(async () => (await b.door.getCall(joiner.id))?.entryId !== undefined)
  reply.resolve('paid')
  const [first, second] = await Promise.all([owner.answer(), joiner.answer()])
  assert.deepEqual([first.output, first.replayed], ['paid', false])
  assert.deepEqual([second.output, second.replayed], ['paid', true])
  assert.equal(pay.sends.length, 1)
})

test('S13: of two replicas that claim one key at the same moment one sends, and the other hears how it ended', async (t) => {
  const pay = steeredTool('pay', WRITE)
  const start = place(t, [pay])
  const [a, b] = [await start(), await start()]
  await Promise.all([ready(a), ready(b)])
  for (let round = 0; round < 20; round++) {
    const request = { tool: 'pay', input: round, idempotencyKey: `k${round}` }
    const answers = await Promise.all([a.door.call(request), b.door.call(request)])
    assert.deepEqual(
      answers.map((answer) => [answer.state, answer.output]),
      [
        ['succeeded', round],
        ['succeeded', round],
      ],
    )
    assert.equal(pay.sends.length, round + 1)
  }
})

test('S34: a read that one replica has accepted and still runs is shown as running by the others', async (t) => {
  const look = steeredTool('look', READ)
  const reply = Promise.withResolvers<unknown>()
  look.behave(() => reply.promise)
  const start = place(t, [look])
  const [a, b] = [await start(), await start()]
  await Promise.all([ready(a), ready(b)])
  const owner = a.door.start({ tool: 'look', idempotencyKey: 'k' })
  await owner.accepted()
  await until(() => look.sends.length === 1)
  const shown = await b.door.getCall(owner.id)
  assert.deepEqual(
    [shown?.state, shown?.answer?.final, shown?.answer?.failure],
    ['running', false, undefined],
  )
  assert.deepEqual(
    (await b.door.listCalls({ limit: 10 })).map(({ id, state }) => [id, state]),
    [[owner.id, 'running']],
  )
  reply.resolve('seen')
  assert.equal((await owner.answer()).state, 'succeeded')
  const ended = await until(async () => {
    const now = await b.door.getCall(owner.id)
    return now?.state === 'running' ? undefined : now
  })
  assert.deepEqual([ended.state, ended.answer?.output], ['succeeded', 'seen'])
})

test('S35: what a frozen replica left is taken over after its lease, and it can neither send nor settle any more', async (t) => {
  const put = steeredTool('put', NATURAL)
  const start = place(t, [put])
  const [a, b] = [await start(), await start()]
  await Promise.all([ready(a), ready(b)])
  put.behave(() => new Promise(() => {}))
  const owner = a.door.start({ tool: 'put', input: 1, idempotencyKey: 'k' })
  await until(() => put.sends.length === 1)
  put.behave(() => 'put by the other')
  const joiner = b.door.start({ tool: 'put', input: 1, idempotencyKey: 'k' })
  a.freeze()
  const answer = await joiner.answer()
  assert.deepEqual([answer.state, answer.output], ['succeeded', 'put by the other'])
  assert.equal(b.ended.length, 1)
  assert.equal(put.sends.length, 2, 'a natural repeat')
  a.thaw()
  await assert.rejects(a.store.lives.renew({}, 0), /another process has ended this one/)
  assert.equal((await a.runtime.health()).ready, false)
  const late = await a.door.call({ tool: 'put', input: 2, idempotencyKey: 'late' })
  assert.equal(late.failure?.id, 'intent-not-recorded')
  assert.equal(put.sends.length, 2)
  assert.equal((await b.door.getCall(owner.id))?.answer?.final, true)
})

test('S11: a cancel asked of another replica reaches the one that runs the call', async (t) => {
  const pay = steeredTool('pay', WRITE)
  pay.behave(
    (_, context) => new Promise((_resolve, reject) => context.signal.addEventListener('abort', reject)),
  )
  const start = place(t, [pay])
  const [a, b] = [await start(), await start()]
  await Promise.all([ready(a), ready(b)])
  const owner = a.door.start({ tool: 'pay', input: 1, idempotencyKey: 'k' })
  await owner.accepted()
  await until(() => pay.sends.length === 1)
  assert.equal(await b.door.cancelCall(owner.id), 'canceling')
  const answer = await owner.answer()
  assert.deepEqual([answer.effect, answer.failure?.id], ['unknown', 'canceled'])
})

test('S38: a concurrency limit holds over two replicas, and a newcomer takes its part only once the others know of it', async (t) => {
  const pay = steeredTool('pay', { ...WRITE, limits: { concurrency: 4 } })
  const replies: PromiseWithResolvers<unknown>[] = []
  pay.behave(() => {
    const one = Promise.withResolvers<unknown>()
    replies.push(one)
    return one.promise
  })
  const start = place(t, [pay])
  const a = await start()
  await ready(a)
  const first = Array.from({ length: 4 }, (_, n) => a.door.start({ tool: 'pay', input: n }))
  await until(() => replies.length === 4)
  const b = await start()
  await ready(b)
  const full = await b.door.call({ tool: 'pay', input: 'b' })
  assert.equal(full.failure?.id, 'concurrency-exceeded', 'all four places are still taken')
  for (const one of replies) one.resolve('ok')
  await Promise.all(first.map((call) => call.answer()))
  replies.length = 0
  // The share of each is two once the first has renewed within it.
  const entered = await until(async () => {
    const tries = [a, b].flatMap(({ door }) => [1, 2, 3].map((n) => door.start({ tool: 'pay', input: n })))
    await new Promise((resolve) => setTimeout(resolve, 30))
    const count = replies.length
    for (const one of replies.splice(0)) one.resolve('ok')
    await Promise.all(tries.map((call) => call.answer()))
    assert.ok(count <= 4, `${count} ran at once`)
    return count === 4
  })
  assert.equal(entered, true)
})

test('A tool that one replica is given is there on the others, changed and taken away as well', async (t) => {
  const start = place(t, [])
  const [a, b] = [await start(), await start()]
  await Promise.all([ready(a), ready(b)])
  const admin = (replica: Replica) => replica.runtime.as(createLocalAdmin())
  const manifest = (version: string) => `
apiVersion: writ.dev/v1
kind: Tool
metadata: { name: remote }
spec: { type: http, version: ${version}, endpoint: 'http://127.0.0.1:9/', effect: { class: read-only } }
`
  const apply = (replica: Replica, version: string) =>
    replica.runtime.resources.apply([{ text: manifest(version), file: 'remote.yaml' }])
  assert.deepEqual((await apply(a, '1.0.0')).problems, [])
  const first = await admin(b).call({ tool: 'remote' })
  assert.equal(first.failure?.id, 'connect-failed', 'known at once, though nobody listens there')
  await apply(b, '1.1.0')
  await until(() => a.runtime.tools('default').some((tool) => tool.version === '1.1.0'))
  await a.runtime.resources.delete({ namespace: 'default', kind: 'Tool', name: 'remote' })
  await until(() => b.runtime.tools('default').length === 0)
})

test('S36: what could not be closed when it was taken over, since the store failed a read, is closed by the next look', async (t) => {
  const pay = steeredTool('pay', WRITE)
  pay.behave(() => new Promise(() => {}))
  const start = place(t, [pay])
  const a = await start()
  let failing = 2
  const b = await start((store) =>
    Object.create(store, {
      calls: {
        value: {
          ...store.calls,
          get: (namespace: string, id: string) =>
            failing-- > 0
              ? Promise.reject(new StoreUnavailable('away for a moment'))
              : store.calls.get(namespace, id),
        },
      },
    }),
  )
  await Promise.all([ready(a), ready(b)])
  const owner = a.door.start({ tool: 'pay', input: 1, idempotencyKey: 'k' })
  await until(() => pay.sends.length === 1)
  a.freeze()
  const again = await b.door.call({ tool: 'pay', input: 1, idempotencyKey: 'k' })
  assert.equal(again.failure?.id, 'outcome-unknown')
  assert.ok(failing < 0, 'it did fail')
  assert.equal((await b.door.getCall(owner.id))?.state, 'unknown')
  a.thaw()
})

test('S10, S11: a cancel of a call that joined on another replica leaves the one it had joined alone', async (t) => {
  const pay = steeredTool('pay', WRITE)
  const reply = Promise.withResolvers<unknown>()
  pay.behave(() => reply.promise)
  const start = place(t, [pay])
  const [a, b, c] = [await start(), await start(), await start()]
  await Promise.all([ready(a), ready(b), ready(c)])
  const request = { tool: 'pay', input: 1, idempotencyKey: 'k' }
  const owner = a.door.start(request)
  await until(() => pay.sends.length === 1)
  const joiner = b.door.start(request)
  await joiner.accepted()
  assert.equal(await c.door.cancelCall(joiner.id), 'ended')
  await new Promise((resolve) => setTimeout(resolve, LEASE_MS / 2))
  reply.resolve('paid')
  const answers = await Promise.all([owner.answer(), joiner.answer()])
  assert.deepEqual(
    answers.map((answer) => [answer.state, answer.output]),
    [
      ['succeeded', 'paid'],
      ['succeeded', 'paid'],
    ],
  )
})

test('S11: a cancel ends the attempt that it was for, and not the next one of the same key', async (t) => {
  const pay = steeredTool('pay', WRITE)
  pay.behave(
    (_, context) => new Promise((_resolve, reject) => context.signal.addEventListener('abort', reject)),
  )
  const start = place(t, [pay])
  const [a, b] = [await start(), await start()]
  await Promise.all([ready(a), ready(b)])
  const request = { tool: 'pay', input: 1, idempotencyKey: 'k' }
  const owner = a.door.start(request)
  await until(() => pay.sends.length === 1)
  await until(async () => (await b.door.getCall(owner.id)) !== undefined)
  assert.equal(await b.door.cancelCall(owner.id), 'canceling')
  assert.equal((await owner.answer()).state, 'unknown')
  const admin = a.runtime.as(createLocalAdmin())
  assert.equal((await admin.settle(owner.id, { as: 'not-done', reason: 'it is not there' })).kind, 'ok')
  pay.behave(async () => {
    await new Promise((resolve) => setTimeout(resolve, LEASE_MS))
    return 'paid'
  })
  const again = await a.door.call(request)
  assert.deepEqual([again.state, again.output], ['succeeded', 'paid'])
})

test('close() does not wait for what the driver asks of a tool, and the lease is kept until it is over', async (t) => {
  const pay = steeredTool('pay', { ...FENCING, runtime: { timeout: '8s' } })
  const start = place(t, [pay])
  const a = await start()
  await ready(a)
  pay.behave(() => {
    throw new Error('lost')
  })
  pay.say(() => new Promise(() => {}))
  const call = a.door.start({ tool: 'pay', input: 1, deadlineUnixMs: Date.now() + 100 })
  await call.answer()
  const asked = pay.questions.length
  await until(() => pay.questions.length > asked)
  const began = performance.now()
  await a.runtime.close({ drainMs: 0 })
  assert.ok(performance.now() - began < 2_000)
})
