// What every provider of secrets keeps to, whatever it reads.
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { type SecretProvider, SecretUnavailable } from '../../src/credential/credential.ts'

export interface ProviderSubject {
  readonly provider: SecretProvider
  /** Undefined takes the secret away. */
  put(namespace: string, name: string, values: Readonly<Record<string, string>> | undefined): Promise<void>
  /** From now on it cannot be read. Absent: that cannot happen to it. */
  readonly damage?: (namespace: string, name: string) => Promise<void>
}

export interface ProviderTraits {
  /** What it reads can change while it runs. */
  readonly changes: boolean
}

const CANARY = 'canary-value-0001'

export function describeProvider(
  name: string,
  start: (t: TestContext) => Promise<ProviderSubject>,
  { changes }: ProviderTraits = { changes: true },
): void {
  describe(`the provider ${name}`, () => {
    it('gives the values of a secret by key, without white space around them', async (t) => {
      const { provider, put } = await start(t)
      await put('default', 'api', { value: `${CANARY}\n`, password: ' with space inside ' })
      const found = await provider.read({ namespace: 'default', name: 'api' })
      assert.deepEqual({ ...found?.values }, { value: CANARY, password: 'with space inside' })
      const keyed = await provider.read({ namespace: 'default', name: 'api', key: 'password' })
      assert.equal(keyed?.values.password, 'with space inside')
      assert.equal(typeof found?.version, 'string')
      assert.ok(!found?.version.includes('canary'))
    })

    it('knows nothing of a secret that is not there, or of another namespace', async (t) => {
      const { provider, put } = await start(t)
      await put('blue', 'api', { value: CANARY })
      assert.equal((await provider.read({ namespace: 'blue', name: 'api' }))?.values.value, CANARY)
      for (const [namespace, other] of [
        ['default', 'api'],
        ['red', 'api'],
        ['blue', 'api2'],
        ['blue', 'ap'],
        ['default', 'blue-api'],
        ['default', 'blue'],
        ['blue-api', 'value'],
      ] as const)
        assert.equal(await provider.read({ namespace, name: other }), undefined, `${namespace}/${other}`)
    })

    it('is led nowhere by a name that is none', async (t) => {
      const { provider, put } = await start(t)
      await put('blue', 'api', { value: CANARY })
      for (const bad of [
        '../blue/api',
        '..',
        '.',
        '',
        'blue/api',
        '%2e%2e%2fblue%2fapi',
        'api?x=1',
        'api\0',
        'a\nb',
      ])
        for (const ref of [
          { namespace: 'red', name: bad },
          { namespace: bad, name: 'api' },
        ])
          assert.equal(await provider.read(ref), undefined, JSON.stringify(ref))
    })

    if (changes)
      it('has another version after each change, and the same one before it', async (t) => {
        const { provider, put } = await start(t)
        const read = () => provider.read({ namespace: 'blue', name: 'api' })
        await put('blue', 'api', { value: CANARY })
        const first = await read()
        assert.equal((await read())?.version, first?.version)
        await put('blue', 'api', { value: 'canary-value-0002' })
        const second = await read()
        assert.equal(second?.values.value, 'canary-value-0002')
        assert.notEqual(second?.version, first?.version)
        await put('blue', 'api', undefined)
        assert.equal(await read(), undefined)
      })

    it('says that it cannot tell, without a value in it, where it cannot', async (t) => {
      const { provider, put, damage } = await start(t)
      if (damage === undefined) return t.skip('nothing can keep it from being read')
      await put('blue', 'api', { value: CANARY })
      await put('blue', 'other', { value: CANARY })
      await damage('blue', 'api')
      await assert.rejects(provider.read({ namespace: 'blue', name: 'api' }), (error) => {
        assert.ok(error instanceof SecretUnavailable, String(error))
        assert.match(error.message, /Fix: /)
        assert.ok(!error.message.includes('canary'))
        return true
      })
    })
  })
}
