// POST /v1/calls and what can be seen of a call afterwards.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { isUuid } from '../../src/util/uuid.ts'
import { until } from '../pipeline/until.ts'
import { type Harness, startHarness } from './harness.ts'

let h: Harness
before(async () => {
  h = await startHarness()
})
after(() => h.close())

const uuid4 = () => crypto.randomUUID()

function fourOutcome(tool: string, input: unknown, constraints: object = {}) {
  return {
    call_id: uuid4(),
    tool_id: tool,
    tool_version: '1.x',
    fn: 'invoke',
    input,
    context: { actor_id: 'agent://x', trace_id: uuid4(), timezone: 'UTC', env: 'dev' },
    constraints: {
      timeout_ms: 5000,
      deadline_unix_ms: Date.now() + 10_000,
      idempotency_key: uuid4(),
      ...constraints,
    },
  }
}

const settled = async (id: unknown) => (await h.record(id)).body

test('a v1 call is answered in v1, with the id of the call in a header', async () => {
  const reply = await h.call('echo', { a: 1 })
  assert.equal(reply.status, 200)
  assert.equal(reply.body.status, 'ok')
  assert.deepEqual(reply.body.output, { said: { a: 1 } })
  assert.ok(isUuid(String(reply.headers['writ-call-id'])))
  assert.equal(reply.headers['writ-call-id'], reply.body.provenance.call_id)
  assert.equal(reply.headers.location, undefined)
  assert.equal(reply.headers['cache-control'], 'no-store')
  assert.equal(reply.headers['x-content-type-options'], 'nosniff')
  assert.equal(reply.headers['access-control-allow-origin'], undefined)
})

test('a legacy call is answered in legacy', async () => {
  const reply = await h.request('POST', '/v1/calls', {
    body: { request_id: uuid4(), tool: 'echo', action: 'invoke', parameters: { a: 1 } },
  })
  assert.equal(reply.status, 200)
  assert.equal(reply.body.status, 'success')
  assert.deepEqual(reply.body.result, { said: { a: 1 } })
})

test('a four-outcome call is answered in four-outcome', async () => {
  const body = fourOutcome('echo', { a: 1 })
  const reply = await h.request('POST', '/v1/calls', { body })
  assert.equal(reply.status, 200)
  assert.equal(reply.body.status, 'success')
  assert.equal(reply.body.call_id, body.call_id)
})

test('a failure keeps the dialect of the request and has the status of its row', async () => {
  const v1 = await h.call('no-such-tool', {})
  assert.equal(v1.status, 404)
  assert.equal(v1.body.error.details.failure, 'tool-unknown')
  const legacy = await h.request('POST', '/v1/calls', {
    body: { request_id: uuid4(), tool: 'no-such-tool', parameters: {} },
  })
  assert.equal(legacy.status, 404)
  assert.equal(legacy.body.error.tool_code, 'unsupported_tool')
  const four = await h.request('POST', '/v1/calls', { body: fourOutcome('no-such-tool', {}) })
  assert.equal(four.status, 404)
  assert.equal(four.body.status, 'terminal_error')
})

test('S8: an invalid call is on record and found by its id', async () => {
  const reply = await h.call('wait', { ms: 'soon' })
  assert.equal(reply.status, 422)
  assert.equal(reply.body.error.details.failure, 'input-invalid')
  const record = await settled(reply.headers['writ-call-id'])
  assert.equal(record.state, 'invalid')
  assert.equal(record.answer.error.details.failure, 'input-invalid')
})

test('S8: a body that could not be decoded is on record, too', async () => {
  const reply = await h.request('POST', '/v1/calls', { body: '{"request_id":"lost-1","tool":{}}' })
  assert.equal(reply.status, 422)
  const record = await settled(reply.headers['writ-call-id'])
  assert.equal(record.state, 'invalid')
  assert.equal(record.request_id, 'lost-1')
})

test('Prefer: respond-async gives 202, a Location and the Call resource, found again at once', async () => {
  const reply = await h.call('wait', { ms: 60 }, { headers: { prefer: 'respond-async' } })
  assert.equal(reply.status, 202)
  assert.equal(reply.headers['preference-applied'], 'respond-async')
  assert.equal(reply.headers.location, `/v1/calls/${reply.body.id}`)
  assert.equal(reply.headers['writ-call-id'], reply.body.id)
  assert.equal(reply.body.state, 'running')
  assert.equal(reply.body.final, false)
  assert.equal(reply.body.answer, undefined)
  const found = await h.request('GET', String(reply.headers.location))
  assert.equal(found.status, 200)
  assert.equal(found.body.id, reply.body.id)
  const over = await settled(reply.body.id)
  assert.equal(over.state, 'succeeded')
  assert.deepEqual(over.answer.output, { waited: 60 })
})

test('a refusal is told at once, also to a caller that wanted not to wait', async () => {
  const reply = await h.call('wait', { ms: 'soon' }, { headers: { prefer: 'respond-async' } })
  assert.equal(reply.status, 422)
  assert.equal(reply.body.error.details.failure, 'input-invalid')
})

test('a caller that hangs up after respond-async ends nothing', async () => {
  const socket = await h.socket()
  const body = JSON.stringify({ request_id: uuid4(), tool: { name: 'wait' }, input: { ms: 80 } })
  socket.write(
    `POST /v1/calls HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${'test-token-0123456789-0123456789'}\r\nContent-Type: application/json\r\nPrefer: respond-async\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  )
  const text = await socket.until(/\r\n\r\n\{.*\}$/s)
  socket.socket.destroy()
  const id = /writ-call-id: (\S+)/.exec(text)?.[1]
  assert.equal((await settled(id)).state, 'succeeded')
})

test('Prefer: wait bounds the wait and shows a running call as the Call resource', async () => {
  const short = await h.call('wait', { ms: 1500 }, { headers: { prefer: 'wait=0' } })
  assert.equal(short.status, 202)
  assert.equal(short.body.state, 'running')
  assert.equal(short.headers.location, `/v1/calls/${short.body.id}`)
  assert.equal(short.headers['preference-applied'], 'wait=0')
  await h.request('POST', `/v1/calls/${short.body.id}/cancel`)
  const long = await h.call('wait', { ms: 5 }, { headers: { prefer: 'wait=10' } })
  assert.equal(long.status, 200)
  assert.deepEqual(long.body.output, { waited: 5 })
})

test('a wait that is no number is refused, unknown preferences are ignored', async () => {
  for (const prefer of ['wait=soon', 'wait=-1', 'wait=1e3', 'wait=', 'wait=99999999999']) {
    const reply = await h.call('echo', {}, { headers: { prefer } })
    assert.equal(reply.status, 422, prefer)
    assert.match(reply.body.error.details.fix, /wait=5/)
  }
  assert.equal(
    (await h.call('echo', {}, { headers: { prefer: 'handling=lenient; x=y, wait="3"' } })).status,
    200,
  )
})

test('S13: the Idempotency-Key header is the key of the call', async () => {
  const headers = { 'idempotency-key': uuid4() }
  const first = await h.call('post', { text: 'one' }, { headers })
  assert.equal(first.status, 200)
  const again = await h.call('post', { text: 'one' }, { headers })
  assert.equal(again.body.replayed, true)
  const other = await h.call('post', { text: 'two' }, { headers })
  assert.equal(other.status, 409)
  assert.equal(other.body.error.details.failure, 'key-conflict')
  assert.equal(h.effects.done.filter((text) => text === 'one').length, 1)
})

test('a quoted Idempotency-Key is the same key', async () => {
  const key = uuid4()
  await h.call('post', { text: 'quoted' }, { headers: { 'idempotency-key': key } })
  const again = await h.call('post', { text: 'quoted' }, { headers: { 'idempotency-key': `"${key}"` } })
  assert.equal(again.body.replayed, true)
})

test('a header key that differs from the key in the body is refused, and so is one that is no key', async () => {
  const differs = await h.call(
    'post',
    { text: 'x' },
    { headers: { 'idempotency-key': 'a' }, envelope: { idempotency_key: 'b' } },
  )
  assert.equal(differs.status, 422)
  assert.equal(differs.body.error.details.failure, 'envelope-invalid')
  assert.equal(differs.body.error.details.violations[0].path, '/headers/idempotency-key')
  const equal = await h.call(
    'post',
    { text: 'x' },
    { headers: { 'idempotency-key': 'b' }, envelope: { idempotency_key: 'b' } },
  )
  assert.equal(equal.status, 200)
  for (const key of ['', '""', 'é', 'k'.repeat(513)]) {
    const reply = await h.call('post', { text: 'y' }, { headers: { 'idempotency-key': key } })
    assert.equal(reply.status, 422, key.slice(0, 5))
  }
})

test('traceparent joins the trace where the body names none', async () => {
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
  const joined = await h.call('echo', {}, { headers: { traceparent } })
  assert.equal(joined.body.trace.trace_id, '4bf92f3577b34da6a3ce929d0e0e4736')
  const own = await h.call(
    'echo',
    {},
    { headers: { traceparent }, envelope: { trace: { trace_id: 'mine', span_id: 's' } } },
  )
  assert.equal(own.body.trace.trace_id, 'mine')
  for (const bad of [
    '00-0-0-01',
    `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`,
    `ff-${'a'.repeat(32)}-00f067aa0ba902b7-01`,
  ]) {
    const reply = await h.call('echo', {}, { headers: { traceparent: bad } })
    assert.equal(reply.status, 200)
    assert.match(reply.body.trace.trace_id, /^[0-9a-f]{32}$/)
  }
})

test('Retry-After is what the failure says, in whole seconds', async () => {
  await h.call('busy', {})
  const reply = await h.call('busy', {})
  assert.equal(reply.status, 429)
  const { retry_after_ms: ms } = reply.body.error.details
  assert.equal(Number(reply.headers['retry-after']), Math.ceil(ms / 1000))
})

test('S8: a call that waits for approval is 202 in its dialect, with a Location', async () => {
  const reply = await h.call('pay', { amount: 500 })
  assert.equal(reply.status, 202)
  assert.equal(reply.body.error.code, 'approval_pending')
  assert.equal(reply.body.final, false)
  assert.equal(reply.headers.location, `/v1/calls/${reply.headers['writ-call-id']}`)
  const found = await h.request('GET', String(reply.headers.location))
  assert.equal(found.body.state, 'awaiting-approval')
})

test('S45: whoever asked to wait hears the end of a call that people have to decide about, in its dialect', async () => {
  const tool = { name: 'pay' }
  const body = { request_id: uuid4(), tool, input: { amount: 700 } }
  const waiting = h.request('POST', '/v1/calls', { body, headers: { prefer: 'wait=20' } })
  const ann = h.runtime.as({
    actor: 'ann',
    kind: 'person',
    permissions: ['approval:read', 'approval:decide'],
  })
  const found = async () =>
    (await ann.listApprovals({ limit: 10, states: ['pending'] })).find(
      (one) => one.requestId === body.request_id,
    )
  const { id, callId } = await until(found)
  const shown = h.request('GET', `/v1/calls/${callId}?wait=20`)
  assert.equal((await ann.approve(id)).kind, 'ok')
  const reply = await waiting
  assert.deepEqual([reply.status, reply.body.status], [200, 'ok'], reply.text)
  assert.equal((await shown).body.state, 'succeeded')

  const refused = { request_id: uuid4(), tool, input: { amount: 800 } }
  const second = h.request('POST', '/v1/calls', { body: refused, headers: { prefer: 'wait=20' } })
  const next = await until(async () =>
    (await ann.listApprovals({ limit: 10, states: ['pending'] })).find(
      (one) => one.requestId === refused.request_id,
    ),
  )
  assert.equal((await ann.deny(next.id, { reason: 'no' })).kind, 'ok')
  const denied = await second
  assert.deepEqual([denied.status, denied.body.error.code], [403, 'approval_denied'])
})

test('S11: a caller that hangs up ends a read-only call', async () => {
  const before = h.effects.aborted.length
  const socket = await h.socket()
  const body = JSON.stringify({ request_id: uuid4(), tool: { name: 'wait' }, input: { ms: 20_000 } })
  socket.write(
    `POST /v1/calls HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer test-token-0123456789-0123456789\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  )
  await new Promise((resolve) => setTimeout(resolve, 100))
  socket.socket.destroy()
  for (let i = 0; i < 100 && h.effects.aborted.length === before; i++)
    await new Promise((resolve) => setTimeout(resolve, 10))
  assert.equal(h.effects.aborted.length, before + 1)
})

test('S11: a caller that hangs up does not end a write', async () => {
  const socket = await h.socket()
  const body = JSON.stringify({
    request_id: uuid4(),
    tool: { name: 'post' },
    input: { text: 'survivor', ms: 150 },
  })
  socket.write(
    `POST /v1/calls HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer test-token-0123456789-0123456789\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  )
  await new Promise((resolve) => setTimeout(resolve, 50))
  socket.socket.destroy()
  for (let i = 0; i < 100 && !h.effects.done.includes('survivor'); i++)
    await new Promise((resolve) => setTimeout(resolve, 10))
  assert.ok(h.effects.done.includes('survivor'))
})

test('a running call can be canceled, an ended one is shown as it is', async () => {
  const started = await h.call('wait', { ms: 20_000 }, { headers: { prefer: 'respond-async' } })
  const canceled = await h.request('POST', `/v1/calls/${started.body.id}/cancel`)
  assert.equal(canceled.status, 202)
  assert.equal(canceled.body.id, started.body.id)
  const over = await settled(started.body.id)
  assert.equal(over.state, 'canceled')
  const again = await h.request('POST', `/v1/calls/${started.body.id}/cancel`)
  assert.equal(again.status, 200)
  assert.equal(again.body.state, 'canceled')
})

test('an unknown call is 404 with a hint, whatever the id looks like', async () => {
  for (const id of [uuid4(), 'x', '..%2f..%2fetc', '%00', '__proto__']) {
    const reply = await h.request('GET', `/v1/calls/${id}`)
    assert.equal(reply.status, 404, id)
    assert.match(reply.body.error.details.fix, /request_id/)
    assert.equal((await h.request('POST', `/v1/calls/${id}/cancel`)).status, 404)
  }
})

test('calls are listed newest first, filtered, and page by page with an opaque cursor', async () => {
  const tag = uuid4()
  for (let i = 0; i < 5; i++)
    await h.call(
      'echo',
      {},
      { headers: { 'writ-namespace': 'paging' }, envelope: { request_id: `${tag}-${i}` } },
    )
  const seen: string[] = []
  await new Promise((resolve) => setTimeout(resolve, 150))
  let cursor: string | null = ''
  for (let page = 0; cursor !== null && page < 10; page++) {
    const reply = await h.request(
      'GET',
      `/v1/calls?namespace=paging&limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`,
    )
    assert.equal(reply.status, 200)
    assert.ok(reply.body.calls.length <= 2)
    seen.push(...reply.body.calls.map((call: { request_id: string }) => call.request_id))
    cursor = reply.body.next_cursor
  }
  assert.deepEqual(
    seen,
    [4, 3, 2, 1, 0].map((i) => `${tag}-${i}`),
  )
  const found = await h.request('GET', `/v1/calls?namespace=paging&request_id=${tag}-3`)
  assert.equal(found.body.calls.length, 1)
  assert.equal(found.body.next_cursor, null)
  const failed = await h.request('GET', '/v1/calls?namespace=paging&state=succeeded')
  assert.equal(failed.body.calls.length, 0)
  const other = await h.request('GET', `/v1/calls?request_id=${tag}-3`)
  assert.equal(other.body.calls.length, 0)
})

test('a query that is not valid says what is known', async () => {
  const bad = [
    'limit=0',
    'limit=201',
    'limit=x',
    'limit=1&limit=2',
    'state=done',
    'cursor=x',
    'cursor=Y2FsbHM6eA',
    'colour=red',
    '__proto__=1',
  ]
  for (const query of bad) {
    const reply = await h.request('GET', `/v1/calls?${query}`)
    assert.equal(reply.status, 422, query)
    assert.equal(reply.body.error.details.violations.length, 1, query)
  }
})

test('the admin may name the namespace in the body, and the Location finds the call there', async () => {
  const reply = await h.call(
    'echo',
    {},
    { envelope: { namespace: 'elsewhere' }, headers: { prefer: 'respond-async' } },
  )
  assert.equal(reply.status, 404)
  const listed = await h.record(reply.headers['writ-call-id'], '?namespace=elsewhere')
  assert.equal(listed.status, 200)
  assert.equal(listed.body.namespace, 'elsewhere')
})

test('100 calls at once are all answered, each with its own output', async () => {
  const replies = await Promise.all(Array.from({ length: 100 }, (_, i) => h.call('echo', { i })))
  for (const [i, reply] of replies.entries()) assert.deepEqual(reply.body.output, { said: { i } })
})
