// Tools that send back the credential they were shown, in every form, on every way their protocol has. One row each.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Json, JsonObject } from '../../src/util/json.ts'
import { startCallbackPeer } from '../transport/callback-peer.ts'
import { answerMessage, answerRaw, answerStatus, listenGrpc } from '../transport/grpc-peer.ts'
import { listenHttp, type Received } from '../transport/tool-peer.ts'
import { startMcpHttp, startMcpStdio } from './echo-mcp.ts'
import { echoOf } from './secret-forms.ts'

export interface EchoPeer {
  /** What its manifest says beside auth and effect. */
  readonly spec: JsonObject
  /** It is an MCP server, whose tool is named echo: what its manifest says of where it is. */
  readonly server?: JsonObject
  /** It is given secrets as variables, and knows no auth. */
  readonly asVariables?: true
  /** What the server has to be told of it. */
  readonly serverEnv?: Readonly<Record<string, string>>
  /** What a call may say as `input.way`. */
  readonly ways: readonly string[]
  /** One that would disturb the others, and so comes after them. */
  readonly lastWay?: string
  /** Every secret that was shown, and every part of one. */
  readonly shown: ReadonlySet<string>
  close(): Promise<void>
}

const CREDENTIALS = ['authorization', 'x-canary-key'] as const

/** Notes which secrets were shown in headers. */
export function createShown() {
  const shown = new Set<string>()
  return {
    shown,
    /** The secrets of this request. */
    take(headers: IncomingHttpHeaders): readonly string[] {
      const found = CREDENTIALS.flatMap((name) => {
        const value = headers[name]
        if (typeof value !== 'string') return []
        const [, scheme, rest = ''] = /^(Basic|Bearer) (.*)$/.exec(value) ?? []
        if (scheme !== 'Basic') return [scheme === undefined ? value : rest]
        const text = Buffer.from(rest, 'base64').toString()
        return [text, text.slice(0, text.indexOf(':')), text.slice(text.indexOf(':') + 1)]
      })
      for (const one of found) shown.add(one)
      return found
    },
  }
}

const STATUSES = [400, 401, 403, 404, 409, 422, 429, 500, 503]
const HTTP_WAYS = [
  ...STATUSES.map((status) => `status ${status}`),
  'json',
  'text',
  'split',
  'redirect',
  'no-json',
  'cut',
  'too-large',
  'no-http',
  'slow',
]

/** Headers and reason too, though nothing is made of them. */
function answerHttp(way: string, secrets: readonly string[], response: ServerResponse): void {
  const echo = echoOf(secrets)
  const body = JSON.stringify({ echo, keys: Object.fromEntries(echo.map((one) => [one, 1])) })
  const [raw = ''] = secrets
  const head = { 'content-type': 'application/json', 'x-echo': raw, 'set-cookie': `session=${raw}` }
  const [, status] = /^status (\d+)$/.exec(way) ?? []
  if (status !== undefined) return void response.writeHead(Number(status), raw, head).end(body)
  switch (way) {
    case 'text':
      return void response.writeHead(200, { ...head, 'content-type': 'text/plain' }).end(echo.join('\n'))
    case 'split': {
      response.writeHead(200, head)
      for (const one of body.match(/.{1,7}/gs) ?? []) response.write(one)
      return void response.end()
    }
    case 'redirect': {
      const location = `http://127.0.0.1:9/${encodeURIComponent(raw)}?q=${encodeURIComponent(raw)}`
      return void response.writeHead(307, { ...head, location }).end(body)
    }
    case 'no-json':
      return void response.writeHead(200, head).end(body.slice(0, -3))
    case 'cut':
      response.writeHead(200, { ...head, 'content-length': body.length + 100 }).write(body)
      return void setTimeout(() => response.destroy(), 20)
    case 'too-large':
      return void response.writeHead(200, head).end(JSON.stringify(body.repeat(Math.ceil(2e6 / body.length))))
    case 'no-http':
      return void response.socket?.end(`${raw}\r\n${body}`)
    case 'slow':
      return void response.writeHead(200, head).write(body)
    default:
      return void response.writeHead(200, head).end(body)
  }
}

const ENVELOPE_WAYS = ['ok', 'error', 'retryable', 'other-id', 'malformed']

function envelope(way: string, requestId: Json | undefined, secrets: readonly string[]): JsonObject {
  const echo = echoOf(secrets)
  const text = echo.join(' ')
  const about = { request_id: requestId ?? '', tool_contract_version: 'v1' }
  const error = (retryable: boolean): JsonObject => ({
    code: 'execution_failed',
    reason: 'tool_backend_failure',
    message: text,
    retryable,
    details: { echo, [echo[0] ?? '']: text },
  })
  switch (way) {
    case 'error':
    case 'retryable':
      return {
        ...about,
        status: 'error',
        error: error(way === 'retryable'),
        warnings: echo,
        side_effects: [{ did: text }],
      }
    case 'other-id':
      return { ...about, request_id: echo[0] ?? '', status: 'ok', output: echo }
    case 'malformed':
      return { ...about, status: text, output: echo, [echo[0] ?? '']: text }
    default:
      return { ...about, status: 'ok', output: { echo }, warnings: echo, side_effects: [{ did: text }] }
  }
}

const wayOf = (input: unknown) => String((input as { way?: unknown } | undefined)?.way ?? '')

async function startHttp(): Promise<EchoPeer> {
  const { shown, take } = createShown()
  const peer = await listenHttp(({ headers, body }, response) =>
    answerHttp(wayOf(JSON.parse(body)), take(headers), response),
  )
  return { spec: { type: 'http', endpoint: `${peer.origin}/` }, ways: HTTP_WAYS, shown, close: peer.close }
}

function answerContract(request: Received, secrets: readonly string[], response: ServerResponse): void {
  const { request_id: requestId, input } = JSON.parse(request.body) as JsonObject
  const way = wayOf(input)
  if (!ENVELOPE_WAYS.includes(way)) {
    answerHttp(way, secrets, response)
    return
  }
  const text = JSON.stringify(envelope(way, requestId, secrets))
  response.writeHead(200, { 'content-type': 'application/json' }).end(text)
}

async function startExternal(): Promise<EchoPeer> {
  const { shown, take } = createShown()
  const peer = await listenHttp((request, response) =>
    answerContract(request, take(request.headers), response),
  )
  const ways = [...HTTP_WAYS, ...ENVELOPE_WAYS]
  return { spec: { type: 'external', endpoint: `${peer.origin}/` }, ways, shown, close: peer.close }
}

/** Ways that begin with `later` are taken on, and answered when they are asked for. */
async function startWebhook(): Promise<EchoPeer> {
  const { shown, take } = createShown()
  const peer = await startCallbackPeer()
  peer.answer = (request, response, job) => {
    const secrets = take(request.headers)
    const way = wayOf(job?.request.input)
    if (request.method !== 'GET') {
      if (way.startsWith('later ')) return false
      answerContract(request, secrets, response)
      return true
    }
    const body = JSON.stringify({ ...job?.request, input: { way: way.slice('later '.length) } })
    answerContract({ ...request, body }, secrets, response)
    return true
  }
  const later = [...ENVELOPE_WAYS, 'status 401', 'status 404', 'no-json'].map((way) => `later ${way}`)
  const spec = { type: 'webhook-callback', endpoint: peer.url, webhook: { poll: '500ms' } }
  return { spec, ways: [...HTTP_WAYS, ...ENVELOPE_WAYS, ...later], shown, close: peer.close }
}

async function startGrpc(): Promise<EchoPeer> {
  const { shown, take } = createShown()
  const codes = Array.from({ length: 16 }, (_, at) => `grpc ${at + 1}`)
  const peer = await listenGrpc((stream, { headers, envelope: { request_id: requestId, input } }) => {
    const secrets = take(headers)
    const way = wayOf(input)
    const message = encodeURIComponent(secrets[0] ?? '')
    const [, code] = /^grpc (\d+)$/.exec(way) ?? []
    if (code !== undefined) answerStatus(stream, code, { 'grpc-message': message, 'x-echo': message })
    else if (way === 'no-json') answerRaw(stream, Buffer.from(secrets.join()), { 'grpc-status': '0' })
    else if (way === 'not-grpc') answerRaw(stream, Buffer.from(secrets.join()), undefined, { ':status': 500 })
    else answerMessage(stream, envelope(way, requestId, secrets))
  })
  return {
    spec: { type: 'grpc', endpoint: peer.address, grpc: { plaintext: true } },
    ways: [...codes, 'no-json', 'not-grpc', ...ENVELOPE_WAYS],
    shown,
    close: peer.close,
  }
}

/** A program that prints its variables in every form. It notes in a file which it was given. */
const PROGRAM = (forms: string) => `
import { appendFileSync } from 'node:fs'
import { echoOf } from '${forms}'
const secrets = Object.entries(process.env).filter(([name]) => name.startsWith('CANARY')).map(([, value]) => value)
appendFileSync(process.env.NOTES, JSON.stringify(secrets) + '\\n')
const echo = echoOf(secrets)
const text = JSON.stringify({ echo, keys: Object.fromEntries(echo.map((one) => [one, 1])) })
const way = process.argv[2]
if (way === 'stderr') console.error(text)
else if (way === 'text') console.log(echo.join('\\n'))
else if (way === 'no-json') console.log(text.slice(0, -3))
else if (way === 'too-large') console.log(JSON.stringify(text.repeat(Math.ceil(2e6 / text.length))))
else console.log(text)
if (way === 'slow') setTimeout(() => {}, 600_000)
process.exitCode = way.startsWith('exit ') ? Number(way.slice(5)) : way === 'stderr' ? 1 : 0
`

async function startCli(): Promise<EchoPeer> {
  const folder = mkdtempSync(join(tmpdir(), 'writ-echo-cli-'))
  const command = join(folder, 'echo.mjs')
  const notes = join(folder, 'notes')
  const forms = new URL('secret-forms.ts', import.meta.url).href
  writeFileSync(command, `#!${process.execPath}${PROGRAM(forms)}`, { mode: 0o700 })
  const cli = { command, args: ['{{.way}}'], env: { NOTES: notes }, output: 'both' }
  return {
    spec: { type: 'cli', cli, runtime: { isolation_mode: 'none', timeout: '3s' } },
    asVariables: true,
    serverEnv: { WRIT_CLI_ALLOW: command },
    ways: ['json', 'text', 'stderr', 'no-json', 'too-large', 'slow', 'exit 1', 'exit 3', 'exit 70'],
    get shown() {
      const lines = readFileSync(notes, 'utf8').trim().split('\n')
      return new Set(lines.flatMap((line) => JSON.parse(line) as string[]))
    },
    close: async () => rmSync(folder, { recursive: true, force: true }),
  }
}

async function startHttpMcp(): Promise<EchoPeer> {
  const { shown, take } = createShown()
  return { ...(await startMcpHttp(take, answerHttp, HTTP_WAYS)), shown }
}

export const ECHO_PEERS: Readonly<Record<string, () => Promise<EchoPeer>>> = {
  http: startHttp,
  external: startExternal,
  'webhook-callback': startWebhook,
  grpc: startGrpc,
  cli: startCli,
  'mcp over http': startHttpMcp,
  'mcp over stdio': startMcpStdio,
}
