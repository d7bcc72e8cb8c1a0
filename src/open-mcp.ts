// The MCP servers of a runtime: one set of connections for calls and for discovery, and what keeps their tools.
import { createMcpDoor, type McpDoor } from './catalog/mcp-accept.ts'
import { createMcpDiscovery, type McpDiscoveryOptions } from './catalog/mcp-discovery.ts'
import type { LiveResources } from './catalog/resource-door.ts'
import { CONTRACT_REVISION } from './contract/version.ts'
import type { Credentials, Redactor } from './credential/credential.ts'
import { cleanText, visibleDefinition } from './resource/mcp-text.ts'
import { McpFailed, type McpSessions, type McpToolDefinition } from './transport/mcp/session.ts'
import type { TransportOptions } from './transport/transport.ts'
import { canonicalJson } from './util/canonical.ts'
import type { Json } from './util/json.ts'

export interface McpParts extends Omit<McpDiscoveryOptions, 'sessions' | 'clean' | 'resources'> {
  readonly resources: LiveResources
  readonly credentials: Credentials
  /** Where programs are looked for. */
  readonly path: string | undefined
}

export interface OpenMcp {
  readonly door: McpDoor
  /** For the transport of their tools. */
  readonly transport: Required<Pick<TransportOptions, 'mcpServer' | 'mcpSessions'>>
  start(): void
  /** Lists no more; calls go on. */
  stop(): Promise<void>
  close(): Promise<void>
}

export async function openMcp(parts: McpParts): Promise<OpenMcp> {
  const { world, credentials, resources, resolve, path } = parts
  const { createMcpSessions } = await import('./transport/mcp/sessions.ts')
  const { needOf } = await import('./transport/credential-need.ts')
  const userAgent = `writ/${CONTRACT_REVISION}`
  const sessions: McpSessions = createMcpSessions({ world, credentials, userAgent, path })
  const discovery = createMcpDiscovery({
    ...parts,
    sessions,
    async clean(server, listed, abort) {
      const need = needOf(server)
      if (need === undefined) return listed
      const result = await credentials.present(need, abort)
      // Nobody knows what to take out of it.
      if (!result.ok) {
        const { failure, message } = result.refusal
        throw new McpFailed({ kind: 'failure', failure, message, definite: true })
      }
      return listed.map((one) => withoutSecrets(one, result.presented.redactor))
    },
  })
  return {
    door: createMcpDoor({ world, resources, resolve }),
    transport: {
      mcpServer: (namespace, name) => resources.servers.get({ namespace, name })?.server,
      mcpSessions: sessions,
    },
    start: discovery.start,
    stop: discovery.close,
    close: sessions.close,
  }
}

/**
 * Its texts are shown without the characters that nobody sees: those are taken out first, so that a secret with some of
 * them in it is found. Where there is none, it is in the words of the server. Its name stays as the server knows it.
 */
function withoutSecrets(definition: McpToolDefinition, redactor: Redactor): McpToolDefinition {
  const { name } = definition
  const visible = { ...visibleDefinition(definition), name: cleanText(name, Number.POSITIVE_INFINITY) }
  const clean = redactor.json(visible as unknown as Json) as unknown as McpToolDefinition
  if (canonicalJson(clean as unknown as Json) === canonicalJson(visible as unknown as Json)) return definition
  return { ...clean, name: clean.name === visible.name ? name : clean.name }
}
