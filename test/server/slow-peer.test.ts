// Peers that send slowly, never stop, or come in numbers hold nothing for long.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Harness, startHarness, TOKEN } from './harness.ts'

let h: Harness
before(async () => {
  h = await startHarness({
    bodyLimit: 1024,
    limits: {
      headersTimeoutMs: 200,
      requestTimeoutMs: 400,
      keepAliveTimeoutMs: 300,
      lingerMs: 200,
      maxConnections: 20,
    },
  })
})
after(() => h.close())

const AUTH = `Host: x\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Type: application/json\r\n`

/** A byte every 20 ms until the server has enough. */
async function trickle(head: string): Promise<{ text: string; ms: number }> {
  const raw = await h.socket()
  const started = performance.now()
  raw.write(head)
  const timer = setInterval(() => raw.write('a'), 20)
  await raw.closed
  clearInterval(timer)
  return { text: raw.text(), ms: performance.now() - started }
}

test('headers that never end are 408 in JSON, and the connection is closed', async () => {
  const { text, ms } = await trickle('POST /v1/calls HTTP/1.1\r\nX-Slow: ')
  assert.match(text, /^HTTP\/1\.1 408 /)
  assert.match(text, /did not arrive in time/)
  assert.ok(ms < 5000)
})

test('a body that never ends is closed, and nothing is called', async () => {
  const { ms } = await trickle(`POST /v1/calls HTTP/1.1\r\n${AUTH}Content-Length: 1000\r\n\r\n{`)
  assert.ok(ms < 5000)
  assert.deepEqual(h.logged, [])
})

test('a request that was answered and goes on sending is cut off', async () => {
  const { text, ms } = await trickle(`POST /v1/calls HTTP/1.1\r\n${AUTH}Content-Length: 100000000\r\n\r\n{`)
  assert.match(text, /^HTTP\/1\.1 413 /)
  assert.ok(ms < 5000)
})

test('an idle connection is closed', async () => {
  const raw = await h.socket()
  raw.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')
  await raw.until(/"ok"/)
  const started = performance.now()
  await raw.closed
  assert.ok(performance.now() - started < 5000)
})

test('a call that takes longer than these limits is still answered', async () => {
  const reply = await h.call('wait', { ms: 700 })
  assert.equal(reply.status, 200)
})

test('connections past the limit are closed, and there is room again afterwards', async () => {
  const many = await Promise.all(Array.from({ length: 40 }, () => h.socket()))
  const gone = await Promise.race([
    Promise.all(many.slice(30).map((raw) => raw.closed)).then(() => true),
    new Promise((resolve) => setTimeout(() => resolve(false), 5000)),
  ])
  assert.equal(gone, true)
  for (const raw of many) raw.socket.destroy()
  await Promise.all(many.map((raw) => raw.closed))
  await new Promise((resolve) => setTimeout(resolve, 100))
  assert.equal((await h.request('GET', '/healthz')).status, 200)
})
