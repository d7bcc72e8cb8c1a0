// Approvals, ToolApprovals and grants over real HTTP.
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import {
  AGENT,
  ANNA,
  BEN,
  ELSEWHERE,
  type GovernanceHarness,
  NOBODY,
  OTHER_AGENT,
  startGovernanceHarness,
} from './governance-harness.ts'
import { assertClean } from './harness.ts'

let h: GovernanceHarness
before(async () => {
  h = await startGovernanceHarness()
})
after(() => h.close())
beforeEach(() => {
  h.transferred.length = 0
})

const get = (path: string, token = ANNA) => h.request('GET', path, { token })
const post = (path: string, body?: object, token = ANNA) =>
  h.request('POST', path, { token, ...(body === undefined ? {} : { body }) })
const ended = (call: string) => h.request('GET', `/v1/calls/${call}?wait=20`, { token: AGENT })

describe('GET /v1/approvals', () => {
  it('S45: shows what waits, with the masked input, to who may decide and to who asked', async () => {
    const { approval, call } = await h.suspend()
    const { status, body } = await get('/v1/approvals?state=pending&tool=transfer&requester=agent-1')
    assert.equal(status, 200)
    const one = body.approvals.find(({ id }: { id: string }) => id === approval)
    assert.equal(one.call_id, call)
    assert.deepEqual(one.requester, { actor: 'agent-1', kind: 'agent' })
    assert.equal(one.input.amount, 500)
    const shown = await get(`/v1/approvals/${approval}`)
    assert.equal(shown.body.state, 'pending')
    assert.equal(shown.text.includes('1234-secret'), false, 'what is write-only is masked (S5)')
    assert.equal((await get(`/v1/approvals/${approval}`, AGENT)).status, 200, 'its own')
    assert.equal((await get(`/v1/approvals/${approval}`, NOBODY)).status, 404)
    assert.equal((await get(`/v1/approvals/${approval}`, ELSEWHERE)).status, 404, 'another namespace')
    assert.deepEqual((await get('/v1/approvals', NOBODY)).body, { approvals: [], next_cursor: null })
    assert.deepEqual((await get('/v1/approvals', ELSEWHERE)).body.approvals, [])
  })

  it('pages with a cursor, newest first', async () => {
    const first = await h.suspend()
    const second = await h.suspend()
    const one = await get('/v1/approvals?limit=1&state=pending')
    assert.equal(one.body.approvals[0].id, second.approval)
    const next = await get(`/v1/approvals?limit=1&state=pending&cursor=${one.body.next_cursor}`)
    assert.equal(next.body.approvals[0].id, first.approval)
  })

  it('refuses bad parameters and ids that can be none', async () => {
    for (const query of ['state=done', 'limit=0', 'limit=201', 'cursor=abc', 'colour=red', 'tool=a&tool=b']) {
      const reply = await get(`/v1/approvals?${query}`)
      assert.equal(reply.status, 422, query)
      assert.equal(reply.body.error.details.failure, 'envelope-invalid')
    }
    for (const id of ['x', '..%2f', '0193a1b2-0000-7000-8000-000000000000', '%00'])
      assert.equal((await get(`/v1/approvals/${id}`)).status, 404, id)
    assert.equal((await h.request('GET', '/v1/approvals', { token: null })).status, 401)
  })
})

describe('POST /v1/approvals/{id}/approve', () => {
  it('S45: the call goes on by itself, once, and the decision names who sent it', async () => {
    const { approval, call } = await h.suspend()
    const decided = await post(`/v1/approvals/${approval}/approve`, { comment: 'fine' })
    assert.equal(decided.status, 200, decided.text)
    const [decision] = decided.body.decisions
    assert.deepEqual([decision.decided_by, decision.comment, decision.via], ['anna', 'fine', 'api'])
    const end = await ended(call)
    assert.equal(end.body.state, 'succeeded', end.text)
    assert.deepEqual(h.transferred, [500])
    assert.equal((await get(`/v1/approvals/${approval}`)).body.state, 'used')
    const late = await post(`/v1/approvals/${approval}/approve`)
    assert.equal(late.status, 409, late.text)
    assertClean(late.text)
  })

  it('S45: neither the requester nor any agent decides, nor who may not', async () => {
    const { approval } = await h.suspend()
    const own = await post(`/v1/approvals/${approval}/approve`, {}, AGENT)
    assert.equal(own.status, 403)
    assert.equal(own.body.error.details.failure, 'approval-self')
    const agent = await post(`/v1/approvals/${approval}/approve`, {}, OTHER_AGENT)
    assert.equal(agent.status, 403)
    assert.equal(agent.body.error.details.code, 'approver-agent')
    assert.equal((await post(`/v1/approvals/${approval}/approve`, {}, NOBODY)).status, 404)
    assert.equal((await post(`/v1/approvals/${approval}/approve`, {}, ELSEWHERE)).status, 404)
    assert.deepEqual(h.transferred, [])
    assert.equal((await get(`/v1/approvals/${approval}`)).body.state, 'pending')
  })

  it('shows what differs from the last call of its kind that was agreed to', async () => {
    const first = await h.suspend({ to: 'acme', amount: 700 })
    await post(`/v1/approvals/${first.approval}/approve`)
    await ended(first.call)
    const { approval } = await h.suspend({ to: 'globex', amount: 700 })
    const { diff } = (await get(`/v1/approvals/${approval}`)).body
    assert.equal(diff.approval_id, first.approval)
    assert.deepEqual(diff.changes, [{ op: 'change', path: '/to', from: 'acme', to: 'globex' }])
  })
})

describe('POST /v1/approvals/{id}/deny', () => {
  it('S16: the caller is told the reason, and the key keeps it', async () => {
    const { approval, call } = await h.suspend()
    const decided = await post(`/v1/approvals/${approval}/deny`, { reason: 'not our supplier' }, BEN)
    assert.equal(decided.status, 200, decided.text)
    assert.equal(decided.body.state, 'denied')
    const end = await ended(call)
    assert.equal(end.body.state, 'denied', end.text)
    assert.match(end.text, /not our supplier/)
    assert.deepEqual(h.transferred, [])
  })

  it('needs a reason, and refuses what it does not know', async () => {
    const { approval } = await h.suspend()
    for (const body of [{}, { reason: '' }, { reason: '  ' }, { reason: 'x', by: 'anna' }, { reason: 7 }]) {
      const reply = await post(`/v1/approvals/${approval}/deny`, body)
      assert.equal(reply.status, 422, JSON.stringify(body))
      assert.ok(reply.body.error.details.violations.length > 0)
    }
    assert.equal((await post(`/v1/approvals/${approval}/approve`, { comment: '\u0007' })).status, 422)
    assert.equal((await get(`/v1/approvals/${approval}`)).body.state, 'pending')
  })

  it('a denial is overridden by who may: the key is free, and people are asked anew', async () => {
    const input = { to: 'acme', amount: 900 }
    const ask = () => h.call('transfer', input, { token: AGENT, envelope: { idempotency_key: 'override-1' } })
    const first = (await ask()).body.error.details.approval_id
    await post(`/v1/approvals/${first}/deny`, { reason: 'too early' })
    assert.equal((await ask()).status, 403, 'replayed')
    assert.equal((await post(`/v1/approvals/${first}/override`, { reason: 'it is due now' })).status, 403)
    const overridden = await h.request('POST', `/v1/approvals/${first}/override`, {
      body: { reason: 'it is due now' },
    })
    assert.equal(overridden.status, 200, overridden.text)
    assert.equal(overridden.body.state, 'denied', 'the denial stays on record')
    const again = await ask()
    assert.equal(again.status, 202, again.text)
    assert.notEqual(again.body.error.details.approval_id, first)
  })
})

describe('POST /v1/approvals/{id}/delegate', () => {
  it('lets somebody decide who could not, on behalf of who handed it over', async () => {
    const { approval, call } = await h.suspend()
    assert.equal((await post(`/v1/approvals/${approval}/delegate`, { to: 'agent-1' })).status, 403)
    assert.equal((await post(`/v1/approvals/${approval}/delegate`, { to: '' })).status, 422)
    const handed = await post(`/v1/approvals/${approval}/delegate`, { to: 'nobody' })
    assert.equal(handed.status, 200, handed.text)
    assert.equal(handed.body.delegations[0].to, 'nobody')
    const decided = await post(`/v1/approvals/${approval}/approve`, undefined, NOBODY)
    assert.equal(decided.status, 200, decided.text)
    const { decided_by, on_behalf_of } = decided.body.decisions[0]
    assert.deepEqual([decided_by, on_behalf_of], ['nobody', 'anna'])
    assert.equal((await ended(call)).body.state, 'succeeded')
  })
})

describe('/v1/tool-approvals', () => {
  it('shows the same in the shape of a resource, and decides', async () => {
    const { approval, call } = await h.suspend()
    const list = await get('/v1/tool-approvals?state=pending')
    const one = list.body.tool_approvals.find(
      ({ metadata }: { metadata: { name: string } }) => metadata.name === approval,
    )
    assert.equal(one.kind, 'ToolApproval')
    assert.deepEqual(
      [one.spec.tool, one.spec.agent, one.spec.task_ref, one.spec.ttl],
      ['transfer', 'agent-1', call, '10m'],
    )
    assert.equal(one.spec.input.amount, 500)
    assert.deepEqual(Object.keys(one.status), ['phase', 'expires_at'])
    assert.equal(one.status.phase, 'Pending')
    const forged = await post(`/v1/tool-approvals/${approval}/approve`, { decided_by: 'ben' })
    assert.equal(forged.status, 422)
    assert.equal(forged.body.error.details.violations[0].path, '/decided_by')
    const both = await post(`/v1/tool-approvals/${approval}/approve`, { comment: 'a', reason: 'b' })
    assert.equal(both.status, 422)
    const decided = await post(`/v1/tool-approvals/${approval}/approve`, {
      comment: 'ok',
      decided_by: 'anna',
    })
    assert.equal(decided.status, 200, decided.text)
    const { phase, decision, decided_by, comment } = decided.body.status
    assert.deepEqual([phase, decision, decided_by, comment], ['Approved', 'approved', 'anna', 'ok'])
    assert.equal((await ended(call)).body.state, 'succeeded')
    assert.equal((await get(`/v1/tool-approvals/${approval}`)).body.status.phase, 'Approved')
  })

  it('denies with a reason; a canceled call has an approval that expired', async () => {
    const { approval } = await h.suspend()
    assert.equal((await post(`/v1/tool-approvals/${approval}/deny`)).status, 422)
    const denied = await post(`/v1/tool-approvals/${approval}/deny`, { comment: 'no' })
    assert.deepEqual([denied.body.status.phase, denied.body.status.comment], ['Denied', 'no'])
    const other = await h.suspend()
    await h.request('POST', `/v1/calls/${other.call}/cancel`, { token: AGENT })
    assert.equal((await get(`/v1/tool-approvals/${other.approval}`)).body.status.phase, 'Expired')
  })
})

describe('/v1/grants', () => {
  it('what is granted beforehand does not wait; what is not covered does', async () => {
    const made = await post('/v1/grants', {
      tool: 'transfer',
      when: [{ field: '/amount', op: 'lt', value: 200 }],
      ttl: '1h',
      max_uses: 1,
      reason: 'petty cash',
    })
    assert.equal(made.status, 201, made.text)
    const { id } = made.body
    assert.equal(made.headers.location, `/v1/grants/${id}`)
    assert.equal((await h.call('transfer', { to: 'a', amount: 150 }, { token: AGENT })).status, 200)
    assert.equal((await h.call('transfer', { to: 'a', amount: 250 }, { token: AGENT })).status, 202)
    assert.equal(
      (await h.call('transfer', { to: 'a', amount: 160 }, { token: AGENT })).status,
      202,
      'used up',
    )
    assert.deepEqual(h.transferred, [150])
    const list = await get('/v1/grants')
    assert.equal(list.body.grants[0].uses, 1)
    assert.deepEqual((await get('/v1/grants', NOBODY)).body.grants, [])
    assert.deepEqual((await get('/v1/grants', ELSEWHERE)).body.grants, [])
    const end = (token: string) => h.request('DELETE', `/v1/grants/${id}?reason=enough`, { token })
    assert.equal((await end(ELSEWHERE)).status, 404)
    assert.equal((await end(ANNA)).status, 200)
    assert.equal((await end(ANNA)).status, 404)
  })

  it('refuses what is no grant, and who may not make one', async () => {
    const good = { tool: 'transfer', ttl: '1h' }
    for (const [body, path] of [
      [{ ttl: '1h' }, '/'],
      [{ tool: 'transfer' }, '/'],
      [{ ...good, ttl: 'soon' }, '/ttl'],
      [{ ...good, ttl: '10000h' }, '/ttl'],
      [{ ...good, max_uses: 0 }, '/max_uses'],
      [{ ...good, when: [{ field: 'amount', op: 'lt', value: 1 }] }, '/when/0/field'],
      [{ ...good, when: [{ field: '/amount', op: 'lt', value: true }] }, '/when/0/value'],
      [{ ...good, when: [{ field: '/amount', op: 'near', value: 1 }] }, '/when/0/op'],
      [{ ...good, colour: 'red' }, '/colour'],
      [{ ...good, caller: 'a b' }, '/caller'],
    ] as const) {
      const reply = await post('/v1/grants', body)
      assert.equal(reply.status, 422, `${JSON.stringify(body)} ${reply.text}`)
      assert.ok(reply.body.error.details.violations.length > 0, path)
    }
    assert.equal((await post('/v1/grants', { ...good, tool: 'nothing' })).status, 404)
    assert.equal((await post('/v1/grants', good, BEN)).status, 403)
    assert.equal((await post('/v1/grants', good, OTHER_AGENT)).status, 403)
    assert.equal((await h.request('DELETE', '/v1/grants/x', { token: ANNA })).status, 404)
  })
})
