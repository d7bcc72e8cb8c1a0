// Kept rows made live: tools go into the catalog, what governs into the live governance. Follows what other processes apply.
import { isOfKind, readManifestValue } from '../resource/manifest.ts'
import { type ResolveOptions, resolveTool } from '../resource/resolve-tool.ts'
import type { ResourceChange, ResourceRow, ResourceStamp, Store } from '../store/store.ts'
import type { Catalog } from './catalog.ts'
import { createLiveGovernance, type LiveGovernance } from './live-governance.ts'

/** Rows that are no manifests. Nobody applies or deletes them through the resource door. */
export const KEPT = ['Stop', 'ApprovalGrant'] as const
export type KeptKind = (typeof KEPT)[number]

/** How builds are kept that are no longer live: by digest. */
const BUILD = 'ToolBuild'

export function buildOf({ name, digest, body }: ResourceRow): ResourceChange {
  return { kind: BUILD, name, version: digest, put: { digest, body } }
}

export interface LiveRows {
  readonly governance: LiveGovernance
  /** True when something changed. Reads the rows only when the store says that there is something new. */
  refresh(): Promise<boolean>
  /** Never goes back to an older one, whichever way a newer one came in. */
  take(row: ResourceRow): void
  drop(row: RowId): void
}

type RowId = Pick<ResourceRow, 'namespace' | 'kind' | 'name' | 'version'>

export function createLiveRows(store: Store, catalog: Catalog, resolve: ResolveOptions): LiveRows {
  const governance = createLiveGovernance(resolve, KEPT)
  const known = new Map<string, ResourceRow>()
  /** What was dropped while rows were being read: they may still be among them. */
  const gone = new Map<string, number>()
  const builds = new Set<string>()
  let stamp: ResourceStamp | undefined
  let refreshing: Promise<boolean> | undefined
  const at = ({ namespace, kind, name, version }: RowId) => JSON.stringify([namespace, kind, name, version])

  async function refresh(): Promise<boolean> {
    const now = await store.resources.stamp()
    if (now.last === stamp?.last && now.count === stamp.count) return false
    gone.clear()
    const rows = await store.resources.list({})
    const kept = new Set(rows.map(at))
    for (const row of rows) {
      if (row.kind === BUILD) takeBuild(row)
      else if ((gone.get(at(row)) ?? 0) < row.resourceVersion) take(row)
    }
    for (const [key, row] of known) {
      // One that was applied here since the stamp was read may not be in the list.
      if (!kept.has(key) && row.resourceVersion <= now.last) drop(row)
    }
    stamp = now
    governance.markRead()
    governance.tell()
    return true
  }

  /** A build that was replaced or deleted; effects that are under way may still need it. */
  function takeBuild(row: ResourceRow): void {
    const key = at(row)
    if (builds.has(key)) return
    builds.add(key)
    const tool = resolveRow(row)?.tool
    if (tool !== undefined) catalog.keep(tool)
  }

  /** A manifest of an earlier build of Writ may be one that this build cannot read. */
  function resolveRow(row: ResourceRow) {
    const [document] = readManifestValue(row.body, row.name).documents
    return isOfKind(document, 'Tool') ? resolveTool(document.manifest, resolve) : undefined
  }

  function take(row: ResourceRow): void {
    if ((known.get(at(row))?.resourceVersion ?? 0) >= row.resourceVersion) return
    known.set(at(row), row)
    if (row.kind !== 'Tool') {
      governance.take(row)
      return
    }
    const resolved = resolveRow(row)
    if (resolved?.tool) catalog.put(resolved.tool)
    else catalog.putBroken(row.namespace, row.name, row.version, whyBroken(resolved?.errors))
  }

  function drop(id: RowId): void {
    const row = known.get(at(id))
    if (row === undefined) return
    known.delete(at(row))
    gone.set(at(row), row.resourceVersion)
    if (row.kind === 'Tool') catalog.remove(row.namespace, row.name, row.version)
    else governance.drop(row)
  }

  return {
    governance,
    refresh() {
      refreshing ??= refresh().finally(() => {
        refreshing = undefined
      })
      return refreshing
    },
    take,
    drop,
  }
}

function whyBroken(errors: readonly { readonly message: string }[] | undefined): string {
  return errors?.map((error) => error.message).join('; ') ?? 'the kept manifest cannot be read by this build'
}
