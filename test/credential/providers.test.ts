// What single providers do beside the suite: names of variables, rights of files, logins, certificates.
import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { variableOf } from '../../src/credential/provider/env.ts'
import { readProviderSettings } from '../../src/credential/provider-schema.ts'
import { ACCOUNT_TOKEN, startKubernetes } from './kubernetes-server.ts'
import { cannotSay, folderOf, openProvider } from './provider-harness.ts'
import { ROLE_ID, ROOT, SECRET_ID, startVault } from './vault-server.ts'

const API = { namespace: 'blue', name: 'api' }

describe('variables', () => {
  it('of one namespace are never those of another, however the two are called', () => {
    const prefix = 'WRIT_SECRET_'
    assert.equal(variableOf(prefix, 'default', 'weather-api'), 'WRIT_SECRET_WEATHER_API')
    assert.equal(variableOf(prefix, 'blue', 'weather.api'), 'WRIT_SECRET_BLUE___WEATHER_API')
    const namespaces = ['default', 'a', 'a-b', 'a.b', 'a_b', 'a--b', 'a-', 'b', 'a-b-c']
    const names = ['a', 'b', 'c', 'a-b', 'b-c', 'a__b', 'a---b', 'a_', 'a-b-c', 'a.b']
    const owner = new Map<string, string>()
    for (const namespace of namespaces)
      for (const name of names) {
        const variable = variableOf(prefix, namespace, name)
        if (variable === undefined) continue
        assert.equal(owner.get(variable) ?? namespace, namespace, variable)
        owner.set(variable, namespace)
      }
    assert.ok(owner.size > 15)
  })

  it('of a key are read by that key; the setting of the providers is no secret', async (t) => {
    const env = {
      WRIT_SECRET_MAIL__CLIENT_ID: 'canary-id-1',
      WRIT_SECRET_MAIL___OTHER: 'canary-of-namespace-mail',
      WRIT_SECRET_EMPTY: ' ',
      WRIT_SECRET_PROVIDERS: 'providers.yaml',
    }
    const provider = await openProvider(t, { type: 'env' }, { env })
    const found = await provider.read({ namespace: 'default', name: 'mail', key: 'client-id' })
    assert.deepEqual({ ...found?.values }, { client_id: 'canary-id-1', 'client-id': 'canary-id-1' })
    for (const name of ['empty', 'providers'])
      assert.equal(await provider.read({ namespace: 'default', name }), undefined)
    const own = await openProvider(t, { type: 'env', prefix: 'MY_' }, { env: { MY_API: 'canary-value' } })
    assert.equal((await own.read({ namespace: 'default', name: 'api' }))?.values.value, 'canary-value')
  })
})

describe('files', () => {
  it('of a Kubernetes mount are read through its links, and swapped all at once', async (t) => {
    const folder = folderOf(t)
    const mount = join(folder, 'blue', 'api')
    const generation = (name: string, value: string) => {
      mkdirSync(join(mount, name), { recursive: true })
      for (const key of ['user', 'password'])
        writeFileSync(join(mount, name, key), `${value}-${key}`, { mode: 0o440 })
    }
    generation('..2026_1', 'canary-1')
    symlinkSync('..2026_1', join(mount, '..data'))
    for (const key of ['user', 'password']) symlinkSync(`..data/${key}`, join(mount, key))
    const provider = await openProvider(t, { type: 'file', folder })
    const first = await provider.read(API)
    assert.deepEqual({ ...first?.values }, { password: 'canary-1-password', user: 'canary-1-user' })
    generation('..2026_2', 'canary-2')
    symlinkSync('..2026_2', join(mount, '..data_tmp'))
    renameSync(join(mount, '..data_tmp'), join(mount, '..data'))
    rmSync(join(mount, '..2026_1'), { recursive: true })
    const second = await provider.read(API)
    assert.deepEqual({ ...second?.values }, { password: 'canary-2-password', user: 'canary-2-user' })
    assert.notEqual(second?.version, first?.version)
  })

  it('that lead out of their folder, are too open, too large or no text are refused', async (t) => {
    const folder = folderOf(t)
    const mount = join(folder, 'blue', 'api')
    const file = join(mount, 'value')
    mkdirSync(mount, { recursive: true })
    writeFileSync(join(folder, 'canary'), 'canary-outside', { mode: 0o600 })
    const provider = await openProvider(t, { type: 'file', folder })
    symlinkSync('../../canary', file)
    assert.match(await cannotSay(provider.read(API)), /leads out of its folder/)
    rmSync(file)
    symlinkSync('/etc', join(mount, '..data'))
    assert.match(await cannotSay(provider.read(API)), /leads out of its folder/)
    unlinkSync(join(mount, '..data'))
    writeFileSync(file, 'canary-value', { mode: 0o600 })
    for (const mode of [0o644, 0o604, 0o620, 0o602]) {
      chmodSync(file, mode)
      assert.match(await cannotSay(provider.read(API)), /read by others, or changed by its group/)
    }
    chmodSync(file, 0o640)
    assert.equal((await provider.read(API))?.values.value, 'canary-value')
    writeFileSync(file, 'x'.repeat(65 * 1024))
    assert.match(await cannotSay(provider.read(API)), /larger than/)
    writeFileSync(file, Buffer.from([0xff, 0xfe, 0xfd]))
    assert.match(await cannotSay(provider.read(API)), /no text in UTF-8/)
  })
})

describe('vault', () => {
  const approle = { role_id: ROLE_ID, secret_id_env: 'ID' }

  it('is logged in to once for many reads, renewed before the lease ends, and anew after it', async (t) => {
    const vault = await startVault(t)
    vault.put('blue/api', { value: 'canary-value' })
    vault.lease = 30
    let now = 0
    const clock = { now: () => now, monotonic: () => now }
    const settings = { type: 'vault', address: vault.url, approle, namespace: 'team-a' } as const
    const provider = await openProvider(t, settings, { env: { ID: SECRET_ID }, clock })
    const found = await Promise.all([1, 2, 3].map(() => provider.read(API)))
    assert.deepEqual(
      found.map((one) => one?.values.value),
      ['canary-value', 'canary-value', 'canary-value'],
    )
    assert.equal(vault.asked.filter((one) => one.includes('login')).length, 1, 'one login at a time')
    now = 21_000
    await provider.read(API)
    assert.equal(vault.asked.filter((one) => one.includes('renew-self')).length, 1)
    now = 60_000
    await provider.read(API)
    assert.equal(vault.asked.filter((one) => one.includes('login')).length, 2)
    vault.endTokens()
    assert.equal((await provider.read(API))?.values.value, 'canary-value', 'a token that was revoked')
    assert.equal(vault.asked.filter((one) => one.includes('login')).length, 3)
    assert.ok(vault.namespaces.every((one) => one === 'team-a'))
    await provider.close?.()
    assert.equal(vault.asked.at(-1), 'POST auth/token/revoke-self')
  })

  it('that refuses, lies or is away is an error that names no value', async (t) => {
    const vault = await startVault(t)
    vault.put('blue/api', { value: 'canary-value' })
    vault.put('blue/numbers', { count: 5 })
    const open = (env: Record<string, string>, more: object = {}) =>
      openProvider(t, { type: 'vault', address: vault.url, token_env: 'T', ...more }, { env })
    assert.match(await cannotSay((await open({ T: 'hvs.wrong' })).read(API)), /answered 403/)
    assert.match(await cannotSay((await open({})).read(API)), /the token for vault is missing/)
    const { token_env: _, ...wrong } = { token_env: '', approle: { ...approle, role_id: 'canary' } }
    const refused = await openProvider(
      t,
      { type: 'vault', address: vault.url, ...wrong },
      { env: { ID: SECRET_ID } },
    )
    assert.match(await cannotSay(refused.read(API)), /refused the login \(400\)/)
    const provider = await open({ T: ROOT })
    assert.equal(await provider.read({ namespace: 'blue', name: 'numbers' }), undefined)
    for (const body of ['<html>canary</html>', '{"data":{"canary-value":1}}', '[]', '', '{"data":null}']) {
      vault.broken = { status: 200, body }
      await cannotSay(provider.read(API))
    }
    vault.broken = { status: 200, body: `{"data":{"data":{"value":"${'x'.repeat(2_000_000)}"}}}` }
    assert.match(await cannotSay(provider.read(API)), /more than 1048576 bytes/)
    vault.broken = { status: 404, body: '<html>canary</html>' }
    assert.match(await cannotSay(provider.read(API)), /not its protocol/)
    const away = await openProvider(
      t,
      { type: 'vault', address: 'http://127.0.0.1:9', token_env: 'T' },
      { env: { T: ROOT } },
    )
    assert.match(await cannotSay(away.read(API)), /cannot be reached/)
    const folder = folderOf(t)
    const trusting = await openProvider(
      t,
      { type: 'vault', address: vault.url, token_env: 'T', ca_file: 'ca.pem' },
      { env: { T: ROOT }, folder },
    )
    assert.match(await cannotSay(trusting.read(API)), /ca_file of vault cannot be read/)
    vault.broken = undefined
    writeFileSync(join(folder, 'ca.pem'), '')
    assert.equal((await trusting.read(API))?.values.value, 'canary-value', 'it is there now')
    const inside = await openProvider(
      t,
      { type: 'vault', address: 'http://10.255.255.1:8200', token_env: 'T' },
      { env: { T: ROOT } },
    )
    assert.match(await cannotSay(inside.read(API)), /is a private address/)
  })
})

describe('kubernetes', () => {
  it('is reached with the certificate authority and the token of the kubeconfig, and with no other', async (t) => {
    const cluster = await startKubernetes(t)
    if (cluster.ca === undefined)
      return t.skip('no openssl to make a certificate with; install it to run this')
    cluster.put('tools', 'api', { value: 'canary-value' })
    const mapped = {
      type: 'kubernetes',
      kubeconfig: cluster.kubeconfig,
      namespaces: { blue: 'tools' },
    } as const
    const provider = await openProvider(t, mapped)
    assert.equal((await provider.read(API))?.values.value, 'canary-value')
    assert.equal(await provider.read({ namespace: 'tools', name: 'api' }), undefined, 'it is not mapped')
    const folder = folderOf(t)
    const write = (user: object, more: object = {}) => {
      const config = {
        'current-context': 'c',
        contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
        clusters: [{ name: 'c', cluster: { server: cluster.url, ...more } }],
        users: [{ name: 'u', user }],
      }
      writeFileSync(join(folder, 'config'), JSON.stringify(config), { mode: 0o600 })
      return openProvider(t, { type: 'kubernetes', kubeconfig: 'config' }, { folder })
    }
    const ca = { 'certificate-authority-data': Buffer.from(cluster.ca).toString('base64') }
    assert.match(await cannotSay((await write({ token: ACCOUNT_TOKEN })).read(API)), /cannot be reached/)
    assert.match(await cannotSay((await write({ token: 'canary' }, ca)).read(API)), /answered 401/)
    assert.match(await cannotSay((await write({ exec: {} }, ca)).read(API)), /comes from a program/)
    const behind = await write({ token: ACCOUNT_TOKEN }, { ...ca, server: `${cluster.url}/k8s/one/` })
    await behind.read(API)
    assert.equal(cluster.asked.at(-1), 'GET /k8s/one/api/v1/namespaces/blue/secrets/api')
    cluster.broken = { status: 404, body: '404 page not found, canary' }
    assert.match(await cannotSay(provider.read(API)), /not its protocol/)
    cluster.broken = { status: 404, body: '{"kind":"Status","reason":"Canary"}' }
    assert.match(await cannotSay(provider.read(API)), /has no Secrets at its address/)
    const pod = await openProvider(t, { type: 'kubernetes' })
    assert.match(await cannotSay(pod.read(API)), /this is no pod/)
    chmodSync(cluster.kubeconfig, 0o644)
    const open = await openProvider(t, mapped)
    assert.match(await cannotSay(open.read(API)), /others can read or change the kubeconfig/)
  })
})

describe('the file of providers', () => {
  const read = (text: string, profile: 'local' | 'production' = 'local') =>
    readProviderSettings(text, 'providers.yaml', { profile })

  it('is read in its order', () => {
    const { settings, problems } = read(
      '- type: file\n  folder: /run/secrets\n- {type: vault, address: "https://vault:8200", token_env: VAULT_TOKEN}\n- type: store\n',
    )
    assert.deepEqual(problems, [])
    assert.deepEqual(
      settings.map(({ type }) => type),
      ['file', 'vault', 'store'],
    )
  })

  it('that is wrong is refused whole, each mistake at its place', () => {
    const cases: readonly [string, RegExp, ('local' | 'production')?][] = [
      ['', /document|list/],
      ['type: store', /is no list of providers/],
      ['[]', /is no list of providers/],
      ['- type: valut', /is no type of provider/],
      ['- {type: file}', /folder/],
      ['- {type: store, x: 1}', /x/],
      ['- {type: vault, address: "https://v"}', /says 0 ways to log in/],
      ['- {type: vault, address: "https://v", token_env: A, token_file: b}', /says 2 ways to log in/],
      ['- {type: vault, address: "https://v", approle: {role_id: r}}', /needs one secret id/],
      ['- {type: vault, address: "http://v", token_env: A}', /is no https address/, 'production'],
      ['- {type: vault, address: "https://u:p@v", token_env: A}', /address/],
    ]
    for (const [text, why, profile] of cases) {
      const { settings, problems } = read(text, profile)
      assert.deepEqual(settings, [], text)
      assert.match(problems.map(({ path, message }) => `${path} ${message}`).join('; '), why, text)
    }
  })
})
