// The bare clients that governed calls are measured against: one connection or one pool each, and nothing else.
import { execFile } from 'node:child_process'
import { connect } from 'node:http2'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Agent, request } from 'undici'
import { frameOf } from '../src/util/grpc-frame.ts'

export const input = { query: 'latest market analysis', limit: 10 }

export interface Direct {
  readonly name: string
  /** One call, its reply read as JSON. */
  run(): Promise<unknown>
  close(): Promise<void>
}

/** `body` is made anew for each. */
export function directUndici(url: string, body: () => object): Direct {
  const dispatcher = new Agent({ pipelining: 1 })
  const headers = { 'content-type': 'application/json' }
  return {
    name: 'direct undici',
    async run() {
      const reply = await request(url, { method: 'POST', body: JSON.stringify(body()), headers, dispatcher })
      return reply.body.json()
    },
    close: () => dispatcher.close(),
  }
}

/** An envelope as a tool of the contract gets it, as small as it may be. */
export function envelopes(): () => object {
  let serial = 0
  return () => ({ request_id: `b-${serial++}`, tool: { name: 'read' }, input })
}

export function directGrpc(address: string): Direct {
  const session = connect(`http://${address}`)
  const next = envelopes()
  return {
    name: 'direct node:http2',
    run: () =>
      new Promise((resolve, reject) => {
        const stream = session.request({
          ':method': 'POST',
          ':path': '/orloj.tool.v1.ToolService/Execute',
          'content-type': 'application/grpc+json',
          te: 'trailers',
        })
        const chunks: Buffer[] = []
        stream.on('data', (chunk: Buffer) => chunks.push(chunk))
        stream.on('error', reject)
        stream.on('close', () => resolve(JSON.parse(Buffer.concat(chunks).subarray(5).toString())))
        stream.end(frameOf(JSON.stringify(next())))
      }),
    close: () => new Promise((resolve) => session.close(resolve)),
  }
}

export type McpPlace =
  | { readonly transport: 'http'; readonly endpoint: string }
  | { readonly transport: 'stdio'; readonly command: string; readonly args: string[] }

export async function directMcp(place: McpPlace): Promise<Direct> {
  const client = new Client({ name: 'bench', version: '1' }, { versionNegotiation: { mode: 'auto' } })
  await client.connect(
    place.transport === 'http'
      ? new StreamableHTTPClientTransport(new URL(place.endpoint))
      : new StdioClientTransport({ command: place.command, args: place.args }),
  )
  return {
    name: 'direct SDK',
    run: () => client.callTool({ name: 'read', arguments: input }),
    close: () => client.close(),
  }
}

export function directProgram(path: string): Direct {
  return {
    name: 'direct execFile',
    run: () =>
      new Promise((resolve, reject) => {
        execFile(path, [input.query], { env: {} }, (error, out) => (error ? reject(error) : resolve(out)))
      }),
    close: () => Promise.resolve(),
  }
}
