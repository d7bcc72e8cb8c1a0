// What HTTP answers while the store cannot be reached: that nothing was done, or what is known; never a fault of ours.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createRuntime, defineOperation, defineTool } from '../../src/index.ts'
import { createMemoryStore } from '../../src/store/memory/memory-store.ts'
import { type Store, StoreUnavailable } from '../../src/store/store.ts'
import { createSystemWorld } from '../../src/util/clock.ts'
import { startHarness } from './harness.ts'

const WRITE = { class: 'external-communication', determinism: 'side_effectful' } as const
const AWAY = 'the database cannot be reached: connect ECONNREFUSED 10.9.8.7:5432'

/** A server over a store that a test can take away. */
async function start(t: TestContext) {
  const away = { now: false }
  /** Whether a commit takes the store away. */
  const leaves = { now: false }
  const world = createSystemWorld()
  const store = breakable(await createMemoryStore({ world }), away)
  const gate = Promise.withResolvers<void>()
  const done: string[] = []
  const tools = [
    defineTool({
      name: 'post',
      effect: WRITE,
      handler: () => {
        done.push('posted')
        return {}
      },
    }),
    defineTool({
      name: 'slow',
      effect: WRITE,
      async handler() {
        done.push('sent')
        await gate.promise
        return { slow: true }
      },
    }),
    defineTool({
      name: 'book',
      effect: { ...WRITE, two_phase: { commit: 'confirm', rollback: 'release', deadline: '1h' } },
      handler: () => ({ commit_token: 'held-1' }),
      operations: {
        confirm: defineOperation({
          effect: WRITE,
          handler: () => {
            done.push('confirmed')
            away.now = leaves.now
            return {}
          },
        }),
        release: defineOperation({ effect: WRITE, handler: () => ({}) }),
      },
    }),
  ]
  const runtime = await createRuntime({ world, store: { kind: 'given', store }, tools })
  const h = await startHarness({ runtime, world })
  t.after(async () => {
    away.now = false
    gate.resolve()
    await h.close()
    await runtime.close()
    await world.network.close()
  })
  return { h, away, leaves, gate, done }
}

/** Every read and write is refused while it is away, as PostgreSQL does; outcomes are still taken. */
function breakable(store: Store, away: { readonly now: boolean }): Store {
  const wrap = (target: object): object =>
    new Proxy(target, {
      get(_, name) {
        const value: unknown = Reflect.get(target, name)
        if (typeof value === 'object' && value !== null) return wrap(value)
        if (typeof value !== 'function' || name === 'settle' || name === 'close') {
          return typeof value === 'function' ? value.bind(target) : value
        }
        return (...args: unknown[]) => {
          if (!away.now) return Reflect.apply(value, target, args)
          if (name === 'note') throw new StoreUnavailable(AWAY)
          return name === 'onDue'
            ? Reflect.apply(value, target, args)
            : Promise.reject(new StoreUnavailable(AWAY))
        }
      },
    })
  return wrap(store) as Store
}

test('S37: reads and lists are told to come back, with the row of a store that is away', async (t) => {
  const { h, away } = await start(t)
  const made = await h.call('post', {})
  const id = made.headers['writ-call-id']
  away.now = true
  const asks = [
    ['GET', `/v1/calls/${id}`],
    ['GET', '/v1/calls'],
    ['GET', '/v1/entries'],
    ['GET', '/v1/sagas'],
    ['GET', '/v1/sagas/s-1'],
    ['GET', '/v1/audit/head'],
    ['POST', `/v1/calls/${id}/cancel`],
    ['POST', `/v1/calls/${id}/rollback`],
    ['POST', `/v1/calls/${id}/compensate`],
    ['POST', `/v1/calls/${id}/commit`, { commit_token: 'x' }],
    ['POST', `/v1/calls/${id}/settle`, { as: 'done', reason: 'seen' }],
  ] as const
  for (const [method, path, body] of asks) {
    const reply = await h.request(method, path, body === undefined ? {} : { body })
    const what = `${method} ${path}: ${reply.text}`
    assert.equal(reply.status, 503, what)
    assert.equal(reply.body.error.details.failure, 'intent-not-recorded', what)
    assert.equal(reply.body.error.retryable, true, what)
    assert.equal(reply.headers['retry-after'], '1', what)
  }
  assert.deepEqual(h.logged, [], 'it is no fault of ours')
  away.now = false
  assert.equal((await h.request('GET', `/v1/calls/${id}`)).status, 200)
})

for (const prefer of ['respond-async', 'wait=0'] as const) {
  test(`S37: a call with Prefer: ${prefer} that could not be kept is answered with what became of it`, async (t) => {
    const { h, away, done } = await start(t)
    away.now = true
    const reply = await h.call('post', {}, { headers: { prefer } })
    assert.equal(reply.status, 503, reply.text)
    assert.equal(reply.headers['retry-after'], '1')
    assert.equal(reply.body.error.details.failure, 'intent-not-recorded')
    assert.deepEqual(done, [])
  })
}

test('S37: a call that was sent is never said not to be: it is waited for when it cannot be kept', async (t) => {
  const { h, away, gate, done } = await start(t)
  const asked = h.call('slow', {}, { headers: { prefer: 'wait=1' } })
  while (done.length === 0) await new Promise((resolve) => setImmediate(resolve))
  away.now = true
  const early = await Promise.race([asked, new Promise((resolve) => setTimeout(resolve, 1300, 'waits'))])
  assert.equal(early, 'waits')
  gate.resolve()
  const reply = await asked
  assert.equal(reply.status, 200, reply.text)
  assert.deepEqual(reply.body.output, { slow: true })
})

test('S26, S37: a commit that was sent is told, whether or not the call can be read afterwards', async (t) => {
  const { h, leaves, done } = await start(t)
  const prepared = await h.call('book', {}, { envelope: { idempotency_key: 'k-1' } })
  const { commit_token } = prepared.body
  assert.ok(commit_token, prepared.text)
  leaves.now = true
  const id = prepared.headers['writ-call-id']
  const reply = await h.request('POST', `/v1/calls/${id}/commit`, { body: { commit_token } })
  assert.deepEqual(done, ['confirmed'])
  assert.equal(reply.status, 202, reply.text)
  assert.equal(reply.headers.location, `/v1/calls/${id}`, 'it is committed, and can be looked at later')
})
