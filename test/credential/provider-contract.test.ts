// Every provider against the one suite.
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createMasterKeyRing } from '../../src/credential/key-ring.ts'
import { passingSource } from '../../src/credential/master-key-source.ts'
import { variableOf } from '../../src/credential/provider/env.ts'
import { createSecretSealer } from '../../src/credential/secret-sealer.ts'
import { readManifests } from '../../src/resource/manifest.ts'
import { createSystemWorld } from '../../src/util/clock.ts'
import type { JsonObject } from '../../src/util/json.ts'
import { startKubernetes } from './kubernetes-server.ts'
import { describeProvider } from './provider-contract.ts'
import { folderOf, openProvider } from './provider-harness.ts'
import { ROOT, startVault } from './vault-server.ts'

describeProvider('store', async (t) => {
  const world = createSystemWorld()
  const sealer = createSecretSealer(world, createMasterKeyRing(passingSource(world), world))
  const rows = new Map<string, { namespace: string; name: string; digest: string; body: JsonObject }>()
  let count = 0
  const provider = await openProvider(
    t,
    { type: 'store' },
    { kept: { find: (namespace, name) => rows.get(`${namespace}/${name}`), sealer } },
  )
  return {
    provider,
    async put(namespace, name, values) {
      if (values === undefined) return void rows.delete(`${namespace}/${name}`)
      const manifest = {
        apiVersion: 'writ.dev/v1',
        kind: 'Secret',
        metadata: { name, namespace },
        spec: { stringData: values },
      }
      const { documents } = readManifests(JSON.stringify(manifest), 'x')
      const sealed = await sealer.seal(documents, [], namespace)
      const body = JSON.parse(JSON.stringify(sealed.documents[0]?.manifest))
      rows.set(`${namespace}/${name}`, { namespace, name, digest: `sha256:${++count}`, body })
    },
    async damage(namespace, name) {
      const row = rows.get(`${namespace}/${name}`)
      if (row !== undefined) rows.set(`${namespace}/${name}`, { ...row, body: {} })
    },
  }
})

describeProvider(
  'env',
  async (t) => {
    const env: Record<string, string> = {}
    return {
      provider: await openProvider(t, { type: 'env' }, { env }),
      async put(namespace, name, values) {
        const variable = variableOf('WRIT_SECRET_', namespace, name) ?? ''
        for (const [key, value] of Object.entries(values ?? {}))
          env[key === 'value' ? variable : `${variable}__${key.toUpperCase()}`] = value
      },
    }
  },
  { changes: false },
)

describeProvider('file', async (t) => {
  const folder = folderOf(t)
  const at = (namespace: string, name: string) => join(folder, namespace, name)
  return {
    provider: await openProvider(t, { type: 'file', folder }),
    async put(namespace, name, values) {
      rmSync(at(namespace, name), { recursive: true, force: true })
      if (values === undefined) return
      mkdirSync(at(namespace, name), { recursive: true })
      for (const [key, value] of Object.entries(values))
        writeFileSync(join(at(namespace, name), key), value, { mode: 0o600 })
    },
    async damage(namespace, name) {
      chmodSync(join(at(namespace, name), 'value'), 0o644)
    },
  }
})

describeProvider('vault', async (t) => {
  const vault = await startVault(t)
  return {
    provider: await openProvider(
      t,
      { type: 'vault', address: vault.url, token_env: 'VAULT_TOKEN' },
      { env: { VAULT_TOKEN: ROOT } },
    ),
    put: async (namespace, name, values) => vault.put(`${namespace}/${name}`, values),
    async damage() {
      vault.broken = { status: 503, body: '{"errors":["Vault is sealed, canary"]}' }
    },
  }
})

describeProvider('kubernetes', async (t) => {
  const cluster = await startKubernetes(t)
  return {
    provider: await openProvider(t, { type: 'kubernetes', kubeconfig: cluster.kubeconfig }),
    put: async (namespace, name, values) => cluster.put(namespace, name, values),
    async damage() {
      cluster.broken = { status: 403, body: '{"kind":"Status","message":"canary"}' }
    },
  }
})
