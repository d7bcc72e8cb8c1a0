// The providers of secrets that are set up, in the order in which they are asked.
import { isName, isNamespace } from '../resource/name.ts'
import type { SecretProvider } from './credential.ts'
import type { ProviderFactory, ProviderKit } from './provider/provider.ts'
import { type ProviderSettings, providers } from './provider/registry.ts'

export type { ProviderSettings } from './provider/registry.ts'

/** What is set up where nobody says otherwise. */
export const DEFAULT_PROVIDERS: readonly ProviderSettings[] = Object.freeze([
  { type: 'store' },
  { type: 'env' },
])

export function createSecretProviders(
  settings: readonly ProviderSettings[],
  kit: ProviderKit,
): Promise<readonly SecretProvider[]> {
  return Promise.all(
    settings.map(async (one) => {
      // Each loader gives the factory for settings of its own type.
      const create = (await providers[one.type]()) as ProviderFactory<ProviderSettings>
      return named(create(one, kit))
    }),
  )
}

/** Names become parts of paths and addresses: what is no name is nobody's. */
function named(provider: SecretProvider): SecretProvider {
  return {
    ...provider,
    read: async (ref) => (isNamespace(ref.namespace) && isName(ref.name) ? provider.read(ref) : undefined),
  }
}
