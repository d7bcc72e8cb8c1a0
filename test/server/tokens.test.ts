// Tokens over real HTTP: issued, used, narrowed, revoked, rotated, and everything that must not pass.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { partsOf } from '../identity/support.ts'
import { assertClean, type Harness, type Reply, startHarness } from './harness.ts'

const ROLES = `
apiVersion: writ.dev/v1
kind: AgentRole
metadata: {name: caller}
spec: {permissions: ['tool:echo:invoke']}
---
apiVersion: writ.dev/v1
kind: AgentRole
metadata: {name: operator}
spec: {inherits: [caller], permissions: ['resource:read', 'resource:write', 'token:write']}
---
apiVersion: writ.dev/v1
kind: AgentRole
metadata: {name: governor}
spec: {permissions: ['governance:write']}
`

const TOOL = (name: string, namespace?: string) => `
apiVersion: writ.dev/v1
kind: Tool
metadata: {name: ${name}${namespace === undefined ? '' : `, namespace: ${namespace}`}}
spec: {endpoint: 'http://127.0.0.1:9/', operation_classes: [read]}
`

let h: Harness
before(async () => {
  h = await startHarness()
  for (const namespace of ['default', 'blue']) {
    const reply = await h.request('POST', `/v1/apply?namespace=${namespace}`, {
      body: ROLES,
      headers: { 'content-type': 'application/yaml' },
    })
    assert.equal(reply.status, 200, reply.text)
  }
})
after(() => h.close())

async function issue(body: object, options: { token?: string; namespace?: string } = {}): Promise<Reply> {
  const query = options.namespace === undefined ? '' : `?namespace=${options.namespace}`
  return h.request('POST', `/v1/tokens${query}`, { body, ...(options.token ? { token: options.token } : {}) })
}

async function tokenFor(body: object, namespace?: string): Promise<string> {
  const reply = await issue(body, namespace === undefined ? {} : { namespace })
  assert.equal(reply.status, 201, reply.text)
  return reply.body.token
}

const whoami = (token: string) => h.request('GET', '/v1/whoami', { token })
const reasonOf = (reply: Reply) => reply.body.error.details.reason

async function evidence(): Promise<string> {
  let text = ''
  for await (const piece of h.runtime.audit.export()) text += piece
  return text
}

describe('issuing', () => {
  it('gives a token that calls what its roles permit, in its namespace, and nothing else', async () => {
    const reply = await issue({ actor: 'agent-1', roles: ['caller'], ttl: '10m' })
    assert.equal(reply.status, 201)
    const { token, id, expires_at, issued_at, ...rest } = reply.body
    assert.deepEqual(rest, {
      actor: 'agent-1',
      namespace: 'default',
      kind: 'agent',
      roles: ['caller'],
      audience: 'writ',
    })
    assert.equal(Date.parse(expires_at) - Date.parse(issued_at), 600_000)
    assert.equal(partsOf(token).payload.jti, id)
    assert.equal((await h.call('echo', { a: 1 }, { token })).status, 200)
    assert.equal((await h.call('post', { text: 'x' }, { token })).status, 403)
    const me = await whoami(token)
    assert.deepEqual(me.body, {
      actor: 'agent-1',
      namespace: 'default',
      kind: 'agent',
      admin: false,
      roles: ['caller'],
      permissions: ['tool:echo:invoke'],
      clearance: 'internal',
      token_id: id,
    })
  })

  it('S41: without a role nothing is permitted, and a role that is gone denies', async () => {
    const bare = await tokenFor({ actor: 'agent-2' })
    assert.equal((await h.call('echo', {}, { token: bare })).status, 403)
    const text = ROLES.split('---')[0]?.replace('caller', 'passing') ?? ''
    await h.request('POST', '/v1/apply', { body: text, headers: { 'content-type': 'application/yaml' } })
    const token = await tokenFor({ actor: 'agent-2', roles: ['passing'] })
    assert.equal((await h.call('echo', {}, { token })).status, 200)
    const gone = await h.request('DELETE', '/v1/agent-roles/passing')
    assert.equal(gone.status, 204, gone.text)
    assert.equal((await h.call('echo', {}, { token })).status, 403, 'what it holds is looked up now')
    const door = await h.request('GET', '/v1/tools', { token })
    assert.equal(door.body.error.details.code, 'role-missing')
    assert.deepEqual((await whoami(token)).body.missing_roles, ['passing'])
  })

  it('scopes narrow', async () => {
    const token = await tokenFor({
      actor: 'op',
      kind: 'service',
      roles: ['operator'],
      scopes: ['resource:read'],
    })
    assert.equal((await h.request('GET', '/v1/tools', { token })).status, 200)
    assert.equal((await h.call('echo', {}, { token })).status, 403)
    assert.equal((await issue({ actor: 'x' }, { token })).status, 403)
  })

  it('never gives more than the issuer has', async () => {
    const operator = await tokenFor({ actor: 'op', kind: 'service', roles: ['operator'] })
    assert.equal((await issue({ actor: 'x', roles: ['caller'] }, { token: operator })).status, 201)
    for (const body of [
      { actor: 'x', roles: ['governor'] },
      { actor: 'x', roles: ['nobody'] },
      { actor: 'x', kind: 'person' },
      { actor: 'x', agents: ['*'] },
      { actor: 'x', audience: 'elsewhere' },
    ]) {
      const reply = await issue(body, { token: operator })
      assert.equal(reply.status, 403, JSON.stringify(body))
      assert.equal(reply.body.error.details.missing.length, 1)
      assertClean(reply.text)
    }
    const caller = await tokenFor({ actor: 'agent-1', roles: ['caller'] })
    assert.equal((await issue({ actor: 'x' }, { token: caller })).status, 403)
    const agent = await tokenFor({ actor: 'agent-1', roles: ['operator'] })
    assert.equal((await issue({ actor: 'x' }, { token: agent })).status, 403, 'an agent issues none')
  })

  it('refuses a scope that covers nothing, and doubts one that Writ never asks for', async () => {
    for (const [scope, said] of [
      ['tool:echo', /permits nothing: write it such as tool:weather:invoke/],
      ['tool:*echo:invoke', /wildcard where none counts/],
      ['*', /wildcard where none counts/],
    ] as const) {
      const reply = await issue({ actor: 'a', scopes: ['resource:read', scope] })
      assert.equal(reply.status, 422, scope)
      const [violation] = reply.body.error.details.violations
      assert.equal(violation.path, '/scopes/1')
      assert.match(violation.message, said)
    }
    const doubted = await issue({ actor: 'a', scopes: ['foo', 'approval:decid', 'Tool:echo:Invoke'] })
    assert.equal(doubted.status, 201)
    assert.deepEqual(doubted.body.scopes, ['foo', 'approval:decid', 'tool:echo:invoke'])
    const [foo, decid, ...more] = doubted.body.warnings
    assert.match(
      foo,
      /^scope 'foo' is no permission that Writ asks for.* A scope looks like tool:NAME:invoke/,
    )
    assert.match(decid, /Did you mean approval:decide\?$/)
    assert.deepEqual(more, [])
    assert.equal((await issue({ actor: 'a', scopes: ['resource:read'] })).body.warnings, undefined)
  })

  it('says all that is wrong with a request, with its place', async () => {
    const reply = await issue({
      actor: 'a b',
      roles: ['ok', 'not ok'],
      scopes: ['a b'],
      agents: ['a*b'],
      ttl: '31d',
      system: ' ',
    })
    assert.equal(reply.status, 422)
    assert.deepEqual(
      reply.body.error.details.violations.map(({ path }: { path: string }) => path),
      ['/actor', '/system', '/roles/1', '/scopes/0', '/agents/0', '/ttl'],
    )
    for (const ttl of ['59s', '721h', '-1h', '', '1', 'x'])
      assert.equal((await issue({ actor: 'x', ttl })).status, 422, ttl)
    for (const body of [
      {},
      { actor: '' },
      { actor: 'local-admin' },
      { actor: 'x', kind: 'robot' },
      { actor: 'x', rolls: [] },
    ])
      assert.equal((await issue(body)).status, 422, JSON.stringify(body))
  })

  it('S40: is in evidence with who and what, and never with the token', async () => {
    const { body } = await issue({ actor: 'agent-9', roles: ['caller'] })
    await h.request('DELETE', `/v1/tokens/${body.id}?reason=lost`)
    const text = await evidence()
    assert.match(text, new RegExp(`token\\.issued.*${body.id}|${body.id}.*token\\.issued`))
    assert.match(text, /token\.revoked/)
    assert.equal(text.includes(body.token), false)
    assert.equal(text.includes(body.token.split('.')[2]), false)
  })
})

describe('namespaces', () => {
  it('a token is for one: asking for another is refused on every route', async () => {
    const token = await tokenFor({ actor: 'op', kind: 'service', roles: ['operator'] }, 'blue')
    assert.equal((await whoami(token)).body.namespace, 'blue')
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
    const token = await tokenFor({ actor: 'op', kind: 'service', roles: ['operator'] }, 'blue')
    const yaml = { 'content-type': 'application/yaml' }
    for (const [method, path] of [
      ['POST', '/v1/apply'],
      ['POST', '/v1/tools'],
      ['PUT', '/v1/tools/crossing'],
    ] as const) {
      const reply = await h.request(method, path, { token, body: TOOL('crossing', 'default'), headers: yaml })
      assert.equal(reply.status, 403, `${method} ${path}`)
    }
    assert.equal(
      (await h.request('POST', '/v1/apply', { token, body: TOOL('own'), headers: yaml })).status,
      200,
    )
    const own = await h.request('GET', '/v1/tools/own?namespace=blue')
    assert.equal(own.body.metadata.namespace, 'blue')
    assert.equal((await h.request('GET', '/v1/tools/crossing')).status, 404)
    const caller = await tokenFor({ actor: 'agent-1', roles: ['caller'] })
    const call = await h.call('echo', {}, { token: caller, envelope: { namespace: 'blue' } })
    assert.equal(call.status, 403)
  })

  it('governance is changed with governance:write alone', async () => {
    const yaml = { 'content-type': 'application/yaml' }
    const operator = await tokenFor({ actor: 'op', kind: 'service', roles: ['operator'] })
    const governor = await tokenFor({ actor: 'gov', kind: 'service', roles: ['governor'] })
    const role = ROLES.split('---')[0]?.replace('caller', 'self-made') ?? ''
    for (const [token, body, status] of [
      [operator, role, 403],
      [operator, `${TOOL('mixed')}---${role}`, 403],
      [operator, 'nonsense: [', 422],
      [governor, TOOL('mixed'), 403],
      [governor, role, 200],
    ] as const) {
      const reply = await h.request('POST', '/v1/apply', { token, body, headers: yaml })
      assert.equal(reply.status, status, `${body.slice(0, 60)} ${reply.text}`)
    }
  })

  it('a revocation reaches tokens of its own namespace only', async () => {
    const here = await tokenFor({ actor: 'twin' })
    const there = await tokenFor({ actor: 'twin' }, 'blue')
    const operator = await tokenFor({ actor: 'op', kind: 'service', roles: ['operator'] }, 'blue')
    const body = { actor: 'twin', reason: 'test' }
    assert.equal((await h.request('POST', '/v1/tokens/revoke', { body, token: operator })).status, 200)
    assert.equal((await whoami(there)).status, 401)
    assert.equal((await whoami(here)).status, 200)
  })
})

describe('revoking', () => {
  it('token replay: a revoked token is refused at its next request, with the reason and without the token', async () => {
    const { body } = await issue({ actor: 'agent-3', roles: ['caller'] })
    assert.equal((await whoami(body.token)).status, 200)
    const revoked = await h.request('DELETE', `/v1/tokens/${body.id}?reason=stolen`)
    assert.deepEqual([revoked.status, revoked.body.revoked], [200, `token:${body.id}`])
    assert.ok(Date.parse(revoked.body.until) >= Date.parse(body.expires_at))
    for (let i = 0; i < 3; i++) {
      const reply = await h.call('echo', {}, { token: body.token })
      assert.equal(reply.status, 401)
      assert.equal(reasonOf(reply), 'revoked')
      assert.match(
        String(reply.headers['www-authenticate']),
        /error="invalid_token", error_description="The token was revoked\."/,
      )
      assert.equal(reply.text.includes(body.token), false)
    }
    assert.match(await h.metrics.render(), /writ_tokens_refused_total\{reason="revoked"\} [3-9]/)
  })

  it('all of an actor: those until now are refused, and the next one is good', async () => {
    const before = await Promise.all([1, 2, 3].map(() => tokenFor({ actor: 'agent-4', roles: ['caller'] })))
    const other = await tokenFor({ actor: 'agent-44', roles: ['caller'] })
    const reply = await h.request('POST', '/v1/tokens/revoke', { body: { actor: 'agent-4', reason: 'gone' } })
    assert.equal(reply.body.revoked, 'tokens:agent-4')
    const next = await tokenFor({ actor: 'agent-4', roles: ['caller'] })
    for (const token of before) assert.equal(reasonOf(await whoami(token)), 'revoked')
    assert.equal((await whoami(next)).status, 200)
    assert.equal((await h.call('echo', {}, { token: next })).status, 200)
    assert.equal((await whoami(other)).status, 200)
  })

  it('needs token:write, a reason, and an id that is not the token itself', async () => {
    const { body } = await issue({ actor: 'agent-5', roles: ['caller'] })
    assert.equal((await h.request('DELETE', `/v1/tokens/${body.id}`, { token: body.token })).status, 403)
    assert.equal((await h.request('POST', '/v1/tokens/revoke', { body: { actor: 'x' } })).status, 422)
    assert.equal(
      (await h.request('POST', '/v1/tokens/revoke', { body: { actor: 'x', reason: ' ' } })).status,
      422,
    )
    assert.equal((await h.request('DELETE', '/v1/tokens/a.b')).status, 422)
    assert.equal((await h.request('DELETE', `/v1/tokens/${body.id}?reason=%01`)).status, 422)
    assert.equal((await whoami(body.token)).status, 200)
  })
})

describe('rotating', () => {
  it('under load loses no request: tokens of the old key and of the new one are good', async () => {
    const tokens = [await tokenFor({ actor: 'agent-6', roles: ['caller'] })]
    let going = true
    const statuses: number[] = []
    const load = Array.from({ length: 8 }, async () => {
      for (let i = 0; going; i++) statuses.push((await whoami(tokens[i % tokens.length] ?? '')).status)
    })
    const kids = new Set<unknown>()
    for (let i = 0; i < 5; i++) {
      const rotated = await h.request('POST', '/v1/tokens/rotate')
      assert.equal(rotated.status, 200, rotated.text)
      const token = await tokenFor({ actor: 'agent-6', roles: ['caller'] })
      assert.equal(partsOf(token).header.kid, rotated.body.key_id)
      kids.add(rotated.body.key_id)
      tokens.push(token)
    }
    going = false
    await Promise.all(load)
    assert.equal(kids.size, 5)
    assert.ok(statuses.length > 8)
    assert.deepEqual(new Set(statuses), new Set([200]))
    assert.match(await evidence(), /token\.key-rotated/)
  })

  it('is for the admin alone', async () => {
    const operator = await tokenFor({ actor: 'op', kind: 'service', roles: ['operator'] })
    assert.equal((await h.request('POST', '/v1/tokens/rotate', { token: operator })).status, 403)
  })
})

describe('the claims of an envelope', () => {
  it('an agent names itself alone, in every dialect', async () => {
    const token = await tokenFor({ actor: 'agent-7', roles: ['caller'] })
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
    const token = await tokenFor({
      actor: 'planner',
      kind: 'service',
      roles: ['caller'],
      agents: ['worker-*'],
    })
    assert.equal((await h.call('echo', {}, { token, envelope: { agent: 'worker-1' } })).status, 200)
    assert.equal((await h.call('echo', {}, { token, envelope: { agent: 'boss' } })).status, 403)
  })
})

describe('a token of a megabyte', () => {
  it('is refused before it costs anything', async () => {
    const socket = await h.socket()
    socket.write(
      `GET /v1/whoami HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${'a'.repeat(1_000_000)}\r\n\r\n`,
    )
    assert.match(await socket.until(/^HTTP\/1\.1 431/), /431/)
    assert.equal((await whoami('x'.repeat(15_000))).status, 401)
  })
})
