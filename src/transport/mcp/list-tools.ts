// All tools that a server offers, page by page and bounded.
import {
  type Client,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  type Transport as SdkTransport,
} from '@modelcontextprotocol/client'
import { isJsonObject, type Json, type JsonObject } from '../../util/json.ts'
import { copyAsJson } from '../json-copy.ts'
import { isUnreadable } from './reply.ts'
import { McpFailed, type McpToolDefinition } from './session.ts'
import { UNREADABLE } from './unreadable.ts'

const MAX_PAGES = 64
const MAX_TOOLS = 5_000
const MAX_BYTES = 8 * 1_048_576
const PAGE_MS = 30_000

/** Takes whatever comes: one odd tool must not hide the others. */
const ANYTHING = {
  '~standard': { version: 1, vendor: 'writ', validate: (value: unknown) => ({ value: value as JsonObject }) },
} as const

export async function listTools(client: Client, signal: AbortSignal): Promise<readonly McpToolDefinition[]> {
  if (client.getServerCapabilities()?.tools === undefined) return []
  const found: McpToolDefinition[] = []
  let left = MAX_BYTES
  let cursor: string | undefined
  for (let page = 0; page < MAX_PAGES; page++) {
    const request = { method: 'tools/list', params: cursor === undefined ? {} : { cursor } } as const
    const result = await client
      .request(request, ANYTHING, { signal, timeout: PAGE_MS })
      .catch((error: unknown) => {
        throw oddList(error) ?? error
      })
    const copy = copyAsJson(result, left)
    if (!copy.ok) {
      throw failed(
        copy.reason === 'too-large'
          ? `the list of tools is larger than ${MAX_BYTES} bytes`
          : // Where that is, the server has named: its names may hold a secret.
            `the list of tools cannot be kept: a value in it ${copy.violation.message}`,
      )
    }
    left -= copy.bytes
    const { tools, nextCursor } = copy.value as JsonObject
    if (!Array.isArray(tools)) throw failed('the list of tools has no tools')
    for (const tool of tools) {
      const definition = definitionOf(tool)
      if (definition !== undefined) found.push(definition)
    }
    if (found.length > MAX_TOOLS) throw failed(`the server offers more than ${MAX_TOOLS} tools`)
    if (typeof nextCursor !== 'string' || nextCursor === cursor) return found
    cursor = nextCursor
  }
  throw failed(`the list of tools has more than ${MAX_PAGES} pages`)
}

/**
 * Before the SDK reads a page, what is no tool is taken out of it, and what is odd about one is mended: the SDK would
 * refuse the whole page. Of an open connection.
 */
export function mendPages(transport: SdkTransport): void {
  const inner = transport.onmessage
  transport.onmessage = (message, extra) => {
    const result = 'result' in message ? (message.result as Json) : undefined
    if (isJsonObject(result) && Array.isArray(result.tools)) {
      const tools = result.tools.flatMap((tool) => definitionOf(tool) ?? [])
      inner?.({ ...message, result: { ...result, tools } } as never, extra)
    } else inner?.(message, extra)
  }
}

function definitionOf(tool: Json): McpToolDefinition | undefined {
  if (!isJsonObject(tool) || typeof tool.name !== 'string') return undefined
  const { name, title, description, inputSchema, outputSchema, annotations } = tool
  return {
    name,
    ...(typeof title === 'string' ? { title } : {}),
    ...(typeof description === 'string' ? { description } : {}),
    inputSchema: isJsonObject(inputSchema) ? { ...inputSchema, type: 'object' } : { type: 'object' },
    ...(isJsonObject(outputSchema) ? { outputSchema } : {}),
    ...(isJsonObject(annotations) ? { annotations } : {}),
  }
}

/** Why what came is no list; undefined where nothing came. The words of the server are not quoted. */
function oddList(error: unknown): McpFailed | undefined {
  if (error instanceof SdkError && error.code === SdkErrorCode.InvalidResult)
    return failed('the list of tools is not shaped as MCP says')
  if (isUnreadable(error) || (error instanceof ProtocolError && error.code === UNREADABLE))
    return failed('the list of tools cannot be read: it is no JSON that MCP knows, or too long')
  return error instanceof ProtocolError
    ? failed(`the server answered the question for its tools with an error (${error.code})`)
    : undefined
}

function failed(message: string): McpFailed {
  return new McpFailed({ kind: 'failure', failure: 'reply-malformed', message, definite: true })
}
