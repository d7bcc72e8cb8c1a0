// A newer master key for secrets: every data key is wrapped anew while calls go on.
//
// A secret changes whole or not at all, and only if nobody has changed it since it was read. Whoever is interrupted, or
// does it beside another replica, has done a part of it; what is left opens with the older key, and is done the next time.
import type { LiveResources } from './catalog/resource-door.ts'
import type { Caller } from './contract/caller.ts'
import { SealBroken, type SecretSealer } from './credential/secret-sealer.ts'
import type { SecretDoor, UnopenedSecret } from './runtime-api.ts'
import type { NewEvidence, ResourceRow, Store } from './store/store.ts'
import type { World } from './util/world.ts'

export interface SecretDoorOptions {
  readonly world: Pick<World, 'clock'>
  readonly store: Pick<Store, 'resources'>
  readonly resources: Pick<LiveResources, 'keep'>
  readonly sealer: SecretSealer
}

const KIND = 'Secret'
/** So many in one transaction: calls that write meanwhile do not wait for long. */
const BATCH = 50
/** Others may change secrets meanwhile: each round looks for what is left. */
const ROUNDS = 10

export function createSecretDoor({ world, store, resources, sealer }: SecretDoorOptions): SecretDoor {
  /** How many were wrapped anew. One that somebody else changed in between is left for the next round. */
  async function write(rows: readonly Rewrapped[], keyId: string, actor: string): Promise<number> {
    const [{ row: first } = { row: undefined }] = rows
    if (first === undefined) return 0
    const { namespace } = first
    const changes = rows.map(({ row: { name, version, digest, resourceVersion }, body }) => ({
      kind: KIND,
      name,
      version,
      put: { digest, body },
      expect: resourceVersion,
    })) as Parameters<LiveResources['keep']>[1]
    const evidence: NewEvidence = {
      namespace,
      callId: '',
      type: 'secret.rewrapped',
      at: world.clock.now(),
      body: { key_id: keyId, secrets: rows.map(({ row }) => row.name), by: actor },
    }
    const applied = await resources.keep(namespace, changes, [evidence])
    if (applied.kind === 'applied') return rows.length
    if (rows.length === 1) return 0
    const half = Math.ceil(rows.length / 2)
    return (await write(rows.slice(0, half), keyId, actor)) + (await write(rows.slice(half), keyId, actor))
  }

  /** One look at all of them. */
  async function round(actor: string) {
    const unopened: UnopenedSecret[] = []
    const found = new Map<string, Rewrapped[]>()
    // Asked for in each round: another replica may have added a newer one meanwhile, and both aim at that.
    const [newest] = await sealer.keys.fresh()
    for (const row of await store.resources.list({ kind: KIND })) {
      try {
        const body = await sealer.rewrap(row)
        if (body !== undefined) found.set(row.namespace, [...(found.get(row.namespace) ?? []), { row, body }])
      } catch (error) {
        if (!(error instanceof SealBroken)) throw error
        unopened.push({ namespace: row.namespace, name: row.name, why: error.message })
      }
    }
    let written = 0
    let left = 0
    for (const all of found.values()) {
      left += all.length
      for (let at = 0; at < all.length; at += BATCH)
        written += await write(all.slice(at, at + BATCH), newest.id, actor)
    }
    return { keyId: newest.id, written, left: left - written, unopened }
  }

  return {
    async rotateKey(caller: Pick<Caller, 'actor'>) {
      const { added, keys } = await sealer.keys.renew()
      let rewrapped = 0
      for (let count = 1; ; count++) {
        const { keyId, written, left, unopened } = await round(caller.actor)
        rewrapped += written
        if (written > 0 && count < ROUNDS) continue
        if (left > 0 && count < ROUNDS) continue
        const others = keys.map((key) => key.id).filter((id) => id !== keyId)
        const complete = left === 0 && unopened.length === 0
        return { keyId, added, rewrapped, left, unopened, unused: complete ? others : [] }
      }
    },
  }
}

interface Rewrapped {
  readonly row: ResourceRow
  readonly body: ResourceRow['body']
}
