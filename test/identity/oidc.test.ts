// Tokens of a real OpenID provider: taken, mapped, and held to through its rotations and outages.
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { SignJWT } from 'jose'
import { createEgress } from '../../src/egress/egress.ts'
import { createNetwork } from '../../src/egress/network.ts'
import { createAuthenticator } from '../../src/identity/authenticator.ts'
import { createFetchJson } from '../../src/identity/fetch-json.ts'
import { type OidcIssuer, readOidcConfig } from '../../src/identity/oidc-config.ts'
import type { FetchJson } from '../../src/identity/oidc-keys.ts'
import { createSystemWorld } from '../../src/util/clock.ts'
import type { World } from '../../src/util/world.ts'
import { AUDIENCE, type OidcServer, startOidc } from './oidc-server.ts'
import { callerIn, hmacToken, partsOf, refusalIn } from './support.ts'

let oidc: OidcServer
const system = createSystemWorld({ network: createNetwork() })
before(async () => {
  oidc = await startOidc()
})
after(async () => {
  await oidc.stop()
  await system.network.destroy()
})

function issuersOf(text: string): readonly OidcIssuer[] {
  const read = readOidcConfig(text, 'oidc.yaml')
  assert.ok(read.ok, JSON.stringify(read))
  return read.issuers
}

const CONFIG = (issuer: string, more = '') => `
- issuer: ${issuer}
  audience: ${AUDIENCE}
  claims:
    actor: sub
    namespace: /team/namespace
    kind: {value: agent}
    roles: groups
  role_map: {writ-support: support}
${more}`

/** The real clock, with time that a test adds to it. */
function movable(): World & { move(ms: number): void } {
  let added = 0
  const { clock } = system
  return {
    ...system,
    clock: { now: () => clock.now() + added, monotonic: () => clock.monotonic() + added },
    move(ms) {
      added += ms
    },
  }
}

function setUp(options: { readonly config?: string; readonly fetchJson?: FetchJson } = {}) {
  const world = movable()
  const troubles: string[] = []
  const authenticate = createAuthenticator({
    world,
    adminToken: 'admin-token-0123456789-0123456789',
    issuers: issuersOf(options.config ?? CONFIG(oidc.issuer)),
    fetchJson: options.fetchJson ?? createFetchJson(createEgress({ world: system, reach: 'loopback' })),
    isRevoked: () => false,
    oidc: { onTrouble: (message) => troubles.push(message) },
  })
  return {
    world,
    troubles,
    authenticate,
    refusal: async (token: string) => refusalIn(await authenticate(token)),
  }
}

describe('a token of an OIDC issuer', () => {
  it('stands for the caller that its claims are mapped to; only mapped groups are roles', async () => {
    const { authenticate } = setUp()
    const token = await oidc.token()
    const caller = callerIn(await authenticate(token))
    const { payload } = partsOf(token)
    assert.deepEqual(
      { ...caller, token: undefined },
      {
        actor: 'agent-7',
        namespace: 'blue',
        kind: 'agent',
        roles: ['support'],
        permissions: [],
        admin: false,
        token: undefined,
      },
    )
    assert.match(caller.token?.id ?? '', /^oidc-[\w-]{32}$/)
    assert.equal(caller.token?.issuedAt, Number(payload.iat) * 1000)
  })

  it('with a prefix for its actors, and its scope as scopes', async () => {
    const more = '  actor_prefix: corp/\n'
    const config = CONFIG(oidc.issuer, more).replace(
      '    roles: groups',
      '    roles: groups\n    scopes: scope',
    )
    const caller = callerIn(await setUp({ config }).authenticate(await oidc.token()))
    assert.deepEqual([caller.actor, caller.scopes], ['corp/agent-7', ['call']])
  })

  it('for another audience is refused', async () => {
    const { refusal } = setUp()
    assert.equal(await refusal(await oidc.token({ resource: 'https://other.example' })), 'other-audience')
  })

  it('whose mapped claim is not there, or is of another form, is refused and not taken for less', async () => {
    const token = await oidc.token()
    for (const change of [
      ['/team/namespace', '/team/none'],
      ['/team/namespace', 'groups'],
      ['actor: sub', 'actor: nobody'],
      ['{value: agent}', 'sub'],
      ['roles: groups', 'roles: groups\n    scopes: nothing'],
    ] as const) {
      const config = CONFIG(oidc.issuer).replace(change[0], change[1])
      assert.equal(await setUp({ config }).refusal(token), 'claims-invalid', change[1])
    }
  })

  it('that has expired, or is not valid yet, is refused by the clock of this server', async () => {
    const token = await oidc.token()
    const { world, refusal } = setUp()
    assert.match(await refusal(token), /a caller/)
    world.move(600_000 + 29_000)
    assert.match(await refusal(token), /a caller/, 'within the skew')
    world.move(5_000)
    assert.equal(await refusal(token), 'expired')
    const early = setUp()
    early.world.move(-40_000)
    assert.equal(await early.refusal(token), 'not-yet-valid')
  })

  it('of an issuer that is not in the file is refused without asking it', async () => {
    const { refusal } = setUp({ config: CONFIG('https://login.example.com') })
    const asked = oidc.asked.length
    assert.equal(await refusal(await oidc.token()), 'unknown-issuer')
    assert.equal(oidc.asked.length, asked)
  })

  it('signed with the public key as a secret, or with a key of somebody else, is refused', async () => {
    const { refusal } = setUp()
    const token = await oidc.token()
    const { header, payload } = partsOf(token)
    const { keys } = (await (await fetch(`${oidc.issuer}/jwks`)).json()) as { keys: { n: string }[] }
    for (const secret of [keys[0]?.n ?? '', JSON.stringify(keys[0])]) {
      assert.equal(
        await refusal(hmacToken({ ...header, alg: 'HS256' }, payload, secret)),
        'algorithm-refused',
      )
    }
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const mine = await new SignJWT(payload)
      .setProtectedHeader({ alg: 'RS256', kid: String(header.kid) })
      .sign(privateKey)
    assert.equal(await refusal(mine), 'signature-invalid')
  })
})

describe('a token that an issuer signed for something else', () => {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'k', alg: 'ES256', use: 'sig' }
  const now = () => Math.floor(Date.now() / 1000)
  const config = `- issuer: https://login.example.com
  audience: writ
  jwks_uri: https://login.example.com/keys
  algorithms: [ES256]
`
  const signed = (header: object, claims: object) =>
    new SignJWT({
      iss: 'https://login.example.com',
      aud: 'writ',
      sub: 'bob',
      iat: now(),
      exp: now() + 60,
      ...claims,
    })
      .setProtectedHeader({ alg: 'ES256', kid: 'k', ...header })
      .sign(privateKey)

  it('is refused by its type, its claims or its life', async () => {
    const { refusal } = setUp({ config, fetchJson: async () => ({ keys: [jwk] }) })
    for (const typ of [undefined, 'JWT', 'at+jwt', 'application/at+jwt']) {
      assert.match(await refusal(await signed({ typ }, {})), /a caller: bob/, String(typ))
    }
    for (const typ of ['logout+jwt', 'dpop+jwt', 'secevent+jwt']) {
      assert.equal(await refusal(await signed({ typ }, {})), 'wrong-type', typ)
    }
    for (const claims of [
      { iat: undefined },
      { exp: undefined },
      { sub: undefined },
      { exp: now() + 31 * 86_400 },
      { sub: 'local-admin' },
      { sub: 'two words' },
    ]) {
      assert.equal(await refusal(await signed({}, claims)), 'claims-invalid', JSON.stringify(claims))
    }
    assert.equal(await refusal(await signed({}, { iat: now() + 60 })), 'not-yet-valid')
    assert.equal(await refusal(await signed({}, { aud: ['writ-2', 'x'] })), 'other-audience')
    assert.match(await refusal(await signed({}, { aud: ['x', 'writ'] })), /a caller/)
  })

  it('is refused by an algorithm that the file does not name', async () => {
    const other = config.replace('ES256', 'RS256')
    const { refusal } = setUp({ config: other, fetchJson: async () => ({ keys: [jwk] }) })
    assert.equal(await refusal(await signed({}, {})), 'algorithm-refused')
  })
})

describe('the keys of an issuer', () => {
  it('are fetched once, for all who wait', async () => {
    const { authenticate } = setUp()
    const token = await oidc.token()
    const before = oidc.asked.length
    await Promise.all(Array.from({ length: 20 }, () => authenticate(token)))
    assert.deepEqual(oidc.asked.slice(before), ['/.well-known/openid-configuration', '/jwks'])
  })

  it('are asked for again for a key that is not known, and not more often than every five seconds', async () => {
    const { world, refusal } = setUp()
    assert.match(await refusal(await oidc.token()), /a caller/)
    oidc.rotate()
    const token = await oidc.token()
    const asked = oidc.asked.length
    assert.equal(await refusal(token), 'unknown-key', 'it was asked a moment ago')
    assert.equal(oidc.asked.length, asked)
    world.move(5_000)
    assert.match(await refusal(token), /a caller/)
    const { payload } = partsOf(token)
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const before = oidc.asked.length
    for (let i = 0; i < 50; i++) {
      const forgery = await new SignJWT(payload)
        .setProtectedHeader({ alg: 'RS256', kid: `made-up-${i}` })
        .sign(privateKey)
      assert.equal(await refusal(forgery), 'unknown-key')
    }
    assert.equal(oidc.asked.length, before, 'made-up keys make nobody ask')
  })

  it('are kept while the issuer is away, for a day; then nobody can tell, which is no denial', async () => {
    const { world, troubles, refusal } = setUp()
    const token = await oidc.token()
    assert.match(await refusal(token), /a caller/)
    await oidc.stop()
    try {
      world.move(11 * 60_000)
      assert.equal(await refusal(token), 'expired', 'its signature is still verified')
      await eventually(() => troubles.length > 0)
      assert.match(troubles[0] ?? '', /cannot be had/)
      world.move(24 * 3_600_000)
      assert.equal(await refusal(token), 'unavailable')
    } finally {
      await oidc.start()
    }
    world.move(5_000)
    assert.equal(await refusal(token), 'expired', 'it is asked again once it is back')
  })

  it('that were never had are unavailable, and are had once the issuer is there', async () => {
    const { world, refusal } = setUp()
    const token = await oidc.token()
    await oidc.stop()
    try {
      assert.equal(await refusal(token), 'unavailable')
    } finally {
      await oidc.start()
    }
    world.move(5_000)
    assert.match(await refusal(token), /a caller/)
  })

  it('come from the configuration of that very issuer, over https', async () => {
    const token = await oidc.token()
    const cases: [unknown, RegExp][] = [
      [{ issuer: 'https://evil.example', jwks_uri: `${oidc.issuer}/jwks` }, /another issuer/],
      [{ issuer: oidc.issuer, jwks_uri: 'http://evil.example/jwks' }, /no https/],
      [{ issuer: oidc.issuer, jwks_uri: 'file:///etc/passwd' }, /no https/],
      [{ issuer: oidc.issuer }, /no https/],
      [[], /no JSON object/],
    ]
    for (const [document, message] of cases) {
      const { troubles, refusal } = setUp({ fetchJson: async () => document })
      assert.equal(await refusal(token), 'unavailable')
      assert.match(troubles[0] ?? '', message)
    }
  })

  it('of a kind that is no signature key are not used', async () => {
    const { header, payload } = partsOf(await oidc.token())
    const secret = Buffer.from('shared-by-mistake-0123456789-0123456789')
    const oct = { kty: 'oct', k: secret.toString('base64url'), kid: header.kid, alg: 'HS256' }
    const config = CONFIG(oidc.issuer, `  jwks_uri: ${oidc.issuer}/jwks\n`)
    const { refusal } = setUp({ config, fetchJson: async () => ({ keys: [oct] }) })
    assert.equal(await refusal(hmacToken({ ...header, alg: 'HS256' }, payload, secret)), 'algorithm-refused')
    assert.equal(await refusal(hmacToken({ ...header, alg: 'RS256' }, payload, secret)), 'unknown-key')
  })
})

async function eventually(holds: () => boolean): Promise<void> {
  for (let i = 0; !holds() && i < 500; i++) await new Promise((resolve) => setTimeout(resolve, 10))
  assert.ok(holds())
}
