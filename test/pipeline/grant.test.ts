// A class of calls that somebody agrees to beforehand: what it covers, what it does not, and how often (S45).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { GrantResult, GrantView, GrantWish } from '../../src/runtime-api.ts'
import {
  approvalPlace,
  ask,
  evidenceOf,
  KINDS,
  type Life,
  payTool,
  refusal,
  role,
} from './approval-harness.ts'
import { EVERYTHING } from './harness.ts'

const HOUR = 3_600_000
const SMALL: GrantWish = { tool: 'pay', when: [{ field: '/amount', op: 'lt', value: 1_000 }], ttlMs: HOUR }

function made(result: GrantResult): GrantView {
  assert.equal(result.kind, 'ok', JSON.stringify(result))
  return (result as Extract<GrantResult, { kind: 'ok' }>).grant
}

const pays = (life: Life, amount: number | string, key: string) =>
  life.agent.call({ tool: 'pay', input: { amount }, idempotencyKey: key })

for (const kind of KINDS) {
  test(`a grant covers its class, and nothing beside it; each use is on record (${kind})`, async (t) => {
    const pay = payTool()
    const life = await approvalPlace(t, kind).open([pay])
    const { id } = made(await life.person('ann').makeGrant({ ...SMALL, reason: 'month end' }))
    const covered = await pays(life, 500, 'k1')
    assert.equal(covered.state, 'succeeded', JSON.stringify(covered.failure))
    assert.equal((await pays(life, 2_000, 'k2')).state, 'awaiting-approval', 'too much')
    assert.equal((await pays(life, 'much', 'k3')).state, 'awaiting-approval', 'cannot be judged')
    assert.equal(pay.sends.length, 1)
    const used = (await evidenceOf(life, covered.callId)).filter(({ type }) => type === 'grant.used')
    assert.deepEqual(
      used.map(({ body }) => [body.grant_id, body.by]),
      [[id, 'ann']],
    )
    const types = (await evidenceOf(life)).map(({ type }) => type)
    assert.ok(types.includes('grant.made'), types.join())
  })

  test(`a grant with a number of uses is used that often, however many calls come at once (${kind})`, async (t) => {
    const pay = payTool()
    const life = await approvalPlace(t, kind).open([pay])
    const { id } = made(await life.person('ann').makeGrant({ ...SMALL, maxUses: 3 }))
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) => pays(life, 200 + index, `k${index}`)),
    )
    const states = answers.map(({ state }) => state).sort()
    assert.deepEqual(states, [
      ...Array.from({ length: 5 }, () => 'awaiting-approval'),
      ...Array.from({ length: 3 }, () => 'succeeded'),
    ])
    assert.equal(pay.sends.length, 3)
    const [kept] = await life.person('ann').listGrants()
    assert.deepEqual([kept?.id, kept?.uses], [id, 3])
  })

  test(`a grant that was taken back, or whose time is over, covers nothing (${kind})`, async (t) => {
    const pay = payTool()
    const place = approvalPlace(t, kind)
    const life = await place.open([pay])
    const ann = life.person('ann')
    const first = made(await ann.makeGrant(SMALL))
    assert.equal(made(await ann.endGrant(first.id, { reason: 'enough' })).id, first.id)
    assert.equal((await ann.endGrant(first.id)).kind, 'not-found')
    assert.equal((await pays(life, 500, 'k1')).state, 'awaiting-approval')
    made(await ann.makeGrant({ ...SMALL, ttlMs: 60_000 }))
    assert.equal((await pays(life, 500, 'k2')).state, 'succeeded')
    place.advance(60_001)
    assert.equal((await pays(life, 500, 'k3')).state, 'awaiting-approval')
    assert.deepEqual(await ann.listGrants(), [])
    assert.equal(pay.sends.length, 1)
    const ended = (await evidenceOf(life)).filter(({ type }) => type === 'grant.ended')
    assert.deepEqual(
      ended.map(({ body }) => [body.grant_id, body.ended_by, body.end_reason]),
      [[first.id, 'ann', 'enough']],
    )
  })
}

for (const kind of KINDS) {
  test(`a grant that two take back at once is ended once, and is on record as that (${kind})`, async (t) => {
    const life = await approvalPlace(t, kind).open([payTool()])
    const { id } = made(await life.person('ann').makeGrant(SMALL))
    const ends = await Promise.all(
      ['ann', 'ben', 'cleo'].map((actor) => life.person(actor).endGrant(id, { reason: actor })),
    )
    assert.deepEqual(ends.map((end) => end.kind).sort(), ['not-found', 'not-found', 'ok'])
    const ended = (await evidenceOf(life)).filter(({ type }) => type === 'grant.ended')
    assert.equal(ended.length, 1)
  })
}

test('a grant of the caller itself never counts, and an agent makes none', async (t) => {
  const pay = payTool()
  const life = await approvalPlace(t, 'memory').open([pay])
  const permissions = [...EVERYTHING, 'grant:write', 'approval:decide']
  const both = life.as({ actor: 'svc', kind: 'service', permissions })
  made(await both.makeGrant(SMALL))
  const own = await both.call({ tool: 'pay', input: { amount: 500 }, idempotencyKey: 'k' })
  assert.equal(own.state, 'awaiting-approval')
  assert.equal((await pays(life, 500, 'k')).state, 'succeeded', 'it stands for others')
  const agent = life.as({ actor: 'agent-b', kind: 'agent', permissions })
  assert.equal(refusal(await agent.makeGrant(SMALL)), 'permission-denied')
})

test('a grant stands for the role of its maker, and not for a quorum', async (t) => {
  const pay = payTool({ approval: { role: 'treasurer' } })
  const life = await approvalPlace(t, 'memory').open([pay])
  await life.apply(role('treasurer', ['grant:write']), role('clerk', ['grant:write']))
  assert.equal(refusal(await life.person('ann').makeGrant(SMALL)), 'permission-denied', 'no treasurer')
  const clerk = life.person('cleo', ['clerk'])
  assert.equal(refusal(await clerk.makeGrant({ ...SMALL, role: 'treasurer' })), 'permission-denied')
  assert.equal(made(await life.person('tom', ['treasurer']).makeGrant(SMALL)).role, 'treasurer')
  assert.equal((await pays(life, 500, 'k')).state, 'succeeded')
  assert.equal((await life.agent.listGrants()).length, 0, 'not for whoever asks to see')
})

test('a grant is for one caller where it names one, and for the build that it was made for', async (t) => {
  const pay = payTool()
  const place = approvalPlace(t, 'memory')
  const life = await place.open([pay])
  made(await life.person('ann').makeGrant({ ...SMALL, caller: 'agent-z' }))
  assert.equal((await pays(life, 500, 'k')).state, 'awaiting-approval')
  made(await life.person('ann').makeGrant({ ...SMALL, caller: 'agent-a' }))
  assert.equal((await pays(life, 500, 'k2')).state, 'succeeded')
  life.kill()
  const next = await place.open([payTool({ runtime: { timeout: '9s' } })])
  assert.equal((await pays(next, 500, 'k3')).state, 'awaiting-approval')
})

test('S17: a dry run under a grant uses none of it up', async (t) => {
  const life = await approvalPlace(t, 'memory').open([payTool()])
  made(await life.person('ann').makeGrant({ ...SMALL, maxUses: 1 }))
  const dry = await life.agent.call({ tool: 'pay', input: { amount: 500 }, dryRun: true })
  assert.equal(dry.state, 'succeeded')
  assert.doesNotMatch(JSON.stringify(dry.output), /"decision":"require-approval","stages"/)
  assert.equal((await life.person('ann').listGrants())[0]?.uses, 0)
  assert.equal((await pays(life, 500, 'k')).state, 'succeeded')
  assert.equal((await life.person('ann').listGrants())[0]?.uses, 1)
  await ask(life, { amount: 500 }, 'k2')
})

test('what is no grant is refused with every mistake, and nothing is kept', async (t) => {
  const life = await approvalPlace(t, 'memory').open([payTool()])
  const ann = life.person('ann')
  const wrong = await ann.makeGrant({
    tool: 'pay',
    ttlMs: 0,
    maxUses: 1.5,
    when: [{ field: 'amount', op: 'near' as never, value: 1 }],
  })
  assert.equal(refusal(wrong), 'envelope-invalid')
  for (const path of ['/ttl', '/max_uses', '/when/0/field', '/when/0/op'])
    assert.match(JSON.stringify(wrong), new RegExp(path))
  assert.equal(refusal(await ann.makeGrant({ ...SMALL, tool: 'nothing' })), 'tool-unknown')
  assert.equal(refusal(await ann.makeGrant({ ...SMALL, operation: 'nothing' })), 'operation-unknown')
  assert.deepEqual(await ann.listGrants(), [])
})
