// What tests make providers with: this machine's clock and network, and an environment of their own.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { createSecretProviders, type ProviderSettings } from '../../src/credential/create-secret-providers.ts'
import { type SecretProvider, SecretUnavailable } from '../../src/credential/credential.ts'
import type { ProviderKit } from '../../src/credential/provider/provider.ts'
import { createEgress } from '../../src/egress/egress.ts'
import { createNetwork } from '../../src/egress/network.ts'
import { createOwnReach } from '../../src/egress/own-reach.ts'
import { createSystemWorld } from '../../src/util/clock.ts'
import type { World } from '../../src/util/world.ts'

export function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'writ-provider-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** `t` is a test, or whatever else ends. */
export async function openProvider(
  t: { after(work: () => Promise<void>): void },
  settings: ProviderSettings,
  more: Partial<Pick<ProviderKit, 'env' | 'folder' | 'kept'>> & { readonly clock?: World['clock'] } = {},
): Promise<SecretProvider> {
  const network = createNetwork()
  const system = createSystemWorld({ network })
  const world = more.clock === undefined ? system : { ...system, clock: more.clock }
  const reach = createOwnReach({ profile: 'local' })
  const kit: ProviderKit = {
    world,
    reach,
    egress: createEgress({ world, reach }),
    env: more.env ?? {},
    folder: more.folder ?? '/',
    kept: more.kept ?? {
      find: () => undefined,
      sealer: { open: () => Promise.reject(new Error('nothing is kept')) },
    },
  }
  const [provider] = await createSecretProviders([settings], kit)
  if (provider === undefined) throw new Error('no provider')
  t.after(async () => {
    await provider.close?.()
    await network.destroy()
  })
  return provider
}

/** What it says, to callers and to the operator, where it cannot say what a secret is. Never a value, and always what to do. */
export async function cannotSay(work: Promise<unknown>): Promise<string> {
  let said = ''
  await assert.rejects(work, (error) => {
    assert.ok(error instanceof SecretUnavailable, String(error))
    assert.match(error.message, /Fix: /)
    said = `${error.message}\n${error.detail}`
    return true
  })
  assert.ok(!said.includes('canary'), said)
  return said
}
