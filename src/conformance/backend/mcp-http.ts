// MCP servers over Streamable HTTP: one of our own on loopback.
import { createOperations } from '../operations.ts'
import { type Backend, COMMON_LIMITATIONS, REMOTE_ISOLATION } from './backend.ts'
import { credentialsOf, listen, type ServiceReply } from './loopback.ts'
import {
  answerMcp,
  createServedTools,
  messageOf,
  redirectOf,
  type ServerChoice,
  serverManifest,
} from './mcp-service.ts'

export const mcpHttpBackend: Backend = {
  name: 'mcp-http',
  limitations: COMMON_LIMITATIONS,
  isolation: REMOTE_ISOLATION,
  hasEndpoint: true,
  givesStatus: true,
  presents: 'profiles',
  defaultHeader: 'X-API-Key',
  notes: Object.freeze([
    'Tools are made from what the server lists, each with the one operation `invoke`; what they are taken for is declared on the server.',
    'Credentials are those of the server: its tools cannot be listed without them, and tools that were listed before stay, and are refused.',
    'A failure is told by `isError`; which one it is, and whether to try again, by `writ/code` and `writ/retryable` in `_meta`.',
    'Redirects are not followed.',
  ]),
  async openPeer({ world }) {
    const operations = createOperations(world)
    const service = await listen(async ({ headers, body, signal }): Promise<ServiceReply> => {
      const message = messageOf(body)
      // The stream in which a server speaks by itself is not offered.
      if (message === undefined) return { status: 405, body: null }
      const said = await answerMcp(message, operations, { signal, credentials: credentialsOf(headers) })
      if (said === undefined) return { status: 202, body: null }
      const status = redirectOf(message)
      // A redirect that is followed shows as another send.
      if (status !== undefined) return { status, headers: { location: service.origin }, body: null }
      return { status: 200, body: said }
    })
    const choice: ServerChoice = {
      spec: { transport: 'http', endpoint: `${service.origin}/` },
      credential: (auth) => ({ auth: { ...auth } }),
    }
    return {
      offer: (tool) => ({ kind: 'manifest', manifest: serverManifest(tool, choice) }),
      served: createServedTools(choice),
      sends: operations.sends,
      close: service.close,
    }
  },
}
