// Declared resources, as they are kept.
import type { JsonObject } from '../util/json.ts'
import type { NewEvidence } from './write.ts'

/** A declared resource as it is kept. */
export interface ResourceRow {
  readonly namespace: string
  readonly kind: string
  readonly name: string
  /** Semver; `0.0.0` for kinds and manifests without one (S49). */
  readonly version: string
  /** Changes with every write and is never given twice; optimistic concurrency. */
  readonly resourceVersion: number
  /** Changes when the spec changes. */
  readonly generation: number
  readonly digest: string
  /** The manifest in canonical field names. */
  readonly body: JsonObject
  readonly createdAt: number
  readonly updatedAt: number
}

export interface ResourceChange {
  readonly kind: string
  readonly name: string
  readonly version: string
  /** Absent deletes. */
  readonly put?: { readonly digest: string; readonly body: JsonObject }
  /** The version that must be there; 0 means none may be; absent means any. */
  readonly expect?: number
}

export type ApplyResult =
  /** One row for each put, in order. */
  | { readonly kind: 'applied'; readonly rows: readonly ResourceRow[] }
  | { readonly kind: 'conflict'; readonly change: ResourceChange; readonly found?: ResourceRow }

export interface ResourceStamp {
  /** The last resource version that was given. */
  readonly last: number
  /** How many there are. */
  readonly count: number
}

export interface ResourceFilter {
  readonly namespace?: string
  readonly kind?: string
  readonly name?: string
  /** Only those that were put after this resource version was given. */
  readonly since?: number
}

export type ResourceKey = Pick<ResourceRow, 'namespace' | 'kind' | 'name' | 'version'>

export interface ResourceStore {
  list(filter: ResourceFilter): Promise<readonly ResourceRow[]>
  /** Another one whenever anything was put or removed: cheap to ask, for processes that keep what they have read. */
  stamp(): Promise<ResourceStamp>
  /** Of all that there are, without what is in them: what was removed is no longer among them. */
  keys(): Promise<readonly ResourceKey[]>
  /** All or nothing, in one namespace. A put that changes nothing keeps its resourceVersion. */
  apply(
    namespace: string,
    changes: readonly ResourceChange[],
    at: number,
    evidence: readonly NewEvidence[],
  ): Promise<ApplyResult>
}
