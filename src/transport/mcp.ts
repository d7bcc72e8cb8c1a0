// Tools of MCP servers. The connection belongs to the server, not to the call; see mcp/.
import { outsideEgress } from '../resource/egress-rule.ts'
import type { ResolvedMcpServer } from '../resource/resolved-mcp-server.ts'
import { abortRefusal } from './abort-refusal.ts'
import { outsideScopes } from './credential-need.ts'
import { refuse } from './endpoint.ts'
import { McpFailed } from './mcp/session.ts'
import { createMcpSessions } from './mcp/sessions.ts'
import type { Refusal, Send, Transport, TransportOptions } from './transport.ts'

export function createMcpTransport(options: TransportOptions): Transport {
  const { world, credentials, userAgent, mcpServer } = options
  const own = options.mcpSessions === undefined
  const sessions =
    options.mcpSessions ??
    createMcpSessions({ world, credentials, ...(userAgent === undefined ? {} : { userAgent }) })

  return {
    type: 'mcp',
    async attempt(send, sink) {
      const { tool, abort } = send
      const { mcp } = tool
      if (mcp === undefined)
        return refuse('config-invalid', 'spec.mcp_server_ref', 'the tool names no server').refusal
      const server = mcpServer?.(tool.namespace, mcp.server)
      if (server === undefined) {
        const why = `there is no MCP server ${mcp.server} in this namespace`
        return refuse('config-invalid', 'spec.mcp_server_ref', why).refusal
      }
      if (abort.reason !== undefined) return abortRefusal(abort.reason, false, send)
      const refused = refusedNow(server, send)
      if (refused !== undefined) return refused
      // What the sink throws has to come back as it is, so it is told from what stands against the connection.
      let began = false
      try {
        return await sessions.use(server, abort, (session) => {
          began = true
          return session.call(mcp.tool, send, sink)
        })
      } catch (error) {
        if (began || !(error instanceof McpFailed)) throw error
        if (abort.reason !== undefined) {
          const stopped = abortRefusal(abort.reason, false, send)
          return abort.reason === 'timeout' ? { ...stopped, message: error.message } : stopped
        }
        const { refusal } = error
        // Once in a call: a server that refuses a fresh token, too, refuses the client.
        const again = refusal.failure === 'token-expired' && send.renewed === true
        return again ? { ...refusal, failure: 'upstream-unauthorized' } : refusal
      }
    },
    close: () => (own ? sessions.close() : Promise.resolve()),
  }
}

/** What stands against this send, though the server may be there. */
function refusedNow(server: ResolvedMcpServer, send: Send): Refusal | undefined {
  const { connection } = server
  const { tool, constraints } = send
  const { isolation } = tool
  const remote = connection.kind === 'http'
  if (isolation !== 'none' && !(remote && isolation === 'sandboxed')) {
    const why = `isolation ${isolation} cannot be provided for a tool of ${remote ? 'a server over HTTP' : 'a program'} here`
    return refuse('isolation-unavailable', 'spec.runtime.isolation_mode', why).refusal
  }
  if (connection.kind !== 'http') return undefined
  const url = URL.parse(connection.endpoint)
  if (url === null) return refuse('config-invalid', 'spec.endpoint', 'is no address').refusal
  const subject = { netAllowlist: connection.allow, reach: connection.reach, isolation, own: url }
  const outside = outsideEgress(subject, url, constraints?.netAllowlist)
  if (outside !== undefined)
    return refuse('egress-denied', 'spec.endpoint', `${url.origin} ${outside}`).refusal
  return send.credentials === undefined ? refusedByScopes(server, constraints?.scopes) : undefined
}

/** S2: the scopes of a request narrow those of the server as they do those of a tool. */
function refusedByScopes(
  { auth }: ResolvedMcpServer,
  scopes: readonly string[] | undefined,
): Refusal | undefined {
  const outside = outsideScopes(auth, scopes)
  if (outside === undefined) return undefined
  const { message, fix, details } = outside
  return {
    kind: 'failure',
    failure: 'secret-out-of-scope',
    message: `${message}. Fix: ${fix}`,
    details,
    definite: true,
  }
}
