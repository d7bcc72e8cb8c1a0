// Doors to the resources of one store, as processes have them, and a few manifests to put behind them.
import assert from 'node:assert/strict'
import { createCatalog } from '../../src/catalog/catalog.ts'
import { createResourceDoor, type LiveResources } from '../../src/catalog/resource-door.ts'
import { createEvents } from '../../src/event/event.ts'
import type { CheckSet } from '../../src/resource/check-set.ts'
import type { GovernanceSet } from '../../src/resource/resolved-governance.ts'
import { createMemoryStore } from '../../src/store/memory/memory-store.ts'
import type { Store } from '../../src/store/store.ts'
import { createSystemWorld } from '../../src/util/clock.ts'
import { document } from '../resource/governance-support.ts'

export interface Door {
  readonly door: LiveResources
  readonly told: string[]
}

export const RESOLVE = { profile: 'local', effectDefault: 'declared' } as const

export async function openDoor(store: Store, check?: CheckSet, events = createEvents()): Promise<Door> {
  const world = createSystemWorld()
  const told: string[] = []
  const door = createResourceDoor({
    world,
    store,
    catalog: createCatalog(),
    events,
    resolve: RESOLVE,
    ...(check === undefined ? {} : { check }),
  })
  door.onGovernance((namespace, kind) => told.push(`${namespace}/${kind}`))
  await door.refresh()
  return { door, told }
}

export const storeOf = () => createMemoryStore({ world: createSystemWorld() })

export async function apply({ door }: Door, ...documents: string[]) {
  return door.apply([{ text: documents.join('---\n'), file: 'x.yaml' }])
}

export function setOf({ door }: Door, namespace = 'default'): GovernanceSet {
  const governance = door.governance(namespace)
  assert.equal(governance.kind, 'ready')
  return governance.kind === 'ready' ? governance.set : assert.fail()
}

export const ROLE = document('AgentRole', 'reader', 'permissions: [tool:a:invoke]')
export const POLICY = document(
  'AgentPolicy',
  'p',
  'apply_mode: global\nblocked_tools: [a]\nescalate_to: reader',
)
export const TOOL = document(
  'Tool',
  'a',
  'type: http\nendpoint: https://a.example.com/x\neffect: {class: read-only}\n',
)
