// What an MCP server says that its tools are: all pages of it, and not without bounds.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { McpFailed } from '../../src/transport/mcp/session.ts'
import { createMcpSessions } from '../../src/transport/mcp/sessions.ts'
import { Abort } from '../../src/util/abort.ts'
import type { Json } from '../../src/util/json.ts'
import { handshake, type Message } from '../fixtures/mcp-peer/answer.ts'
import { makeServer, makeWorld } from './mcp-harness.ts'
import { listenHttp, sendJson } from './tool-peer.ts'

describe('the list of tools', () => {
  const tool = (name: string) => ({ name, inputSchema: { type: 'object' } })
  const listOf = async (page: (cursor: string | undefined) => Json) => {
    const world = makeWorld()
    const peer = await listenHttp((request, response) => {
      const message = JSON.parse(request.body) as Message & { params?: { cursor?: string } }
      const result = page(message.params?.cursor)
      sendJson(
        response,
        (handshake(message, 'modern') ?? { jsonrpc: '2.0', id: message.id ?? 0, result }) as Json,
      )
    })
    const sessions = createMcpSessions({ world })
    const server = makeServer({ kind: 'http', endpoint: peer.origin, allow: [], reach: 'loopback' })
    try {
      return await sessions.use(server, new Abort(), (session) => session.listTools(new Abort()))
    } finally {
      await sessions.close()
      await world.network.close()
      await peer.close()
    }
  }
  const whole = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' }

  it('has all pages, and what is no tool does not hide the others', async () => {
    const listed = await listOf((cursor) =>
      cursor === undefined
        ? { ...whole, tools: [tool('a'), { name: 42 }, 'no tool'], nextCursor: 'next' }
        : { ...whole, tools: [{ name: 'b', inputSchema: 'none' }] },
    )
    assert.deepEqual(
      listed.map(({ name }) => name),
      ['a', 'b'],
    )
    assert.deepEqual(listed[1]?.inputSchema, { type: 'object' })
  })

  it('that cannot be kept is refused without a word of the server', async () => {
    const odd = { type: 'object', 'canary-0123456789': 2 ** 60 }
    await assert.rejects(
      listOf(() => ({ ...whole, tools: [{ name: 'a', inputSchema: odd }] })),
      (error) =>
        error instanceof McpFailed && /cannot be kept/.test(error.message) && !/canary/.test(error.message),
    )
  })

  it('that never ends, or is too large, is refused', async () => {
    let page = 0
    await assert.rejects(
      listOf(() => ({ ...whole, tools: [], nextCursor: String(page++) })),
      (error) => error instanceof McpFailed && /more than 64 pages/.test(error.message),
    )
    const many = Array.from({ length: 5_001 }, (_, index) => tool(`tool-${index}`))
    await assert.rejects(
      listOf(() => ({ ...whole, tools: many })),
      (error) => error instanceof McpFailed && /more than 5000 tools/.test(error.message),
    )
  })
})
