// What is presented for each auth profile, and what is said where nothing can be.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createCredentials } from '../../src/credential/create-credentials.ts'
import type {
  CredentialNeed,
  Credentials,
  NotPresented,
  Presented,
  SecretProvider,
} from '../../src/credential/credential.ts'
import { REDACTED } from '../../src/credential/redactor.ts'
import { createWorld } from '../../src/runtime.ts'
import { Abort } from '../../src/util/abort.ts'
import { testSecrets } from './fixture.ts'
import { CLIENT_ID, CLIENT_SECRET, startOauth } from './oauth-server.ts'

function credentialsFor(t: TestContext, ...providers: readonly SecretProvider[]): Credentials {
  const world = createWorld()
  t.after(() => world.network.destroy())
  return createCredentials({ world, providers })
}

const need = (auth: Partial<NonNullable<CredentialNeed['auth']>>, namespace = 'default'): CredentialNeed => ({
  namespace,
  auth: { profile: 'bearer', secretRef: 'key', scopes: [], ...auth },
  reach: 'loopback',
})

async function shown(credentials: Credentials, wanted: CredentialNeed): Promise<Presented> {
  const result = await credentials.present(wanted, new Abort())
  assert.ok(result.ok, result.ok ? '' : result.refusal.message)
  return result.presented
}

async function refused(credentials: Credentials, wanted: CredentialNeed): Promise<NotPresented> {
  const result = await credentials.present(wanted, new Abort())
  assert.ok(!result.ok)
  return result.refusal
}

test('bearer, api_key_header and basic put the secret where they say', async (t) => {
  const secrets = testSecrets()
  const credentials = credentialsFor(t, secrets)
  secrets.set('key', 'sk-live-12345\n')
  secrets.set('many', { value: 'the-value', other: 'another-value' })
  secrets.set('only', { token: 'the-only-one' })
  secrets.set('login', 'robot:pass:word')
  secrets.set('parts', { username: 'röbot', password: 'pässword' })
  const headers = async (auth: Parameters<typeof need>[0]) => (await shown(credentials, need(auth))).headers
  assert.deepEqual(await headers({}), [['authorization', 'Bearer sk-live-12345']])
  assert.deepEqual(await headers({ secretRef: 'many' }), [['authorization', 'Bearer the-value']])
  assert.deepEqual(await headers({ secretRef: 'many:other' }), [['authorization', 'Bearer another-value']])
  assert.deepEqual(await headers({ secretRef: 'default/only' }), [['authorization', 'Bearer the-only-one']])
  assert.deepEqual(await headers({ profile: 'api_key_header', headerName: 'X-Api-Key' }), [
    ['x-api-key', 'sk-live-12345'],
  ])
  const basic = (text: string) => [['authorization', `Basic ${Buffer.from(text).toString('base64')}`]]
  assert.deepEqual(await headers({ profile: 'basic', secretRef: 'login' }), basic('robot:pass:word'))
  assert.deepEqual(await headers({ profile: 'basic', secretRef: 'parts' }), basic('röbot:pässword'))
})

test('what cannot be presented says what is wrong, and never the value', async (t) => {
  const secrets = testSecrets()
  const credentials = credentialsFor(t, secrets)
  const CASES: readonly [string, string | Record<string, string>, Partial<CredentialNeed['auth']>, RegExp][] =
    [
      ['a line break inside', 'canary\r\nx-evil: 1', {}, /holds a line break/],
      ['a NUL', 'canary\0canary', {}, /control character/],
      ['other letters', 'canary-ключ', {}, /outside Latin-1/],
      ['too long', 'canary'.repeat(5_000), {}, /longer than 8192/],
      ['empty', '\n', {}, /is empty/],
      ['too short to be found again', 'canary', {}, /shorter than 8 bytes/],
      ['two values', { one: 'canary-1', two: 'canary-2' }, {}, /holds 2 values and none named 'value'/],
      ['no such key', { one: 'canary-1' }, { secretRef: 'key:two' }, /holds no value 'two'/],
      ['no colon', 'canary-canary', { profile: 'basic' }, /is no 'user:password'/],
      ['no user', { password: 'canary-1' }, { profile: 'basic' }, /holds no value 'username'/],
      ['a colon in the user', { username: 'a:canary', password: 'canary-1' }, { profile: 'basic' }, /colon/],
      ['no client', { client_secret: 'canary-1' }, { profile: 'oauth2_client_credentials' }, /'client_id'/],
    ]
  for (const [name, values, auth, why] of CASES) {
    secrets.set('key', values)
    const refusal = await refused(credentials, need({ ...auth }))
    assert.equal(refusal.failure, 'secret-missing', name)
    assert.equal(refusal.transient, false)
    assert.match(refusal.message, why)
    assert.doesNotMatch(JSON.stringify(refusal), /canary/, name)
  }
  const unknown = await refused(credentials, need({ secretRef: 'nobody' }))
  assert.match(unknown.message, /'nobody' is not known to any provider/)
  assert.deepEqual(unknown.details, { secret_ref: 'nobody' })
  assert.equal(unknown.fix, undefined, 'there is no store here to keep it in')
})

test('a secret of another namespace is used only where it is shared; whether it exists is not told', async (t) => {
  const secrets = testSecrets()
  const credentials = credentialsFor(t, secrets)
  secrets.set('key', 'a-secret-of-blue', { namespace: 'blue' })
  secrets.set('shared', 'a-shared-secret', { namespace: 'blue', sharedWith: ['green', 'default'] })
  const own = await shown(credentials, need({}, 'blue'))
  assert.deepEqual(own.headers, [['authorization', 'Bearer a-secret-of-blue']])
  assert.equal((await shown(credentials, need({ secretRef: 'blue/shared' }))).headers.length, 1)
  const foreign = await refused(credentials, need({ secretRef: 'blue/key' }))
  const none = await refused(credentials, need({ secretRef: 'blue/nothing' }))
  const other = await refused(credentials, need({ secretRef: 'blue/shared' }, 'red'))
  for (const refusal of [foreign, none, other]) assert.equal(refusal.failure, 'secret-out-of-scope')
  assert.equal(none.message.replace('nothing', 'key'), foreign.message)
  secrets.away = true
  const away = await refused(credentials, need({ secretRef: 'blue/nothing' }))
  assert.equal(away.failure, 'secret-out-of-scope')
})

test('the providers are asked in their order, anew for each send', async (t) => {
  const first = testSecrets()
  const second = testSecrets()
  const credentials = credentialsFor(t, first, second)
  second.set('key', 'from-the-second')
  const one = await shown(credentials, need({}))
  assert.deepEqual(one.headers, [['authorization', 'Bearer from-the-second']])
  first.set('key', 'from-the-first')
  const two = await shown(credentials, need({}))
  assert.deepEqual(two.headers, [['authorization', 'Bearer from-the-first']])
  assert.deepEqual([first.reads, second.reads], [2, 1])
})

test('a provider that is away, throws or hangs is trouble for now', async (t) => {
  const secrets = testSecrets()
  secrets.away = true
  const away = await refused(credentialsFor(t, secrets), need({}))
  assert.deepEqual([away.failure, away.transient], ['secret-missing', true])
  assert.match(away.message, /the vault is sealed/)
  const thrown = await refused(
    credentialsFor(t, { name: 'bad', read: () => Promise.reject(new Error('canary')) }),
    need({}),
  )
  assert.equal(thrown.transient, true)
  assert.doesNotMatch(thrown.message, /canary/)
  const abort = new Abort()
  const hanging = credentialsFor(t, { name: 'slow', read: () => new Promise(() => {}) }).present(
    need({}),
    abort,
  )
  abort.abort('timeout')
  const stopped = await hanging
  assert.ok(!stopped.ok && stopped.refusal.transient)
})

test('another version of a secret is another version of what is presented', async (t) => {
  const secrets = testSecrets()
  const credentials = credentialsFor(t, secrets)
  secrets.set('key', 'first-value')
  const { version } = await shown(credentials, need({}))
  assert.equal(await credentials.version(need({}), new Abort()), version)
  secrets.set('key', 'second-value')
  assert.notEqual((await shown(credentials, need({}))).version, version)
  secrets.delete('key')
  assert.equal(await credentials.version(need({}), new Abort()), undefined)
})

test('variables are filled from secrets, and one with a NUL is none', async (t) => {
  const secrets = testSecrets()
  const credentials = credentialsFor(t, secrets)
  secrets.set('pem', { key: '-----BEGIN KEY-----\nabc\n-----END KEY-----\n' })
  const wanted: CredentialNeed = {
    namespace: 'default',
    env: [{ name: 'KEY', secretRef: 'pem', key: 'key' }],
  }
  const { env, redactor, headers } = await shown(credentials, wanted)
  assert.deepEqual(env, { KEY: '-----BEGIN KEY-----\nabc\n-----END KEY-----' })
  assert.deepEqual(headers, [])
  assert.equal(redactor.text(JSON.stringify({ env: env.KEY })), `{"env":"${REDACTED}"}`)
  secrets.set('pem', { key: 'canary\0canary' })
  assert.match((await refused(credentials, wanted)).message, /holds a NUL/)
})

test('the redactor knows the parts of a credential, and what was presented before a rotation', async (t) => {
  const secrets = testSecrets()
  const credentials = credentialsFor(t, secrets)
  secrets.set('key', 'robot-user:robot-password')
  const wanted = need({ profile: 'basic' })
  const before = await shown(credentials, wanted)
  const encoded = Buffer.from('robot-user:robot-password').toString('base64')
  for (const part of ['robot-user', 'robot-password', encoded])
    assert.equal(before.redactor.text(`<${part}>`), `<${REDACTED}>`)
  assert.equal((await shown(credentials, wanted)).redactor, before.redactor, 'made once for the same secrets')
  secrets.set('key', 'robot-user:other-password')
  const after = await shown(credentials, wanted)
  assert.equal(after.redactor.text('robot-password other-password'), `${REDACTED} ${REDACTED}`)
})

test('oauth2_client_credentials presents a token of a real server, and gets another when it is rejected', async (t) => {
  const oauth = await startOauth(t)
  const secrets = testSecrets()
  const credentials = credentialsFor(t, secrets)
  secrets.set('client', { client_id: CLIENT_ID, client_secret: CLIENT_SECRET })
  const wanted = need({
    profile: 'oauth2_client_credentials',
    secretRef: 'client',
    tokenURL: oauth.tokenURL,
    scopes: ['orders:read'],
  })
  const first = await shown(credentials, wanted)
  const [, value = ''] = first.headers[0] ?? []
  const token = value.replace('Bearer ', '')
  assert.ok(await oauth.isValid(token))
  assert.equal(
    first.redactor.text(`${token} ${CLIENT_SECRET} ${CLIENT_ID}`),
    `${REDACTED} ${REDACTED} ${CLIENT_ID}`,
  )
  assert.deepEqual((await shown(credentials, wanted)).headers, first.headers)
  assert.equal(first.rejected(), true)
  assert.notDeepEqual((await shown(credentials, wanted)).headers, first.headers)
  // A rotated secret is another client to the server: its token is not the one that was kept.
  secrets.set('client', { client_id: CLIENT_ID, client_secret: 'not-the-secret' })
  assert.equal((await refused(credentials, wanted)).failure, 'token-exchange-failed')
  secrets.set('key', 'a-plain-bearer')
  assert.equal((await shown(credentials, need({}))).rejected(), false, 'nothing to renew in a fixed secret')
})
