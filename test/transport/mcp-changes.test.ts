// Words of an MCP server over HTTP that its tools changed: the stream of the older revision, the subscription of the newer.
import assert from 'node:assert/strict'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { createMcpHandler } from '@modelcontextprotocol/server'
import { createMcpSessions } from '../../src/transport/mcp/sessions.ts'
import { Abort } from '../../src/util/abort.ts'
import type { Json } from '../../src/util/json.ts'
import { failure, handshake, type Message, result, success } from '../fixtures/mcp-peer/answer.ts'
import { createSdkServer } from '../fixtures/mcp-sdk/server.ts'
import { makeServer, makeWorld } from './mcp-harness.ts'
import { listenHttp, sendJson } from './tool-peer.ts'

/** Listens to a server; `revision` is what is spoken with it. */
async function listenTo(t: TestContext, origin: string, world = makeWorld()) {
  const sessions = createMcpSessions({ world })
  t.after(async () => {
    await sessions.close()
    await world.network.destroy()
  })
  const endpoint = `${origin}/mcp`
  const server = makeServer({ kind: 'http', endpoint, allow: [], reach: 'loopback' })
  let hear = () => {}
  let times = 0
  const heard = new Promise<void>((resolve) => {
    hear = resolve
  })
  const revision = await sessions.use(server, new Abort(), async (session) => {
    session.onToolsChanged(() => {
      times++
      hear()
    })
    await session.listTools(new Abort())
    return session.revision
  })
  return { heard, revision, times: () => times, sessions }
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

/** A server of the newer revision; `subscribed` answers the questions for its words, the first one, the second one, … */
async function subscribable(
  t: TestContext,
  subscribed: (response: ServerResponse, id: Message['id'], count: number) => void,
) {
  let count = 0
  const peer = await listenHttp((request, response) => {
    const message = JSON.parse(request.body) as Message
    const said = handshake(message, 'modern')
    if (said !== undefined) sendJson(response, said as Json)
    else if (message.method === 'subscriptions/listen') subscribed(response, message.id, ++count)
    else if (message.method === 'tools/list')
      sendJson(response, result(message.id, { tools: [], ttlMs: 0, cacheScope: 'private' }) as Json)
    else response.writeHead(202).end()
  })
  t.after(() => peer.close())
  return { origin: peer.origin, count: () => count }
}

/** Opens the stream of a subscription; what it is given is said in it. */
function acknowledge(response: ServerResponse, id: Message['id']): (message: object) => void {
  const say = (message: object) => void response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`)
  const about = { 'io.modelcontextprotocol/subscriptionId': id }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const params = { _meta: about, notifications: { toolsListChanged: true } }
  say({ jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params })
  return say
}

/** Whose pauses of this module are over at once, and written down. */
function impatient() {
  const world = makeWorld()
  const pauses: number[] = []
  const after: typeof world.after = (ms, run) => {
    if (ms % 500 !== 0) return world.after(ms, run)
    pauses.push(ms)
    return world.after(0, run)
  }
  return { world: { ...world, random: () => 0, after }, pauses }
}

test('2026-07-28: a subscription that fails or ends is opened again, after pauses that double', async (t) => {
  const { world, pauses } = impatient()
  let opened = (_say: (message: object) => void) => {}
  const stream = new Promise<(message: object) => void>((resolve) => {
    opened = resolve
  })
  const { origin } = await subscribable(t, (response, id, count) => {
    if (count === 1) return void response.writeHead(503).end()
    if (count === 2) return sendJson(response, failure(id, -32603, 'too many subscriptions') as Json)
    const say = acknowledge(response, id)
    if (count === 3) response.end()
    // The server ends it of its own will.
    else if (count === 4) {
      say(result(id, { _meta: { 'io.modelcontextprotocol/subscriptionId': id } }))
      response.end()
    } else opened(say)
  })
  const { heard, times } = await listenTo(t, origin, world)
  const say = await stream
  assert.deepEqual(pauses, [500, 1_000, 2_000, 4_000])
  // Once for each time it was open again: what was said in between is not said again.
  await heard
  while (times() < 3) await new Promise((resolve) => setImmediate(resolve))
  const word = { _meta: { 'io.modelcontextprotocol/subscriptionId': 'listen:4' } }
  say({ jsonrpc: '2.0', method: 'notifications/tools/list_changed', params: word })
  while (times() < 4) await new Promise((resolve) => setImmediate(resolve))
})

test('2026-07-28: a server that knows of no subscriptions is asked once', async (t) => {
  const { world, pauses } = impatient()
  let asked = () => {}
  const question = new Promise<void>((resolve) => {
    asked = resolve
  })
  const { origin, count } = await subscribable(t, (response, id) => {
    sendJson(response, failure(id, -32601, 'unknown method') as Json)
    asked()
  })
  const { sessions } = await listenTo(t, origin, world)
  await question
  await sessions.close()
  assert.deepEqual([count(), pauses], [1, []])
})
