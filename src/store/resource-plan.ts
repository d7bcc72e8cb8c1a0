// What applying a set of changes does to the resources of one namespace: decided whole, before anything is written.
import { canonicalJson } from '../util/canonical.ts'
import type { ResourceChange, ResourceRow } from './store.ts'

export interface ResourcePlanOptions {
  readonly namespace: string
  readonly changes: readonly ResourceChange[]
  readonly at: number
  readonly find: (change: ResourceChange) => ResourceRow | undefined
  /** The last resourceVersion that was ever given. */
  readonly lastVersion: number
}

export type ResourcePlan =
  | { readonly kind: 'conflict'; readonly index: number; readonly found?: ResourceRow }
  | {
      readonly kind: 'plan'
      readonly writes: readonly ({ readonly put: ResourceRow } | { readonly remove: ResourceChange })[]
      readonly rows: readonly ResourceRow[]
      readonly lastVersion: number
    }

export function resourceKey(change: Pick<ResourceChange, 'kind' | 'name' | 'version'>): string {
  return JSON.stringify([change.kind, change.name, change.version])
}

/** Later changes see earlier ones. */
export function planResources(options: ResourcePlanOptions): ResourcePlan {
  const { namespace, changes, at } = options
  const changed = new Map<string, ResourceRow | undefined>()
  const writes: ({ put: ResourceRow } | { remove: ResourceChange })[] = []
  const rows: ResourceRow[] = []
  let lastVersion = options.lastVersion
  for (const [index, change] of changes.entries()) {
    const id = resourceKey(change)
    const found = changed.has(id) ? changed.get(id) : options.find(change)
    if (change.expect !== undefined && change.expect !== (found?.resourceVersion ?? 0)) {
      return { kind: 'conflict', index, ...(found === undefined ? {} : { found }) }
    }
    if (change.put === undefined) {
      if (found === undefined) continue
      writes.push({ remove: change })
      changed.set(id, undefined)
      continue
    }
    const { digest, body } = change.put
    if (found !== undefined && found.digest === digest && canonicalJson(found.body) === canonicalJson(body)) {
      rows.push(found)
      continue
    }
    lastVersion += 1
    const row: ResourceRow = {
      namespace,
      kind: change.kind,
      name: change.name,
      version: change.version,
      resourceVersion: lastVersion,
      generation: found === undefined ? 1 : found.generation + (found.digest === digest ? 0 : 1),
      digest,
      body,
      createdAt: found?.createdAt ?? at,
      updatedAt: at,
    }
    writes.push({ put: row })
    rows.push(row)
    changed.set(id, row)
  }
  return { kind: 'plan', writes, rows, lastVersion }
}
