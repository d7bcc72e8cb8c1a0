// The tool of the matrix, over real HTTP: how it fails is in its path, and what it did is in its log.
//
// `/CLASS/MOMENT/NAME/act` fails at that moment, for the first request to it only; later ones are served. One that must not
// be reached at all is on a port of its own, which is closed until the test opens it.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

export const MOMENTS = ['before send', 'after send', 'after effect', 'after reply', 'late'] as const
export type Moment = (typeof MOMENTS)[number]

/** What one tool of the matrix has seen and done. */
export interface Trail {
  sends: number
  effects: number
  /** Sends up to this one fail: the tool has said that they did nothing. */
  fencedUpTo: number
  held: number
}

export interface MatrixPeer {
  readonly origin: string
  /** Refuses connections until `open`. */
  readonly closedOrigin: string
  open(): Promise<void>
  shut(): Promise<void>
  /** By path, such as `/keyed/late/once`. */
  trail(path: string): Trail
  close(): Promise<void>
}

/** How long a late request is held before it has its effect; longer than any call of the matrix listens. */
export const LATE_MS = 3_000
/** A fencing tool is asked while it still holds the request. */
export const FENCED_LATE_MS = 6_000

export async function startMatrixPeer(): Promise<MatrixPeer> {
  const trails = new Map<string, Trail>()
  const trail = (path: string): Trail => {
    const found = trails.get(path) ?? { sends: 0, effects: 0, fencedUpTo: 0, held: 0 }
    trails.set(path, found)
    return found
  }
  const stop = new AbortController()

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    await drain(request)
    const [, kind = '', moment = '', name = '', verb = ''] = (request.url ?? '').split('/')
    const at = trail(`/${kind}/${moment}/${name}`)
    const attempt = Number(request.headers['writ-attempt'])
    if (verb === 'status') return answer(response, 200, status(kind, at, attempt))
    at.sends++
    const fails = at.sends === 1 ? moment : ''
    if (fails === 'after-send') return cut(response)
    if (fails === 'late') {
      at.held++
      await sleep(kind === 'fencing' ? FENCED_LATE_MS : LATE_MS, undefined, { signal: stop.signal })
      at.held--
    }
    if (attempt <= at.fencedUpTo) return answer(response, 422, { error: 'fenced' })
    // A read changes nothing, and a tool that is keyed or prepares remembers the key.
    const remembers = kind === 'keyed' || kind === 'two-phase'
    if (kind !== 'pure' && !(remembers && at.effects > 0)) at.effects++
    if (fails === 'after-effect') return cut(response)
    const body = { done: at.effects }
    if (fails === 'after-reply') return cutReply(response, body)
    answer(response, 200, kind === 'two-phase' ? prepared(body) : body)
  }

  function status(kind: string, at: Trail, attempt: number): Readonly<Record<string, unknown>> {
    if (at.effects > 0) return { state: 'done', output: { done: at.effects } }
    if (kind === 'fencing') at.fencedUpTo = Math.max(at.fencedUpTo, attempt)
    else if (at.held > 0) return { state: 'running' }
    return { state: 'not_done' }
  }

  const listener = (request: IncomingMessage, response: ServerResponse) => {
    serve(request, response).catch(() => cut(response))
  }
  const server = await listen(createServer(listener), 0)
  let second = await listen(createServer(listener), 0)
  const { port } = second.address() as AddressInfo
  await shutServer(second)
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    closedOrigin: `http://127.0.0.1:${port}`,
    async open() {
      second = await listen(createServer(listener), port)
    },
    shut: () => shutServer(second),
    trail,
    async close() {
      stop.abort()
      await shutServer(server)
      if (second.listening) await shutServer(second)
    },
  }
}

function prepared(output: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return { tool_contract_version: 'v1', status: 'ok', output, commit_token: 'of-the-tool' }
}

async function drain(request: IncomingMessage): Promise<void> {
  request.resume()
  await once(request, 'end')
}

function answer(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

function cut(response: ServerResponse): void {
  response.socket?.destroy()
}

/** All was done and answered, but only half of the answer arrives. */
function cutReply(response: ServerResponse, body: unknown): void {
  const text = JSON.stringify(body)
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': text.length })
  response.write(text.slice(0, -2), () => cut(response))
}

async function listen(server: Server, port: number): Promise<Server> {
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return server
}

function shutServer(server: Server): Promise<void> {
  server.closeAllConnections()
  return new Promise((resolve) => server.close(() => resolve()))
}
