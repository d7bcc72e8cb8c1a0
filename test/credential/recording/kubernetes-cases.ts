// What the Kubernetes provider makes of what a real API server answers.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cannotSay, openProvider } from '../provider-harness.ts'
import { EVERYWHERE, type RealKubernetes, writeKubeconfig } from './real-kubernetes.ts'
import type { Cases, Stage } from './stage.ts'

const API = { namespace: 'blue', name: 'api' }
const BLUE = '/api/v1/namespaces/blue/secrets'

function open(stage: Stage<RealKubernetes>, user: object, namespaces?: Readonly<Record<string, string>>) {
  const folder = mkdtempSync(join(tmpdir(), 'writ-kubeconfig-'))
  stage.after(() => rmSync(folder, { recursive: true, force: true }))
  writeKubeconfig(join(folder, 'config'), stage.address, user)
  const settings = { type: 'kubernetes', kubeconfig: 'config', ...(namespaces && { namespaces }) } as const
  return openProvider(stage, settings, { folder })
}

async function put(cluster: RealKubernetes, name: string, secret: object): Promise<void> {
  await cluster.ask('POST', BLUE, { metadata: { name }, ...secret })
}

export const kubernetesCases: Cases<RealKubernetes> = {
  async 'a secret is read by its keys, and its version is another after each change'(stage) {
    const { token } = await stage.arrange(async (cluster) => {
      await cluster.namespace('blue')
      await put(cluster, 'api', { stringData: { value: 'canary-value-0001\n', password: 'canary ü 😀' } })
      return { token: await cluster.account('blue') }
    })
    const provider = await open(stage, { token })
    const first = await provider.read(API)
    assert.deepEqual({ ...first?.values }, { value: 'canary-value-0001', password: 'canary ü 😀' })
    assert.deepEqual(await provider.read(API), first)
    const change = (make: (cluster: RealKubernetes) => Promise<unknown>) =>
      stage.arrange(async (cluster) => {
        await make(cluster)
        return {}
      })
    const body = { metadata: { name: 'api' }, stringData: { value: 'canary-value-0002' } }
    await change((cluster) => cluster.ask('PUT', `${BLUE}/api`, body))
    const second = await provider.read(API)
    assert.deepEqual({ ...second?.values }, { value: 'canary-value-0002' })
    await change((cluster) => cluster.ask('DELETE', `${BLUE}/api`))
    assert.equal(await provider.read(API), undefined)
    await change((cluster) => cluster.ask('POST', BLUE, body))
    const third = await provider.read(API)
    assert.equal(third?.values.value, 'canary-value-0002')
    assert.equal(new Set([first, second, third].map((one) => one?.version)).size, 3)
  },

  async 'a secret, a namespace and a key that are not there are not there'(stage) {
    const { token } = await stage.arrange(async (cluster) => {
      await put(cluster, 'one', { stringData: { value: 'canary-value-0001' } })
      return { token: await cluster.account(EVERYWHERE) }
    })
    const provider = await open(stage, { token })
    assert.equal(await provider.read({ namespace: 'blue', name: 'nothing' }), undefined)
    assert.equal(await provider.read({ namespace: 'default', name: 'one' }), undefined)
    assert.equal(await provider.read({ namespace: 'nowhere', name: 'one' }), undefined)
    const found = await provider.read({ namespace: 'blue', name: 'one', key: 'password' })
    assert.deepEqual({ ...found?.values }, { value: 'canary-value-0001' })
    const mapped = await open(stage, { token }, { tools: 'blue' })
    assert.deepEqual(await mapped.read({ namespace: 'tools', name: 'one' }), found)
  },

  async 'bytes that are no text are left out, and a secret of nothing else is not there'(stage) {
    const { token } = await stage.arrange(async (cluster) => {
      const bytes = Buffer.from([0xfe, 0xed, 0xfe, 0xed, 0x00, 0xff]).toString('base64')
      const text = Buffer.from('canary-value-0001').toString('base64')
      await put(cluster, 'mixed', { data: { 'store.jks': bytes, password: text } })
      await put(cluster, 'binary', { data: { 'store.jks': bytes } })
      await put(cluster, 'empty', {})
      return { token: await cluster.account('blue') }
    })
    const provider = await open(stage, { token })
    const read = (name: string) => provider.read({ namespace: 'blue', name })
    assert.deepEqual({ ...(await read('mixed'))?.values }, { password: 'canary-value-0001' })
    assert.equal(await read('binary'), undefined)
    assert.equal(await read('empty'), undefined)
  },

  async 'an account without the right cannot say, whether the secret is there or not'(stage) {
    const { token } = await stage.arrange(async (cluster) => ({ token: await cluster.account() }))
    const provider = await open(stage, { token })
    for (const name of ['api', 'nothing'])
      assert.match(await cannotSay(provider.read({ namespace: 'blue', name })), /answered 403.*RoleBinding/)
    const nobody = await open(stage, {})
    assert.match(await cannotSay(nobody.read(API)), /answered 403/)
  },

  async 'a token that has ended, or never was, cannot say'(stage) {
    const { good, ended } = await stage.arrange(async (cluster) => {
      const token = await cluster.account('blue')
      return { good: await cluster.resigned(token, 3600), ended: await cluster.resigned(token, -600) }
    })
    // It differs from the one that has ended in nothing but its times.
    assert.equal((await (await open(stage, { token: good })).read(API))?.values.value, 'canary-value-0002')
    for (const token of [ended, 'never-was'])
      assert.match(await cannotSay((await open(stage, { token })).read(API)), /answered 401.*token/)
  },
}
