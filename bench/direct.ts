// What governed calls are measured against: a careful caller without Writ.
//
// It keeps its connection or its pool and calls a tool in another process, as Writ does. Each call has a key, a trace and
// a deadline. The input is written as JSON; of the reply it looks at status, type and size, reads the JSON, and for an
// envelope sees to it that this request is answered. It knows of no permissions, rules, schemas, evidence or store, and
// whether a byte has left it cannot say.
import { execFile } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { connect, type IncomingHttpHeaders, type IncomingHttpStatusHeader } from 'node:http2'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Agent, request } from 'undici'
import { createFrameReader, frameOf } from '../src/util/grpc-frame.ts'

export const input = { query: 'latest market analysis', limit: 10 }

const TIMEOUT_MS = 30_000
const MAX_BYTES = 1024 * 1024

export interface Direct {
  readonly name: string
  /** One call. */
  run(): Promise<unknown>
  close(): Promise<void>
}

/** `plain`: the input is the body, and the reply is the output. `envelope`: both are in an envelope of the contract. */
export type BodyKind = 'plain' | 'envelope'

export function directUndici(url: string, kind: BodyKind): Direct {
  const dispatcher = new Agent({ pipelining: 1 })
  return {
    name: 'direct undici',
    async run() {
      const id = randomUUID()
      const reply = await request(url, {
        method: 'POST',
        body: JSON.stringify(kind === 'plain' ? input : envelopeOf(id)),
        headers: {
          accept: 'application/json',
          'content-type': 'application/json',
          'idempotency-key': id,
          traceparent: traceparent(),
        },
        dispatcher,
        signal: AbortSignal.timeout(TIMEOUT_MS),
      })
      const { statusCode, headers, body } = reply
      if (statusCode !== 200 || !isJson(headers['content-type'])) throw new Error(`answered ${statusCode}`)
      const output = JSON.parse(await textOf(body)) as unknown
      return kind === 'plain' ? output : outputOf(output, id)
    },
    close: () => dispatcher.close(),
  }
}

export function directGrpc(address: string): Direct {
  const session = connect(`http://${address}`)
  return {
    name: 'direct node:http2',
    run: () =>
      new Promise((resolve, reject) => {
        const id = randomUUID()
        const stream = session.request({
          ':method': 'POST',
          ':path': '/orloj.tool.v1.ToolService/Execute',
          'content-type': 'application/grpc+json',
          te: 'trailers',
          'grpc-timeout': `${TIMEOUT_MS}m`,
          'idempotency-key': id,
          traceparent: traceparent(),
        })
        const reader = createFrameReader(MAX_BYTES)
        let headers: IncomingHttpHeaders & IncomingHttpStatusHeader = {}
        let trailers: IncomingHttpHeaders = {}
        const late = setTimeout(() => stream.destroy(new Error('too late')), TIMEOUT_MS)
        stream.on('response', (came) => {
          headers = came
        })
        stream.on('trailers', (came) => {
          trailers = came
        })
        stream.on('data', (chunk: Buffer) => {
          if (reader.push(chunk) !== undefined) stream.destroy(new Error('not one message'))
        })
        stream.on('error', reject)
        stream.on('close', () => {
          clearTimeout(late)
          const message = reader.end()
          const fine = headers[':status'] === 200 && trailers['grpc-status'] === '0'
          if (!fine || !(message instanceof Uint8Array)) return reject(new Error('no answer'))
          resolve(outputOf(JSON.parse(new TextDecoder().decode(message)), id))
        })
        stream.end(frameOf(JSON.stringify(envelopeOf(id))))
      }),
    close: () => new Promise((resolve) => session.close(resolve)),
  }
}

export type McpPlace =
  | { readonly transport: 'http'; readonly endpoint: string }
  | { readonly transport: 'stdio'; readonly command: string; readonly args: string[] }

/** The SDK has deadlines and checks of its own. */
export async function directMcp(place: McpPlace): Promise<Direct> {
  const client = new Client({ name: 'bench', version: '1' }, { versionNegotiation: { mode: 'auto' } })
  await client.connect(
    place.transport === 'http'
      ? new StreamableHTTPClientTransport(new URL(place.endpoint))
      : new StdioClientTransport({ command: place.command, args: place.args }),
  )
  return {
    name: 'direct SDK',
    async run() {
      const result = await client.callTool({ name: 'read', arguments: input }, { timeout: TIMEOUT_MS })
      if (result.isError) throw new Error('the tool failed')
      return result.structuredContent
    },
    close: () => client.close(),
  }
}

export function directProgram(path: string): Direct {
  const options = { env: {}, timeout: TIMEOUT_MS, maxBuffer: MAX_BYTES }
  return {
    name: 'direct execFile',
    run: () =>
      new Promise((resolve, reject) => {
        execFile(path, [input.query], options, (error, out) =>
          error ? reject(error) : resolve(out.trimEnd()),
        )
      }),
    close: () => Promise.resolve(),
  }
}

/** As a tool of the contract gets it, as small as it may be. */
function envelopeOf(id: string): object {
  return { request_id: id, tool: { name: 'read' }, input }
}

function outputOf(reply: unknown, id: string): unknown {
  const { request_id, status, output } = reply as { request_id: unknown; status: unknown; output: unknown }
  if (request_id !== id || status !== 'ok') throw new Error(`no answer to ${id}`)
  return output
}

function isJson(type: string | string[] | undefined): boolean {
  return typeof type === 'string' && /^application\/json\b/.test(type)
}

async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.byteLength
    if (size > MAX_BYTES) throw new Error('too large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, size).toString('utf8')
}

function traceparent(): string {
  return `00-${randomBytes(16).toString('hex')}-${randomBytes(8).toString('hex')}-01`
}
