// Secrets of a test's own, which it can rotate, take away or make unreadable.
import {
  type SecretMaterial,
  type SecretProvider,
  SecretUnavailable,
} from '../../src/credential/credential.ts'

export interface TestSecrets extends SecretProvider {
  set(
    name: string,
    values: SecretMaterial['values'] | string,
    more?: Partial<SecretMaterial> & { readonly namespace?: string },
  ): void
  delete(name: string): void
  /** Nobody can be asked from now on. */
  away: boolean
  /** How often a secret was read. */
  reads: number
}

export function testSecrets(): TestSecrets {
  const known = new Map<string, SecretMaterial>()
  let versions = 0
  return {
    name: 'test',
    away: false,
    reads: 0,
    set(name, values, { namespace = 'default', ...more } = {}) {
      known.set(`${namespace}/${name}`, {
        values: typeof values === 'string' ? { value: values } : values,
        version: `v${++versions}`,
        ...more,
      })
    },
    delete(name) {
      known.delete(`default/${name}`)
    },
    async read({ namespace, name }) {
      this.reads++
      if (this.away) throw new SecretUnavailable('the vault is sealed')
      return known.get(`${namespace}/${name}`)
    },
  }
}
