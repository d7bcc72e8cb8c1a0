// What the server says of approvals, grants, freezes and explanations is what its OpenAPI document promises.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { AGENT, ANNA, type GovernanceHarness, startGovernanceHarness } from './governance-harness.ts'

let h: GovernanceHarness
let ajv: Ajv2020
before(async () => {
  h = await startGovernanceHarness()
  ajv = new Ajv2020({ strict: false, allErrors: true })
  addFormats.default(ajv)
  const { components } = (await h.request('GET', '/openapi.json')).body
  ajv.addSchema({ $id: 'doc', components })
})
after(() => h.close())

function check(name: string, body: unknown): void {
  const validate = ajv.compile({ $ref: `doc#/components/schemas/${name}` })
  assert.ok(validate(body), `${name}: ${ajv.errorsText(validate.errors)} in ${JSON.stringify(body)}`)
}

test('approvals in every state, and ToolApprovals', async () => {
  for (const act of [
    async (id: string) => h.request('POST', `/v1/approvals/${id}/deny`, { body: { reason: 'no' } }),
    async (id: string) =>
      h.request('POST', `/v1/approvals/${id}/delegate`, { token: ANNA, body: { to: 'x' } }),
    async (id: string) => h.request('POST', `/v1/approvals/${id}/approve`, { body: { comment: 'yes' } }),
  ]) {
    const { approval, call } = await h.suspend()
    check('approval', (await h.request('GET', `/v1/approvals/${approval}`)).body)
    check('approval', (await act(approval)).body)
    const { state } = (await h.request('GET', `/v1/approvals/${approval}`)).body
    if (state === 'approved') await h.request('GET', `/v1/calls/${call}?wait=20`)
    check('tool-approval', (await h.request('GET', `/v1/tool-approvals/${approval}`)).body)
  }
  const { approval } = await h.suspend({ to: 'other', amount: 101 })
  const compared = (await h.request('GET', `/v1/approvals/${approval}`)).body
  assert.ok(compared.diff.changes.length > 0)
  check('approval', compared)
  check('approval-list', (await h.request('GET', '/v1/approvals')).body)
  check('tool-approval-list', (await h.request('GET', '/v1/tool-approvals')).body)
})

test('grants and freezes', async () => {
  const body = {
    tool: 'transfer',
    ttl: '1h',
    max_uses: 2,
    when: [{ field: '/to', op: 'exists' }],
    reason: 'x',
  }
  const grant = (await h.request('POST', '/v1/grants', { token: ANNA, body })).body
  check('grant', grant)
  check('grant-list', (await h.request('GET', '/v1/grants')).body)
  check('grant', (await h.request('DELETE', `/v1/grants/${grant.id}`)).body)
  for (const freeze of [{ what: 'tool', name: 'transfer' }, { what: 'namespace' }]) {
    const stop = { ...freeze, reason: 'x' }
    check('freeze', (await h.request('POST', '/v1/freezes', { body: stop })).body)
  }
  check('freeze-list', (await h.request('GET', '/v1/freezes')).body)
  check('freeze', (await h.request('DELETE', '/v1/freezes/namespace?reason=x')).body)
  check('freeze', (await h.request('DELETE', '/v1/freezes/tool/transfer?reason=x')).body)
})

test('explanations of what is allowed, waits, is invalid and is denied', async () => {
  for (const input of [{ to: 'a', amount: 1 }, { to: 'a', amount: 1000 }, { amount: 'x' }]) {
    const body = { request_id: 'e', tool: { name: 'transfer' }, input }
    check('explanation', (await h.request('POST', '/v1/explain', { token: AGENT, body })).body)
  }
  const body = { request_id: 'e', tool: { name: 'echo' } }
  check('explanation', (await h.request('POST', '/v1/explain', { token: AGENT, body })).body)
})
