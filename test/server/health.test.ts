// Liveness, readiness, metrics, and the drain.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startHarness, TOKEN } from './harness.ts'

test('/healthz and /readyz need no token', async (t) => {
  const h = await startHarness()
  t.after(() => h.close())
  const live = await h.request('GET', '/healthz', { token: null })
  assert.equal(live.status, 200)
  assert.deepEqual(live.body, { status: 'ok' })
  const ready = await h.request('GET', '/readyz', { token: null })
  assert.equal(ready.status, 200)
  assert.equal(ready.body.ready, true)
  assert.deepEqual(ready.body.reasons, [])
  assert.ok(ready.body.checks.store.ok)
})

test('/readyz is 503 with the reasons once the runtime takes no calls', async (t) => {
  const h = await startHarness()
  t.after(() => h.close())
  await h.runtime.close()
  const ready = await h.request('GET', '/readyz', { token: null })
  assert.equal(ready.status, 503)
  assert.equal(ready.body.ready, false)
  assert.match(ready.body.reasons.join(), /^\w+: ./)
  assert.equal((await h.request('GET', '/healthz', { token: null })).status, 200)
})

test('/readyz names hosts and files on the machine itself only', async (t) => {
  const h = await startHarness()
  t.after(() => h.close())
  const health = await h.runtime.health()
  const detail = 'connect ECONNREFUSED db.internal:5432'
  const failed = { ok: false, detail }
  t.mock.method(h.runtime, 'health', async () => ({
    ...health,
    ready: false,
    checks: { ...health.checks, store: failed, audit: failed },
  }))
  const here = await h.request('GET', '/readyz', { token: null })
  assert.deepEqual(here.body.reasons, [`store: ${detail}`, `audit: ${detail}`])
  for (const headers of [{ 'x-forwarded-for': '10.0.0.1' }, { host: 'rebound.example:7411' }]) {
    const elsewhere = await h.request('GET', '/readyz', { token: null, headers })
    assert.equal(elsewhere.status, 503)
    assert.deepEqual(elsewhere.body.reasons, ['store: failed; see the log', 'audit: failed; see the log'])
    assert.doesNotMatch(elsewhere.text, /db\.internal/)
  }
})

test('/metrics is Prometheus text of what the server did', async (t) => {
  const h = await startHarness()
  t.after(() => h.close())
  await h.call('echo', {})
  await h.call('echo', {})
  await h.call('no-such-tool', {})
  const reply = await h.request('GET', '/metrics', { token: null })
  assert.equal(reply.status, 200)
  assert.match(String(reply.headers['content-type']), /^text\/plain; version=0\.0\.4/)
  assert.match(
    reply.text,
    /^writ_calls_total\{[^}]*tool="echo",version="1\.0\.0",status="ok",state="succeeded"[^}]*\} 2$/m,
  )
  assert.match(reply.text, /^writ_calls_total\{[^}]*tool="unresolved"[^}]*\} 1$/m)
  assert.match(reply.text, /^writ_calls_in_flight\{[^}]*tool="echo"[^}]*\} 0$/m)
  assert.match(reply.text, /^writ_entries_unknown 0$/m)
  assert.equal(reply.text.includes('no-such-tool'), false)
})

test('/metrics wants a token from anyone who may not be on this machine', async (t) => {
  const h = await startHarness()
  t.after(() => h.close())
  const elsewhere = [
    { 'x-forwarded-for': '10.0.0.1' },
    { forwarded: 'for=10.0.0.1' },
    { via: '1.1 proxy' },
    { host: 'rebound.example:7411' },
  ]
  for (const headers of elsewhere) {
    assert.equal(
      (await h.request('GET', '/metrics', { token: null, headers })).status,
      401,
      JSON.stringify(headers),
    )
    assert.equal((await h.request('GET', '/metrics', { token: TOKEN, headers })).status, 200)
  }
})

test('a drain lets calls end, takes no new ones and closes the connections', async (t) => {
  const h = await startHarness()
  t.after(() => h.close())
  const running = h.call('wait', { ms: 300 })
  const open = await h.socket()
  open.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')
  await open.until(/"ok"\}/)
  await new Promise((resolve) => setTimeout(resolve, 50))
  // A request whose headers are not complete keeps its connection out of the idle ones.
  const half = await h.socket()
  half.write('POST /v1/calls HTTP/1.1\r\nHost: x\r\n')
  await new Promise((resolve) => setTimeout(resolve, 20))

  let drained = false
  const drain = h.server.drain().then(() => {
    drained = true
  })
  await open.closed
  half.write(
    `Authorization: Bearer ${TOKEN}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`,
  )
  const refused = await half.until(/\}$/)
  assert.match(refused, /^HTTP\/1\.1 503 /)
  assert.match(refused, /connection: close/i)
  assert.match(refused, /retry-after: 1/i)
  assert.match(refused, /shutting down/)
  assert.equal(drained, false)
  await assert.rejects(fetch(`${h.url}/healthz`))

  const reply = await running
  assert.equal(reply.status, 200)
  assert.deepEqual(reply.body.output, { waited: 300 })
  assert.equal(reply.headers.connection, 'close')
  await drain
})

test('while the last call runs, connections are still taken: calls are told to come back, reads are answered', async (t) => {
  const h = await startHarness()
  t.after(() => h.close())
  const running = h.call('wait', { ms: 400 }, { envelope: { request_id: 'last' } })
  let list = await h.request('GET', '/v1/calls')
  while (list.body.calls.length === 0) list = await h.request('GET', '/v1/calls')
  const drain = h.server.drain(running)
  for (let turn = 0; turn < 3; turn++) {
    const refused = await h.call('wait', { ms: 1 })
    assert.equal(refused.status, 503)
    assert.equal(refused.headers['retry-after'], '1')
    assert.equal(refused.headers.connection, 'close')
    assert.deepEqual([refused.body.error.retryable, refused.body.effect], [true, 'none'])
    assert.equal((await h.request('GET', '/readyz')).status, 503)
    assert.equal((await h.request('GET', `/v1/calls/${list.body.calls[0].id}`)).body.state, 'running')
    assert.equal((await h.request('POST', '/v1/sagas')).status, 503)
  }
  assert.equal((await running).status, 200)
  await drain
  await assert.rejects(fetch(`${h.url}/healthz`))
})

test('a drain of a server without requests ends at once, also twice', async (t) => {
  const h = await startHarness()
  t.after(() => h.close())
  await h.server.drain()
  await h.server.drain()
  await assert.rejects(fetch(`${h.url}/healthz`))
})

test('close ends what is left', async (t) => {
  const h = await startHarness()
  t.after(() => h.close())
  const running = h.call('wait', { ms: 20_000 }).then(
    () => 'answered',
    () => 'cut',
  )
  await new Promise((resolve) => setTimeout(resolve, 50))
  await h.server.close()
  assert.equal(await running, 'cut')
})

test('a port in use is told with what to do', async (t) => {
  const h = await startHarness()
  t.after(() => h.close())
  await assert.rejects(
    startHarness({ port: h.port }),
    /Port \d+ on 127\.0\.0\.1 is in use\. Choose another port/,
  )
})

test('an address that is not of this machine is told with what to do', async () => {
  await assert.rejects(startHarness({ host: '192.0.2.1' }), /192\.0\.2\.1 is no address of this machine/)
})
