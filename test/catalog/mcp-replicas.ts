// Replicas of one house over one database, and an MCP server of the official SDK over HTTP whose tools a test changes.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { createMcpHandler, fromJsonSchema, McpServer } from '@modelcontextprotocol/server'
import { createEvents, type EventMap } from '../../src/event/event.ts'
import { createRuntime, type StoreChoice } from '../../src/runtime.ts'
import type { Runtime } from '../../src/runtime-api.ts'
import type { ResourceRow } from '../../src/store/store.ts'
import type { JsonObject } from '../../src/util/json.ts'
import { until } from '../pipeline/until.ts'

/** Longer than a busy machine takes for anything. */
export const WITHIN_MS = 40_000

export interface McpReplica {
  readonly runtime: Runtime
  readonly synced: readonly EventMap['mcp:synced'][]
  /** Resolves when it has listed the tools so many times more. */
  looks(times: number): Promise<unknown>
  close(): Promise<void>
}

export async function openReplica(t: TestContext, store: StoreChoice): Promise<McpReplica> {
  const events = createEvents()
  const synced: EventMap['mcp:synced'][] = []
  events.on('mcp:synced', (event) => synced.push(event))
  const runtime = await createRuntime({ store, events, onWarning: () => {} })
  const close = () => runtime.close({ drainMs: 0 })
  t.after(close)
  return {
    runtime,
    synced,
    looks(times) {
      const wanted = synced.length + times
      return until(() => synced.length >= wanted, WITHIN_MS)
    },
    close,
  }
}

export async function applyServer({ runtime }: McpReplica, spec: JsonObject, name = 'files'): Promise<void> {
  const text = JSON.stringify({ apiVersion: 'writ.dev/v1', kind: 'McpServer', metadata: { name }, spec })
  const outcome = await runtime.resources.apply([{ text, file: 'server.json' }])
  if (!outcome.ok) throw new Error(JSON.stringify(outcome.problems))
}

/** The tools as they are kept, in the order of their names. */
export async function toolRows({ runtime }: McpReplica): Promise<readonly ResourceRow[]> {
  const rows = await runtime.resources.list({ namespace: 'default', kind: 'Tool' })
  return rows.toSorted((one, other) => one.name.localeCompare(other.name))
}

export interface Offered {
  readonly name: string
  readonly description: string
}

export interface McpService {
  readonly endpoint: string
  /** How often its tools were listed. */
  lists(): number
  /** Changes its tools, and says so to everybody who listens. */
  offer(tools: readonly Offered[]): void
  /** From now on a list waits until it is let go. */
  hold(): void
  /** Lets the list go that waits for longest; without `one` all, and nobody waits any more. */
  letGo(one?: 'one'): void
}

export async function startService(t: TestContext, first: readonly Offered[]): Promise<McpService> {
  let tools = first
  let lists = 0
  let held: (() => void)[] | undefined
  const handler = createMcpHandler(() => sdkServer(tools))
  const listener = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString()
    if (body.includes('"tools/list"')) {
      lists++
      if (held !== undefined) await new Promise<void>((resolve) => held?.push(resolve))
    }
    const headers = new Headers(request.headers as Record<string, string>)
    const asked = new Request(service.endpoint, {
      method: request.method ?? 'POST',
      headers,
      ...(body === '' ? {} : { body }),
    })
    const answered = await handler.fetch(asked)
    response.writeHead(answered.status, Object.fromEntries(answered.headers))
    for await (const chunk of answered.body ?? []) response.write(chunk)
    response.end()
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  t.after(async () => {
    await handler.close()
    listener.closeAllConnections()
    listener.close()
  })
  const service: McpService = {
    endpoint: `http://127.0.0.1:${(listener.address() as AddressInfo).port}/mcp`,
    lists: () => lists,
    offer(next) {
      tools = next
      handler.notify.toolsChanged()
    },
    hold() {
      held = []
    },
    letGo(one) {
      const waiting = held ?? []
      if (one === undefined) held = undefined
      for (const resolve of waiting.splice(0, one === undefined ? waiting.length : 1)) resolve()
    },
  }
  return service
}

function sdkServer(tools: readonly Offered[]): McpServer {
  const server = new McpServer({ name: 'changing', version: '1.0.0' })
  const schema = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] } as const
  for (const { name, description } of tools) {
    const inputSchema = fromJsonSchema<{ path: string }>(schema)
    server.registerTool(name, { description, inputSchema }, ({ path }) => ({
      content: [],
      structuredContent: { tool: name, path },
    }))
  }
  return server
}
