// Access tokens by client credentials: from a real OAuth 2 server, and from endpoints that are slow, lie, or talk HTML.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type AccessTokens, createAccessTokens, type TokenRequest } from '../../src/credential/oauth.ts'
import { createWorld } from '../../src/runtime.ts'
import { listenHttp, type Peer, type Respond } from '../transport/tool-peer.ts'
import { CLIENT_ID, CLIENT_SECRET, startOauth } from './oauth-server.ts'

/** `after` moves the clock that tokens are kept by. */
function tokensFor(t: TestContext): { tokens: AccessTokens; pass(ms: number): void } {
  const world = createWorld()
  t.after(() => world.network.destroy())
  let passed = 0
  const clock = { now: world.clock.now, monotonic: () => world.clock.monotonic() + passed }
  return {
    tokens: createAccessTokens({ ...world, clock }),
    pass(ms) {
      passed += ms
    },
  }
}

const asking = (tokenURL: string, more: Partial<TokenRequest> = {}): TokenRequest => ({
  tokenURL,
  clientId: CLIENT_ID,
  clientSecret: CLIENT_SECRET,
  scopes: [],
  secret: 'default/client v1',
  reach: 'loopback',
  ...more,
})

async function peerSaying(t: TestContext, respond: Respond): Promise<Peer> {
  const peer = await listenHttp(respond)
  t.after(() => peer.close())
  return peer
}

const json =
  (body: unknown, status = 200): Respond =>
  (_request, response) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))

async function tokenOf(tokens: AccessTokens, request: TokenRequest): Promise<string> {
  const result = await tokens.get(request)
  assert.ok(result.ok, result.ok ? '' : result.refusal.message)
  return result.token
}

test('a real server gives a token, which is kept until 30 seconds before its end', async (t) => {
  const oauth = await startOauth(t)
  const { tokens, pass } = tokensFor(t)
  const request = asking(oauth.tokenURL, { scopes: ['orders:read'] })
  const first = await tokenOf(tokens, request)
  assert.ok(await oauth.isValid(first))
  pass(569_000)
  assert.equal(await tokenOf(tokens, request), first)
  assert.equal(oauth.asked(), 1)
  pass(1_100)
  assert.notEqual(await tokenOf(tokens, request), first, 'at 570.1 of 600 seconds')
  assert.equal(oauth.asked(), 2)
})

test('a server that takes the client only in the body gets it there, from then on at once', async (t) => {
  const peer = await peerSaying(t, (request, response) => {
    const form = new URLSearchParams(request.body)
    const inBody = form.get('client_id') === CLIENT_ID && form.get('client_secret') === CLIENT_SECRET
    if (request.headers.authorization !== undefined || !inBody)
      json({ error: 'invalid_client' }, 401)(request, response)
    else json({ access_token: 'opaque-token', token_type: 'bearer', expires_in: 600 })(request, response)
  })
  const { tokens } = tokensFor(t)
  const request = asking(`${peer.origin}/token`)
  await tokenOf(tokens, request)
  assert.equal(peer.received.length, 2, 'first by HTTP basic, which it refused')
  assert.doesNotMatch(peer.received[0]?.body ?? '', /client_secret/)
  tokens.evict(request, 'opaque-token')
  await tokenOf(tokens, request)
  assert.equal(peer.received.length, 3)
})

test('a real server refuses a wrong secret for good, and it is not said which', async (t) => {
  const oauth = await startOauth(t)
  const { tokens } = tokensFor(t)
  const wrong = await tokens.get(asking(oauth.tokenURL, { clientSecret: 'not-the-secret' }))
  assert.ok(!wrong.ok)
  assert.equal(wrong.refusal.failure, 'token-exchange-failed')
  assert.equal(wrong.refusal.transient, false)
  assert.match(wrong.refusal.message, /HTTP 401, invalid_client/)
  assert.doesNotMatch(JSON.stringify(wrong), /not-the-secret/)
})

test('whoever asks while a token is on its way gets that one', async (t) => {
  const oauth = await startOauth(t)
  const { tokens } = tokensFor(t)
  const all = await Promise.all(Array.from({ length: 50 }, () => tokenOf(tokens, asking(oauth.tokenURL))))
  assert.equal(new Set(all).size, 1)
  assert.equal(oauth.asked(), 1)
})

test('a token is for one URL, client, version of the secret and set of scopes, in any order', async (t) => {
  let count = 0
  const peer = await peerSaying(t, (request, response) =>
    json({ access_token: `token-${++count}`, token_type: 'bearer', expires_in: 600 })(request, response),
  )
  const { tokens } = tokensFor(t)
  const base = asking(`${peer.origin}/token`, { scopes: ['a', 'b'] })
  const first = await tokenOf(tokens, base)
  assert.equal(await tokenOf(tokens, { ...base, scopes: ['b', 'a'] }), first)
  for (const other of [
    { ...base, scopes: ['a'] },
    { ...base, clientId: 'other' },
    { ...base, secret: 'default/client v2' },
    { ...base, tokenURL: `${peer.origin}/other` },
  ])
    assert.notEqual(await tokenOf(tokens, other), first)
  assert.equal(count, 5)
})

test('a token that was refused is asked for anew; a newer one is not thrown away for it', async (t) => {
  let count = 0
  const peer = await peerSaying(t, (request, response) =>
    json({ access_token: `token-${++count}`, token_type: 'Bearer', expires_in: 600 })(request, response),
  )
  const { tokens } = tokensFor(t)
  const request = asking(`${peer.origin}/token`)
  assert.equal(await tokenOf(tokens, request), 'token-1')
  tokens.evict(request, 'token-1')
  assert.equal(await tokenOf(tokens, request), 'token-2')
  tokens.evict(request, 'token-1')
  assert.equal(await tokenOf(tokens, request), 'token-2')
})

/** For how long a token is kept, by what the endpoint says of it: two asks at that age, and how many requests came. */
const LIVES = [
  ['nothing', undefined, 269_000, 1],
  ['nothing, later', undefined, 271_000, 2],
  ['0', 0, 0, 2],
  ['less than 0', -5, 0, 2],
  ['30 seconds, which is as long as it may be on its way', 30, 0, 2],
  ['a number as text', '600', 569_000, 1],
  ['a word', 'soon', 269_000, 1],
  ['null', null, 271_000, 2],
  ['a thousand years', 3e10, 3_569_000, 1],
  ['a thousand years, an hour later', 3e10, 3_571_000, 2],
] as const

for (const [name, expires_in, age, requests] of LIVES) {
  test(`an expires_in of ${name} is bounded`, async (t) => {
    const peer = await peerSaying(t, json({ access_token: 'opaque-token', token_type: 'bearer', expires_in }))
    const { tokens, pass } = tokensFor(t)
    await tokenOf(tokens, asking(`${peer.origin}/token`))
    pass(age)
    await tokenOf(tokens, asking(`${peer.origin}/token`))
    assert.equal(peer.received.length, requests)
  })
}

const html: Respond = (_request, response) =>
  void response.writeHead(200, { 'content-type': 'text/html' }).end(`<h1>Log in, ${CLIENT_SECRET}</h1>`)

const REFUSED: readonly [string, Respond, boolean, RegExp][] = [
  ['HTML', html, false, /no JSON object/],
  ['a list', json([]), false, /no JSON object/],
  ['no token', json({ token_type: 'bearer' }), false, /without an access_token/],
  ['a number as token', json({ access_token: 5, token_type: 'bearer' }), false, /without an access_token/],
  ['another type', json({ access_token: 'abcdefgh', token_type: 'mac' }), false, /another type than Bearer/],
  [
    'a token with a line break',
    json({ access_token: 'a\r\nx: y', token_type: 'bearer' }),
    false,
    /line break/,
  ],
  [
    'an error',
    json({ error: 'invalid_grant', error_description: CLIENT_SECRET }, 400),
    false,
    /invalid_grant/,
  ],
  ['an error that is no code', json({ error: CLIENT_SECRET }, 403), false, /HTTP 403$/],
  [
    'a redirect',
    (_r, response) => void response.writeHead(302, { location: '/else' }).end(),
    false,
    /HTTP 302/,
  ],
  ['too much', (_r, response) => void response.end('x'.repeat(100_000)), false, /more than/],
  ['HTTP 500', json({}, 500), true, /HTTP 500/],
  ['HTTP 503', html503, true, /HTTP 503/],
  ['HTTP 429', json({ error: 'slow_down' }, 429), true, /HTTP 429/],
]

function html503(_request: unknown, response: Parameters<Respond>[1]): void {
  response.writeHead(503).end(`<h1>${CLIENT_SECRET}</h1>`)
}

for (const [name, respond, transient, message] of REFUSED) {
  test(`an endpoint that answers with ${name} gives no token, and is not quoted`, async (t) => {
    const peer = await peerSaying(t, respond)
    const { tokens } = tokensFor(t)
    const result = await tokens.get(asking(`${peer.origin}/token`))
    assert.ok(!result.ok)
    assert.equal(result.refusal.failure, 'token-exchange-failed')
    assert.equal(result.refusal.transient, transient)
    assert.match(result.refusal.message, message)
    assert.ok(!JSON.stringify(result).includes(CLIENT_SECRET))
  })
}

test('an endpoint that is away is one for now, and what was refused is not remembered', async (t) => {
  const peer = await listenHttp(json({ access_token: 'opaque-token', token_type: 'bearer' }))
  const { tokens } = tokensFor(t)
  const request = asking(`${peer.origin}/token`)
  await peer.close()
  const away = await tokens.get(request)
  assert.ok(!away.ok && away.refusal.transient)
  assert.match(away.refusal.message, /could not be asked/)
})

test('an endpoint that never answers is given up, for all who wait, and only for now', async (t) => {
  const peer = await peerSaying(t, () => {})
  const world = createWorld()
  t.after(() => world.network.destroy())
  const asked: number[] = []
  const soon = (ms: number, run: () => void) => {
    asked.push(ms)
    return world.after(10, run)
  }
  const tokens = createAccessTokens({ ...world, after: soon })
  const request = asking(`${peer.origin}/token`)
  for (const slow of await Promise.all([tokens.get(request), tokens.get(request)])) {
    assert.ok(!slow.ok && slow.refusal.transient)
    assert.match(slow.refusal.message, /took longer than 10000 ms/)
  }
  assert.deepEqual(asked, [10_000])
})

test('the guard holds for token endpoints, with the reach of whoever declares them', async (t) => {
  const peer = await peerSaying(
    t,
    json({ access_token: 'opaque-token', token_type: 'bearer', expires_in: 600 }),
  )
  const { tokens } = tokensFor(t)
  const refusalOf = async (url: string, reach: TokenRequest['reach']) => {
    const result = await tokens.get(asking(url, { reach }))
    assert.ok(!result.ok && !result.refusal.transient, `${url} ${reach}`)
    assert.equal(result.refusal.failure, 'egress-denied')
    assert.deepEqual(result.refusal.details, { path: 'spec.auth.tokenURL' })
    return result.refusal.message
  }
  for (const reach of ['public', 'loopback', 'private', 'intranet'] as const)
    assert.match(await refusalOf('https://169.254.169.254/token', reach), /link-local, metadata/)
  assert.match(await refusalOf('https://10.1.2.3/token', 'loopback'), /is a private address/)
  const local = `${peer.origin}/token`
  assert.match(await refusalOf(local, 'public'), /is a loopback address/)
  assert.equal(await tokenOf(tokens, asking(local)), 'opaque-token')
  // Nor is what one tool was given handed to another that could not have asked for it.
  assert.match(await refusalOf(local, 'intranet'), /is a loopback address/)
  assert.equal(peer.received.length, 1)
})

test('callers are not told where the endpoint is; the operator is', async (t) => {
  const peer = await peerSaying(t, json({ error: 'invalid_client' }, 401))
  const { tokens } = tokensFor(t)
  const gone = await listenHttp(json({}))
  await gone.close()
  for (const origin of [peer.origin, gone.origin]) {
    const result = await tokens.get(asking(`${origin}/token`))
    assert.ok(!result.ok)
    assert.ok(!JSON.stringify(result.refusal).includes(new URL(origin).host))
    assert.ok(result.why.startsWith(`${origin}: `), result.why)
  }
})
