// The egress rules from the caller's side: what is refused before anything is sent, and what that means for the key.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Resolve } from '../../src/egress/dial.ts'
import { createNetwork } from '../../src/egress/network.ts'
import { createRuntime } from '../../src/runtime.ts'
import { createSystemWorld } from '../../src/util/clock.ts'
import type { JsonObject } from '../../src/util/json.ts'
import { listenHttp } from '../transport/tool-peer.ts'

async function opened(t: TestContext, spec: (port: string) => string, address = '127.0.0.1') {
  const peer = await listenHttp((_request, response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end('"reached"'),
  )
  /** Every name stands for what the test says. */
  const stands = { address }
  const resolve: Resolve = (_name, _options, callback) =>
    callback(null, [{ address: stands.address, family: 4 }])
  const network = createNetwork({ resolve })
  const world = createSystemWorld({ network })
  const runtime = await createRuntime({ world, onWarning: () => {} })
  t.after(async () => {
    await runtime.close({ drainMs: 0 })
    await network.destroy()
    await peer.close()
  })
  const manifest = `
apiVersion: writ.dev/v1
kind: Tool
metadata: { name: remote }
spec: ${spec(new URL(peer.origin).port)}
`
  const applied = await runtime.resources.apply([{ text: manifest, file: 'remote.yaml' }])
  assert.ok(applied.ok, JSON.stringify(applied.problems))
  const door = runtime.as({ actor: 'ann', permissions: ['tool:remote:invoke'] })
  return {
    peer,
    stands,
    call: (input: JsonObject, key = 'k1') => door.call({ tool: 'remote', input, idempotencyKey: key }),
  }
}

test('a name that leads inside is denied at once, for good, and the key is free again', async (t) => {
  const write = (port: string) =>
    `{ type: http, endpoint: 'http://tool.example.com:${port}/', runtime: { retry: { max_attempts: 3 } }, effect: { class: irreversible, identity: [a] } }`
  const { peer, stands, call } = await opened(t, write, '10.0.0.1')
  const denied = await call({ a: 1 })
  assert.deepEqual(
    [denied.state, denied.failure?.id, denied.failure?.retryable, denied.effect],
    ['denied', 'egress-denied', false, 'not-done'],
  )
  assert.match(denied.failure?.message ?? '', /private address/)
  assert.equal(peer.connections(), 0)
  stands.address = '127.0.0.1'
  const later = await call({ a: 1 })
  assert.deepEqual([later.state, later.replayed], ['succeeded', false])
})

test('an input that does not fit into a query is invalid before anything is decided or sent', async (t) => {
  const { peer, call } = await opened(
    t,
    (port) =>
      `{ type: http, endpoint: 'http://tool.example.com:${port}/?lang=en', http: { method: GET }, effect: { class: read-only } }`,
  )
  for (const input of [{ q: { deep: 1 } }, { q: [1] }, { lang: 'de' }]) {
    const answer = await call(input)
    assert.deepEqual([answer.state, answer.failure?.id], ['invalid', 'input-invalid'])
  }
  assert.equal(peer.received.length, 0)
  assert.equal((await call({ q: 'x y' }, 'k2')).output, 'reached')
  assert.equal(peer.received[0]?.path, '/?lang=en&q=x%20y')
})

test('seed 002: a tool of high risk runs, held to its own endpoint', async (t) => {
  const { call } = await opened(
    t,
    (port) =>
      `{ type: http, risk_level: high, endpoint: 'http://localhost:${port}/', effect: { class: read-only } }`,
  )
  const answer = await call({})
  assert.deepEqual([answer.state, answer.output], ['succeeded', 'reached'])
})
