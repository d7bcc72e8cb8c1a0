// MCP servers that send back the credential they were shown: in what they list, and on every way a call can end.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JsonObject } from '../../src/util/json.ts'
import { failure, handshake, type Message, result } from '../fixtures/mcp-peer/answer.ts'
import { listenHttp, type Respond } from '../transport/tool-peer.ts'
import type { EchoPeer } from './echo-peers.ts'
import { echoOf } from './secret-forms.ts'

export const MCP_WAYS = [
  'text',
  'parts',
  'error',
  'error with a code',
  'rpc -32600',
  'rpc -32601',
  'rpc -32602',
  'rpc -32603',
  'rpc -32000',
  'input-required',
  'no-result',
  'progress',
  'json',
]

/** What is said to one message, in this order; undefined where that is nothing. */
export function echoMcp(message: Message, secrets: readonly string[]): object[] | undefined {
  const { id, method, params } = message
  const echo = echoOf(secrets)
  const text = echo.join(' ')
  const greeting = handshake(message, 'modern')
  if (greeting !== undefined) return [greeting]
  if (id === undefined) return undefined
  if (method === 'tools/list') {
    const way = { type: 'string', description: text }
    const tool = {
      name: 'echo',
      title: text,
      description: text,
      inputSchema: { type: 'object', properties: { way }, additionalProperties: true },
      annotations: { title: echo[0], hint: echo },
    }
    return [result(id, { tools: [tool], ttlMs: 0, cacheScope: 'private' })]
  }
  if (method !== 'tools/call') return [failure(id, -32601, text)]
  return calls(message, String((params?.arguments as { way?: unknown } | undefined)?.way ?? ''), echo)
}

function calls({ id, params }: Message, way: string, echo: readonly string[]): object[] {
  const text = echo.join(' ')
  const content = [{ type: 'text', text }]
  const [, code] = /^rpc (-\d+)$/.exec(way) ?? []
  if (code !== undefined) {
    const error = { code: Number(code), message: text, data: { echo, [text]: text } }
    return [{ jsonrpc: '2.0', id, error }]
  }
  switch (way) {
    case 'text':
      return [result(id, { content })]
    case 'parts':
      return [result(id, { content: [...content, { type: 'text', text: echo[0] ?? '' }] })]
    case 'error':
      return [result(id, { content, isError: true })]
    case 'error with a code': {
      const _meta = {
        'writ/code': (echo[0] ?? '').slice(0, 64),
        'writ/retryable': true,
        [echo[0] ?? '']: echo,
      }
      return [result(id, { content, isError: true, _meta })]
    }
    case 'input-required':
      return [{ jsonrpc: '2.0', id, result: { resultType: 'input_required', requestState: text } }]
    case 'no-result':
      return [{ jsonrpc: '2.0', id, result: { resultType: text, content: text } }]
    case 'progress': {
      const told = { progressToken: params?._meta?.progressToken, progress: 1, message: text }
      const notice = { jsonrpc: '2.0', method: 'notifications/progress', params: told }
      return [notice, result(id, { content, structuredContent: { echo } })]
    }
    default: {
      const keys = Object.fromEntries(echo.map((one) => [one, 1]))
      return [result(id, { content, structuredContent: { echo, keys } })]
    }
  }
}

/** `answerHttp`: the ways that every service on HTTP has. */
export async function startMcpHttp(
  take: (headers: Parameters<Respond>[0]['headers']) => readonly string[],
  answerHttp: (way: string, secrets: readonly string[], response: ServerResponse) => void,
  httpWays: readonly string[],
): Promise<Omit<EchoPeer, 'shown'>> {
  const peer = await listenHttp(({ headers, body, method }, response) => {
    const secrets = take(headers)
    if (method !== 'POST') return void response.writeHead(405).end(echoOf(secrets).join())
    const message = JSON.parse(body) as Message
    const way = String((message.params?.arguments as { way?: unknown } | undefined)?.way ?? '')
    if (httpWays.includes(way) && !MCP_WAYS.includes(way)) return answerHttp(way, secrets, response)
    const said = echoMcp(message, secrets)
    if (said === undefined) return void response.writeHead(202).end()
    if (said.length === 1) {
      const head = { 'content-type': 'application/json', 'x-echo': secrets[0] ?? '' }
      return void response.writeHead(200, head).end(JSON.stringify(said[0]))
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const one of said) response.write(`data: ${JSON.stringify(one)}\n\n`)
    response.end()
  })
  return {
    spec: {},
    server: { transport: 'http', endpoint: `${peer.origin}/mcp` },
    ways: [...httpWays, ...MCP_WAYS],
    close: peer.close,
  }
}

/** It notes in a file which variables it was given. */
const PROGRAM = (here: string) => `
import { appendFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { echoMcp } from '${here}/echo-mcp.ts'
import { echoOf } from '${here}/secret-forms.ts'
const secrets = Object.entries(process.env).filter(([name]) => name.startsWith('CANARY')).map(([, value]) => value)
appendFileSync(process.env.NOTES, JSON.stringify(secrets) + '\\n')
const text = echoOf(secrets).join('\\n')
console.error(text)
createInterface({ input: process.stdin }).on('line', (line) => {
  const message = JSON.parse(line)
  const way = message.params?.arguments?.way
  if (way === 'noise') console.log(text)
  if (way === 'no-json') console.log('{"jsonrpc":"2.0","result":{' + JSON.stringify(text) + ',"id":' + message.id + '}')
  else if (way === 'crash') { console.error(text); process.exit(3) }
  else if (way !== 'slow') for (const one of echoMcp(message, secrets) ?? []) console.log(JSON.stringify(one))
}).on('close', () => process.exit(0))
`

export async function startMcpStdio(): Promise<EchoPeer> {
  const folder = mkdtempSync(join(tmpdir(), 'writ-echo-mcp-'))
  const program = join(folder, 'echo.mjs')
  const notes = join(folder, 'notes')
  writeFileSync(program, PROGRAM(new URL('.', import.meta.url).href.replace(/\/$/, '')))
  const args = ['--disable-warning=ExperimentalWarning', program]
  const env: JsonObject[] = [{ name: 'NOTES', value: notes }]
  return {
    spec: {},
    server: { transport: 'stdio', command: process.execPath, args, env },
    asVariables: true,
    // What ends the program ends every call on it, so that is tried apart from the others.
    ways: ['noise', 'no-json', 'slow', ...MCP_WAYS],
    lastWay: 'crash',
    get shown() {
      const lines = readFileSync(notes, 'utf8').trim().split('\n')
      return new Set(lines.flatMap((line) => JSON.parse(line) as string[]))
    },
    close: async () => rmSync(folder, { recursive: true, force: true }),
  }
}
