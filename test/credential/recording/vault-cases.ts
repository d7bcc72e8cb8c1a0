// What the Vault provider makes of what a real Vault answers.
import assert from 'node:assert/strict'
import type { VaultSettings } from '../../../src/credential/provider/vault.ts'
import { cannotSay, openProvider } from '../provider-harness.ts'
import { untilTrue } from './real-process.ts'
import type { RealVault } from './real-vault.ts'
import type { Cases, Stage } from './stage.ts'

const API = { namespace: 'blue', name: 'api' }

type Login = Omit<VaultSettings, 'type' | 'address' | 'token_env'>

function open(stage: Stage<RealVault>, token: string, more: Login = {}) {
  const settings = { type: 'vault', address: stage.address, token_env: 'T', ...more } as const
  return openProvider(stage, settings, { env: { T: token } })
}

/** Time stands still until the case moves it: the lease is the server's, and this is when we think of it. */
async function openByRole(stage: Stage<RealVault>, role_id: string, secret_id: string) {
  let now = 0
  const settings = {
    type: 'vault',
    address: stage.address,
    approle: { role_id, secret_id_env: 'ID' },
  } as const
  const provider = await openProvider(stage, settings, {
    env: { ID: secret_id },
    clock: { now: () => now, monotonic: () => now },
  })
  const pass = (ms: number): void => {
    now += ms
  }
  return { provider, pass }
}

const put = (vault: RealVault, path: string, data: object) =>
  vault.ask('POST', `secret/data/${path}`, { data })

/** A token, and a secret for it to read. */
const arranged = (stage: Stage<RealVault>) =>
  stage.arrange(async (vault) => {
    await put(vault, 'blue/api', { value: 'canary-value-0001' })
    return { token: await vault.reader() }
  })

const isAlive = async (vault: RealVault, token: string) =>
  (await vault.try('GET', 'auth/token/lookup-self', token)).status === 200

export const vaultCases: Cases<RealVault> = {
  async 'a secret is read by its keys, and only what is text'(stage) {
    const { token } = await stage.arrange(async (vault) => {
      const data = {
        value: 'canary-value-0001\n',
        password: 'canary ü 😀',
        count: 5,
        on: true,
        deep: { a: 'b' },
      }
      await put(vault, 'blue/mixed', data)
      return { token: await vault.reader() }
    })
    const found = await (await open(stage, token)).read({ namespace: 'blue', name: 'mixed' })
    assert.deepEqual({ ...found?.values }, { value: 'canary-value-0001', password: 'canary ü 😀' })
    assert.match(found?.version ?? '', /^1 \d{4}-/)
  },

  async 'a path that has nothing, and a key that a secret has not, are not there'(stage) {
    const { token } = await arranged(stage)
    const provider = await open(stage, token)
    assert.equal(await provider.read({ namespace: 'blue', name: 'nothing' }), undefined)
    assert.equal(await provider.read({ namespace: 'red', name: 'api' }), undefined)
    const found = await provider.read({ ...API, key: 'password' })
    assert.deepEqual({ ...found?.values }, { value: 'canary-value-0001' })
  },

  async 'what is deleted or destroyed is not there; every change has a version of its own'(stage) {
    const { token } = await stage.arrange(async (vault) => {
      await put(vault, 'blue/changing', { value: 'canary-value-0001' })
      return { token: await vault.reader() }
    })
    const provider = await open(stage, token)
    const read = () => provider.read({ namespace: 'blue', name: 'changing' })
    const change = (method: string, path: string, body?: object) =>
      stage.arrange(async (vault) => {
        await vault.ask(method, path, body)
        return {}
      })
    const first = await read()
    await change('DELETE', 'secret/data/blue/changing')
    assert.equal(await read(), undefined)
    await change('POST', 'secret/undelete/blue/changing', { versions: [1] })
    assert.deepEqual(await read(), first)
    await change('PUT', 'secret/destroy/blue/changing', { versions: [1] })
    assert.equal(await read(), undefined)
    await change('POST', 'secret/data/blue/changing', { data: { value: 'canary-value-0002' } })
    const second = await read()
    assert.equal(second?.values.value, 'canary-value-0002')
    await change('DELETE', 'secret/metadata/blue/changing')
    assert.equal(await read(), undefined)
    await change('POST', 'secret/data/blue/changing', { data: { value: 'canary-value-0003' } })
    const third = await read()
    assert.match(third?.version ?? '', /^1 /, 'its number begins anew')
    assert.equal(new Set([first, second, third].map((one) => one?.version)).size, 3)
  },

  async 'a token without the right, one that has ended and one that never was cannot say'(stage) {
    const { none, ended } = await stage.arrange(async (vault) => {
      await put(vault, 'blue/api', { value: 'canary-value-0001' })
      const short = await vault.reader({ ttl: '1s', renewable: false })
      await untilTrue('the token has ended', async () => !(await isAlive(vault, short)))
      return { none: await vault.reader({ policies: ['default'] }), ended: short }
    })
    for (const token of [none, ended, 'hvs.never-was'])
      assert.match(await cannotSay((await open(stage, token)).read(API)), /answered 403.*policy/)
  },

  async 'sealed it cannot say, and unsealed it can again'(stage) {
    const { token } = await arranged(stage)
    const provider = await open(stage, token)
    await stage.arrange(async (vault) => {
      await vault.seal()
      return {}
    })
    assert.match(await cannotSay(provider.read(API)), /answered 503.*sealed/)
    await stage.arrange(async (vault) => {
      await vault.unseal()
      return {}
    })
    assert.equal((await provider.read(API))?.values.value, 'canary-value-0001')
  },

  async 'a mount that is not there cannot say, and is not taken for a secret that is not'(stage) {
    const { token } = await stage.arrange(async (vault) => ({ token: vault.root }))
    const said = await cannotSay((await open(stage, token, { mount: 'nowhere' })).read(API))
    assert.match(said, /nothing mounted|no mount/)
  },

  async 'a mount of version 1 gives nothing'(stage) {
    const { token } = await stage.arrange(async (vault) => {
      await vault.ask('POST', 'old/blue/api', { value: 'canary-value-0001' })
      return { token: await vault.reader() }
    })
    assert.equal(await (await open(stage, token, { mount: 'old' })).read(API), undefined)
  },

  async 'a role is logged in once, renewed, and its token revoked at the end'(stage) {
    const { role_id, secret_id } = await stage.arrange(async (vault) => {
      await put(vault, 'blue/api', { value: 'canary-value-0001' })
      return vault.role()
    })
    const { provider, pass } = await openByRole(stage, role_id, secret_id)
    for (const ms of [0, 1000, 7 * 60_000]) {
      pass(ms)
      assert.equal((await provider.read(API))?.values.value, 'canary-value-0001')
    }
  },

  async 'a token of a role that was revoked is followed by another'(stage) {
    const { role_id, secret_id } = await stage.arrange(async (vault) => {
      await put(vault, 'blue/api', { value: 'canary-value-0001' })
      return vault.role()
    })
    const { provider } = await openByRole(stage, role_id, secret_id)
    const first = await provider.read(API)
    await stage.arrange(async (vault) => {
      await vault.ask('PUT', 'sys/leases/revoke-prefix/auth/approle', {})
      return {}
    })
    assert.deepEqual(await provider.read(API), first)
  },

  async 'a role without the right is refused, and not logged in again and again'(stage) {
    const { role_id, secret_id } = await stage.arrange((vault) => vault.role({ token_policies: [] }))
    const { provider } = await openByRole(stage, role_id, secret_id)
    for (const _ of [1, 2]) assert.match(await cannotSay(provider.read(API)), /answered 403/)
  },

  async 'a role whose tokens are of the batch type is logged in anew'(stage) {
    const { role_id, secret_id } = await stage.arrange(async (vault) => {
      await put(vault, 'blue/api', { value: 'canary-value-0001' })
      return vault.role({ token_type: 'batch' })
    })
    const { provider, pass } = await openByRole(stage, role_id, secret_id)
    for (const ms of [0, 7 * 60_000]) {
      pass(ms)
      assert.equal((await provider.read(API))?.values.value, 'canary-value-0001')
    }
  },

  async 'a wrong secret id is refused at the login'(stage) {
    const { role_id } = await stage.arrange((vault) => vault.role())
    const { provider } = await openByRole(stage, role_id, '00000000-0000-0000-0000-000000000000')
    assert.match(await cannotSay(provider.read(API)), /refused the login \(400\)/)
  },

  async 'a Vault without namespaces reads the same whichever is named'(stage) {
    const { token } = await arranged(stage)
    const provider = await open(stage, token, { namespace: 'team-a' })
    assert.deepEqual(await provider.read(API), await (await open(stage, token)).read(API))
  },
}
