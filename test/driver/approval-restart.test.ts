// What waits for people survives the process it waited in: between every two steps somebody pulls the plug (S36, S45).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  approvalIdOf,
  approvalPlace,
  ask,
  endOf,
  evidenceOf,
  KINDS,
  ok,
  payTool,
  refusal,
  role,
} from '../pipeline/approval-harness.ts'
import { steeredTool, WRITE } from '../pipeline/harness.ts'
import { until } from '../pipeline/until.ts'

const TWO = { approval: { role: 'treasurer', quorum: 2 } }

for (const kind of KINDS) {
  test(`S36: asked, half approved, approved and ended, each in another life (${kind})`, async (t) => {
    const place = approvalPlace(t, kind)
    const pay = payTool(TWO)
    const first = await place.open([pay])
    await first.apply(role('treasurer'))
    const { answer, id } = await ask(first)
    first.kill()

    const second = await place.open([pay])
    assert.equal(ok(await second.person('ann', ['treasurer']).approve(id)).state, 'pending')
    second.kill()

    const third = await place.open([pay])
    const joined = await third.agent.call({ tool: 'pay', input: { amount: 500 }, idempotencyKey: 'k' })
    assert.equal(approvalIdOf(joined), id, 'asking again joins it')
    ok(await third.person('bob', ['treasurer']).approve(id))
    const end = await endOf(third, answer.callId)
    assert.deepEqual([end.state, end.output], ['succeeded', 'paid'])
    assert.equal((await endOf(third, joined.callId)).output, 'paid', 'whoever joined learns it, too')
    third.kill()

    const fourth = await place.open([pay])
    const replayed = await fourth.agent.call({ tool: 'pay', input: { amount: 500 }, idempotencyKey: 'k' })
    assert.deepEqual([replayed.replayed, replayed.output], [true, 'paid'])
    assert.equal((await fourth.person('ann', ['treasurer']).getApproval(id))?.state, 'used')
    assert.equal(pay.sends.length, 1)
  })

  test(`S45: a process that dies between the decision and the resume loses nothing (${kind})`, async (t) => {
    const place = approvalPlace(t, kind)
    const pay = payTool()
    const first = await place.open([pay])
    const { answer, id } = await ask(first)
    first.kill()
    // It has not the build that was approved: the decision is on disk, and this process leaves the call to others.
    const second = await place.open([])
    assert.equal(ok(await second.person('ann').approve(id)).state, 'approved')
    second.kill()
    assert.equal(pay.sends.length, 0)
    const third = await place.open([pay])
    assert.equal((await endOf(third, answer.callId)).state, 'succeeded')
    assert.equal(pay.sends.length, 1)
  })

  test(`S45: the time of an approval is looked at when the call goes on, too (${kind})`, async (t) => {
    const place = approvalPlace(t, kind)
    const pay = payTool()
    const first = await place.open([pay])
    const { answer, id } = await ask(first)
    first.kill()
    const second = await place.open([])
    ok(await second.person('ann').approve(id))
    second.kill()
    place.advance(600_001)
    const third = await place.open([pay])
    const end = await endOf(third, answer.callId)
    assert.deepEqual([end.failure?.id, pay.sends.length], ['approval-expired', 0])
    assert.equal((await third.person('ann').getApproval(id))?.state, 'expired')
    assert.equal(refusal(await third.person('bob').approve(id)), 'approval-closed')
  })

  test(`S29: an undo that needs approval waits for it, and undoes when it is given (${kind})`, async (t) => {
    const place = approvalPlace(t, kind)
    const book = steeredTool('book', {
      effect: {
        class: 'external-communication',
        compensation: { tool: 'unbook', input_map: { what: '/input/what' }, requires_approval: true },
      },
    })
    const unbook = steeredTool('unbook', WRITE)
    const life = await place.open([book, unbook])
    const booked = await life.agent.call({ tool: 'book', input: { what: 'seat' }, idempotencyKey: 'k' })
    assert.equal(booked.state, 'succeeded')
    const undoing = await life.agent.compensate(booked.callId)
    assert.equal(undoing.kind, 'ok', JSON.stringify(undoing))
    const [approval] = await life.person('ann').listApprovals({ limit: 5, states: ['pending'] })
    assert.deepEqual(
      approval?.rules.map(({ policyId }) => policyId),
      ['compensation'],
    )
    assert.equal(unbook.sends.length, 0)
    // No grant stands for it: each undo is decided by people.
    assert.equal((await life.person('ann').makeGrant({ tool: 'unbook', ttlMs: 60_000 })).kind, 'ok')
    ok(await life.person('ann').approve(approval?.id ?? ''))
    await until(async () => (await life.agent.getCall(booked.callId))?.effect === 'compensated')
    assert.deepEqual(
      unbook.sends.map(({ input }) => input),
      [{ what: 'seat' }],
    )
    assert.equal((await life.person('ann').getApproval(approval?.id ?? ''))?.state, 'used')
  })

  test(`S29: an undo that is denied leaves the effect, and says why (${kind})`, async (t) => {
    const compensation = { tool: 'unbook', input_map: { what: '/input/what' }, requires_approval: true }
    const book = steeredTool('book', { effect: { class: 'external-communication', compensation } })
    const unbook = steeredTool('unbook', WRITE)
    const life = await approvalPlace(t, kind).open([book, unbook])
    const booked = await life.agent.call({ tool: 'book', input: { what: 'seat' }, idempotencyKey: 'k' })
    await life.agent.compensate(booked.callId)
    const [approval] = await life.person('ann').listApprovals({ limit: 5, states: ['pending'] })
    ok(await life.person('ann').deny(approval?.id ?? '', { reason: 'keep it' }))
    const entry = await until(async () => {
      const shown = await life.agent.getCall(booked.callId)
      return shown?.entry?.state === 'compensation-failed' && shown.entry
    })
    assert.match(JSON.stringify(entry), /approval-denied|keep it/)
    assert.equal(unbook.sends.length, 0)
  })

  test(`S14: an effect that repeats another runs when somebody says that it is meant twice (${kind})`, async (t) => {
    const mail = steeredTool('pay', {
      effect: {
        class: 'external-communication',
        identity: { fields: ['/to'], window: '1h', on_repeat: 'approve' },
      },
    })
    mail.behave(() => 'sent')
    const life = await approvalPlace(t, kind).open([mail])
    const send = (key: string, text: string) =>
      life.agent.call({ tool: 'pay', input: { to: 'ann', text }, idempotencyKey: key })
    const first = await send('k1', 'hello')
    assert.equal(first.state, 'succeeded')
    assert.equal((await life.person('ann').makeGrant({ tool: 'pay', ttlMs: 60_000 })).kind, 'ok')
    const second = await send('k2', 'hello again')
    const id = approvalIdOf(second)
    assert.match(second.failure?.message ?? '', new RegExp(first.callId))
    ok(await life.person('ann').approve(id))
    assert.equal((await endOf(life, second.callId)).output, 'sent')
    assert.equal(mail.sends.length, 2)
  })
}

test('S45: on replicas the call goes on once, wherever it was decided', async (t) => {
  const place = approvalPlace(t, 'memory', true)
  const pay = payTool()
  const [a, b] = [await place.open([pay]), await place.open([pay])]
  for (const life of [a, b]) await until(async () => (await life.runtime.health()).ready)
  for (let round = 0; round < 10; round++) {
    const { answer, id } = await ask(a, { amount: 500 + round }, `k${round}`)
    const decided = await Promise.all([a.person('ann').approve(id), b.person('bob').approve(id)])
    assert.deepEqual(decided.map(({ kind }) => kind).sort(), ['ok', 'refused'])
    assert.equal((await endOf(b, answer.callId)).output, 'paid')
  }
  assert.equal(pay.sends.length, 10)
})

test('S45: a decision on one replica and a cancel on another: one of the two, and never both', async (t) => {
  const place = approvalPlace(t, 'memory', true)
  const pay = payTool()
  const [a, b] = [await place.open([pay]), await place.open([pay])]
  for (const life of [a, b]) await until(async () => (await life.runtime.health()).ready)
  for (let round = 0; round < 10; round++) {
    const { answer, id } = await ask(a, { amount: 500 + round }, `k${round}`)
    await Promise.all([a.agent.cancelCall(answer.callId), b.person('bob').approve(id)])
    const end = await endOf(a, answer.callId)
    const sends = pay.sends.filter(({ callId }) => callId === answer.callId).length
    assert.equal(sends, end.state === 'canceled' ? 0 : 1, end.state)
  }
})

test('S40: what was decided is on record with who decided it, by which right and about which payload', async (t) => {
  const life = await approvalPlace(t, 'memory').open([payTool()])
  const { answer, id } = await ask(life)
  ok(await life.person('ann').approve(id, { comment: 'once' }))
  await endOf(life, answer.callId)
  const records = await evidenceOf(life, answer.callId)
  const of = (type: string) => records.find((one) => one.type === type)?.body ?? {}
  const requested = of('approval.requested')
  assert.equal(requested.approval_id, id)
  assert.equal((requested.decision as { decision: string }).decision, 'require-approval')
  const decided = of('approval.decided')
  assert.deepEqual(
    [decided.decided_by, decided.decider_kind, decided.decision, decided.state, decided.comment, decided.via],
    ['ann', 'person', 'approved', 'approved', 'once', 'api'],
  )
  assert.equal(decided.payload_hash, of('tool.started').payload_hash)
  assert.equal(of('approval.used').approval_id, id)
  assert.doesNotMatch(JSON.stringify(records), /"amount":/)
})
