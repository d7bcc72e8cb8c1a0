// Calls of tools with credentials, over real HTTP: what is shown, what is renewed, and what a rotation means for a repeat.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createNetwork } from '../../src/egress/network.ts'
import type { RuntimeOptions } from '../../src/runtime.ts'
import type { Runtime } from '../../src/runtime-api.ts'
import { createSystemWorld } from '../../src/util/clock.ts'
import { CLIENT_ID, CLIENT_SECRET, startOauth } from '../credential/oauth-server.ts'
import { listenHttp, type Peer, type Received, type Respond } from '../transport/tool-peer.ts'
import { runtimeWith } from './harness.ts'

async function peerWith(t: TestContext, respond: Respond): Promise<Peer> {
  const peer = await listenHttp(respond)
  t.after(() => peer.close())
  return peer
}

async function apply(runtime: Runtime, kind: string, name: string, spec: object, namespace = 'default') {
  const manifest = { apiVersion: 'writ.dev/v1', kind, metadata: { name, namespace }, spec }
  const applied = await runtime.resources.apply([{ text: JSON.stringify(manifest), file: `${name}.json` }])
  assert.ok(applied.ok, JSON.stringify(applied.problems))
  return applied
}

const secret = (runtime: Runtime, name: string, stringData: Record<string, string>, more: object = {}) =>
  apply(runtime, 'Secret', name, { stringData, ...more })

const tool = (runtime: Runtime, peer: Peer, more: object = {}) =>
  apply(runtime, 'Tool', 'orders', { type: 'http', endpoint: `${peer.origin}/`, ...more })

const bearerOf = ({ headers }: Received) => String(headers.authorization).replace('Bearer ', '')
const answer = (response: Parameters<Respond>[1], body: unknown, status = 200) =>
  void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))

const WRITE = { class: 'external-communication' }
const READ = { class: 'read-only' }

async function open(t: TestContext, options: RuntimeOptions = {}) {
  return runtimeWith(t, [], options)
}

test('a tool is shown its secret, rotated from the next call on, and what it echoes comes back without it', async (t) => {
  const peer = await peerWith(t, (request, response) => answer(response, { saw: request.headers }))
  const { runtime, door } = await open(t)
  await secret(runtime, 'key', { value: 'first-secret-value' })
  await tool(runtime, peer, { auth: { profile: 'bearer_token', secretRef: 'key' }, effect: READ })
  const first = await door.call({ tool: 'orders' })
  assert.equal(first.state, 'succeeded', first.failure?.message)
  assert.match(JSON.stringify(first.output), /"authorization":"Bearer \[redacted\]"/)
  await secret(runtime, 'key', { value: 'second-secret-value' })
  await door.call({ tool: 'orders' })
  assert.deepEqual(peer.received.map(bearerOf), ['first-secret-value', 'second-secret-value'])
})

test('S16: without its secret nothing is sent, and the key is free for when there is one', async (t) => {
  const peer = await peerWith(t, (_request, response) => answer(response, 'done'))
  const { runtime, door } = await open(t)
  await tool(runtime, peer, { auth: { secretRef: 'key' }, effect: WRITE })
  const call = () => door.call({ tool: 'orders', input: { id: 1 }, idempotencyKey: 'once' })
  const before = await call()
  assert.deepEqual(
    [before.failure?.id, before.effect, before.failure?.retryable, before.usage.attempt],
    ['secret-missing', 'not-done', false, 0],
  )
  assert.match(before.failure?.fix ?? '', /writ secret set key --namespace default\./)
  assert.equal(peer.received.length, 0)
  await secret(runtime, 'key', { value: 'a-secret-value' })
  const after = await call()
  assert.deepEqual([after.state, after.replayed, after.usage.attempt], ['succeeded', false, 1])
  assert.equal((await call()).replayed, true)
  assert.equal(peer.received.length, 1)
})

test('a secret of another namespace is named with a warning, and used only where it is shared', async (t) => {
  const peer = await peerWith(t, (_request, response) => answer(response, 'done'))
  const { runtime, door } = await open(t)
  const applied = await tool(runtime, peer, { auth: { secretRef: 'blue/key' }, effect: READ })
  assert.match(JSON.stringify(applied.problems), /refers to the namespace 'blue'/)
  await apply(runtime, 'Secret', 'key', { stringData: { value: 'a-secret-of-blue' } }, 'blue')
  const denied = await door.call({ tool: 'orders' })
  assert.deepEqual([denied.state, denied.failure?.id], ['denied', 'secret-out-of-scope'])
  assert.equal(peer.received.length, 0)
  const shared = { stringData: { value: 'a-secret-of-blue' }, share_with: ['default'] }
  await apply(runtime, 'Secret', 'key', shared, 'blue')
  assert.equal((await door.call({ tool: 'orders' })).state, 'succeeded')
})

test('S51: what the operator lets the server itself reach is no way for the tokens of a tool', async (t) => {
  const tokens = await peerWith(t, (_request, response) => answer(response, {}))
  const origin = `https://tokens.example.com:${new URL(tokens.origin).port}`
  // A name of the outside that stands for this machine.
  const network = createNetwork({
    resolve: (_name, _options, callback) => callback(null, [{ address: '127.0.0.1', family: 4 }]),
  })
  t.after(() => network.destroy())
  const world = createSystemWorld({ network })
  const { runtime, door } = await open(t, { profile: 'production', world, egressPrivate: [origin] })
  await secret(runtime, 'client', { client_id: CLIENT_ID, client_secret: CLIENT_SECRET })
  const auth = {
    profile: 'oauth2_client_credentials',
    secretRef: 'client',
    tokenURL: `${origin}/token`,
  }
  for (const egress of [undefined, { private: 'our own network, but not this machine' }]) {
    const more = egress === undefined ? {} : { egress }
    await apply(runtime, 'Tool', 'orders', {
      type: 'http',
      endpoint: 'https://orders.example.com/',
      auth,
      effect: READ,
      ...more,
    })
    const denied = await door.call({ tool: 'orders' })
    assert.deepEqual([denied.state, denied.failure?.id], ['denied', 'egress-denied'])
    assert.match(denied.failure?.message ?? '', /token endpoint is out of reach .* is a loopback address/)
    assert.deepEqual(denied.failure?.details?.path, 'spec.auth.tokenURL')
    assert.ok(!JSON.stringify(denied).includes(origin), 'callers are not told where it is')
  }
  assert.equal(tokens.connections(), 0)
})

async function oauthTool(t: TestContext, respond: Respond, more: object = {}) {
  const oauth = await startOauth(t)
  const peer = await peerWith(t, respond)
  const { runtime, door } = await open(t)
  await secret(runtime, 'client', { client_id: CLIENT_ID, client_secret: CLIENT_SECRET })
  const auth = {
    profile: 'oauth2_client_credentials',
    secretRef: 'client',
    tokenURL: oauth.tokenURL,
    scopes: ['orders:write'],
  }
  await tool(runtime, peer, { auth, effect: WRITE, ...more })
  return { oauth, peer, runtime, door }
}

test('a token of a real server serves many calls; one that was revoked is renewed within the call, also for a write', async (t) => {
  let valid: (token: string) => Promise<boolean> = async () => true
  const { oauth, peer, door } = await oauthTool(t, async (request, response) =>
    (await valid(bearerOf(request))) ? answer(response, 'done') : answer(response, {}, 401),
  )
  valid = oauth.isValid
  for (let count = 0; count < 3; count++)
    assert.equal((await door.call({ tool: 'orders' })).state, 'succeeded')
  assert.deepEqual([oauth.asked(), peer.received.length], [1, 3])
  oauth.revokeAll()
  const renewed = await door.call({ tool: 'orders' })
  assert.deepEqual([renewed.state, renewed.usage.attempt], ['succeeded', 2])
  assert.deepEqual([oauth.asked(), peer.received.length], [2, 5])
})

test("S2: a request's scopes narrow those that a token is asked for, and never to none", async (t) => {
  const asked: (string | null)[] = []
  const tokens = await peerWith(t, (request, response) => {
    asked.push(new URLSearchParams(request.body).get('scope'))
    answer(response, { access_token: `token-${asked.length}`, token_type: 'bearer', expires_in: 300 })
  })
  const peer = await peerWith(t, (_request, response) => answer(response, 'done'))
  const { runtime, door } = await open(t)
  await secret(runtime, 'client', { client_id: CLIENT_ID, client_secret: CLIENT_SECRET })
  const profile = 'oauth2_client_credentials'
  const scopes = ['orders:read', 'orders:write']
  const auth = { profile, secretRef: 'client', tokenURL: `${tokens.origin}/token`, scopes }
  await tool(runtime, peer, { auth, effect: READ })
  const call = (scopes?: readonly string[]) => {
    const decoded = runtime.dialects.decode(
      {
        tool_contract_version: 'v1',
        request_id: runtime.mint(),
        tool: { name: 'orders' },
        ...(scopes === undefined ? {} : { auth: { scopes } }),
      },
      runtime.mint,
    )
    assert.ok(decoded.ok, JSON.stringify(decoded))
    return door.call(decoded.call)
  }
  for (const wanted of [undefined, ['orders:read', 'everything'], ['orders:read'], undefined]) {
    assert.equal((await call(wanted)).state, 'succeeded')
  }
  assert.deepEqual(asked, ['orders:read orders:write', 'orders:read'])
  assert.deepEqual(peer.received.map(bearerOf), ['token-1', 'token-2', 'token-2', 'token-1'])
  for (const wanted of [['everything'], []]) {
    const refused = await call(wanted)
    assert.equal(refused.failure?.id, 'secret-out-of-scope')
    assert.match(refused.failure?.message ?? '', /leave none of those that the tool asks a token for/)
  }
  assert.deepEqual([asked.length, peer.received.length], [2, 4])
})

test('row once: a tool that refuses the new token, too, is not asked a third time', async (t) => {
  const { oauth, peer, door } = await oauthTool(t, (_request, response) => answer(response, {}, 401), {
    runtime: { retry: { max_attempts: 3 } },
  })
  const refused = await door.call({ tool: 'orders', idempotencyKey: 'k' })
  assert.deepEqual(
    [refused.failure?.id, refused.failure?.retryable, refused.effect, refused.usage.attempt],
    ['upstream-unauthorized', false, 'not-done', 2],
  )
  assert.deepEqual([peer.received.length, oauth.asked()], [2, 2])
  assert.notEqual(...(peer.received.map(bearerOf) as [string, string]))
})

test('the try for a new token is beside those of max_attempts', async (t) => {
  const statuses = [401, 503, 503]
  const { peer, door } = await oauthTool(
    t,
    (_request, response) => answer(response, 'done', statuses.shift() ?? 200),
    { effect: READ, runtime: { retry: { max_attempts: 3 } } },
  )
  assert.equal((await door.call({ tool: 'orders' })).state, 'succeeded')
  assert.equal(peer.received.length, 4)
})

test('a fixed secret that the tool refuses is not sent again', async (t) => {
  const peer = await peerWith(t, (_request, response) => answer(response, {}, 401))
  const { runtime, door } = await open(t)
  await secret(runtime, 'key', { value: 'a-secret-value' })
  await tool(runtime, peer, {
    auth: { secretRef: 'key' },
    effect: READ,
    runtime: { retry: { max_attempts: 3 } },
  })
  const refused = await door.call({ tool: 'orders' })
  assert.deepEqual([refused.failure?.id, refused.failure?.retryable], ['upstream-unauthorized', false])
  assert.equal(peer.received.length, 1)
})

test('a token endpoint that is away for now is tried again, also for a write: nothing was sent', async (t) => {
  let down = 2
  const tokens = await peerWith(t, (_request, response) =>
    down-- > 0
      ? answer(response, {}, 503)
      : answer(response, { access_token: 'opaque-token', token_type: 'bearer' }),
  )
  const peer = await peerWith(t, (_request, response) => answer(response, 'done'))
  const { runtime, door } = await open(t)
  await secret(runtime, 'client', { client_id: CLIENT_ID, client_secret: CLIENT_SECRET })
  const auth = {
    profile: 'oauth2_client_credentials',
    secretRef: 'client',
    tokenURL: `${tokens.origin}/token`,
  }
  await tool(runtime, peer, { auth, effect: WRITE, runtime: { retry: { max_attempts: 2 } } })
  const away = await door.call({ tool: 'orders', idempotencyKey: 'k' })
  assert.deepEqual(
    [away.failure?.id, away.failure?.retryable, away.effect, away.usage.attempt],
    ['token-exchange-failed', true, 'not-done', 0],
  )
  const back = await door.call({ tool: 'orders', idempotencyKey: 'k' })
  assert.deepEqual([back.state, back.usage.attempt], ['succeeded', 1])
  assert.equal(peer.received.length, 1)
})

const keyed = (scope?: string) => ({
  class: 'external-communication',
  idempotency: { keyed: { retention: '1h', ...(scope === undefined ? {} : { scope }) } },
})

for (const [scope, sends] of [
  [undefined, 1],
  ['credential', 1],
  ['tool', 2],
] as const) {
  test(`S22: after a rotation a keyed effect with scope ${scope ?? 'by default'} is ${sends === 1 ? 'in question' : 'repeated'}`, async (t) => {
    let cut = true
    const peer = await peerWith(t, (_request, response) => {
      if (cut) response.destroy()
      else answer(response, 'done')
    })
    const { runtime, door } = await open(t)
    await secret(runtime, 'key', { value: 'first-secret-value' })
    await tool(runtime, peer, { auth: { secretRef: 'key' }, effect: keyed(scope) })
    const call = () => door.call({ tool: 'orders', input: { id: 1 }, idempotencyKey: 'k' })
    const first = await call()
    assert.deepEqual([first.failure?.id, first.effect], ['connect-failed', 'unknown'])
    cut = false
    await secret(runtime, 'key', { value: 'second-secret-value' })
    const second = await call()
    assert.equal(peer.received.length, sends)
    if (sends === 2) return assert.equal(second.state, 'succeeded')
    assert.deepEqual([second.state, second.effect, second.failure?.retryable], ['unknown', 'unknown', false])
    assert.equal((await call()).state, 'unknown', 'and held, until somebody settles it')
    assert.equal(peer.received.length, 1)
  })
}

test('S22: with the same secret a keyed effect is repeated', async (t) => {
  let cut = true
  const peer = await peerWith(t, (_request, response) => {
    if (cut) response.destroy()
    else answer(response, 'done')
  })
  const { runtime, door } = await open(t)
  await secret(runtime, 'key', { value: 'first-secret-value' })
  await tool(runtime, peer, { auth: { secretRef: 'key' }, effect: keyed() })
  const call = () => door.call({ tool: 'orders', input: { id: 1 }, idempotencyKey: 'k' })
  assert.equal((await call()).effect, 'unknown')
  cut = false
  assert.deepEqual([(await call()).state, peer.received.length], ['succeeded', 2])
})

test('S22: which secret the first send had is known to the next life of the process', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'writ-credentials-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const options: RuntimeOptions = { store: { kind: 'sqlite', path: join(folder, 'writ.db') } }
  const peer = await peerWith(t, (_request, response) => void response.destroy())
  const first = await open(t, options)
  await secret(first.runtime, 'key', { value: 'first-secret-value' })
  await tool(first.runtime, peer, { auth: { secretRef: 'key' }, effect: keyed() })
  const call = (door: typeof first.door) =>
    door.call({ tool: 'orders', input: { id: 1 }, idempotencyKey: 'k' })
  await call(first.door)
  await first.runtime.close()
  const second = await open(t, options)
  assert.equal((await call(second.door)).failure?.retryable, true)
  assert.equal(peer.received.length, 2, 'the same secret, so a repeat is one')
  await secret(second.runtime, 'key', { value: 'second-secret-value' })
  assert.equal((await call(second.door)).state, 'unknown')
  assert.equal(peer.received.length, 2)
})
