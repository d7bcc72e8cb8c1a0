// Rules that hold in rare moments: late replies, entries that were taken over, keys that the tool has forgotten.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Answer } from '../../src/contract/answer.ts'
import { defineOperation, defineTool } from '../../src/define-tool.ts'
import { createAdmission } from '../../src/pipeline/admission.ts'
import type { Share } from '../../src/pipeline/share.ts'
import type { ResolvedTool } from '../../src/resource/resolved-tool.ts'
import { createRuntime, createWorld } from '../../src/runtime.ts'
import type { CallerDoor } from '../../src/runtime-api.ts'
import { createMemoryStore } from '../../src/store/memory/memory-store.ts'
import type { Json, JsonObject } from '../../src/util/json.ts'
import { newLife, updateOf } from '../store/fixture.ts'
import {
  EVERYTHING,
  gate,
  NATURAL,
  QUERYABLE,
  runtimeWith,
  settleDown,
  steeredTool,
  WRITE,
} from './harness.ts'
import { until } from './until.ts'

const TEXT = { type: 'string' } as const
const DAY_MS = 86_400_000

/** A world whose wall clock can be moved, and a store that the test can look into. */
async function openPlace(t: TestContext) {
  const system = createWorld()
  let passed = 0
  const { now, monotonic } = system.clock
  const world = { ...system, clock: { now: () => now() + passed, monotonic } }
  const store = await createMemoryStore({ world })
  t.after(() => world.network.destroy())
  return {
    store,
    options: { world, store: { kind: 'given' as const, store } },
    pass(ms: number) {
      passed += ms
    },
  }
}

/** The call once it has succeeded. */
const over = (door: CallerDoor, { callId }: Answer) =>
  until(async () => {
    const now = await door.getCall(callId)
    return now?.state === 'succeeded' ? now : undefined
  })

test('S28: a late reply of an attempt that another one followed settles nothing; that of the last one does', async (t) => {
  const put = steeredTool('put', { ...NATURAL, runtime: { timeout: '400ms', retry: { max_attempts: 1 } } })
  const replies = [gate<Json>(), gate<Json>()]
  put.behave((_input, { attempt }) => replies[attempt - 1]?.opened)
  const place = await openPlace(t)
  const { door } = await runtimeWith(t, [put], place.options)
  const call = () => door.call({ tool: 'put', input: 1, idempotencyKey: 'k' })
  assert.equal((await call()).effect, 'unknown')
  const answer = await call()
  assert.deepEqual([answer.effect, answer.usage.attempt], ['unknown', 2])
  const { entryId = '' } = (await door.getCall(answer.callId)) ?? {}
  const entry = () => place.store.entries.get('default', entryId)
  replies[0]?.open('of the first')
  // Whatever the first has set going is done before the second comes.
  await settleDown(30)
  assert.equal((await entry())?.state, 'unknown')
  replies[1]?.open('of the second')
  const settled = await until(async () => ((await entry())?.state === 'done' ? entry() : undefined))
  assert.deepEqual(settled.outcome?.output, { inline: 'of the second' })
})

test('S28: a late reply that breaks the output schema is no definite answer: the effect stays unknown', async (t) => {
  const pay = steeredTool('pay', { ...WRITE, output_schema: TEXT, runtime: { timeout: '400ms' } })
  const replies = [gate<Json>(), gate<Json>()]
  pay.behave((input) => replies[Number(input)]?.opened)
  const { door } = await runtimeWith(t, [pay])
  const [broken, whole] = await Promise.all([0, 1].map((input) => door.call({ tool: 'pay', input })))
  assert.ok(broken && whole)
  replies[0]?.open({ not: 'a text' })
  await settleDown(30)
  replies[1]?.open('paid')
  assert.equal((await over(door, whole)).answer?.output, 'paid', 'what keeps to the schema settles')
  assert.equal((await door.getCall(broken.callId))?.state, 'unknown')
})

test('S23, S28: a commit that answers late and breaks its schema stays in question', async (t) => {
  const replies = [gate<Json>(), gate<Json>()]
  let commits = 0
  const book = defineTool({
    name: 'book',
    effect: { class: 'external-communication', two_phase: { commit: 'confirm', rollback: 'forget' } },
    spec: { runtime: { timeout: '400ms' } },
    operations: {
      confirm: defineOperation({
        effect: { class: 'external-communication' },
        output: TEXT,
        handler: () => replies[commits++]?.opened ?? null,
      }),
      forget: defineOperation({ effect: { class: 'external-communication' }, handler: () => null }),
    },
    handler: () => ({ commit_token: 'mine' }),
  })
  const runtime = await createRuntime({ onWarning: () => {}, tools: [book] })
  t.after(() => runtime.close({ drainMs: 0 }))
  const door = runtime.as({ actor: 'ann', permissions: EVERYTHING })
  const answers: Answer[] = []
  for (const idempotencyKey of ['broken', 'whole']) {
    const answer = await door.call({ tool: 'book', idempotencyKey })
    const given = await door.commit(answer.callId, answer.commitToken ?? '')
    assert.equal(given.kind === 'refused' && given.failure.id, 'commit-unknown')
    answers.push(answer)
  }
  const [broken, whole] = answers as [Answer, Answer]
  replies[0]?.open({ not: 'a text' })
  await settleDown(30)
  replies[1]?.open('receipt')
  assert.equal((await over(door, whole)).answer?.output, 'receipt', 'what keeps to the schema settles')
  assert.deepEqual((await door.getCall(broken.callId))?.effect, 'unknown')
})

test('S22: not_done is believed only once the send itself can no longer arrive, and then the quiet time', async (t) => {
  const place = await openPlace(t)
  const pay = steeredTool('pay', { ...QUERYABLE, runtime: { timeout: '60s' } })
  pay.behave(() => {
    throw new Error('the connection broke')
  })
  const { door } = await runtimeWith(t, [pay], place.options)
  const call = door.start({ tool: 'pay', input: 1 })
  await until(() => pay.questions.length > 0)
  await door.cancelCall(call.id)
  const answer = await call.answer()
  assert.equal(answer.effect, 'unknown')
  const entryId = (await door.getCall(call.id))?.entryId ?? assert.fail('no entry')
  const timer = await place.store.timers.get('default', 'reconcile', entryId)
  const quietMs = Number(timer?.data.quiet_ms)
  assert.ok(quietMs > 50_000 && quietMs <= 60_300, `${quietMs} ms, of 60 s for the send and 300 ms of quiet`)
})

/** A call whose entry somebody else moves on, while its tool is at work; then the tool answers. */
async function overtakenAfter(t: TestContext, attempts: number) {
  const place = await openPlace(t)
  const pay = steeredTool('pay', WRITE)
  const reply = gate<Json>()
  pay.behave(() => reply.opened)
  const { door } = await runtimeWith(t, [pay], place.options)
  const call = door.start({ tool: 'pay', input: 1 })
  await until(() => pay.sends.length === 1)
  const entryId = await until(async () => (await door.getCall(call.id))?.entryId)
  const entry = (await place.store.entries.get('default', entryId)) ?? assert.fail('no entry')
  const outcome = { sideEffects: [], warnings: [] }
  await place.store.ledger.settle(updateOf(entry, ['unknown'], { attempts, outcome }))
  reply.open('paid')
  const answer = await call.answer()
  const now = await place.store.entries.get('default', entryId)
  return { answer, now }
}

test('S28, S35: what was taken over is settled by the reply to its last send', async (t) => {
  const { answer, now } = await overtakenAfter(t, 1)
  assert.deepEqual([answer.state, answer.output], ['succeeded', 'paid'])
  assert.deepEqual([now?.state, now?.outcome?.settledBy], ['done', 'late-reply'])
})

test('S28, S35: what was taken over and sent again is not settled by the reply to the send before', async (t) => {
  const { answer, now } = await overtakenAfter(t, 2)
  assert.deepEqual([answer.effect, answer.failure?.id], ['unknown', 'outcome-not-recorded'])
  assert.equal(now?.state, 'unknown')
})

const REMEMBERED: Record<string, JsonObject> = {
  'a keyed call': {
    class: 'external-communication',
    idempotency: { keyed: { retention: '48h' } },
  },
  'a prepare': {
    class: 'external-communication',
    two_phase: { commit: 'confirm', rollback: 'forget', deadline: '48h' },
  },
}

for (const [what, effect] of Object.entries(REMEMBERED)) {
  test(`S22: ${what} is repeated while the tool remembers its key, and not after that`, async (t) => {
    const place = await openPlace(t)
    let sends = 0
    const other = defineOperation({ effect: { class: 'external-communication' }, handler: () => null })
    const tool = defineTool({
      name: 'tool',
      effect: effect as never,
      operations: { confirm: other, forget: other },
      handler: () => {
        sends++
        throw new Error('the connection broke')
      },
    })
    const runtime = await createRuntime({ onWarning: () => {}, ...place.options, tools: [tool] })
    t.after(() => runtime.close({ drainMs: 0 }))
    const door = runtime.as({ actor: 'ann', permissions: EVERYTHING })
    const call = () => door.call({ tool: 'tool', input: 1, idempotencyKey: 'k' })
    const first = await call()
    assert.deepEqual([first.effect, first.failure?.retryable], ['unknown', true])
    place.pass(DAY_MS)
    const second = await call()
    assert.deepEqual([second.effect, second.failure?.retryable], ['unknown', true])
    assert.equal(sends, 2)
    place.pass(DAY_MS)
    const third = await call()
    assert.deepEqual([third.effect, third.failure?.retryable], ['unknown', false])
    assert.equal(sends, 2, 'it would be a second effect')
  })
}

test('S38: a newcomer lets one window of a rate pass before it takes its part', () => {
  let now = 10_000
  const clock = { now: () => 0, monotonic: () => now }
  const share: Share = { of: (_name, max) => max, since: 10_000 }
  const admission = createAdmission({ ...newLife(), clock }, share)
  const limits = { rate: { max: 2, perMs: 1_000 } }
  const tool = { namespace: 'default', name: 'pay', limits } as unknown as ResolvedTool
  const first = admission.enter(tool)
  assert.deepEqual(first, { kind: 'full', limit: 'rate', max: 2, retryAfterMs: 1_000 })
  now += 999
  assert.equal(admission.enter(tool).kind, 'full')
  now += 1
  assert.deepEqual(
    [1, 2, 3].map(() => admission.enter(tool).kind),
    ['entered', 'entered', 'full'],
  )
})

test('S9: an approval ends at the deadline of its call, or at its own time where that is sooner', async (t) => {
  const place = await openPlace(t)
  const asking = steeredTool('asking', { ...WRITE, approval_triggers: [{ field: '/to', op: 'exists' }] })
  const { door } = await runtimeWith(t, [asking], place.options)
  const left = async (deadlineInMs: number | undefined) => {
    const now = place.options.world.clock.now()
    const until = deadlineInMs === undefined ? {} : { deadlineUnixMs: now + deadlineInMs }
    const answer = await door.call({ tool: 'asking', input: { to: 'ann' }, ...until })
    assert.equal(answer.state, 'awaiting-approval')
    const entryId = (await door.getCall(answer.callId))?.entryId ?? assert.fail('no entry')
    const timer = await place.store.timers.get('default', 'approval', entryId)
    return Math.round(((timer?.dueAt ?? 0) - now) / 10_000)
  }
  assert.equal(await left(60_000), 6)
  assert.equal(await left(3_600_000), 60, 'nobody has longer than ten minutes')
  assert.equal(await left(undefined), 60)
})
