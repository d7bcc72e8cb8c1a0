// The http transport: what it sends, and which replies are output and which are not.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createHttpTransport } from '../../src/transport/http.ts'
import type { Json } from '../../src/util/json.ts'
import { attempt, body, dialects, world } from './http-harness.ts'
import { makeOperation } from './send-fixture.ts'
import { type Respond, sendJson } from './tool-peer.ts'
import { refusal, success } from './transport-contract.ts'

describe('what a plain HTTP tool is sent', () => {
  const ok = body('ok', 'text/plain')

  it('is a POST of the input as JSON, to the path and query of the endpoint', async () => {
    const { request } = await attempt(ok, { input: { query: 'žluť', n: 1 } })
    assert.equal(request.method, 'POST')
    assert.equal(request.path, '/run?mode=fast')
    assert.equal(request.headers['content-type'], 'application/json')
    assert.deepEqual(JSON.parse(request.body), { query: 'žluť', n: 1 })
  })

  it('carries key, attempt, trace context and our name', async () => {
    const { request } = await attempt(ok, { input: {}, send: { key: 'the-key', attempt: 3 } })
    assert.equal(request.headers['idempotency-key'], 'the-key')
    assert.equal(request.headers['writ-attempt'], '3')
    assert.equal(request.headers.traceparent, '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01')
    assert.equal(request.headers['user-agent'], 'writ/9.9.9')
    assert.match(request.headers.accept ?? '', /application\/json/)
  })

  it('has the key in the header that the tool declares', async () => {
    const { effect } = makeOperation()
    const keyed = {
      ...effect,
      repeat: 'keyed' as const,
      keyed: { header: 'X-Request-Token', retentionMs: 1_000 },
    }
    const { request } = await attempt(ok, { input: {}, operation: { effect: keyed }, send: { key: 'abc' } })
    assert.equal(request.headers['x-request-token'], 'abc')
    assert.equal(request.headers['idempotency-key'], undefined)
  })

  it('is the raw text where the input is a text and the operation has no schema', async () => {
    const raw = await attempt(ok, { input: '{"query": "as typed" }' })
    assert.equal(raw.request.body, '{"query": "as typed" }')
    assert.equal(raw.request.headers['content-type'], 'text/plain; charset=utf-8')
    const typed = await attempt(ok, { input: 'hello', operation: { inputSchema: { type: 'string' } } })
    assert.equal(typed.request.body, '"hello"')
    assert.equal(typed.request.headers['content-type'], 'application/json')
  })

  it('has no body where there was no input, and null where it was null', async () => {
    const none = await attempt(ok)
    assert.equal(none.request.body, '')
    assert.equal(none.request.headers['content-type'], undefined)
    assert.equal((await attempt(ok, { input: null })).request.body, 'null')
  })
})

describe('what a plain HTTP tool answers', () => {
  const output = async (respond: Respond) => success((await attempt(respond, { input: {} })).reply).output

  it('is JSON where it says so, or is an object or array', async () => {
    assert.deepEqual(await output(body('{"a":[1]}', 'application/json; charset=utf-8')), { a: [1] })
    assert.deepEqual(await output(body('{"a":1}', 'application/problem+json')), { a: 1 })
    assert.equal(await output(body('42', 'application/json')), 42)
    assert.deepEqual(await output(body(' [1, 2]', 'text/plain')), [1, 2])
    assert.equal(await output(body('42')), 42)
  })

  it('is text otherwise', async () => {
    assert.equal(await output(body('42', 'text/plain')), '42')
    assert.equal(await output(body('{not json', 'text/plain')), '{not json')
    assert.equal(await output(body('plain words')), 'plain words')
    assert.equal(await output(body('<p>žluť</p>', 'text/html; charset=UTF-8')), '<p>žluť</p>')
    assert.equal(
      await output(body(Buffer.from('caf\xe9', 'latin1'), 'text/plain; charset="iso-8859-1"')),
      'café',
    )
  })

  it('is null where the body is empty', async () => {
    assert.equal(await output(body('', 'application/json')), null)
    assert.equal(await output((_request, response) => response.writeHead(204).end()), null)
  })

  it('W5: is never broken JSON shown as text', async () => {
    for (const text of [
      '{"a": 1',
      '{"a": 1} trailing',
      '{"a":1,"a":2}',
      '{"n": 9007199254740993}',
      'nonsense',
    ]) {
      const reply = refusal((await attempt(body(text, 'application/json'), { input: {} })).reply)
      assert.equal(reply.failure, 'output-invalid', text)
      assert.equal(reply.definite, false)
    }
  })

  it('is refused where it is neither JSON nor text', async () => {
    for (const respond of [
      body(Buffer.from([0x89, 0x50, 0x4e, 0x47]), 'image/png'),
      body(Buffer.from([0xff, 0xfe, 0xfd]), 'text/plain'),
      body('words', 'text/plain; charset=klingon'),
    ]) {
      const reply = refusal((await attempt(respond, { input: {} })).reply)
      assert.equal(reply.failure, 'output-invalid')
      assert.equal(reply.definite, false)
    }
  })

  it('is read as an envelope where it surely is one', async () => {
    const { reply } = await attempt(
      (_request, response) =>
        sendJson(response, {
          tool_contract_version: 'v1',
          status: 'ok',
          output: { n: 1 },
          warnings: ['slow today'],
        }),
      { input: {} },
    )
    assert.deepEqual(success(reply).output, { n: 1 })
    assert.deepEqual(success(reply).warnings, ['slow today'])
    const failed = await attempt(
      (_request, response) =>
        sendJson(response, {
          status: 'error',
          error: {
            code: 'invalid_input',
            reason: 'tool_invalid_input',
            retryable: false,
            message: 'no city',
            details: {},
          },
        }),
      { input: {} },
    )
    assert.equal(refusal(failed.reply).failure, 'upstream-rejected')
    assert.equal(refusal(failed.reply).message, 'no city')
  })

  it('is not taken for an envelope by a stray status field of a third party', async () => {
    const foreign: Json[] = [
      { status: 'ok', id: 'call_123', createdAt: '2026-01-01' },
      { status: 'error' },
      { status: 'error', error: 'card declined' },
      { status: 'error', error: { message: 'card declined', type: 'card_error' } },
      { status: 'success', data: { post: null } },
      { status: 'denied', by: 'moderation' },
      { status: 'ok', output: { text: 'x' }, model: 'gpt' },
      { status: 'queued', id: 'call_123', error: { code: 'none' } },
      { status: 'ok' },
      { request_id: 'their-own', status: 'success' },
    ]
    for (const value of foreign) {
      assert.deepEqual(
        await output((_request, response) => sendJson(response, value)),
        value,
        JSON.stringify(value),
      )
    }
  })
})

it('closing the transport leaves the network of the World open', async () => {
  const other = createHttpTransport({ world, dialects })
  await other.close()
  const { reply } = await attempt(body('still here', 'text/plain'), { input: {}, via: other })
  assert.equal(success(reply).output, 'still here')
})
