// Secrets that Writ itself keeps: sealed in the store, opened here for one send.
import { isJsonObject } from '../../util/json.ts'
import { SecretUnavailable } from '../credential.ts'
import { MasterKeyUnavailable } from '../master-key.ts'
import { SealBroken } from '../secret-sealer.ts'
import type { ProviderFactory } from './provider.ts'

export interface StoreSettings {
  readonly type: 'store'
}

export const createStoreProvider: ProviderFactory<StoreSettings> = (_settings, { kept }) => ({
  name: 'store',
  async read({ namespace, name }) {
    const found = kept.find(namespace, name)
    if (found === undefined) return undefined
    try {
      const values = await kept.sealer.open(found)
      // Over sealed values: another one after each change, the same one when only the master key is newer.
      return { values, version: found.digest, sharedWith: sharedWith(found.body.spec) }
    } catch (error) {
      if (!(error instanceof SealBroken || error instanceof MasterKeyUnavailable)) throw error
      throw new SecretUnavailable(error.message)
    }
  },
})

function sharedWith(spec: unknown): readonly string[] {
  const list = isJsonObject(spec) ? spec.share_with : undefined
  return Array.isArray(list) ? list.filter((one) => typeof one === 'string').map((one) => one.trim()) : []
}
