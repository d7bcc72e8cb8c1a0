// Whatever is sent, the answer is in our words, no fault of ours, and the server lives on.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { FAILURES } from '../../src/contract/failures.ts'
import { assertClean, type Harness, type Reply, startHarness, TOKEN } from './harness.ts'

let h: Harness
before(async () => {
  h = await startHarness({ bodyLimit: 1024 * 1024 })
})
after(() => h.close())

const post = (body: string | Uint8Array) => h.request('POST', '/v1/calls', { body })
const AUTH = `Host: x\r\nAuthorization: Bearer ${TOKEN}\r\n`

/** Whatever was sent: an answer in our words, and no fault of ours. */
function assertSane(reply: Reply): void {
  assert.ok(reply.status >= 200 && reply.status < 500, `${reply.status}: ${reply.text.slice(0, 300)}`)
  assertClean(reply.text)
  if (reply.status >= 400) {
    const details = reply.body.error.details
    assert.ok(details.failure in FAILURES)
    assert.ok(details.fix)
  }
}

const RUNS = { numRuns: 60 } as const

test('any bytes as a body', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), async (bytes) => assertSane(await post(bytes))),
    RUNS,
  )
})

test('any JSON as a body', async () => {
  await fc.assert(
    fc.asyncProperty(fc.json({ maxDepth: 4 }), async (text) => assertSane(await post(text))),
    RUNS,
  )
})

test('any value in any field of every dialect', async () => {
  const names = [
    'request_id',
    'tool',
    'action',
    'parameters',
    'input',
    'input_raw',
    'runtime',
    'auth',
    'trace',
    'context',
    'constraints',
    'call_id',
    'tool_id',
    'tool_version',
    'fn',
    'namespace',
    'agent',
    'task_id',
    'attempt',
    'idempotency_key',
    'deadline_unix_ms',
    'dry_run',
    'saga',
    'tool_contract_version',
    'provenance',
  ]
  const value = fc.oneof(
    fc.jsonValue({ maxDepth: 2 }),
    fc.constantFrom(
      'echo',
      'v1',
      'invoke',
      -1,
      2 ** 53,
      1e308,
      '',
      null,
      { name: 'echo' },
      { timeout_ms: -1 },
    ),
  )
  await fc.assert(
    fc.asyncProperty(fc.dictionary(fc.constantFrom(...names), value, { maxKeys: 6 }), async (fields) => {
      assertSane(await post(JSON.stringify({ request_id: 'fuzz', tool: { name: 'echo' }, ...fields })))
    }),
    RUNS,
  )
})

test('any text in the headers and in the query', async () => {
  // What a header can carry at all.
  const text = fc.string({
    unit: fc.constantFrom(...Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i))),
    maxLength: 60,
  })
  const headers = fc.record(
    {
      prefer: text,
      'idempotency-key': text,
      traceparent: text,
      'if-match': text,
      'writ-namespace': text,
      'content-type': text,
    },
    { requiredKeys: [] },
  )
  const route = fc.constantFrom(
    ['POST', '/v1/calls'],
    ['GET', '/v1/calls'],
    ['PUT', '/v1/tools/x'],
    ['DELETE', '/v1/tools/x'],
    ['POST', '/v1/apply'],
    ['GET', '/readyz'],
  )
  await fc.assert(
    fc.asyncProperty(
      route,
      headers,
      fc.string({ maxLength: 40 }),
      async ([method = '', path = ''], given, query) => {
        const trimmed = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, value.trim()]))
        const body =
          method === 'GET' || method === 'DELETE'
            ? {}
            : { body: { request_id: crypto.randomUUID(), tool: { name: 'echo' } } }
        const reply = await h.request(
          method,
          `${path}?${encodeURIComponent(query)}=${encodeURIComponent(query)}`,
          { ...body, headers: trimmed },
        )
        if (reply.body?.problems === undefined) assertSane(reply)
      },
    ),
    RUNS,
  )
})

test('any path', async () => {
  await fc.assert(
    fc.asyncProperty(fc.webPath(), async (path) => {
      const reply = await h.request('GET', path === '' || !path.startsWith('/') ? `/${path}` : path)
      assert.ok(reply.status < 500)
      assertClean(reply.text)
    }),
    RUNS,
  )
})

test('any bytes on a socket', async () => {
  const bytes = fc.oneof(
    fc.uint8Array({ minLength: 1, maxLength: 200 }),
    fc
      .string({ minLength: 1, maxLength: 80 })
      .map((text) => Buffer.from(`GET ${text} HTTP/1.1\r\n${AUTH}\r\n`)),
  )
  await fc.assert(
    fc.asyncProperty(bytes, async (data) => {
      const raw = await h.socket()
      raw.write(data)
      raw.socket.end()
      await raw.closed
      const text = raw.text()
      assert.ok(text === '' || /^HTTP\/1\.1 [234]\d\d /.test(text), text.slice(0, 200))
      assertClean(text)
    }),
    RUNS,
  )
})

test('after all of this the server lives, and nothing was polluted', async () => {
  assert.equal((await h.call('echo', { fine: true })).status, 200)
  assert.equal(({} as Record<string, unknown>).admin, undefined)
  assert.deepEqual(h.logged, [])
})
