// Words of an MCP server over HTTP that its tools changed: the stream of the older revision, the subscription of the newer.
import assert from 'node:assert/strict'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { createMcpHandler } from '@modelcontextprotocol/server'
import { createMcpSessions } from '../../src/transport/mcp/sessions.ts'
import { Abort } from '../../src/util/abort.ts'
import type { Json } from '../../src/util/json.ts'
import { handshake, type Message, success } from '../fixtures/mcp-peer/answer.ts'
import { createSdkServer } from '../fixtures/mcp-sdk/server.ts'
import { makeServer, makeWorld } from './mcp-harness.ts'
import { listenHttp, sendJson } from './tool-peer.ts'

/** Listens to a server; `revision` is what is spoken with it. */
async function listenTo(t: TestContext, origin: string) {
  const world = makeWorld()
  const sessions = createMcpSessions({ world })
  t.after(async () => {
    await sessions.close()
    await world.network.destroy()
  })
  const endpoint = `${origin}/mcp`
  const server = makeServer({ kind: 'http', endpoint, allow: [], reach: 'loopback' })
  let hear = () => {}
  const heard = new Promise<void>((resolve) => {
    hear = resolve
  })
  const revision = await sessions.use(server, new Abort(), async (session) => {
    session.onToolsChanged(hear)
    await session.listTools(new Abort())
    return session.revision
  })
  return { heard, revision }
}

test('2025-11-25: what the server says by itself in its stream is heard', async (t) => {
  let opened = (_stream: ServerResponse) => {}
  const stream = new Promise<ServerResponse>((resolve) => {
    opened = resolve
  })
  const peer = await listenHttp((request, response) => {
    if (request.method === 'GET') {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
      return opened(response)
    }
    if (request.method !== 'POST') return void response.writeHead(200).end()
    const message = JSON.parse(request.body) as Message
    const said = handshake(message, 'legacy')
    if (said !== undefined) sendJson(response, said as Json)
    else if (message.method === 'tools/list') sendJson(response, success(message.id, { tools: [] }) as Json)
    else response.writeHead(202).end()
  })
  t.after(() => peer.close())
  const { heard, revision } = await listenTo(t, peer.origin)
  assert.equal(revision, '2025-11-25')
  const word = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' }
  const open = await stream
  open.write(`event: message\ndata: ${JSON.stringify(word)}\n\n`)
  await heard
  open.end()
})

test('2026-07-28: a server of the official SDK is subscribed to', async (t) => {
  let subscribed = () => {}
  const subscription = new Promise<void>((resolve) => {
    subscribed = resolve
  })
  const handler = createMcpHandler(createSdkServer)
  const listener = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString()
    const headers = new Headers(request.headers as Record<string, string>)
    const answered = await handler.fetch(
      new Request(`http://${request.headers.host}/mcp`, { method: 'POST', headers, body }),
    )
    response.writeHead(answered.status, Object.fromEntries(answered.headers))
    for await (const chunk of answered.body ?? []) {
      response.write(chunk)
      if (body.includes('subscriptions/listen')) subscribed()
    }
    response.end()
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  t.after(async () => {
    await handler.close()
    listener.closeAllConnections()
    listener.close()
  })
  const { port } = listener.address() as AddressInfo
  const { heard, revision } = await listenTo(t, `http://127.0.0.1:${port}`)
  assert.equal(revision, '2026-07-28')
  await subscription
  handler.notify.toolsChanged()
  await heard
})
