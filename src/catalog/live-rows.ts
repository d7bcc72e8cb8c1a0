// Kept rows made live: tools go into the catalog, what governs into the live governance. Follows what other processes apply.
import { isOfKind, readManifestValue } from '../resource/manifest.ts'
import { type ResolveOptions, resolveTool } from '../resource/resolve-tool.ts'
import type { ResourceChange, ResourceKey, ResourceRow, ResourceStamp, Store } from '../store/store.ts'
import type { Catalog } from './catalog.ts'
import { createLiveGovernance, type LiveGovernance } from './live-governance.ts'
import { createLiveServers, type LiveServers, MCP_SERVER_KIND } from './live-servers.ts'
import { MCP_STATUS_KIND } from './mcp-status.ts'

/** Rows that are no manifests. Nobody applies or deletes them through the resource door. */
export const KEPT = ['Stop', 'ApprovalGrant', MCP_STATUS_KIND] as const
export type KeptKind = (typeof KEPT)[number]

const SECRET = 'Secret'

/** How builds are kept that are no longer live: by digest. */
export const BUILD = 'ToolBuild'

export function buildOf({ name, digest, body }: ResourceRow): ResourceChange {
  return { kind: BUILD, name, version: digest, put: { digest, body } }
}

export interface LiveRows {
  readonly governance: LiveGovernance
  readonly servers: LiveServers
  /**
   * One look at the store: true when something changed. Reads what is new since the last one, and nothing where nothing is.
   * One at a time.
   */
  look(): Promise<boolean>
  /** Never goes back to an older one, whichever way a newer one came in. */
  take(row: ResourceRow): void
  /** Up to this resource version: what somebody has put since stays. */
  drop(key: ResourceKey, upTo: number): void
  /** The one that is live. */
  rowOf(key: ResourceKey): ResourceRow | undefined
  /** All that are live, of one kind in one namespace. */
  rowsOf(kind: string, namespace: string): readonly ResourceRow[]
  /** The resource version that is live; 0 where none is. */
  versionOf(key: ResourceKey): number
}

export function createLiveRows(store: Store, catalog: Catalog, resolve: ResolveOptions): LiveRows {
  const governance = createLiveGovernance(resolve, KEPT)
  const servers = createLiveServers(resolve)
  // A tool that was made from a server is a row like any other here.
  const kept = { ...resolve, generated: true }
  const known = new Map<string, ResourceRow>()
  /** What was dropped while rows were being read: they may still be among them. */
  const gone = new Map<string, number>()
  const builds = new Set<string>()
  let seen: ResourceStamp | undefined
  const at = ({ namespace, kind, name, version }: ResourceKey) =>
    JSON.stringify([namespace, kind, name, version])

  async function look(): Promise<boolean> {
    const now = await store.resources.stamp()
    if (now.last === seen?.last && now.count === seen.count) return false
    gone.clear()
    const rows = await store.resources.list(seen === undefined ? {} : { since: seen.last })
    // What was here before and what is new are all that there can be: where their number is wrong, some were removed. A
    // change between the questions may hide that, but only until the next look, which that change brings about.
    const added = rows.filter((row) => !known.has(at(row)) && !builds.has(at(row))).length
    const complete = known.size + builds.size + added === now.count
    const keys = complete ? undefined : new Set((await store.resources.keys()).map(at))
    for (const row of rows) {
      if (row.kind === BUILD) takeBuild(row)
      else if ((gone.get(at(row)) ?? 0) < row.resourceVersion) take(row)
    }
    if (keys !== undefined) dropOthers(keys, now.last)
    // One that is there and not here was missed, for whatever reason: the next look reads everything.
    const missed = keys !== undefined && [...keys].some((key) => !known.has(key) && !builds.has(key))
    seen = missed ? undefined : now
    governance.markRead()
    governance.tell()
    servers.tell()
    return true
  }

  function dropOthers(keys: ReadonlySet<string>, last: number): void {
    for (const key of builds) if (!keys.has(key)) builds.delete(key)
    for (const [key, row] of known) {
      // One that was applied here since the stamp was read may not be among the keys.
      if (!keys.has(key) && row.resourceVersion <= last) drop(row, last)
    }
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
    return isOfKind(document, 'Tool') ? resolveTool(document.manifest, kept) : undefined
  }

  function take(row: ResourceRow): void {
    if ((known.get(at(row))?.resourceVersion ?? 0) >= row.resourceVersion) return
    known.set(at(row), row)
    // Looked up as it is: one that was damaged is no harm but to those who use it.
    if (row.kind === SECRET) return
    if (row.kind === MCP_SERVER_KIND) {
      servers.take(row)
      return
    }
    if (row.kind !== 'Tool') {
      governance.take(row)
      return
    }
    const resolved = resolveRow(row)
    if (resolved?.tool) catalog.put(resolved.tool)
    else catalog.putBroken(row.namespace, row.name, row.version, whyBroken(resolved?.errors))
  }

  function drop(key: ResourceKey, upTo: number): void {
    const row = known.get(at(key))
    if (row === undefined || row.resourceVersion > upTo) return
    known.delete(at(row))
    gone.set(at(row), row.resourceVersion)
    if (row.kind === SECRET) return
    if (row.kind === 'Tool') catalog.remove(row.namespace, row.name, row.version)
    else if (row.kind === MCP_SERVER_KIND) servers.drop(row)
    else governance.drop(row)
  }

  return {
    governance,
    servers,
    look,
    take,
    drop,
    rowOf: (key) => known.get(at(key)),
    rowsOf: (kind, namespace) =>
      [...known.values()].filter((row) => row.kind === kind && row.namespace === namespace),
    versionOf: (key) => known.get(at(key))?.resourceVersion ?? 0,
  }
}

function whyBroken(errors: readonly { readonly message: string }[] | undefined): string {
  return errors?.map((error) => error.message).join('; ') ?? 'the kept manifest cannot be read by this build'
}
