// A small MCP server in a process of its own: on its standard streams, or over HTTP at a port that it tells its parent.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'

interface Message {
  readonly id?: number | string
  readonly method: string
  readonly params?: { readonly arguments?: { readonly limit?: number } }
}

const TOOL = {
  inputSchema: {
    type: 'object',
    properties: { query: { type: 'string' }, limit: { type: 'integer' } },
    required: ['query'],
  },
}

function answer({ id, method, params }: Message): string | undefined {
  if (id === undefined) return undefined
  const result =
    method === 'server/discover'
      ? { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }
      : method === 'tools/list'
        ? {
            tools: [
              { name: 'read', ...TOOL },
              { name: 'write', ...TOOL },
            ],
            ttlMs: 0,
            cacheScope: 'private',
          }
        : { content: [], structuredContent: { found: params?.arguments?.limit } }
  return JSON.stringify({ jsonrpc: '2.0', id, result: { resultType: 'complete', ...result } })
}

if (process.send === undefined) {
  createInterface({ input: process.stdin }).on('line', (line) => {
    const said = answer(JSON.parse(line) as Message)
    if (said !== undefined) process.stdout.write(`${said}\n`)
  })
} else {
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part)
    const said = request.method === 'POST' ? answer(JSON.parse(String(Buffer.concat(parts)))) : undefined
    if (said === undefined) response.writeHead(request.method === 'POST' ? 202 : 405).end()
    else {
      const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(said) }
      response.writeHead(200, headers).end(said)
    }
  })
  server.listen(0, '127.0.0.1', () => process.send?.(String((server.address() as AddressInfo).port)))
  process.on('disconnect', () => process.exit(0))
}
