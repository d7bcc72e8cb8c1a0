// Our MCP server, over whatever wire: one tool for each tool of the suite, and how such servers are declared.
import { isJsonObject, type Json, type JsonObject } from '../../util/json.ts'
import { objectOf } from '../envelope.ts'
import type { Ask, Operations, Result } from '../operations.ts'
import { type Declaration, TOOLS } from '../tools.ts'
import type { ServedTools } from './backend.ts'

const REVISION = '2026-07-28'
const METHOD_NOT_FOUND = -32601
const INVALID_PARAMS = -32602

/** What the server says to one message; undefined where that is nothing. */
export async function answerMcp(
  message: JsonObject,
  operations: Operations,
  how: Pick<Ask, 'signal' | 'credentials'>,
): Promise<JsonObject | undefined> {
  const { id, method } = message
  if (id === undefined) return undefined
  const said = await answer(method, objectOf(message.params), operations, how)
  return { jsonrpc: '2.0', id, ...said }
}

async function answer(
  method: Json | undefined,
  params: JsonObject,
  operations: Operations,
  how: Pick<Ask, 'signal' | 'credentials'>,
): Promise<JsonObject> {
  if (method === 'server/discover') {
    const info = { name: 'conformance', version: '1.0.0' }
    return complete({
      supportedVersions: [REVISION],
      capabilities: { tools: {} },
      _meta: { 'io.modelcontextprotocol/serverInfo': info },
    })
  }
  if (method === 'tools/list') return complete({ tools: LISTED, ttlMs: 0, cacheScope: 'private' })
  if (method !== 'tools/call') return { error: { code: METHOD_NOT_FOUND, message: 'unknown method' } }
  const tool = Object.values(TOOLS).find(({ name }) => name === params.name)
  if (tool === undefined) return { error: { code: INVALID_PARAMS, message: 'no such tool' } }
  const meta = objectOf(params._meta)
  const result = await operations.run({
    operation: tool.operation,
    input: params.arguments ?? {},
    key: String(meta['writ/idempotency-key'] ?? ''),
    attempt: Number(meta['writ/attempt']),
    traceId: String(meta.traceparent ?? '').split('-')[1] ?? '',
    ...how,
  })
  return complete(resultOf(result))
}

const LISTED: Json = Object.values(TOOLS).map(({ name, operation }) => {
  const inputSchema = { type: 'object', additionalProperties: true }
  return { name, description: `The operation ${operation}`, inputSchema }
})

function complete(result: JsonObject): JsonObject {
  return { result: { resultType: 'complete', ...result } }
}

/** What a failure means is said beside its words, which are for people. */
function resultOf(result: Result): JsonObject {
  if (result.ok) return { content: [], structuredContent: result.output }
  const { code, message, retryable } = result.fault
  return {
    content: [{ type: 'text', text: message }],
    isError: true,
    _meta: { 'writ/code': code, ...(retryable === undefined ? {} : { 'writ/retryable': retryable }) },
  }
}

export interface ServerChoice {
  /** What the manifest of a server says of where it is. */
  readonly spec: JsonObject
  /** What it says of the credential that a tool declares. */
  credential(auth: NonNullable<Declaration['spec']['auth']>): JsonObject
  /** Of tools that declare none. */
  readonly isolation?: 'none'
}

/** One server for all tools without credentials, and one for each of the others: credentials are those of a server. */
export function createServedTools(choice: ServerChoice): ServedTools {
  return {
    called: (tool) => ({ name: `${serverOf(tool)}--${tool.name}`, operation: 'invoke' }),
    servers(tools) {
      const all = [...Map.groupBy(tools, serverOf).values()]
      return {
        // The tools of a server that lacks its credential could not be listed; once they are, they stay.
        untilListed: all.map((group) => manifestOf(group.map(withoutAuth), serverNameOf(group), choice)),
        onceListed: all
          .filter((group) => group.some(({ spec }) => spec.auth !== undefined))
          .map((group) => manifestOf(group, serverNameOf(group), choice)),
      }
    },
  }
}

function serverOf({ name, spec }: Declaration): string {
  return spec.auth === undefined ? 'mcp' : `mcp-${name}`
}

function serverNameOf([tool]: readonly Declaration[]): string {
  return tool === undefined ? 'mcp' : serverOf(tool)
}

function withoutAuth(tool: Declaration): Declaration {
  const { auth: _auth, ...spec } = tool.spec
  return { ...tool, spec }
}

/** The server of one tool alone. */
export function serverManifest(tool: Declaration, choice: ServerChoice): JsonObject {
  return manifestOf([tool], serverOf(tool), choice)
}

function manifestOf(tools: readonly Declaration[], name: string, choice: ServerChoice): JsonObject {
  const auth = tools.find(({ spec }) => spec.auth !== undefined)?.spec.auth
  const labels = tools.map((tool) => [tool.name, labelsOf(tool, choice.isolation)] as const)
  const manifest = {
    apiVersion: 'writ.dev/v1',
    kind: 'McpServer',
    metadata: { name },
    spec: {
      ...choice.spec,
      ...(auth === undefined ? {} : choice.credential(auth)),
      tool_filter: { include: tools.map((tool) => tool.name) },
      tools: Object.fromEntries(labels),
    },
  }
  // Through text: a spec is typed, a manifest is JSON.
  return JSON.parse(JSON.stringify(manifest))
}

function labelsOf({ effect, spec }: Declaration, isolation: 'none' | undefined): object {
  const { auth: _auth, runtime, ...labels } = spec
  return {
    ...labels,
    // Labelled either way, or every call would wait for approval.
    ...(effect === undefined ? { operation_classes: ['write'] } : { effect }),
    runtime: { ...(isolation === undefined ? {} : { isolation_mode: isolation }), ...runtime },
  }
}

/** The status of a redirect that a call asks for. */
export function redirectOf({ params }: JsonObject): number | undefined {
  const { status } = objectOf(objectOf(params).arguments)
  return typeof status === 'number' && status >= 300 && status < 400 ? status : undefined
}

/** A message as it came; undefined for what is none. */
export function messageOf(body: Json): JsonObject | undefined {
  return isJsonObject(body) && body.jsonrpc === '2.0' ? body : undefined
}
