// What an MCP server of the matrix says to a message, over whatever wire.
import type { JsonObject } from '../../src/util/json.ts'
import { failure, handshake, type Message, result } from '../fixtures/mcp-peer/answer.ts'
import { OUTPUT_SCHEMA } from './row-subject.ts'
import { saidJson } from './row-voice.ts'

export type McpSaid =
  | { readonly kind: 'messages'; readonly messages: readonly object[] }
  /** It takes note, or hangs. */
  | { readonly kind: 'nothing' }
  /** It begins an answer with `head`, and either ends in the midst of it or goes on without end. */
  | { readonly kind: 'cut' | 'pour'; readonly head: string }

const messages = (...all: readonly object[]): McpSaid => ({ kind: 'messages', messages: all })

/** `offered`: the names of its tools. `said`: its own words. */
export function mcpAnswer(message: Message, offered: readonly string[], said: readonly string[]): McpSaid {
  const greeting = handshake(message, 'modern')
  if (greeting !== undefined) return messages(greeting)
  const { id, method } = message
  if (method === 'tools/list') {
    const tools = offered.map((name) => definition(name, said))
    return messages(result(id, { tools, ttlMs: 0, cacheScope: 'private' }))
  }
  return method === 'tools/call' && id !== undefined ? called(message, said) : { kind: 'nothing' }
}

function definition(name: string, said: readonly string[]): JsonObject {
  const text = said.join(' ')
  return {
    name,
    title: said[0] ?? '',
    description: text,
    inputSchema: { type: 'object', properties: { n: { type: 'string', description: text } } },
    ...(name === 'echo' ? { outputSchema: OUTPUT_SCHEMA } : {}),
    annotations: { title: said[0] ?? '' },
  }
}

function called({ id, params }: Message, said: readonly string[]): McpSaid {
  const text = said.join(' ')
  const content = [{ type: 'text', text }]
  const refused = (code: number): McpSaid =>
    messages({ ...failure(id, code, text), error: { code, message: text, data: saidJson(said) } })
  switch (params?.name) {
    case 'echo': {
      const told = { progressToken: params._meta?.progressToken, progress: 1, message: text }
      const progress = { jsonrpc: '2.0', method: 'notifications/progress', params: told }
      const structuredContent = { ...params.arguments, ...saidJson(said) }
      return messages(
        ...(told.progressToken === undefined ? [] : [progress]),
        result(id, { content, structuredContent, _meta: saidJson(said) }),
      )
    }
    case 'reject':
      return refused(-32602)
    case 'fail':
      return refused(-32603)
    case 'invalid-output':
      return messages({ jsonrpc: '2.0', id, result: text })
    case 'cut-mid-body':
    case 'huge': {
      const head = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[{"type":"text","text":"`
      return { kind: params.name === 'huge' ? 'pour' : 'cut', head: head + JSON.stringify(text).slice(1, -1) }
    }
    default:
      return { kind: 'nothing' }
  }
}
