// What a program can do with the client about approvals, grants, freezes and explanations.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Client, ClientError, createClient } from '../../src/client/index.ts'
import {
  AGENT,
  ANNA,
  type GovernanceHarness,
  OPS,
  startGovernanceHarness,
} from '../server/governance-harness.ts'
import { TOKEN } from '../server/harness.ts'

let h: GovernanceHarness
let agent: Client
let anna: Client
let ops: Client
let admin: Client
before(async () => {
  h = await startGovernanceHarness()
  const as = (token: string) => createClient({ url: h.url, token })
  agent = as(AGENT)
  anna = as(ANNA)
  ops = as(OPS)
  admin = as(TOKEN)
})
after(async () => {
  for (const client of [agent, anna, ops, admin]) await client.close()
  await h.close()
})

const refused = (failure: string, status: number) => (error: unknown) => {
  assert.ok(error instanceof ClientError)
  assert.deepEqual([error.kind, error.failure, error.status], ['refused', failure, status])
  return true
}

test('S45: an approval is found, read and agreed to; the call goes on', async () => {
  const { approval, call } = await h.suspend()
  const page = await anna.listApprovals({
    state: 'pending',
    tool: 'transfer',
    requester: 'agent-1',
    limit: 5,
  })
  assert.deepEqual([page.approvals[0]?.id, page.next_cursor], [approval, null])
  const shown = await anna.getApproval(approval)
  assert.deepEqual(shown.needs, [{ quorum: 1 }])
  await assert.rejects(agent.approve(approval), refused('approval-self', 403))
  const decided = await anna.approve(approval, { comment: 'ok' })
  assert.equal(decided.decisions[0]?.decided_by, 'anna')
  assert.equal((await agent.getCall(call, { waitMs: 20_000 })).state, 'succeeded')
})

test('a denial, a delegation and an override', async () => {
  const { approval } = await h.suspend()
  const handed = await anna.delegateApproval(approval, { to: 'nobody' })
  assert.equal(handed.delegations[0]?.to, 'nobody')
  assert.equal((await admin.deny(approval, { reason: 'no' })).state, 'denied')
  await assert.rejects(anna.overrideDenial(approval, { reason: 'x' }), refused('permission-denied', 403))
  assert.equal((await admin.overrideDenial(approval, { reason: 'x' })).id, approval)
  await assert.rejects(anna.getApproval('../../v1/tools'), refused('envelope-invalid', 404))
})

test('a grant is made, used and ended', async () => {
  const when = [{ field: '/amount', op: 'lt', value: 300 }]
  const grant = await anna.makeGrant({ tool: 'transfer', when, ttl: '1h', maxUses: 5, caller: 'agent-1' })
  assert.deepEqual([grant.when, grant.max_uses, grant.caller, grant.by], [when, 5, 'agent-1', 'anna'])
  const reply = await agent.call({
    request_id: 'granted-1',
    tool: { name: 'transfer' },
    input: { to: 'a', amount: 200 },
  })
  assert.equal(reply.state, 'succeeded')
  assert.equal((await anna.listGrants()).find(({ id }) => id === grant.id)?.uses, 1)
  await anna.endGrant(grant.id, { reason: 'enough & done' })
  await assert.rejects(anna.endGrant(grant.id), refused('envelope-invalid', 404))
  await assert.rejects(agent.makeGrant({ tool: 'transfer', ttl: '1h' }), refused('permission-denied', 403))
})

test('S44: what is frozen is listed, and explained', async () => {
  const target = { what: 'tool', name: 'transfer' } as const
  const frozen = await ops.freeze(target, { reason: 'stop', inFlight: 'end' })
  assert.deepEqual([frozen.what, frozen.name, frozen.in_flight], ['tool', 'transfer', 'end'])
  assert.equal((await ops.listFreezes()).length, 1)
  const explained = await agent.explain({
    request_id: 'why',
    tool: { name: 'transfer' },
    input: { to: 'a', amount: 1 },
  })
  assert.deepEqual([explained.decision, explained.changes], ['deny', ['thaw tool transfer']])
  await ops.thaw(target, { reason: 'go on' })
  assert.deepEqual(await ops.listFreezes(), [])
  await assert.rejects(ops.thaw({ what: 'namespace' }, { reason: 'x' }), refused('envelope-invalid', 404))
  await assert.rejects(ops.freeze({ what: 'all' }, { reason: 'x' }), refused('permission-denied', 403))
})
