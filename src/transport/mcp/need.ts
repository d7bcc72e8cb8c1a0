// What an MCP server declares of its credentials.
import type { CredentialNeed } from '../../credential/credential.ts'
import type { ResolvedMcpServer } from '../../resource/resolved-mcp-server.ts'

/** undefined for nothing. */
export function needOf({ namespace, auth, connection }: ResolvedMcpServer): CredentialNeed | undefined {
  if (connection.kind === 'http') return auth === undefined ? undefined : { namespace, auth }
  return connection.envFrom.length === 0 ? undefined : { namespace, env: connection.envFrom }
}
