// What a token does not reach: another namespace, what governs, and calls in the name of another.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { ROLES, startTokenHarness, type TokenHarness, YAML } from './token-harness.ts'

let h: TokenHarness
before(async () => {
  h = await startTokenHarness()
})
after(() => h.close())

const TOOL = (name: string, namespace?: string) => `
apiVersion: writ.dev/v1
kind: Tool
metadata: {name: ${name}${namespace === undefined ? '' : `, namespace: ${namespace}`}}
spec: {endpoint: 'http://127.0.0.1:9/', operation_classes: [read]}
`

describe('namespaces', () => {
  it('a token is for one: asking for another is refused on every route', async () => {
    const token = await h.tokenFor({ actor: 'op', kind: 'service', roles: ['operator'] }, 'blue')
    assert.equal((await h.whoami(token)).body.namespace, 'blue')
    const document = (await h.request('GET', '/openapi.json', { token: null })).body
    for (const [path, item] of Object.entries(
      document.paths as Record<string, Record<string, { security: object[] }>>,
    )) {
      for (const [method, { security }] of Object.entries(item)) {
        if (security.length === 0 || security.some((one) => !('token' in one))) continue
        const url = path.replaceAll(/\{\w+\}/g, '019a0000-0000-7000-8000-000000000001')
        const reply = await h.request(method.toUpperCase(), url, {
          token,
          headers: { 'writ-namespace': 'default' },
          ...(method === 'get' || method === 'delete' ? {} : { body: '{}' }),
        })
        assert.equal(reply.status, 403, `${method} ${path}: ${reply.text.slice(0, 200)}`)
        assert.deepEqual(reply.body.error.details.missing, ['namespace:default'], path)
      }
    }
  })

  it('a manifest or an envelope does not lead into another', async () => {
    const token = await h.tokenFor({ actor: 'op', kind: 'service', roles: ['operator'] }, 'blue')
    for (const [method, path] of [
      ['POST', '/v1/apply'],
      ['POST', '/v1/tools'],
      ['PUT', '/v1/tools/crossing'],
    ] as const) {
      const reply = await h.request(method, path, { token, body: TOOL('crossing', 'default'), headers: YAML })
      assert.equal(reply.status, 403, `${method} ${path}`)
    }
    assert.equal(
      (await h.request('POST', '/v1/apply', { token, body: TOOL('own'), headers: YAML })).status,
      200,
    )
    const own = await h.request('GET', '/v1/tools/own?namespace=blue')
    assert.equal(own.body.metadata.namespace, 'blue')
    assert.equal((await h.request('GET', '/v1/tools/crossing')).status, 404)
    const caller = await h.tokenFor({ actor: 'agent-1', roles: ['caller'] })
    const call = await h.call('echo', {}, { token: caller, envelope: { namespace: 'blue' } })
    assert.equal(call.status, 403)
  })

  it('governance is changed with governance:write alone', async () => {
    const operator = await h.tokenFor({ actor: 'op', kind: 'service', roles: ['operator'] })
    const governor = await h.tokenFor({ actor: 'gov', kind: 'service', roles: ['governor'] })
    const role = ROLES.split('---')[0]?.replace('caller', 'self-made') ?? ''
    for (const [token, body, status] of [
      [operator, role, 403],
      [operator, `${TOOL('mixed')}---${role}`, 403],
      [operator, 'nonsense: [', 422],
      [governor, TOOL('mixed'), 403],
      [governor, role, 200],
    ] as const) {
      const reply = await h.request('POST', '/v1/apply', { token, body, headers: YAML })
      assert.equal(reply.status, status, `${body.slice(0, 60)} ${reply.text}`)
    }
  })

  it('a revocation reaches tokens of its own namespace only', async () => {
    const here = await h.tokenFor({ actor: 'twin' })
    const there = await h.tokenFor({ actor: 'twin' }, 'blue')
    const operator = await h.tokenFor({ actor: 'op', kind: 'service', roles: ['operator'] }, 'blue')
    const body = { actor: 'twin', reason: 'test' }
    assert.equal((await h.request('POST', '/v1/tokens/revoke', { body, token: operator })).status, 200)
    assert.equal((await h.whoami(there)).status, 401)
    assert.equal((await h.whoami(here)).status, 200)
  })
})

describe('the claims of an envelope', () => {
  it('an agent names itself alone, in every dialect', async () => {
    const token = await h.tokenFor({ actor: 'agent-7', roles: ['caller'] })
    assert.equal((await h.call('echo', {}, { token, envelope: { agent: 'agent-7' } })).status, 200)
    const lied = await h.call('echo', {}, { token, envelope: { agent: 'agent-8' } })
    assert.equal(lied.status, 403)
    assert.equal(lied.body.error.details.code, 'actor-mismatch')
    assert.match(lied.body.error.message, /speaks for itself alone/)
    const legacy = (agent: string) => ({
      request_id: `legacy-${agent}`,
      tool: 'echo',
      action: 'invoke',
      parameters: {},
      context: { agent },
    })
    const fourOutcome = (actor_id: string) => ({
      call_id: h.runtime.mint(),
      tool_id: 'echo',
      tool_version: '^1.0.0',
      fn: 'invoke',
      input: {},
      context: { actor_id, trace_id: h.runtime.mint(), timezone: 'UTC', env: 'dev' },
      constraints: {
        timeout_ms: 5000,
        deadline_unix_ms: Date.now() + 60_000,
        idempotency_key: `claims-of-${actor_id}`,
      },
    })
    for (const body of [legacy, fourOutcome]) {
      const own = await h.request('POST', '/v1/calls', { token, body: body('agent-7') })
      assert.equal(own.status, 200, own.text)
      const other = await h.request('POST', '/v1/calls', { token, body: body('agent-8') })
      assert.equal(other.status, 403, other.text)
      assert.match(other.text, /actor-mismatch/)
    }
  })

  it('confused deputy: a service names only agents that it was given', async () => {
    const token = await h.tokenFor({
      actor: 'planner',
      kind: 'service',
      roles: ['caller'],
      agents: ['worker-*'],
    })
    assert.equal((await h.call('echo', {}, { token, envelope: { agent: 'worker-1' } })).status, 200)
    assert.equal((await h.call('echo', {}, { token, envelope: { agent: 'boss' } })).status, 403)
  })
})
