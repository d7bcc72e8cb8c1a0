// Tokens over real HTTP: issued and used, and never with more than they should.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { partsOf } from '../identity/support.ts'
import { assertClean } from './harness.ts'
import { ROLES, startTokenHarness, type TokenHarness, YAML } from './token-harness.ts'

let h: TokenHarness
before(async () => {
  h = await startTokenHarness()
})
after(() => h.close())

describe('issuing', () => {
  it('gives a token that calls what its roles permit, in its namespace, and nothing else', async () => {
    const reply = await h.issue({ actor: 'agent-1', roles: ['caller'], ttl: '10m' })
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
    const me = await h.whoami(token)
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
    const bare = await h.tokenFor({ actor: 'agent-2' })
    assert.equal((await h.call('echo', {}, { token: bare })).status, 403)
    const text = ROLES.split('---')[0]?.replace('caller', 'passing') ?? ''
    await h.request('POST', '/v1/apply', { body: text, headers: YAML })
    const token = await h.tokenFor({ actor: 'agent-2', roles: ['passing'] })
    assert.equal((await h.call('echo', {}, { token })).status, 200)
    const gone = await h.request('DELETE', '/v1/agent-roles/passing')
    assert.equal(gone.status, 204, gone.text)
    assert.equal((await h.call('echo', {}, { token })).status, 403, 'what it holds is looked up now')
    const door = await h.request('GET', '/v1/tools', { token })
    assert.equal(door.body.error.details.code, 'role-missing')
    assert.deepEqual((await h.whoami(token)).body.missing_roles, ['passing'])
  })

  it('scopes narrow', async () => {
    const token = await h.tokenFor({
      actor: 'op',
      kind: 'service',
      roles: ['operator'],
      scopes: ['resource:read'],
    })
    assert.equal((await h.request('GET', '/v1/tools', { token })).status, 200)
    assert.equal((await h.call('echo', {}, { token })).status, 403)
    assert.equal((await h.issue({ actor: 'x' }, { token })).status, 403)
  })

  it('never gives more than the issuer has', async () => {
    const operator = await h.tokenFor({ actor: 'op', kind: 'service', roles: ['operator'] })
    assert.equal((await h.issue({ actor: 'x', roles: ['caller'] }, { token: operator })).status, 201)
    for (const body of [
      { actor: 'x', roles: ['governor'] },
      { actor: 'x', roles: ['nobody'] },
      { actor: 'x', kind: 'person' },
      { actor: 'x', agents: ['*'] },
      { actor: 'x', audience: 'elsewhere' },
    ]) {
      const reply = await h.issue(body, { token: operator })
      assert.equal(reply.status, 403, JSON.stringify(body))
      assert.equal(reply.body.error.details.missing.length, 1)
      assertClean(reply.text)
    }
    const caller = await h.tokenFor({ actor: 'agent-1', roles: ['caller'] })
    assert.equal((await h.issue({ actor: 'x' }, { token: caller })).status, 403)
    const agent = await h.tokenFor({ actor: 'agent-1', roles: ['operator'] })
    assert.equal((await h.issue({ actor: 'x' }, { token: agent })).status, 403, 'an agent issues none')
  })

  it('refuses a scope that covers nothing, and doubts one that Writ never asks for', async () => {
    for (const [scope, said] of [
      ['tool:echo', /permits nothing: write it such as tool:weather:invoke/],
      ['tool:*echo:invoke', /wildcard where none counts/],
      ['*', /wildcard where none counts/],
    ] as const) {
      const reply = await h.issue({ actor: 'a', scopes: ['resource:read', scope] })
      assert.equal(reply.status, 422, scope)
      const [violation] = reply.body.error.details.violations
      assert.equal(violation.path, '/scopes/1')
      assert.match(violation.message, said)
    }
    const doubted = await h.issue({ actor: 'a', scopes: ['foo', 'approval:decid', 'Tool:echo:Invoke'] })
    assert.equal(doubted.status, 201)
    assert.deepEqual(doubted.body.scopes, ['foo', 'approval:decid', 'tool:echo:invoke'])
    const [foo, decid, ...more] = doubted.body.warnings
    assert.match(
      foo,
      /^scope 'foo' is no permission that Writ asks for.* A scope looks like tool:NAME:invoke/,
    )
    assert.match(decid, /Did you mean approval:decide\?$/)
    assert.deepEqual(more, [])
    assert.equal((await h.issue({ actor: 'a', scopes: ['resource:read'] })).body.warnings, undefined)
  })

  it('says all that is wrong with a request, with its place', async () => {
    const reply = await h.issue({
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
      assert.equal((await h.issue({ actor: 'x', ttl })).status, 422, ttl)
    for (const body of [
      {},
      { actor: '' },
      { actor: 'local-admin' },
      { actor: 'x', kind: 'robot' },
      { actor: 'x', rolls: [] },
    ])
      assert.equal((await h.issue(body)).status, 422, JSON.stringify(body))
  })

  it('S40: is in evidence with who and what, and never with the token', async () => {
    const { body } = await h.issue({ actor: 'agent-9', roles: ['caller'] })
    await h.request('DELETE', `/v1/tokens/${body.id}?reason=lost`)
    const text = await h.evidence()
    assert.match(text, new RegExp(`token\\.issued.*${body.id}|${body.id}.*token\\.issued`))
    assert.match(text, /token\.revoked/)
    assert.equal(text.includes(body.token), false)
    assert.equal(text.includes(body.token.split('.')[2]), false)
  })
})

describe('a token of a megabyte', () => {
  it('is refused before it costs anything', async () => {
    const socket = await h.socket()
    socket.write(
      `GET /v1/whoami HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${'a'.repeat(1_000_000)}\r\n\r\n`,
    )
    assert.match(await socket.until(/^HTTP\/1\.1 431/), /431/)
    assert.equal((await h.whoami('x'.repeat(15_000))).status, 401)
  })
})
