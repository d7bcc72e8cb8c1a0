// Who may ask, and in which namespace.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Caller, createCaller } from '../../src/index.ts'
import { createAdminTokenAuth } from '../../src/server/index.ts'
import { type Harness, startHarness, TOKEN } from './harness.ts'

const TEAM = 'team-token'
const AWAY = 'token-of-an-issuer-that-is-away'
const team: Caller = createCaller({
  actor: 'agent-1',
  namespace: 'default',
  permissions: ['tool:echo:invoke'],
})
const admin = createAdminTokenAuth(TOKEN)

let h: Harness
before(async () => {
  h = await startHarness({
    async authenticate(token) {
      if (token === AWAY) return { refused: 'unavailable', detail: 'the issuer of-canary is away' }
      return token === TEAM ? { caller: team } : admin(token)
    },
  })
})
after(() => h.close())

const PROTECTED = [
  ['POST', '/v1/calls'],
  ['GET', '/v1/calls'],
  ['GET', '/v1/calls/019a0000-0000-7000-8000-000000000001'],
  ['POST', '/v1/calls/019a0000-0000-7000-8000-000000000001/cancel'],
  ['POST', '/v1/calls/019a0000-0000-7000-8000-000000000001/commit'],
  ['POST', '/v1/calls/019a0000-0000-7000-8000-000000000001/rollback'],
  ['POST', '/v1/calls/019a0000-0000-7000-8000-000000000001/settle'],
  ['POST', '/v1/calls/019a0000-0000-7000-8000-000000000001/compensate'],
  ['GET', '/v1/entries'],
  ['POST', '/v1/sagas'],
  ['GET', '/v1/sagas'],
  ['GET', '/v1/sagas/trip-1'],
  ['POST', '/v1/sagas/trip-1/complete'],
  ['POST', '/v1/sagas/trip-1/abort'],
  ['POST', '/v1/tools/echo/verify'],
  ['GET', '/v1/tools'],
  ['POST', '/v1/tools'],
  ['GET', '/v1/tools/echo'],
  ['PUT', '/v1/tools/echo'],
  ['DELETE', '/v1/tools/echo'],
  ['POST', '/v1/apply'],
  ['POST', '/v1/explain'],
  ['GET', '/v1/whoami'],
  ['POST', '/v1/tokens'],
  ['POST', '/v1/tokens/revoke'],
  ['POST', '/v1/tokens/rotate'],
  ['DELETE', '/v1/tokens/019a0000-0000-7000-8000-000000000001'],
] as const

test('without a valid token every protected route is 401 in the v1 envelope, before its body is read', async () => {
  for (const [method, path] of PROTECTED) {
    for (const headers of [
      {},
      { authorization: 'Bearer wrong' },
      { authorization: 'Basic eDp5' },
      { authorization: `Bearer ${TOKEN}x` },
    ]) {
      const reply = await h.request(method, path, {
        token: null,
        headers,
        ...(method === 'POST' ? { body: 'not json' } : {}),
      })
      assert.equal(reply.status, 401, `${method} ${path}`)
      assert.match(String(reply.headers['www-authenticate']), /^Bearer realm="writ"/)
      assert.equal(reply.body.status, 'denied')
      assert.equal(reply.body.error.details.failure, 'unauthenticated')
      assert.ok(reply.body.error.details.fix)
      assert.equal(reply.headers['writ-call-id'], undefined)
    }
  }
})

test('RFC 6750: only a token that was presented is called invalid', async () => {
  const none = await h.request('GET', '/v1/calls', { token: null })
  assert.equal(none.headers['www-authenticate'], 'Bearer realm="writ"')
  const wrong = await h.request('GET', '/v1/calls', { token: 'wrong' })
  assert.match(
    String(wrong.headers['www-authenticate']),
    /^Bearer realm="writ", error="invalid_token", error_description="[^"]+"$/,
  )
})

test('S40: requests without a valid token are counted', async () => {
  await h.request('GET', '/v1/calls', { token: 'wrong' })
  assert.match(await h.metrics.render(), /writ_requests_refused_total\{failure="unauthenticated"\} [1-9]/)
})

test('S42: where nobody can tell whether a token is valid, that is an error to retry and no denial', async () => {
  const reply = await h.request('GET', '/v1/calls', { token: AWAY })
  assert.equal(reply.status, 503)
  assert.equal(reply.body.error.details.failure, 'policy-unavailable')
  assert.equal(reply.body.error.retryable, true)
  assert.equal(reply.headers['retry-after'], '1')
  assert.equal(reply.headers['www-authenticate'], undefined)
  assert.equal(reply.text.includes('canary'), false)
  assert.match(await h.metrics.render(), /writ_tokens_refused_total\{reason="unavailable"\} 1/)
})

test('the word Bearer is read in any case', async () => {
  const reply = await h.request('GET', '/v1/calls', {
    token: null,
    headers: { authorization: `bearer ${TOKEN}` },
  })
  assert.equal(reply.status, 200)
})

test('the admin token authenticates itself and nothing near it', async () => {
  const found = await admin(TOKEN)
  assert.equal('caller' in found && found.caller.admin, true)
  for (const other of [undefined, '', 'x', TOKEN.slice(1), `${TOKEN} `, TOKEN.toUpperCase()])
    assert.equal('caller' in (await admin(other)), false)
  assert.throws(() => createAdminTokenAuth(''))
})

test('the admin works in the namespace of the header or the query, by default in default', async () => {
  const cases = [
    [{}, '', 'default'],
    [{ 'writ-namespace': 'blue' }, '', 'blue'],
    [{}, '?namespace=green', 'green'],
    [{ 'writ-namespace': 'green' }, '?namespace=green', 'green'],
  ] as const
  for (const [headers, query, namespace] of cases) {
    const reply = await h.request('POST', `/v1/calls${query}`, {
      headers,
      body: { request_id: 'r', tool: { name: 'nothing' } },
    })
    const found = await h.record(reply.headers['writ-call-id'], `?namespace=${namespace}`)
    assert.equal(found.body.namespace, namespace)
  }
})

test('a namespace that is no name, or two different ones, are refused', async () => {
  const bad = ['', 'Up', 'a b', '../x', 'a/b', '-a', 'é', 'x'.repeat(129), '%00']
  for (const namespace of bad) {
    const reply = await h.request('GET', `/v1/calls?namespace=${namespace}`)
    assert.equal(reply.status, 422, namespace)
    assert.equal(reply.body.error.details.violations[0].path, '/namespace')
  }
  const two = await h.request('GET', '/v1/calls?namespace=a', { headers: { 'writ-namespace': 'b' } })
  assert.equal(two.status, 422)
  const twice = await h.request('GET', '/v1/calls?namespace=a&namespace=b')
  assert.equal(twice.status, 422)
})

test('a token of one namespace does not open another', async () => {
  const own = await h.request('GET', '/v1/calls?namespace=default', { token: TEAM })
  assert.equal(own.status, 200)
  const other = await h.request('GET', '/v1/calls', { token: TEAM, headers: { 'writ-namespace': 'blue' } })
  assert.equal(other.status, 403)
  assert.equal(other.body.status, 'denied')
  assert.deepEqual(other.body.error.details.missing, ['namespace:blue'])
})

test('S41: a caller who is not the admin calls what it may, and reads or changes no resource', async () => {
  assert.equal((await h.call('echo', {}, { token: TEAM })).status, 200)
  assert.equal((await h.call('post', { text: 'x' }, { token: TEAM })).status, 403)
  for (const [method, path] of PROTECTED.filter(
    ([, path]) => (path.startsWith('/v1/tools') && !path.endsWith('/verify')) || path === '/v1/apply',
  )) {
    const reply = await h.request(method, path, {
      token: TEAM,
      ...(method === 'GET' || method === 'DELETE' ? {} : { body: '{}' }),
    })
    assert.equal(reply.status, 403, `${method} ${path}`)
  }
  // Verifying is calling.
  assert.equal((await h.request('POST', '/v1/tools/echo/verify', { body: {}, token: TEAM })).status, 200)
  assert.equal((await h.request('POST', '/v1/tools/post/verify', { body: {}, token: TEAM })).status, 403)
})

test("a caller sees its own calls and not another's", async () => {
  const mine = await h.call('echo', {}, { token: TEAM })
  const theirs = await h.call('echo', {})
  for (const { headers } of [mine, theirs])
    assert.equal((await h.record(headers['writ-call-id'])).status, 200)
  assert.equal(
    (await h.request('GET', `/v1/calls/${mine.headers['writ-call-id']}`, { token: TEAM })).status,
    200,
  )
  assert.equal(
    (await h.request('GET', `/v1/calls/${theirs.headers['writ-call-id']}`, { token: TEAM })).status,
    404,
  )
  const listed = await h.request('GET', '/v1/calls', { token: TEAM })
  assert.ok(listed.body.calls.every((call: { actor: string }) => call.actor === 'agent-1'))
})
