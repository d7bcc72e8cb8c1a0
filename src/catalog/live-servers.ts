// The MCP servers that are live, each as its row says. One that cannot be read is no harm but to its own tools.
import { isOfKind, readManifestValue } from '../resource/manifest.ts'
import { resolveMcpServer } from '../resource/resolve-mcp-server.ts'
import type { ResolveOptions } from '../resource/resolve-tool.ts'
import type { ResolvedMcpServer } from '../resource/resolved-mcp-server.ts'
import type { ResourceKey, ResourceRow } from '../store/store.ts'

export const MCP_SERVER_KIND = 'McpServer'

export interface LiveServer {
  readonly row: ResourceRow
  /** Absent where `why` says what is wrong. */
  readonly server?: ResolvedMcpServer
  readonly why?: string
}

export type ServerKey = Pick<ResourceKey, 'namespace' | 'name'>

export interface LiveServers {
  take(row: ResourceRow): void
  drop(key: ServerKey): void
  get(key: ServerKey): LiveServer | undefined
  all(): readonly LiveServer[]
  /** Tells of those that changed since the last time. */
  tell(): void
  onChange(listener: (key: ServerKey) => void): () => void
}

export function createLiveServers(resolve: ResolveOptions): LiveServers {
  const servers = new Map<string, LiveServer>()
  const changed = new Map<string, ServerKey>()
  const listeners = new Set<(key: ServerKey) => void>()
  const at = ({ namespace, name }: ServerKey) => `${namespace}/${name}`

  function mark({ namespace, name }: ServerKey): void {
    changed.set(at({ namespace, name }), { namespace, name })
  }

  return {
    take(row) {
      servers.set(at(row), read(row, resolve))
      mark(row)
    },
    drop(key) {
      servers.delete(at(key))
      mark(key)
    },
    get: (key) => servers.get(at(key)),
    all: () => [...servers.values()],
    tell() {
      const all = [...changed.values()]
      changed.clear()
      for (const key of all) for (const listener of listeners) listener(key)
    },
    onChange(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}

function read(row: ResourceRow, resolve: ResolveOptions): LiveServer {
  const { documents, problems } = readManifestValue(row.body, row.name)
  const [document] = documents
  if (!isOfKind(document, MCP_SERVER_KIND)) {
    const said = problems.map(({ path, message }) => `${path}: ${message}`).join('; ')
    return { row, why: `it cannot be read by this build: ${said}` }
  }
  const { resolved, errors } = resolveMcpServer(document.manifest, { ...resolve, generation: row.generation })
  if (resolved !== undefined) return { row, server: resolved }
  return { row, why: `it cannot be used here: ${errors.map(({ message }) => message).join('; ')}` }
}
