// The file of issuers: every mistake is named with its path and its line, and nothing of a wrong file is used.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ASYMMETRIC, readOidcConfig } from '../../src/identity/oidc-config.ts'

function problemsOf(text: string): readonly string[] {
  const read = readOidcConfig(text, 'oidc.yaml')
  return read.ok ? [] : read.problems
}

const GOOD = `- issuer: https://login.example.com
  audience: writ
`

describe('the file of issuers', () => {
  it('has defaults for everything but the issuer and the audience', () => {
    const read = readOidcConfig(GOOD, 'oidc.yaml')
    assert.ok(read.ok)
    assert.deepEqual(read.issuers, [
      {
        issuer: 'https://login.example.com',
        audience: ['writ'],
        algorithms: ASYMMETRIC,
        claims: { actor: { claim: '/sub' } },
        actorPrefix: '',
        skewMs: 30_000,
      },
    ])
  })

  it('is read as JSON, too, with every field', () => {
    const value = [
      {
        issuer: 'https://a.example',
        audience: ['one', 'two'],
        jwks_uri: 'https://a.example/keys',
        algorithms: ['ES256'],
        claims: {
          actor: 'email',
          namespace: { value: 'blue' },
          kind: { value: 'person' },
          roles: '/realm_access/roles',
          agents: { value: ['worker-*'] },
        },
        role_map: { 'their-group': ['a', 'b'], other: 'c' },
        actor_prefix: 'corp/',
        clock_skew: '1m',
      },
    ]
    const read = readOidcConfig(JSON.stringify(value), 'oidc.json')
    assert.ok(read.ok, JSON.stringify(read))
    const [issuer] = read.issuers
    assert.deepEqual(issuer?.claims, {
      actor: { claim: '/email' },
      namespace: { value: 'blue' },
      kind: { value: 'person' },
      roles: { claim: '/realm_access/roles' },
      agents: { value: ['worker-*'] },
    })
    assert.deepEqual({ ...issuer?.roleMap }, { 'their-group': ['a', 'b'], other: ['c'] })
    assert.equal(issuer?.skewMs, 60_000)
  })

  const MISTAKES: [string, RegExp][] = [
    ['', /^oidc\.yaml:1:1: error: holds no document/],
    ['issuer: x', /^oidc\.yaml:1:1: error: is no list of issuers/],
    ['[]', /is no list of issuers/],
    ['- 7', /^oidc\.yaml:1:3: error: \[0\]: is no issuer/],
    ['- audience: writ', /\[0\]\.issuer: is missing/],
    ['- issuer: https://a.example', /\[0\]\.audience: is missing/],
    [GOOD.replace('https', 'http'), /^oidc\.yaml:1:11: error: \[0\]\.issuer: is no https address/],
    [GOOD.replace('login', 'user:pass@login'), /\[0\]\.issuer: has credentials/],
    [
      `${GOOD}  algoritms: [RS256]`,
      /^oidc\.yaml:3:3: error: \[0\]\.algoritms: is not a known field\. Fix: did you mean algorithms/,
    ],
    [
      `${GOOD}  algorithms: [RS256, HS256]`,
      /^oidc\.yaml:3:23: error: \[0\]\.algorithms\[1\]: must be one of/,
    ],
    [`${GOOD}  algorithms: [none]`, /algorithms\[0\]: must be one of/],
    [`${GOOD}  algorithms: []`, /names none/],
    [`${GOOD}  jwks_uri: ftp://a.example/`, /jwks_uri: is no https address/],
    [`${GOOD}  clock_skew: 1h`, /^oidc\.yaml:3:15: error: \[0\]\.clock_skew: is no duration of at most 5m/],
    [`${GOOD}  clock_skew: 30`, /clock_skew: is no duration/],
    [`${GOOD}  claims: sub`, /claims: is no map/],
    [`${GOOD}  claims: {role: x}`, /claims\.role: is not a known field\. Fix: did you mean roles/],
    [`${GOOD}  claims: {actor: {value: bob}}`, /claims\.actor\.value: cannot be the same for everybody/],
    [`${GOOD}  claims: {kind: {value: robot}}`, /claims\.kind\.value: is no kind that can be/],
    [`${GOOD}  claims: {namespace: {value: A B}}`, /claims\.namespace\.value/],
    [`${GOOD}  claims: {roles: {value: [a, 7]}}`, /claims\.roles\.value/],
    [`${GOOD}  claims: {roles: {claim: x}}`, /claims\.roles: is neither a claim nor a fixed value/],
    [`${GOOD}  claims: {roles: /a~2}`, /nor a JSON pointer/],
    [`${GOOD}  role_map: {a: b}`, /role_map: has no claim to map/],
    [`${GOOD}  claims: {roles: g}\n  role_map: {a: 'b c'}`, /role_map\.a: is no name of a role/],
    [`${GOOD}  actor_prefix: 'a b'`, /actor_prefix: is no text without spaces/],
    [`${GOOD}  issuer: https://b.example`, /is given twice/],
    [`${GOOD}${GOOD}`, /\[1\]\.issuer: is there twice/],
    [`${GOOD}${GOOD.replace('login', 'other')}`, /\[1\]\.actor_prefix: is the same for two issuers/],
    [`${GOOD}---\n${GOOD}`, /holds several documents/],
  ]
  for (const [text, message] of MISTAKES) {
    it(`is refused: ${message.source}`, () => {
      const problems = problemsOf(text)
      assert.ok(
        problems.some((problem) => message.test(problem)),
        problems.join('\n') || 'it was taken',
      )
      assert.ok(
        problems.every((problem) => /^oidc\.yaml:\d+:\d+: error: .*\. Fix: /.test(problem)),
        problems.join('\n'),
      )
    })
  }

  it('names all mistakes at once', () => {
    assert.equal(problemsOf('- issuer: x\n  audience: 7\n  clock_skew: y\n').length, 4)
  })

  it('lets plain http only on loopback', () => {
    for (const host of ['127.0.0.1:9', 'localhost', '[::1]:80']) {
      assert.deepEqual(problemsOf(`- issuer: http://${host}\n  audience: a`), [], host)
    }
    for (const host of ['localhost.evil.example', '127.0.0.1.nip.io', '0.0.0.0', '[::2]']) {
      assert.equal(problemsOf(`- issuer: http://${host}\n  audience: a`).length, 1, host)
    }
  })
})
