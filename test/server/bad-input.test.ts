// Each kind of bad input gives its row, quickly and in bounded memory, and the server lives on.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { FAILURES } from '../../src/contract/failures.ts'
import { assertClean, type Harness, type Reply, startHarness, TOKEN } from './harness.ts'

let h: Harness
before(async () => {
  h = await startHarness({ bodyLimit: 1024 * 1024 })
})
after(() => h.close())

const post = (body: string | Uint8Array | object, headers = {}) =>
  h.request('POST', '/v1/calls', { body, headers })
const call = (fields: object) => ({ request_id: 'bad-1', tool: { name: 'echo' }, ...fields })
const AUTH = `Host: x\r\nAuthorization: Bearer ${TOKEN}\r\n`

/** What, where and how to mend it; nothing of the inside. */
function assertRefusal(reply: Reply, status: number, failure: string): void {
  assert.equal(reply.status, status, reply.text.slice(0, 300))
  const error = reply.body.error
  const details = error.details
  assert.equal(details.failure, failure)
  assert.ok(error.message ?? error.tool_reason)
  assert.ok(details.fix)
  assertClean(reply.text)
}

const CASES: readonly (readonly [string, string | Uint8Array | object, number, keyof typeof FAILURES])[] = [
  ['nothing at all', '', 400, 'body-unreadable'],
  ['malformed JSON', '{"request_id": "x", "tool": {', 400, 'body-unreadable'],
  ['two documents', '{}{}', 400, 'body-unreadable'],
  ['NaN', '{"request_id":"x","tool":{"name":"echo"},"runtime":{"timeout_ms":NaN}}', 400, 'body-unreadable'],
  [
    'bytes that are not UTF-8',
    Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]),
    400,
    'body-unreadable',
  ],
  ['a byte order mark', '\ufeff{}', 400, 'body-unreadable'],
  [
    'half a surrogate pair',
    '{"request_id":"x","tool":{"name":"echo"},"input":"\\ud800"}',
    422,
    'envelope-invalid',
  ],
  ['an array', '[]', 422, 'envelope-invalid'],
  ['a number', '1', 422, 'envelope-invalid'],
  ['wrong types', call({ input: {}, tool: 5 }), 422, 'envelope-invalid'],
  ['nothing required', '{}', 422, 'envelope-invalid'],
  ['unknown fields', call({ colour: 'red' }), 422, 'envelope-invalid'],
  ['a duplicate key', '{"request_id":"x","request_id":"y","tool":{"name":"echo"}}', 422, 'envelope-invalid'],
  [
    'a duplicate key deep inside',
    '{"request_id":"x","tool":{"name":"echo"},"input":{"a":[{"b":1,"b":2}]}}',
    422,
    'envelope-invalid',
  ],
  [
    'a big integer',
    '{"request_id":"x","tool":{"name":"echo"},"input":9007199254740993}',
    422,
    'envelope-invalid',
  ],
  [
    'a number that does not fit',
    '{"request_id":"x","tool":{"name":"echo"},"input":1e400}',
    422,
    'envelope-invalid',
  ],
  [
    'a __proto__ key',
    '{"request_id":"x","tool":{"name":"echo"},"input":{"__proto__":{"admin":true}}}',
    422,
    'envelope-invalid',
  ],
  [
    'a constructor key',
    '{"request_id":"x","tool":{"name":"echo"},"input":{"constructor":{"prototype":{}}}}',
    422,
    'envelope-invalid',
  ],
  ['nesting', `${'['.repeat(129)}${']'.repeat(129)}`, 422, 'envelope-invalid'],
  ['nesting without end', '['.repeat(900_000), 422, 'envelope-invalid'],
  ['objects without end', '{"a":'.repeat(200_000), 422, 'envelope-invalid'],
  ['a negative timeout', call({ runtime: { timeout_ms: -1 } }), 422, 'envelope-invalid'],
  ['a timeout of zero', call({ runtime: { timeout_ms: 0 } }), 422, 'envelope-invalid'],
  ['a fractional timeout', call({ runtime: { timeout_ms: 1.5 } }), 422, 'envelope-invalid'],
  ['a timeout as text', call({ runtime: { timeout_ms: '10' } }), 422, 'envelope-invalid'],
  ['a negative deadline', call({ deadline_unix_ms: -5 }), 422, 'envelope-invalid'],
  ['a deadline that has passed', call({ deadline_unix_ms: 1_000 }), 422, 'deadline-past'],
  ['another major version', call({ tool_contract_version: 'v2' }), 400, 'version-unsupported'],
  ['a raw credential', call({ auth: { token: 'secret-value' } }), 422, 'inline-credential'],
  ['an unknown tool', call({ tool: { name: 'no-such-tool' } }), 404, 'tool-unknown'],
  ['an unknown operation', call({ tool: { name: 'echo', operation: 'nope' } }), 404, 'operation-unknown'],
  ['a version nobody has', call({ tool: { name: 'echo', version: '9.x' } }), 404, 'version-unmatched'],
  [
    'a version that is no range',
    call({ tool: { name: 'echo', version: 'latest please' } }),
    422,
    'envelope-invalid',
  ],
  [
    'input outside the schema',
    call({ tool: { name: 'wait' }, input: { ms: 1, more: 2 } }),
    422,
    'input-invalid',
  ],
]

for (const [what, body, status, failure] of CASES) {
  test(`${what} is answered with ${failure}`, async () => {
    const started = performance.now()
    assertRefusal(await post(body), status, failure)
    assert.ok(performance.now() - started < 2000, 'it took too long')
  })
}

test('S3: a violation says where', async () => {
  const big = await post('{"request_id":"x","tool":{"name":"echo"},"input":{"a":[1,9007199254740993]}}')
  assert.equal(big.body.error.details.violations[0].path, '/input/a/1')
  const all = await post({ request_id: 5, tool: {}, colour: 1, runtime: { timeout_ms: -1, jitter: 'wild' } })
  assert.ok(all.body.error.details.violations.length >= 5, 'not all violations are listed')
})

test('a media type that is not JSON is 415 with the fix', async () => {
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/xml',
    'application/json; charset=latin1',
    'application/jsonp',
    'multipart/form-data; boundary=x',
  ]) {
    const reply = await post('{}', { 'content-type': type })
    assertRefusal(reply, 415, 'body-unreadable')
  }
  assertRefusal(await post('{}', { 'content-type': undefined }), 415, 'body-unreadable')
  assertRefusal(await post('{}', { 'content-type': ';;;' }), 415, 'body-unreadable')
  for (const type of [
    'application/json',
    'APPLICATION/JSON; charset=UTF-8',
    'application/vnd.writ.v1+json',
  ]) {
    assert.equal(
      (await post(call({ request_id: crypto.randomUUID() }), { 'content-type': type })).status,
      200,
      type,
    )
  }
})

test('a compressed body is not read', async () => {
  assertRefusal(await post('{}', { 'content-encoding': 'gzip' }), 415, 'body-unreadable')
})

function held(): number {
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

/** Sends `total` bytes of body, as fast as they are taken, and reads only afterwards where `deaf`. */
async function flood(head: string, total: number, { chunked = false, deaf = false } = {}) {
  const raw = await h.socket()
  const { socket } = raw
  if (deaf) socket.pause()
  const block = Buffer.alloc(64 * 1024, 'a')
  const piece = chunked
    ? Buffer.concat([Buffer.from(`${block.length.toString(16)}\r\n`), block, Buffer.from('\r\n')])
    : block
  socket.write(head)
  let sent = 0
  let peak = 0
  while (sent < total && !socket.destroyed && (deaf || raw.text() === '')) {
    if (!socket.write(piece)) {
      await new Promise<void>((resolve) => {
        const go = (): void => {
          socket.off('drain', go).off('close', go).off('data', go)
          resolve()
        }
        socket.on('drain', go).on('close', go)
        if (!deaf) socket.on('data', go)
      })
    }
    sent += block.length
    peak = Math.max(peak, held())
  }
  if (deaf) socket.resume()
  return { raw, sent, peak }
}

test('100 MB that are announced are refused before they are read', async () => {
  const { raw, sent } = await flood(
    `POST /v1/calls HTTP/1.1\r\n${AUTH}Content-Type: application/json\r\nContent-Length: 104857600\r\n\r\n`,
    104_857_600,
  )
  const text = await raw.until(/input-too-large/)
  assert.match(text, /^HTTP\/1\.1 413 /)
  assert.match(text, /"limit_bytes":1048576/)
  assert.ok(sent < 20 * 1024 * 1024, `${sent} bytes were taken`)
  raw.socket.destroy()
})

test('100 MB that are not announced are refused at the limit, in bounded memory', async () => {
  const before = held()
  const head = `POST /v1/calls HTTP/1.1\r\n${AUTH}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`
  const { raw, peak } = await flood(head, 104_857_600, { chunked: true })
  assert.match(await raw.until(/input-too-large/), /^HTTP\/1\.1 413 /)
  assert.ok(peak - before < 64 * 1024 * 1024, `${peak - before} bytes were held`)
  raw.socket.destroy()
})

test('a caller that first sends everything and then reads still sees its answer', async () => {
  const head = `POST /v1/calls HTTP/1.1\r\n${AUTH}Content-Type: application/json\r\nContent-Length: 20971520\r\n\r\n`
  const { raw, sent } = await flood(head, 20_971_520, { deaf: true })
  assert.equal(sent, 20_971_520)
  assert.match(await raw.until(/input-too-large/), /^HTTP\/1\.1 413 /)
  // The connection is in order again: the next request on it is answered.
  raw.write(`GET /healthz HTTP/1.1\r\n${AUTH}\r\n`)
  await raw.until(/"status":"ok"/)
  raw.socket.destroy()
})

test('a body that would be refused is not asked for', async () => {
  const raw = await h.socket()
  raw.write(
    `POST /v1/calls HTTP/1.1\r\n${AUTH}Content-Type: application/json\r\nContent-Length: 104857600\r\nExpect: 100-continue\r\n\r\n`,
  )
  const text = await raw.until(/input-too-large/)
  assert.match(text, /^HTTP\/1\.1 413 /)
  assert.equal(text.includes('100 Continue'), false)
  raw.socket.destroy()
  const small = await h.socket()
  const body = JSON.stringify(call({ request_id: crypto.randomUUID() }))
  small.write(
    `POST /v1/calls HTTP/1.1\r\n${AUTH}Content-Type: application/json\r\nContent-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`,
  )
  await small.until(/^HTTP\/1\.1 100 Continue/)
  small.write(body)
  await small.until(/HTTP\/1\.1 200 OK/)
  small.socket.destroy()
})

test('what is not HTTP is answered in JSON and closed', async () => {
  const tls = Buffer.from('16030100c5010000c10303', 'hex')
  const cases: [string | Uint8Array, RegExp][] = [
    ['hello\r\n\r\n', /^HTTP\/1\.1 400 /],
    [tls, /^HTTP\/1\.1 400 /],
    [`GET / HTTP/1.1\r\n${AUTH}X: ${'a'.repeat(20_000)}\r\n\r\n`, /^HTTP\/1\.1 431 /],
    [
      `POST /v1/calls HTTP/1.1\r\n${AUTH}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`,
      /^HTTP\/1\.1 400 /,
    ],
    [
      `POST /v1/calls HTTP/1.1\r\n${AUTH}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}`,
      /^HTTP\/1\.1 400 /,
    ],
    [`POST /v1/calls HTTP/1.1\r\n${AUTH}Content-Length: -1\r\n\r\n`, /^HTTP\/1\.1 400 /],
    [`GET /healthz HTTP/1.1\nHost: x\n\n`, /^HTTP\/1\.1 400 /],
  ]
  for (const [bytes, answer] of cases) {
    const raw = await h.socket()
    raw.write(bytes)
    const text = await raw.until(/\r\n\r\n\{.*\}$/s)
    assert.match(text, answer)
    assert.match(text, /content-type: application\/json/i)
    assertClean(text)
    const { error } = JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4))
    assert.ok(error.details.fix)
    await raw.closed
  }
})

test('a request without Host is refused in JSON, HTTP/1.0 needs none', async () => {
  const raw = await h.socket()
  raw.write('GET /healthz HTTP/1.1\r\n\r\n')
  assert.match(await raw.until(/no Host header/), /^HTTP\/1\.1 400 /)
  raw.socket.destroy()
  const old = await h.socket()
  old.write('GET /healthz HTTP/1.0\r\n\r\n')
  assert.match(await old.until(/"ok"/), /^HTTP\/1\.1 200 /)
  await old.closed
})

test('an expectation that is not known is ignored', async () => {
  const raw = await h.socket()
  raw.write(`GET /healthz HTTP/1.1\r\n${AUTH}Expect: miracles\r\n\r\n`)
  assert.match(await raw.until(/"ok"/), /^HTTP\/1\.1 200 /)
  raw.socket.destroy()
})

test('a path that cannot be decoded, or is too long, is refused in our words', async () => {
  assertRefusal(await h.request('GET', '/v1/calls/%zz'), 400, 'envelope-invalid')
  const long = await h.request('GET', `/v1/tools/${'a'.repeat(3000)}`)
  assertRefusal(long, 414, 'envelope-invalid')
  assert.equal(long.headers['cache-control'], 'no-store')
})

test('a fault of ours shows nothing of the inside', async () => {
  const broken = await startHarness({
    metrics: {
      contentType: 'text/plain',
      render: () => Promise.reject(new Error('secret of /etc/passwd')),
      refused: () => {},
      tokenRefused: () => {},
    },
  })
  try {
    const reply = await broken.request('GET', '/metrics')
    assertRefusal(reply, 500, 'internal')
    assert.equal(reply.text.includes('secret'), false)
    assert.match(String(broken.logged[0]?.err), /secret of/)
  } finally {
    await broken.close()
  }
})

test('a manifest with a pattern that backtracks for ever, or a $ref to the network, is refused quickly', async () => {
  const tool = (schema: object) => ({
    apiVersion: 'writ.dev/v1',
    kind: 'Tool',
    metadata: { name: 'hostile' },
    spec: {
      type: 'http',
      endpoint: 'http://127.0.0.1:9/',
      input_schema: schema,
      effect: { class: 'read-only' },
    },
  })
  const started = performance.now()
  const remote = await h.request('POST', '/v1/apply', {
    body: tool({ $ref: 'http://127.0.0.1:9/schema.json' }),
  })
  assert.equal(remote.status, 422, remote.text)
  const lookahead = await h.request('POST', '/v1/apply', {
    body: tool({ type: 'string', pattern: '(?=a)b' }),
  })
  assert.equal(lookahead.status, 422, lookahead.text)
  const evil = await h.request('POST', '/v1/apply', { body: tool({ type: 'string', pattern: '^(a+)+$' }) })
  assert.equal(evil.status, 200, evil.text)
  const slow = await post(
    call({ request_id: 'redos', tool: { name: 'hostile' }, input: `${'a'.repeat(50_000)}!` }),
  )
  assertRefusal(slow, 422, 'input-invalid')
  assert.ok(performance.now() - started < 5000)
})

test('after all of this the server lives, and nothing was polluted', async () => {
  assert.equal((await h.call('echo', { fine: true })).status, 200)
  assert.equal(({} as Record<string, unknown>).admin, undefined)
  assert.deepEqual(h.logged, [])
})
