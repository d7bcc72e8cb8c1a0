// What operators are told of an MCP server that cannot be reached, or that lacks what its manifest names.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../src/util/json.ts'
import { listenHttp } from '../transport/tool-peer.ts'
import { createMcpHouse, READ } from './mcp-house.ts'

const ONCE = { max_attempts: 1, backoff: '10ms' }

async function errorOf(t: { after(run: () => Promise<void>): void }, spec: JsonObject): Promise<string> {
  const house = await createMcpHouse([])
  t.after(house.close)
  const head = { apiVersion: 'writ.dev/v1', kind: 'McpServer', metadata: { name: 'gone' } }
  await house.apply(JSON.stringify({ ...head, spec: { ...spec, reconnect: ONCE } }))
  await house.until(({ phase }) => phase === 'Error', 0)
  return String(house.runtime.mcp.status('default', 'gone')?.lastError)
}

test('a program that is not there is named, with what to do', async (t) => {
  const said = await errorOf(t, { transport: 'stdio', command: 'writ-no-such-program --serve' })
  assert.match(said, /program 'writ-no-such-program' could not be started \(ENOENT\)/)
  assert.match(said, /Fix: install it where PATH leads, or correct its rights or spec\.command$/)
})

test('a service that is not there refused the connection, and its origin is named', async (t) => {
  const peer = await listenHttp(() => {})
  await peer.close()
  const said = await errorOf(t, { transport: 'http', endpoint: `${peer.origin}/mcp` })
  assert.ok(said.includes(`(${peer.origin} refused the connection)`), said)
})

test('a port that HTTP is not spoken at is said to be one', async (t) => {
  const said = await errorOf(t, { transport: 'http', endpoint: 'http://127.0.0.1:9/mcp' })
  assert.match(said, /\(http:\/\/127\.0\.0\.1:9 has a port that is kept for other protocols/)
})

test('a service that speaks something else is said to', async (t) => {
  const peer = await listenHttp((_, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Hello</h1>')
  })
  t.after(() => peer.close())
  const said = await errorOf(t, { transport: 'http', endpoint: `${peer.origin}/mcp` })
  assert.ok(said.includes(`${peer.origin} does not answer as an MCP server does`), said)
})

test('a label for a tool that the server lacks is in its status, with the name that may be meant', async (t) => {
  const house = await createMcpHouse([READ])
  t.after(house.close)
  const label = { effect: { class: 'read-only' } }
  await house.apply(house.manifest({ tools: { read_file: label, read_files: label } }))
  await house.until(({ phase }) => phase === 'Ready', 0)
  const status = house.runtime.mcp.status('default', 'files')
  assert.deepEqual(status?.generatedTools, ['files--read-file'])
  const why = 'spec.tools has labels for it, and the server offers no such tool; did you mean read_file?'
  assert.deepEqual(status?.refusedTools, [{ name: 'read_files', why }])
})
