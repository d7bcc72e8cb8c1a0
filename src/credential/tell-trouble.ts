// Tells the operator why a credential could not be had, and not the same thing again with every call.
import type { World } from '../util/world.ts'
import type { CredentialTrouble } from './credential.ts'

const QUIET_MS = 10_000
const MOST_KNOWN = 1_000

export function createTellTrouble(
  { clock }: Pick<World, 'clock'>,
  tell: (trouble: CredentialTrouble) => void,
): (trouble: CredentialTrouble) => void {
  const told = new Map<string, number>()
  return (trouble) => {
    const { namespace, name, provider, why } = trouble
    const key = JSON.stringify([namespace, name, provider, why])
    const now = clock.monotonic()
    const before = told.get(key)
    if (before !== undefined && now - before < QUIET_MS) return
    if (told.size >= MOST_KNOWN) told.clear()
    told.set(key, now)
    tell(trouble)
  }
}
