// Who may decide about a call that waits, how often, and until when (S45).
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
} from './approval-harness.ts'
import { EVERYTHING } from './harness.ts'

const NOBODY_ELSE = { approval: { role: 'treasurer', quorum: 2 } }

for (const kind of KINDS) {
  test(`S45: nobody decides about its own call, nor the agent that it speaks for, nor any agent (${kind})`, async (t) => {
    const pay = payTool()
    const life = await approvalPlace(t, kind).open([pay])
    const decides = { permissions: [...EVERYTHING, 'approval:decide'] }
    const service = life.as({ actor: 'svc', kind: 'service', agents: ['helper'], ...decides })
    const id = approvalIdOf(
      await service.call({ tool: 'pay', input: { amount: 500 }, agent: 'helper', idempotencyKey: 'k' }),
    )
    assert.equal(refusal(await service.approve(id)), 'approval-self')
    const helper = life.as({ actor: 'helper', kind: 'person', ...decides })
    assert.equal(refusal(await helper.approve(id)), 'approval-self')
    const other = life.as({ actor: 'agent-b', kind: 'agent', ...decides })
    assert.equal(refusal(await other.approve(id)), 'permission-denied')
    assert.equal(refusal(await service.deny(id, { reason: 'no' })), 'approval-self')
    assert.equal(pay.sends.length, 0)
    assert.equal((await life.person('ann').getApproval(id))?.decisions.length, 0)
  })

  test(`S45: a quorum of two of a role; a delegate counts for who delegated, and nobody twice (${kind})`, async (t) => {
    const pay = payTool(NOBODY_ELSE)
    const life = await approvalPlace(t, kind).open([pay])
    await life.apply(role('treasurer'), role('clerk', []))
    const { answer, id } = await ask(life)
    const [ann, bob] = [life.person('ann', ['treasurer']), life.person('bob', ['treasurer'])]
    const clerk = life.person('cleo', ['clerk'])
    assert.equal(refusal(await clerk.approve(id)), 'not-found', 'a clerk does not even see it')
    assert.equal(refusal(await life.person('dora').approve(id)), 'permission-denied', 'the role is asked for')

    assert.equal(ok(await ann.approve(id)).state, 'pending')
    assert.equal(refusal(await ann.approve(id)), 'permission-denied', 'she has decided')
    assert.equal(refusal(await bob.delegate(id, { to: 'agent-a' })), 'approval-self')
    assert.equal(ok(await bob.delegate(id, { to: 'cleo' })).delegations.length, 1)
    assert.equal(refusal(await clerk.delegate(id, { to: 'zoe' })), 'permission-denied', 'not further')
    const approved = ok(await clerk.approve(id))
    assert.deepEqual([approved.state, approved.decisions.at(-1)?.onBehalfOf], ['approved', 'bob'])
    assert.equal((await endOf(life, answer.callId)).state, 'succeeded')
    assert.equal(pay.sends.length, 1)
    const decided = (await evidenceOf(life, answer.callId)).filter(({ type }) => type.startsWith('approval.'))
    assert.deepEqual(
      decided.map(({ type, body }) => [type, body.decided_by ?? body.from ?? '']),
      [
        ['approval.requested', ''],
        ['approval.decided', 'ann'],
        ['approval.delegated', 'bob'],
        ['approval.decided', 'cleo'],
        ['approval.used', ''],
      ],
    )
  })

  test(`S45: of two who decide at once both count, or one is told that it is over (${kind})`, async (t) => {
    const pay = payTool()
    const life = await approvalPlace(t, kind).open([pay])
    for (let round = 0; round < 10; round++) {
      const { answer, id } = await ask(life, { amount: 500 + round }, `k${round}`)
      const results = await Promise.all([
        life.person('ann').approve(id),
        life.person('bob').deny(id, { reason: 'too much' }),
        life.person('cid').approve(id),
      ])
      const kinds = results.map((one) => (one.kind === 'ok' ? one.kind : refusal(one)))
      assert.equal(kinds.filter((one) => one === 'ok').length, 1, kinds.join())
      assert.equal(kinds.filter((one) => one === 'approval-closed').length, 2, kinds.join())
      const end = await endOf(life, answer.callId)
      const denied = results[1]?.kind === 'ok'
      assert.equal(end.failure?.id, denied ? 'approval-denied' : undefined)
      const seen = pay.sends.filter(({ callId }) => callId === answer.callId)
      assert.equal(seen.length, denied ? 0 : 1)
    }
  })

  test(`S45: with a quorum of two, two who approve at once both count (${kind})`, async (t) => {
    const pay = payTool(NOBODY_ELSE)
    const life = await approvalPlace(t, kind).open([pay])
    await life.apply(role('treasurer'))
    const { answer, id } = await ask(life)
    const people = ['ann', 'bob'].map((actor) => life.person(actor, ['treasurer']))
    const results = await Promise.all(people.map((one) => one.approve(id)))
    assert.deepEqual(
      results.map((one) => ok(one).state).sort(),
      ['approved', 'pending'],
      'the second of them completes it',
    )
    assert.equal((await endOf(life, answer.callId)).state, 'succeeded')
    assert.equal(pay.sends.length, 1)
  })

  test(`S16: a denial ends the call, is stored with its reason and replayed (${kind})`, async (t) => {
    const pay = payTool()
    const life = await approvalPlace(t, kind).open([pay])
    const { answer, id } = await ask(life)
    ok(await life.person('ann').deny(id, { reason: 'not in this quarter' }))
    const end = await endOf(life, answer.callId)
    assert.deepEqual([end.state, end.effect, end.failure?.id], ['denied', 'not-done', 'approval-denied'])
    assert.equal(end.failure?.details.reason, 'not in this quarter')
    assert.equal(end.failure?.details.decided_by, 'ann')
    const again = await life.agent.call({ tool: 'pay', input: { amount: 500 }, idempotencyKey: 'k' })
    assert.deepEqual([again.failure?.id, again.replayed], ['approval-denied', true])
    assert.equal(pay.sends.length, 0)
    const types = (await evidenceOf(life, answer.callId)).map(({ type }) => type)
    assert.ok(types.includes('request.skipped'), types.join())
  })

  test(`S45: an override is a new record, linked to the denial that it overrides; people are asked anew (${kind})`, async (t) => {
    const pay = payTool()
    const life = await approvalPlace(t, kind).open([pay])
    const { answer, id } = await ask(life)
    const chief = life.as({
      actor: 'chief',
      kind: 'person',
      permissions: ['approval:read', 'approval:override'],
    })
    assert.equal(refusal(await chief.overrideDenial(id, { reason: 'early' })), 'approval-closed')
    ok(await life.person('ann').deny(id, { reason: 'no' }))
    assert.equal(refusal(await life.person('bob').overrideDenial(id, { reason: 'x' })), 'permission-denied')
    assert.equal(ok(await chief.overrideDenial(id, { reason: 'the board agreed' })).state, 'denied')
    const record = (await evidenceOf(life, answer.callId)).find(({ type }) => type === 'decision.overridden')
    assert.deepEqual([record?.body.overrides, record?.body.decided_by], [id, 'chief'])
    const next = await ask(life)
    assert.notEqual(next.id, id)
    ok(await life.person('ann').approve(next.id))
    assert.equal((await endOf(life, next.answer.callId)).state, 'succeeded')
    assert.equal(
      (await endOf(life, answer.callId)).failure?.id,
      'approval-denied',
      'the first call ended as it did',
    )
  })

  test(`S45: nobody decides after its time; the key is free then (${kind})`, async (t) => {
    const pay = payTool()
    const place = approvalPlace(t, kind)
    const life = await place.open([pay])
    const { answer, id } = await ask(life)
    place.advance(600_001)
    const late = refusal(await life.person('ann').approve(id))
    assert.ok(['approval-expired', 'approval-closed'].includes(late), late)
    const end = await endOf(life, answer.callId)
    assert.deepEqual([end.state, end.failure?.id], ['denied', 'approval-expired'])
    assert.equal((await life.person('ann').getApproval(id))?.state, 'expired')
    assert.equal(pay.sends.length, 0)
    const next = await ask(life)
    assert.notEqual(next.id, id, 'asked anew')
  })

  test(`S11: a call that is canceled while it waits ends, and its approval with it (${kind})`, async (t) => {
    const pay = payTool()
    const life = await approvalPlace(t, kind).open([pay])
    const { answer, id } = await ask(life)
    assert.equal(await life.agent.cancelCall(answer.callId), 'canceling')
    assert.equal((await endOf(life, answer.callId)).state, 'canceled')
    const closed = await life.person('ann').approve(id)
    assert.equal(refusal(closed), 'approval-closed')
    assert.match(JSON.stringify(closed), /canceled/)
    assert.equal(pay.sends.length, 0)
    const types = (await evidenceOf(life, answer.callId)).map(({ type }) => type)
    assert.ok(types.includes('approval.canceled') && types.includes('request.skipped'), types.join())
  })
}

test('S41: another namespace neither sees an approval nor decides it', async (t) => {
  const pay = payTool()
  const life = await approvalPlace(t, 'memory').open([pay])
  const { id } = await ask(life)
  const permissions = ['approval:read', 'approval:decide', 'grant:write']
  const stranger = life.as({ actor: 'eve', namespace: 'other', kind: 'person', permissions })
  assert.deepEqual(await stranger.listApprovals({ limit: 10 }), [])
  assert.equal(await stranger.getApproval(id), undefined)
  assert.equal((await stranger.approve(id)).kind, 'not-found')
  assert.equal((await stranger.deny(id, { reason: 'x' })).kind, 'not-found')
  assert.equal((await stranger.delegate(id, { to: 'x' })).kind, 'not-found')
})

test('approvals are listed for whoever may decide, and for whoever asked; for nobody else', async (t) => {
  const life = await approvalPlace(t, 'memory').open([payTool(NOBODY_ELSE)])
  await life.apply(role('treasurer', []), role('clerk', []))
  const { id } = await ask(life)
  const seen = async (door: typeof life.agent) =>
    (await door.listApprovals({ limit: 10 })).map((one) => one.id)
  assert.deepEqual(await seen(life.person('ann', ['treasurer'])), [id])
  assert.deepEqual(await seen(life.agent), [id])
  assert.deepEqual(await seen(life.admin), [id])
  assert.deepEqual(await seen(life.person('cleo', ['clerk'])), [])
  assert.deepEqual(await seen(life.as({ actor: 'agent-b', permissions: EVERYTHING })), [])
  assert.deepEqual(await life.admin.listApprovals({ limit: 10, states: ['denied'] }), [])
  assert.deepEqual((await life.admin.listApprovals({ limit: 10, tool: 'pay' })).length, 1)
})

test('S5: whoever decides sees the input masked, and what differs from the last one that was agreed to', async (t) => {
  const { steeredTool, WRITE } = await import('./harness.ts')
  const input_schema = {
    type: 'object',
    properties: {
      amount: { type: 'number' },
      to: { type: 'string' },
      pin: { type: 'string', writeOnly: true },
    },
  }
  const spec = { ...WRITE, approval_triggers: [{ field: '/amount', op: 'gt', value: 100 }] }
  const pay = steeredTool('pay', spec, input_schema)
  const life = await approvalPlace(t, 'memory').open([pay])
  const first = await ask(life, { amount: 500, to: 'ann', pin: '1234-secret' }, 'k1')
  const shown = await life.person('ann').getApproval(first.id)
  assert.deepEqual(shown?.shown, { inline: { amount: 500, to: 'ann', pin: '***' } })
  assert.equal(shown?.diff, undefined)
  ok(await life.person('ann').approve(first.id))
  await endOf(life, first.answer.callId)
  assert.deepEqual(
    pay.sends[0]?.input,
    { amount: 500, to: 'ann', pin: '1234-secret' },
    'the tool gets all of it',
  )
  const second = await ask(life, { amount: 900, to: 'ann', pin: '1234-secret' }, 'k2')
  const { diff } = (await life.person('ann').getApproval(second.id)) ?? {}
  assert.deepEqual(diff?.changes, [{ op: 'change', path: '/amount', from: 500, to: 900 }])
  assert.equal(diff?.approvalId, first.id)
  assert.doesNotMatch(JSON.stringify(await evidenceOf(life)), /1234-secret/)
})

test('what is no reason, no name or too long is refused with its field', async (t) => {
  const life = await approvalPlace(t, 'memory').open([payTool()])
  const { id } = await ask(life)
  const ann = life.person('ann')
  for (const result of [
    await ann.deny(id, { reason: ' ' }),
    await ann.deny(id, { reason: 'x'.repeat(5_000) }),
    await ann.approve(id, { comment: 'x\u0000' }),
    await ann.delegate(id, { to: '' }),
    await ann.delegate(id, { to: 'a\nb' }),
  ])
    assert.equal(refusal(result), 'envelope-invalid', JSON.stringify(result))
  assert.equal((await ann.approve('no-such-id')).kind, 'not-found')
  assert.equal((await ann.getApproval(id))?.state, 'pending', 'nothing was decided')
})

test('S17: a dry run asks nobody', async (t) => {
  const life = await approvalPlace(t, 'memory').open([payTool()])
  const answer = await life.agent.call({ tool: 'pay', input: { amount: 500 }, dryRun: true })
  assert.equal(answer.state, 'succeeded')
  assert.match(JSON.stringify(answer.output), /require-approval/)
  assert.deepEqual(await life.admin.listApprovals({ limit: 10 }), [])
})

test('S10: whoever waits past the suspension hears the end, and so does whoever asks with the same key', async (t) => {
  const pay = payTool()
  const life = await approvalPlace(t, 'memory').open([pay])
  const request = { tool: 'pay', input: { amount: 500 }, idempotencyKey: 'k' }
  const waiting = { waitMs: 20_000, throughApproval: true }
  const first = life.agent.start(request)
  const id = approvalIdOf(await first.answer())
  const heard = Promise.all([first.answer(waiting), life.agent.call(request, waiting)])
  ok(await life.person('ann').approve(id))
  const [original, joiner] = await heard
  assert.deepEqual([original.state, original.output, original.replayed], ['succeeded', 'paid', false])
  assert.deepEqual([joiner.state, joiner.output, joiner.replayed], ['succeeded', 'paid', true])
  assert.equal(pay.sends.length, 1)

  const next = life.agent.start({ ...request, idempotencyKey: 'k2' })
  const pending = await next.answer({ waitMs: 50, throughApproval: true })
  assert.equal(pending.state, 'awaiting-approval', 'nobody decided in that time')
})
