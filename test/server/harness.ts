// A real server on a free port over a real runtime, with tools that do what a test asks.
import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { Agent, request } from 'undici'
import { createTokenKeys } from '../../src/identity/key-file.ts'
import { createIsRevoked } from '../../src/identity/revoked.ts'
import { createRuntime, defineTool, type NativeToolDefinition, type Runtime } from '../../src/index.ts'
import { createWorld } from '../../src/runtime.ts'
import {
  createAuthenticator,
  createServer,
  createTokenDoor,
  type Server,
  type ServerOptions,
} from '../../src/server/index.ts'
import { createMetrics, type Metrics } from '../../src/telemetry/metrics.ts'
import type { World } from '../../src/util/world.ts'

export const TOKEN = 'test-token-0123456789-0123456789'

/** What the tools of a harness did. */
export interface Effects {
  readonly done: string[]
  /** Reasons of aborted sends. */
  readonly aborted: unknown[]
}

function tools(effects: Effects): NativeToolDefinition[] {
  const read = { class: 'read-only', determinism: 'pure' } as const
  return [
    defineTool({ name: 'echo', version: '1.0.0', effect: read, handler: (input) => ({ said: input }) }),
    defineTool({
      name: 'wait',
      version: '1.0.0',
      input: {
        type: 'object',
        properties: { ms: { type: 'integer' } },
        required: ['ms'],
        additionalProperties: false,
      },
      effect: read,
      handler: (input, context) => pause((input as { ms: number }).ms, context.signal, effects),
    }),
    defineTool({
      name: 'post',
      version: '1.0.0',
      input: {
        type: 'object',
        properties: { text: { type: 'string' }, ms: { type: 'integer' } },
        required: ['text'],
        additionalProperties: false,
      },
      effect: { class: 'external-communication', determinism: 'side_effectful' },
      async handler(input, context) {
        const { text, ms = 0 } = input as { text: string; ms?: number }
        if (ms > 0) await pause(ms, context.signal, effects)
        effects.done.push(text)
        return { posted: text }
      },
    }),
    defineTool({
      name: 'busy',
      version: '1.0.0',
      effect: read,
      spec: { limits: { rate: '1/h' } },
      handler: () => ({}),
    }),
    defineTool({
      name: 'pay',
      version: '1.0.0',
      input: {
        type: 'object',
        properties: { amount: { type: 'integer' } },
        required: ['amount'],
        additionalProperties: false,
      },
      effect: { class: 'reversible-write', determinism: 'side_effectful', compensation: 'refund' },
      spec: { approval_triggers: [{ field: '/amount', op: 'gt', value: 100 }] },
      handler: () => ({ paid: true }),
      operations: { refund: { effect: { class: 'irreversible' }, handler: () => ({}) } },
    }),
  ]
}

function pause(ms: number, signal: AbortSignal, effects: Effects): Promise<{ waited: number }> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve({ waited: ms }), ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      effects.aborted.push(signal.reason)
      reject(new Error('aborted'))
    })
  })
}

export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: what a body holds is the question of each test
  readonly body: any
}

export interface RequestOptions {
  readonly body?: string | Uint8Array | object
  readonly headers?: Readonly<Record<string, string | undefined>>
  /** null sends none. @default the admin's */
  readonly token?: string | null
}

export interface Harness {
  readonly url: string
  readonly port: number
  readonly runtime: Runtime
  readonly server: Server
  readonly metrics: Metrics
  readonly effects: Effects
  /** What the server wrote to its log. */
  readonly logged: { readonly err: unknown }[]
  request(method: string, path: string, options?: RequestOptions): Promise<Reply>
  /** A v1 call. */
  call(
    tool: string,
    input: unknown,
    options?: RequestOptions & { readonly envelope?: object },
  ): Promise<Reply>
  /** The call with this id, once it is written: reads and refusals are, a moment after their answer (S34). */
  record(id: unknown, query?: string): Promise<Reply>
  socket(): Promise<RawSocket>
  close(): Promise<void>
}

/** `withCommon` gets what another server over the same runtime needs. */
export async function startHarness(
  options: Partial<ServerOptions> = {},
  withCommon: (common: Omit<ServerOptions, 'host' | 'port'>) => void = () => {},
): Promise<Harness> {
  const effects: Effects = { done: [], aborted: [] }
  const world = createWorld()
  const runtime = await createRuntime({ world, tools: tools(effects) })
  const metrics = createMetrics({ events: runtime.events, health: () => runtime.health() })
  const logged: { err: unknown }[] = []
  const common = {
    runtime,
    world,
    metrics,
    ...identityOf(runtime, world),
    logger: { error: (fields: object) => logged.push(fields as { err: unknown }), warn: () => {} } as never,
  }
  withCommon(common)
  const server = await createServer({
    ...common,
    host: '127.0.0.1',
    port: 0,
    ...options,
  })
  const letGo = async (): Promise<void> => {
    await server.close()
    await runtime.close({ drainMs: 1000 })
    await metrics.close()
    await world.network.close()
  }
  const { url } = await server.listen().catch(async (error: unknown) => {
    await letGo()
    throw error
  })
  const port = Number(new URL(url).port)
  const agent = new Agent({ keepAliveTimeout: 1000 })
  const sockets = new Set<Socket>()
  let ids = 0

  const harness: Harness = {
    url,
    port,
    runtime,
    server,
    metrics,
    effects,
    logged,
    async request(method, path, { body, headers = {}, token = TOKEN } = {}) {
      const raw = typeof body === 'string' || body instanceof Uint8Array
      const response = await request(url + path, {
        dispatcher: agent,
        method: method as 'GET',
        headers: Object.fromEntries(
          Object.entries({
            ...(token === null ? {} : { authorization: `Bearer ${token}` }),
            ...(body === undefined ? {} : { 'content-type': 'application/json' }),
            ...headers,
          }).filter(([, value]) => value !== undefined),
        ) as Record<string, string>,
        ...(body === undefined ? {} : { body: raw ? body : JSON.stringify(body) }),
      })
      const text = await response.body.text()
      const isJson = String(response.headers['content-type']).startsWith('application/json')
      return {
        status: response.statusCode,
        headers: response.headers,
        text,
        body: isJson && text !== '' ? JSON.parse(text) : undefined,
      }
    },
    call(tool, input, { envelope = {}, ...rest } = {}) {
      const body = { request_id: `r-${process.pid}-${++ids}`, tool: { name: tool }, input, ...envelope }
      return harness.request('POST', '/v1/calls', { body, ...rest })
    },
    async record(id, query = '') {
      for (let i = 0; ; i++) {
        const reply = await harness.request('GET', `/v1/calls/${id}${query}`)
        if (i === 100 || (reply.status === 200 && reply.body.state !== 'running')) return reply
        await new Promise((resolve) => setTimeout(resolve, 10))
      }
    },
    async socket() {
      const socket = connect(port, '127.0.0.1')
      sockets.add(socket)
      await new Promise((resolve) => socket.once('connect', resolve))
      return rawSocket(socket)
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      await agent.destroy()
      await letGo()
    },
  }
  return harness
}

/** The admin's token, and tokens of keys that end with the server. */
function identityOf(runtime: Runtime, world: World) {
  const own = { keys: createTokenKeys(world), audience: 'writ' }
  return {
    authenticate: createAuthenticator({
      world,
      adminToken: TOKEN,
      own,
      isRevoked: createIsRevoked(runtime.stops),
    }),
    tokens: createTokenDoor({
      ...own,
      world,
      held: (caller) => runtime.held(caller),
      record: (namespace, type, body) => runtime.record(namespace, type, body),
      stops: runtime.stops,
    }),
  }
}

export interface RawSocket {
  readonly socket: Socket
  /** All that was received. */
  text(): string
  /** Resolves once the text matches, or the socket ends; rejects after `ms`. */
  until(pattern: RegExp, ms?: number): Promise<string>
  closed: Promise<void>
  write(data: string | Uint8Array): void
}

function rawSocket(socket: Socket): RawSocket {
  let received = ''
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1')
  })
  // A peer that resets is one of the ways to be refused.
  socket.on('error', () => {})
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  return {
    socket,
    text: () => received,
    closed,
    write: (data) => void socket.write(data),
    until(pattern, ms = 10_000) {
      return new Promise((resolve, reject) => {
        const timer = setTimeout(
          () => stop(() => reject(new Error(`nothing like ${pattern} in: ${received.slice(0, 500)}`))),
          ms,
        )
        const look = (): void => {
          if (pattern.test(received)) stop(() => resolve(received))
        }
        const end = (): void =>
          stop(() =>
            pattern.test(received)
              ? resolve(received)
              : reject(new Error(`closed without ${pattern}: ${received.slice(0, 500)}`)),
          )
        const stop = (settle: () => void): void => {
          clearTimeout(timer)
          socket.off('data', look).off('close', end)
          settle()
        }
        socket.on('data', look).on('close', end)
        look()
      })
    },
  }
}

/** Nothing of the inside is shown: no framework, no file, no stack. */
export function assertClean(text: string): void {
  assert.equal(
    /FST_|node_modules|\/src\/|\bat \w+ \(|statusCode|\.ts:\d/.test(text),
    false,
    text.slice(0, 500),
  )
}
