// MCP servers that are programs: a small one of our own, which asks the peer what to say to each message.
import { createOperations } from '../operations.ts'
import { CREDENTIAL_VARIABLE } from '../tools.ts'
import { type Backend, COMMON_LIMITATIONS } from './backend.ts'
import { credentialsOf, listen, type ServiceReply, SHOWN_HEADER } from './loopback.ts'
import { answerMcp, createServedTools, messageOf, type ServerChoice, serverManifest } from './mcp-service.ts'

/** Given to the interpreter of this very process. A call that is cancelled hangs up, and so the peer knows. */
const PROGRAM = `
const { request } = require('node:http')
const { PEER, ${CREDENTIAL_VARIABLE}: shown } = process.env
const headers = shown === undefined ? {} : { '${SHOWN_HEADER}': shown }
const asked = new Map()
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  if (method === 'notifications/cancelled') asked.get(params.requestId)?.destroy()
  if (id === undefined) return
  const ask = request(PEER, { method: 'POST', headers }, (reply) => {
    let said = ''
    reply.setEncoding('utf8').on('data', (text) => { said += text }).on('end', () => process.stdout.write(said + '\\n'))
  })
  ask.on('error', () => {}).on('close', () => asked.delete(id))
  asked.set(id, ask)
  ask.end(line)
}).on('close', () => process.exit(0))`

export const mcpStdioBackend: Backend = {
  name: 'mcp-stdio',
  limitations: Object.freeze({
    ...COMMON_LIMITATIONS,
    'C4.4':
      'A program is shown its credentials as variables of its environment (env of the McpServer); the four profiles are for what is reached over the network, and are refused when they are declared for transport stdio.',
    'C6.2':
      'The program of an MCP server runs on the host, as the user of the server. What a request tries is blocked, profile production starts only listed commands, and no argument is read by a shell; what the program itself does is not held.',
  }),
  isolation: Object.freeze({
    provided: Object.freeze(['none'] as const),
    boundary:
      'A process group of its own, started without a shell, with nothing of the environment of the server; all tools of an MCP server share it, and it ends with its connection. There is no boundary around what it may reach on the host. Any isolation but none is refused with isolation_unavailable.',
  }),
  hasEndpoint: false,
  givesStatus: false,
  presents: 'value',
  notes: Object.freeze([
    'Tools are made from what the server lists, each with the one operation `invoke`; what they are taken for is declared on the server.',
    'Credentials are those of the server: it is not started without them, and tools that were listed before stay, and are refused.',
    'A failure is told by `isError`; which one it is, and whether to try again, by `writ/code` and `writ/retryable` in `_meta`.',
    'A program that does not heed a cancel goes on; what it says later is not heard.',
  ]),
  async openPeer({ world }) {
    const operations = createOperations(world)
    const service = await listen(async ({ headers, body, signal }): Promise<ServiceReply> => {
      const message = messageOf(body)
      const said =
        message && (await answerMcp(message, operations, { signal, credentials: credentialsOf(headers) }))
      return { status: 200, body: said ?? null }
    })
    const peer = { name: 'PEER', value: service.origin }
    const choice: ServerChoice = {
      spec: { transport: 'stdio', command: process.execPath, args: ['-e', PROGRAM], env: [peer] },
      credential(auth) {
        // A program has no headers, so it is shown the value alone. Any other profile stays as it is, and is refused.
        const { profile, secretRef } = auth
        if (profile !== 'bearer' || secretRef === undefined) return { auth: { ...auth } }
        return { env: [peer, { name: CREDENTIAL_VARIABLE, secretRef }] }
      },
      isolation: 'none',
    }
    return {
      offer: (tool) => ({ kind: 'manifest', manifest: serverManifest(tool, choice) }),
      served: createServedTools(choice),
      sends: operations.sends,
      close: service.close,
    }
  },
}
