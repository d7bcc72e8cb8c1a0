// Tools may answer in any dialect; what is not surely an answer to this very request is malformed (S7).
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { ToolFailure } from '../../../src/contract/dialect/dialect.ts'
import { createDialects } from '../../../src/contract/dialect/registry.ts'
import { failureOfReply } from '../../../src/contract/dialect/reply-failure.ts'
import type { Json, JsonObject } from '../../../src/util/json.ts'

const dialects = createDialects()
const expected = { requestId: 'req-1', callId: '01890a5d-ac96-774b-bcce-b302099a8057' }
const read = (body: Json, more = {}) => dialects.decodeReply(body, { ...expected, ...more })
const four = (more: JsonObject): JsonObject => ({
  call_id: expected.callId,
  status: 'success',
  metrics: { duration_ms: 1 },
  provenance: { tool_id: 'x', tool_version: '1.0.0' },
  ...more,
})

function paths(body: Json, more = {}): readonly string[] {
  const reply = read(body, more)
  assert.equal(reply.kind, 'malformed')
  return reply.kind === 'malformed' ? reply.violations.map((one) => one.path) : []
}

function failure(body: Json): ToolFailure {
  const reply = read(body)
  assert.ok(reply.kind === 'failure', JSON.stringify(reply))
  return reply
}

describe("reading a tool's reply", () => {
  it('reads success in all three dialects', () => {
    const success = { kind: 'success', output: { a: 1 } }
    assert.deepEqual(read({ request_id: 'req-1', status: 'ok', output: { a: 1 } }), success)
    assert.deepEqual(read({ request_id: 'req-1', status: 'success', output: { a: 1 } }), success)
    assert.deepEqual(read({ request_id: 'req-1', status: 'success', result: { a: 1 } }), success)
    assert.deepEqual(read(four({ output: { a: 1 } })), success)
  })

  it('keeps any JSON as output, and null where there is none', () => {
    for (const output of ['text', 0, false, null, [1]]) {
      assert.deepEqual(read({ request_id: 'req-1', status: 'ok', output }), { kind: 'success', output })
    }
    assert.deepEqual(read({ request_id: 'req-1', status: 'ok' }), { kind: 'success', output: null })
  })

  it('refuses a reply to another request', () => {
    assert.deepEqual(paths({ request_id: 'req-2', status: 'ok' }), ['/request_id'])
    assert.deepEqual(paths({ request_id: 'req-2', status: 'success', result: 1 }), ['/request_id'])
    assert.deepEqual(paths(four({ call_id: '11111111-1111-4111-8111-111111111111' })), ['/call_id'])
  })

  it('lets a v1 reply leave its id out only where that is allowed, and never a wrong one', () => {
    assert.deepEqual(paths({ status: 'ok' }), ['/request_id'])
    assert.equal(read({ status: 'ok' }, { idOptional: true }).kind, 'success')
    assert.deepEqual(paths({ request_id: 'req-2', status: 'ok' }, { idOptional: true }), ['/request_id'])
  })

  it("expects the caller's own id in four-outcome where that is a UUID", () => {
    const requestId = '7f1c1a52-3c0c-4b8e-9d57-0b6f6f2f9a11'
    assert.equal(read(four({ call_id: requestId }), { requestId }).kind, 'success')
    assert.deepEqual(paths(four({}), { requestId }), ['/call_id'])
  })

  it('S6: success_prep is a success with its commit token, and nothing without one', () => {
    const reply = read(four({ status: 'success_prep', commit_token: 'ct' }))
    assert.deepEqual(reply, { kind: 'success', output: null, commitToken: 'ct' })
    assert.deepEqual(paths(four({ status: 'success_prep', commit_token: null })), ['/commit_token'])
  })

  it('checks a four-outcome reply to the letter', () => {
    assert.deepEqual(paths({ call_id: expected.callId, status: 'success' }), ['', ''])
    assert.deepEqual(paths(four({ extra: 1 })), ['/extra'])
    assert.deepEqual(paths(four({ status: 'terminal_error' })), ['/error'])
    assert.deepEqual(paths(four({ status: 'terminal_error', error: {} })), ['/error/code'])
  })

  it('refuses success mixed with error, and failure without one', () => {
    assert.deepEqual(paths({ request_id: 'req-1', status: 'ok', error: { code: 'timeout' } }), ['/error'])
    assert.deepEqual(paths({ request_id: 'req-1', status: 'error' }), ['/error'])
    assert.equal(read({ request_id: 'req-1', status: 'ok', error: null }).kind, 'success')
  })

  it('refuses another major version, under either name', () => {
    assert.deepEqual(paths({ tool_contract_version: 'v2', request_id: 'req-1', status: 'ok' }), [
      '/tool_contract_version',
    ])
    assert.deepEqual(paths({ contract_version: 'v2', request_id: 'req-1', status: 'ok' }), [
      '/contract_version',
    ])
  })

  it('reads a failure in the words of the tool', () => {
    const v1 = failure({
      request_id: 'req-1',
      status: 'denied',
      error: { code: 'permission_denied', reason: 'tool_permission_denied', retryable: false, message: 'no' },
    })
    assert.partialDeepStrictEqual(v1, {
      status: 'denied',
      code: 'permission_denied',
      message: 'no',
      retryable: false,
    })
    const legacy = failure({
      request_id: 'req-1',
      status: 'error',
      error: { tool_code: 'rate_limited', tool_reason: 'API rate limit exceeded', retryable: true },
    })
    assert.partialDeepStrictEqual(legacy, {
      code: 'rate_limited',
      message: 'API rate limit exceeded',
      retryable: true,
    })
    assert.ok(!('reason' in legacy))
    const outcome = failure(
      four({ status: 'retryable_error', error: { code: 'R-HTTP-429', message: 'slow' } }),
    )
    assert.partialDeepStrictEqual(outcome, { code: 'R-HTTP-429', retryable: true, dialect: 'four-outcome' })
  })

  it('S23: believes a tool that states that nothing happened', () => {
    const error = { code: 'execution_failed' }
    assert.equal(failure({ request_id: 'req-1', status: 'error', effect: 'none', error }).harmless, true)
    assert.equal(failure({ request_id: 'req-1', status: 'error', effect: 'unknown', error }).harmless, false)
    assert.equal(failure({ request_id: 'req-1', status: 'error', error }).harmless, false)
  })

  it('never loses a success over warnings that cannot be read', () => {
    const reply = read({
      request_id: 'req-1',
      status: 'ok',
      output: 1,
      warnings: 'x',
      side_effects: [{ a: 1 }, 2],
    })
    assert.ok(reply.kind === 'success')
    assert.deepEqual(reply.sideEffects, [{ a: 1 }])
    assert.equal(reply.warnings?.length, 2)
  })

  it('reads what the tool has used, in all three dialects, of failures too', () => {
    const said = { duration_ms: 9, attempt: 3, cpu_ms: 211.5, memory_peak_mb: 74 }
    const usage = { cpuMs: 211.5, memoryPeakMb: 74 }
    const replies = [
      read({ request_id: 'req-1', status: 'ok', usage: said }),
      read({ request_id: 'req-1', status: 'error', error: { code: 'x' }, usage: said }),
      read({ request_id: 'req-1', status: 'success', result: 1, usage: said }),
      read({ request_id: 'req-1', status: 'error', error: { tool_code: 'x' }, usage: said }),
      read(four({ metrics: said })),
      read(four({ status: 'terminal_error', error: { code: 'x', message: 'm' }, metrics: said })),
    ]
    for (const reply of replies) assert.partialDeepStrictEqual(reply, { usage })
    assert.ok(!('usage' in read({ request_id: 'req-1', status: 'ok', usage: { duration_ms: 1 } })))
  })

  it('leaves out usage that cannot be read, with a warning', () => {
    for (const usage of ['much', [1], { cpu_ms: '211' }, { cpu_ms: -1 }]) {
      const reply = read({ request_id: 'req-1', status: 'ok', usage })
      assert.ok(reply.kind === 'success')
      assert.equal(reply.usage, undefined)
      assert.equal(reply.warnings?.length, 1)
    }
    const half = read({ request_id: 'req-1', status: 'ok', usage: { cpu_ms: null, memory_peak_mb: 1 } })
    assert.deepEqual(half, { kind: 'success', output: null, usage: { memoryPeakMb: 1 } })
  })

  it('answers any JSON at all without throwing', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (body) => {
        assert.ok(['success', 'failure', 'malformed'].includes(read(body as Json).kind))
        dialects.looksLikeEnvelope(body as Json, expected)
      }),
      { numRuns: 300 },
    )
  })
})

describe('telling an envelope from the JSON of a third party', () => {
  const looks = (body: Json) => dialects.looksLikeEnvelope(body, expected)

  it('takes no stray status for an envelope', () => {
    for (const body of [
      { status: 'ok' },
      { status: 'error', message: 'no such user' },
      { status: 'ok', data: [1] },
      { status: 'ok', request_id: 'theirs' },
      { status: 'success', request_id: 'theirs', result: 1 },
      { status: 'ok', request_id: 'req-1', data: 1 },
      { status: 'error', error: 'text' },
      { status: 'error', error: { code: 'x' } },
      { status: 'success', output: 1 },
      { call_id: 'x', status: 'success' },
      { status: 200, request_id: 'req-1' },
      ['ok'],
      'ok',
      null,
    ]) {
      assert.equal(looks(body), false, JSON.stringify(body))
    }
  })

  it('knows the envelopes of all three dialects', () => {
    for (const body of [
      { status: 'ok', request_id: 'req-1', output: 1 },
      { status: 'ok', tool_contract_version: 'v1' },
      { status: 'ok', contract_version: 'v1', output: 'x' },
      { status: 'error', error: { code: 'timeout', reason: 'tool_execution_timeout' } },
      { status: 'success', request_id: 'req-1', result: 1 },
      { status: 'success', request_id: 'req-1', output: 1 },
      four({}),
      four({ status: 'success_prep', commit_token: 'ct' }),
    ]) {
      assert.equal(looks(body), true, JSON.stringify(body))
    }
  })
})

describe('the row of a failure that a tool reports', () => {
  const row = (code: string, dialect: 'v1' | 'four-outcome' = 'v1') =>
    failureOfReply({ kind: 'failure', status: 'error', code, dialect, message: 'm', harmless: false }).failure

  it('keeps the tool from deciding what only the runtime decides', () => {
    for (const code of ['approval_pending', 'approval_denied', 'approval_timeout']) {
      assert.equal(row(code), 'upstream-rejected')
    }
    assert.equal(row('A-AUTH-010', 'four-outcome'), 'upstream-forbidden')
    const reply = {
      kind: 'failure',
      status: 'error',
      code: 'x',
      dialect: 'v1',
      message: 'm',
      harmless: false,
    } as const
    const { details } = failureOfReply({
      ...reply,
      details: { failure: 'frozen', transient: true, field: 'a' },
    })
    assert.deepEqual(details, { field: 'a', tool_status: 'error', tool_code: 'x' })
  })

  it('knows the codes of seed 000, the classes of seed 004, and its aliases', () => {
    assert.equal(row('rate_limited'), 'upstream-throttled')
    assert.equal(row('auth_invalid'), 'upstream-unauthorized')
    assert.equal(row('constructor'), 'upstream-error')
    assert.equal(row('R-HTTP-429', 'four-outcome'), 'upstream-throttled')
    assert.equal(row('S-TOOL-UNAVAILABLE', 'four-outcome'), 'tool-unhealthy')
    assert.equal(row('R-TIMEOUT-001', 'four-outcome'), 'timeout')
    assert.equal(row('D-DATA-010', 'four-outcome'), 'partial-effect')
    assert.equal(row('P-PRECOND-999', 'four-outcome'), 'upstream-rejected')
    assert.equal(row('WHAT', 'four-outcome'), 'upstream-error')
  })
})
