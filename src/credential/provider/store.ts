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
      throw unavailable(error)
    }
  },
})

/** Where the master key is, and how it is called, is for the operator. */
function unavailable(error: unknown): unknown {
  if (error instanceof MasterKeyUnavailable) {
    const message =
      'the master key of the store cannot be read. Fix: the operator sees why in the log of the server'
    return new SecretUnavailable(message, { detail: error.message })
  }
  if (!(error instanceof SealBroken)) return error
  const message = error.keyMissing
    ? 'the master key that it was sealed with is not here. Fix: put that key back, or apply the secret anew with all its values'
    : 'it was damaged in the store. Fix: apply it anew with all its values'
  return new SecretUnavailable(message, { detail: error.message, lasting: !error.keyMissing })
}

function sharedWith(spec: unknown): readonly string[] {
  const list = isJsonObject(spec) ? spec.share_with : undefined
  return Array.isArray(list) ? list.filter((one) => typeof one === 'string').map((one) => one.trim()) : []
}
