// Every provider of secrets, loaded when it is set up. A new one is a file and a line here.
import type { EnvSettings } from './env.ts'
import type { FileSettings } from './file.ts'
import type { KubernetesSettings } from './kubernetes.ts'
import type { ProviderFactory } from './provider.ts'
import type { StoreSettings } from './store.ts'
import type { VaultSettings } from './vault.ts'

export type ProviderSettings = StoreSettings | EnvSettings | FileSettings | VaultSettings | KubernetesSettings
export type ProviderType = ProviderSettings['type']

type Loaders = {
  readonly [T in ProviderType]: () => Promise<
    ProviderFactory<Extract<ProviderSettings, { readonly type: T }>>
  >
}

export const providers: Loaders = Object.freeze({
  store: async () => (await import('./store.ts')).createStoreProvider,
  env: async () => (await import('./env.ts')).createEnvProvider,
  file: async () => (await import('./file.ts')).createFileProvider,
  vault: async () => (await import('./vault.ts')).createVaultProvider,
  kubernetes: async () => (await import('./kubernetes.ts')).createKubernetesProvider,
})
