// Tokens that Writ issues: who they stand for, and every way in which one must not pass.
import assert from 'node:assert/strict'
import { generateKeyPairSync, sign } from 'node:crypto'
import { describe, it } from 'node:test'
import { SignJWT } from 'jose'
import { createAuthenticator } from '../../src/identity/authenticator.ts'
import { OWN_TYPE } from '../../src/identity/own-token.ts'
import { TTL_MAX_MS } from '../../src/identity/token-time.ts'
import {
  callerIn,
  forged,
  hmacToken,
  memoryKeys,
  partsOf,
  refusalIn,
  START,
  standingClock,
  tokenOf,
  withHeader,
} from './support.ts'

const ADMIN = 'admin-token-0123456789-0123456789'

function setUp() {
  const world = standingClock()
  const keys = memoryKeys(world)
  const revoked = new Set<string>()
  const authenticate = createAuthenticator({
    world,
    adminToken: ADMIN,
    own: { keys, audience: 'writ' },
    isRevoked: ({ token }) => revoked.has(token?.id ?? ''),
  })
  return {
    world,
    keys,
    revoked,
    authenticate,
    refusal: async (token: string) => refusalIn(await authenticate(token)),
  }
}

describe('a token of Writ', () => {
  it('stands for the caller that it was issued for, with all that it says', async () => {
    const { keys, authenticate } = setUp()
    const token = await tokenOf(keys, {
      kind: 'service',
      namespace: 'blue',
      roles: ['a', 'b'],
      scopes: ['tool:x:invoke'],
      agents: ['worker-*'],
      system: 'planner',
    })
    assert.deepEqual(callerIn(await authenticate(token)), {
      actor: 'agent-7',
      namespace: 'blue',
      kind: 'service',
      roles: ['a', 'b'],
      permissions: [],
      admin: false,
      scopes: ['tool:x:invoke'],
      agents: ['worker-*'],
      system: 'planner',
      token: { id: '01900000-0000-7000-8000-000000000001', issuedAt: START },
    })
  })

  it('is EdDSA of its own type, and names its key', async () => {
    const { keys } = setUp()
    const { header, payload } = partsOf(await tokenOf(keys))
    assert.deepEqual(header, { alg: 'EdDSA', typ: 'writ+jwt', kid: keys.ring().signer.kid })
    assert.deepEqual(Object.keys(payload).sort(), [
      'aud',
      'exp',
      'iat',
      'iss',
      'jti',
      'kind',
      'namespace',
      'nbf',
      'roles',
      'sub',
    ])
  })

  it('is not the admin, whatever it says', async () => {
    const { keys, authenticate } = setUp()
    assert.equal(callerIn(await authenticate(ADMIN)).admin, true)
    const { key, kid } = keys.ring().signer
    const claims = {
      ...partsOf(await tokenOf(keys)).payload,
      admin: true,
      permissions: ['*'],
      roles: ['admin'],
    }
    const token = await new SignJWT(claims).setProtectedHeader({ alg: 'EdDSA', typ: OWN_TYPE, kid }).sign(key)
    const caller = callerIn(await authenticate(token))
    assert.deepEqual([caller.admin, caller.permissions], [false, []])
    const named = await tokenOf(keys, { actor: 'local-admin' })
    assert.equal(refusalIn(await authenticate(named)), 'claims-invalid')
  })

  it('is refused once it is revoked, from that request on', async () => {
    const { keys, revoked, refusal } = setUp()
    const token = await tokenOf(keys)
    assert.match(await refusal(token), /a caller/)
    revoked.add('01900000-0000-7000-8000-000000000001')
    assert.equal(await refusal(token), 'revoked')
  })

  it('is neither taken nor refused while nobody can tell whether it was revoked (S42)', async () => {
    const { keys, world } = setUp()
    const authenticate = createAuthenticator({
      world,
      adminToken: ADMIN,
      own: { keys, audience: 'writ' },
      isRevoked: () => {
        throw new Error('the store is away')
      },
    })
    assert.equal(refusalIn(await authenticate(await tokenOf(keys))), 'unavailable')
    assert.equal(callerIn(await authenticate(ADMIN)).admin, true)
  })
})

describe('the times of a token', () => {
  it('hold with 30 s of skew, and no more', async () => {
    const { keys, world, refusal } = setUp()
    const token = await tokenOf(keys, { issuedAt: START + 29_000, expiresAt: START + 100_000 })
    assert.match(await refusal(token), /a caller/, 'issued by a clock that is 29 s ahead')
    assert.equal(await refusal(await tokenOf(keys, { issuedAt: START + 31_000 })), 'not-yet-valid')
    world.move(129_000)
    assert.match(await refusal(token), /a caller/, '29 s past its end')
    world.move(2_000)
    assert.equal(await refusal(token), 'expired')
  })

  it('must be there, be times, and be at most 30 days apart', async () => {
    const { keys, refusal } = setUp()
    const long = await tokenOf(keys, { expiresAt: START + TTL_MAX_MS + 60_000 })
    assert.equal(await refusal(long), 'claims-invalid')
    const { key, kid } = keys.ring().signer
    const { payload } = partsOf(await tokenOf(keys))
    for (const change of [
      { exp: undefined },
      { iat: undefined },
      { nbf: undefined },
      { exp: '2030' },
      { exp: 1e300 },
      { iat: -1 },
    ]) {
      const token = await new SignJWT({ ...payload, ...(change as object) })
        .setProtectedHeader({ alg: 'EdDSA', typ: OWN_TYPE, kid })
        .sign(key)
      assert.match(await refusal(token), /^(claims-invalid|malformed)$/, JSON.stringify(change))
    }
    const later = await new SignJWT({ ...payload, nbf: START / 1000 + 60 })
      .setProtectedHeader({ alg: 'EdDSA', typ: OWN_TYPE, kid })
      .sign(key)
    assert.equal(await refusal(later), 'not-yet-valid')
  })
})

describe('forged tokens', () => {
  it('alg none is refused, in every spelling', async () => {
    const { keys, refusal } = setUp()
    const { payload } = partsOf(await tokenOf(keys))
    const { kid } = keys.ring().signer
    for (const alg of ['none', 'None', 'NONE', 'nOnE', '', undefined]) {
      for (const signature of ['', 'AAAA']) {
        const refused = await refusal(forged({ alg, typ: OWN_TYPE, kid }, payload, signature))
        assert.match(refused, /^(algorithm-refused|malformed|wrong-type)$/, `${alg} '${signature}'`)
      }
    }
  })

  it('algorithm confusion: the public key is no shared secret', async () => {
    const { keys, refusal } = setUp()
    const { kid } = keys.ring().signer
    const { payload } = partsOf(await tokenOf(keys))
    const key = keys.ring().verifier(kid, START)
    assert.ok(key)
    const secrets = [
      key.export({ type: 'spki', format: 'pem' }),
      key.export({ type: 'spki', format: 'der' }),
      String(key.export({ format: 'jwk' }).x),
    ]
    for (const secret of secrets) {
      for (const alg of ['HS256', 'HS384', 'HS512']) {
        const token = hmacToken({ alg, typ: OWN_TYPE, kid }, payload, secret)
        assert.equal(await refusal(token), 'algorithm-refused')
      }
    }
  })

  it('a key in the header is not used: jwk, jku, x5c, x5u', async () => {
    const { keys, refusal } = setUp()
    const { payload } = partsOf(await tokenOf(keys))
    const { publicKey, privateKey } = generateKeyPairSync('ed25519')
    const jwk = publicKey.export({ format: 'jwk' })
    for (const more of [
      { jwk },
      { jku: 'http://127.0.0.1:1/keys' },
      { x5u: 'http://127.0.0.1:1/' },
      { x5c: ['AAAA'] },
    ]) {
      for (const kid of [keys.ring().signer.kid, 'mine', undefined]) {
        const header = { alg: 'EdDSA', typ: OWN_TYPE, kid, ...more }
        const text = forged(header, payload, '').slice(0, -1)
        const token = `${text}.${sign(null, Buffer.from(text), privateKey).toString('base64url')}`
        assert.match(await refusal(token), /^(signature-invalid|unknown-key)$/)
      }
    }
  })

  it('tricks with kid reach nothing but the keys', async () => {
    const { keys, refusal } = setUp()
    const token = await tokenOf(keys)
    for (const kid of [
      '__proto__',
      'constructor',
      '../../etc/passwd',
      "' OR 1=1 --",
      '',
      '\0',
      'x'.repeat(5000),
    ]) {
      assert.equal(await refusal(withHeader(token, { kid })), 'unknown-key', kid.slice(0, 20))
    }
    for (const kid of [null, 7, {}, [], ['a']]) {
      assert.match(await refusal(withHeader(token, { kid })), /^(unknown-key|malformed)$/)
    }
  })

  it('crit and b64 are refused', async () => {
    const { keys, refusal } = setUp()
    const token = await tokenOf(keys)
    for (const change of [
      { crit: ['exp'], exp: 1 },
      { crit: ['b64'], b64: false },
      { crit: [] },
      { crit: 'x' },
      { b64: false },
    ]) {
      assert.match(
        await refusal(withHeader(token, change)),
        /^(algorithm-refused|malformed|signature-invalid)$/,
        JSON.stringify(change),
      )
    }
  })

  it('another type is another token, even with the right signature', async () => {
    const { keys, refusal } = setUp()
    const { key, kid } = keys.ring().signer
    const { payload } = partsOf(await tokenOf(keys))
    for (const typ of ['JWT', 'at+jwt', undefined, 'WRIT', 'logout+jwt']) {
      const header = typ === undefined ? { alg: 'EdDSA', kid } : { alg: 'EdDSA', kid, typ }
      const token = await new SignJWT(payload).setProtectedHeader(header).sign(key)
      assert.equal(await refusal(token), 'unknown-issuer', String(typ))
    }
  })

  it('a claim that was changed, a signature that was cut, and a key of another server', async () => {
    const { keys, refusal } = setUp()
    const token = await tokenOf(keys)
    const [header, , signature] = token.split('.')
    const { payload } = partsOf(token)
    const changed = Buffer.from(JSON.stringify({ ...payload, roles: ['admin'] })).toString('base64url')
    assert.equal(await refusal(`${header}.${changed}.${signature}`), 'signature-invalid')
    assert.match(await refusal(token.slice(0, -8)), /^(signature-invalid|malformed)$/)
    assert.equal(await refusal(await tokenOf(memoryKeys())), 'unknown-key')
  })

  it('what a forger learns does not depend on what the token says', async () => {
    const { refusal } = setUp()
    const other = memoryKeys()
    const answers = await Promise.all([
      refusal(await tokenOf(other)),
      refusal(await tokenOf(other, { audience: 'elsewhere' })),
      refusal(await tokenOf(other, { issuedAt: START - 1e9 })),
      refusal(await tokenOf(other, { actor: 'somebody' })),
    ])
    assert.deepEqual(new Set(answers), new Set(['unknown-key']))
  })

  it('another audience and another issuer are refused', async () => {
    const { keys, refusal } = setUp()
    assert.equal(await refusal(await tokenOf(keys, { audience: 'staging' })), 'other-audience')
    const { key, kid } = keys.ring().signer
    const { payload } = partsOf(await tokenOf(keys))
    for (const iss of ['https://evil.example', '', undefined, ['writ']]) {
      const token = await new SignJWT({ ...payload, iss: iss as string })
        .setProtectedHeader({ alg: 'EdDSA', typ: OWN_TYPE, kid })
        .sign(key)
      assert.match(await refusal(token), /^(unknown-issuer|malformed)$/, String(iss))
    }
  })

  it('claims of another form are refused, not read in part', async () => {
    const { keys, refusal } = setUp()
    const { key, kid } = keys.ring().signer
    const { payload } = partsOf(await tokenOf(keys))
    for (const change of [
      { sub: undefined },
      { sub: 7 },
      { sub: 'a b' },
      { sub: 'x'.repeat(257) },
      { jti: undefined },
      { jti: '' },
      { namespace: undefined },
      { namespace: '../x' },
      { namespace: '*' },
      { kind: 'robot' },
      { kind: undefined },
      { roles: 'admin' },
      { roles: [7] },
      { roles: undefined },
      { scopes: 'all' },
      { scopes: [null] },
      { agents: ['a*b'] },
      { agents: '*' },
      { system: 7 },
      { roles: Array.from({ length: 65 }, (_, i) => `r${i}`) },
    ]) {
      const token = await new SignJWT({ ...payload, ...(change as object) })
        .setProtectedHeader({ alg: 'EdDSA', typ: OWN_TYPE, kid })
        .sign(key)
      assert.match(await refusal(token), /^(claims-invalid|malformed)$/, JSON.stringify(change).slice(0, 60))
    }
  })

  it('what is no token, or one of a megabyte, is refused before anything is parsed', async () => {
    const { keys, refusal } = setUp()
    for (const text of [
      '',
      '.',
      '..',
      '...',
      'a.b.c',
      'x',
      `${ADMIN}x`,
      'e30.e30.',
      'eyJhbGciOiJFZERTQSJ9',
    ]) {
      assert.match(await refusal(text), /^(malformed|unknown-issuer)$/, text)
    }
    const { payload } = partsOf(await tokenOf(keys))
    const { kid } = keys.ring().signer
    const huge = forged({ alg: 'EdDSA', typ: OWN_TYPE, kid }, { ...payload, x: 'a'.repeat(1_000_000) })
    const deep = `${Buffer.from(`${'['.repeat(500_000)}`).toString('base64url')}.e30.AAAA`
    for (const token of [huge, deep]) assert.equal(await refusal(token), 'too-large')
  })
})
