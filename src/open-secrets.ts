// Where the master key of a runtime comes from, by what it was told and by its store.
import { createMasterKeyRing } from './credential/key-ring.ts'
import { type MasterKeyChoice, masterKeySource, passingSource } from './credential/master-key-source.ts'
import { createSecretSealer, type SecretSealer } from './credential/secret-sealer.ts'
import type { StoreChoice } from './open-store.ts'
import type { World } from './util/world.ts'

export interface OpenSecretsOptions {
  readonly world: World
  readonly store: StoreChoice
  readonly profile: 'local' | 'production'
  readonly masterKey: MasterKeyChoice | undefined
  readonly env: Readonly<Record<string, string | undefined>>
  readonly folder: string
}

/** A key that was asked for and cannot be had stops the start; without one, only secrets in the store are refused. */
export async function openSealer(options: OpenSecretsOptions): Promise<SecretSealer> {
  const { world, store, profile, masterKey, ...around } = options
  // S51: in production a key is not made where a copy of the store would hold it, too.
  const besideStore = store.kind === 'sqlite' && profile === 'local'
  if (masterKey === undefined && store.kind !== 'memory' && !besideStore)
    return createSecretSealer(world, { why: NONE })
  const source =
    masterKey !== undefined
      ? masterKeySource(masterKey, { world, ...around })
      : store.kind === 'sqlite'
        ? masterKeySource({ file: `${store.path}.master-key`, make: true }, { world, ...around })
        : passingSource(world)
  const ring = createMasterKeyRing(source, world)
  if (masterKey !== undefined) await ring.fresh()
  return createSecretSealer(world, ring)
}

const NONE =
  'there is no master key. Fix: give one, with master_key (WRIT_MASTER_KEY) for a server or masterKey for createRuntime; processes that share a store share it'
