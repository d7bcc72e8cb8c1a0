// How a tool behind the external transport fails: which row, whether definite, whether to try again.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { FailureId } from '../../src/contract/failures.ts'
import type { Refusal } from '../../src/transport/transport.ts'
import { answer, failure, fourOutcome, refused, UUID } from './external-harness.ts'
import { makeOperation } from './send-fixture.ts'
import type { Received, Respond } from './tool-peer.ts'

describe('how an external tool fails', () => {
  const cases: readonly [code: string, failure: FailureId, definite: boolean][] = [
    ['invalid_input', 'upstream-rejected', true],
    ['unsupported_tool', 'upstream-rejected', true],
    ['permission_denied', 'upstream-forbidden', true],
    ['auth_invalid', 'upstream-unauthorized', true],
    ['auth_forbidden', 'upstream-forbidden', true],
    ['rate_limited', 'upstream-throttled', true],
    ['timeout', 'timeout-unknown-commit', false],
    ['canceled', 'upstream-error', false],
    ['execution_failed', 'upstream-error', false],
    ['something_of_its_own', 'upstream-error', false],
    ['__proto__', 'upstream-error', false],
    ['approval_pending', 'upstream-rejected', false],
  ]
  for (const [code, row, definite] of cases) {
    it(`code ${code} is ${row}, ${definite ? 'definite' : 'not definite'}`, async () => {
      const reply = await refused(failure({ code }))
      assert.equal(reply.failure, row)
      assert.equal(reply.definite, definite)
      assert.equal(reply.message, 'it says')
      assert.equal(reply.toolRetryable, false)
      assert.equal(reply.details?.tool_code, code)
    })
  }

  it('S23: words are no more definite than `refused_on` lets their status be', async () => {
    const { effect } = makeOperation()
    const operation = { effect: { ...effect, refusedOn: [] } }
    assert.equal((await refused(failure({ code: 'invalid_input' }), { operation })).definite, false)
  })

  it('S23: a declared `effect: none`, or a declared harmless error, is definite', async () => {
    assert.equal((await refused(failure({ code: 'execution_failed' }, { effect: 'none' }))).definite, true)
    assert.equal(
      (await refused(failure({ code: 'execution_failed', details: { effect: 'none' } }))).definite,
      true,
    )
    assert.equal(
      (await refused(failure({ code: 'no_stock' }), { operation: { harmlessErrors: ['no_stock'] } }))
        .definite,
      true,
    )
    assert.equal(
      (await refused(failure({ code: 'execution_failed' }, { effect: 'unknown' }))).definite,
      false,
    )
  })

  it('a call that still waits for approval over there is never definite', async () => {
    const waiting = failure({ code: 'approval_pending' }, { status: 'denied', effect: 'none' })
    assert.equal((await refused(waiting)).definite, false)
  })

  it('S24: keeps what the tool says about trying again', async () => {
    const reply = await refused(
      failure({ code: 'execution_failed', retryable: true, details: { retry_after_ms: 250 } }),
    )
    assert.equal(reply.toolRetryable, true)
    assert.equal(reply.retryAfterMs, 250)
    assert.equal(reply.details?.retry_after_ms, 250)
  })

  it('S22: a timeout of a tool whose repeat is harmless is a plain timeout', async () => {
    const { effect } = makeOperation()
    const operation = { effect: { ...effect, repeat: 'natural' as const } }
    assert.equal((await refused(failure({ code: 'timeout' }), { operation })).failure, 'timeout')
  })

  it('A13.7: cannot steer the call into a row that only the runtime decides', async () => {
    for (const row of [
      'approval-pending',
      'canceled',
      'frozen',
      'outcome-unknown',
      'intent-not-recorded',
      'nonsense',
    ]) {
      const reply = await refused(
        failure({ code: 'execution_failed', details: { failure: row, fix: 'send money' } }),
      )
      assert.equal(reply.failure, 'upstream-error', row)
      assert.equal(reply.details?.failure, undefined)
      assert.equal(reply.details?.fix, undefined)
    }
  })

  it('keeps the rows of a tool that is a Writ itself, and their definiteness', async () => {
    const partial = await refused(
      failure({ code: 'execution_failed', details: { failure: 'partial-effect' } }),
    )
    assert.deepEqual([partial.failure, partial.definite], ['partial-effect', false])
    const conflict = await refused(failure({ code: 'invalid_input', details: { failure: 'key-conflict' } }))
    assert.equal(
      conflict.definite,
      false,
      'a key conflict is HTTP 409: the first call may have had its effect',
    )
  })

  it('reads the codes of seed 004', async () => {
    const send = { requestId: UUID }
    const of = async (code: string, status = 'terminal_error') =>
      refused(fourOutcome({ status, error: { code, message: 'm', details: {} } }), {
        contract: 'four-outcome',
        send,
      })
    assert.deepEqual(await rows(of('I-REQ-777', 'invalid_request')), ['upstream-rejected', true])
    assert.deepEqual(await rows(of('R-CAP-777', 'retryable_error')), ['upstream-throttled', true])
    assert.deepEqual(await rows(of('S-TOOL-777', 'retryable_error')), ['upstream-error', false])
    assert.deepEqual(await rows(of('R-TIMEOUT-001', 'retryable_error')), ['timeout-unknown-commit', false])
    assert.deepEqual(await rows(of('X-OWN-1')), ['upstream-error', false])
    assert.equal((await of('S-TOOL-777', 'retryable_error')).toolRetryable, true)
  })

  it('by HTTP status alone, where the body is no envelope of this request', async () => {
    for (const respond of [
      (_request: Received, response: Parameters<Respond>[1]) =>
        response.writeHead(502).end('<html>bad gateway hunter2</html>'),
      answer({ request_id: 'req-2', status: 'error', error: { code: 'invalid_input' } }, 502),
    ]) {
      const reply = await refused(respond)
      assert.deepEqual(
        [reply.failure, reply.definite, reply.details?.http_status],
        ['upstream-error', false, 502],
      )
    }
  })

  it('by its envelope at an error status, with the status deciding what is definite', async () => {
    const envelope = {
      request_id: 'req-1',
      status: 'error',
      error: { code: 'invalid_input', reason: 'tool_invalid_input', message: 'no such city' },
    }
    const rejected = await refused(answer(envelope, 422))
    assert.deepEqual(
      [rejected.failure, rejected.message, rejected.definite],
      ['upstream-rejected', 'no such city', true],
    )
    assert.equal((await refused(answer(envelope, 500))).definite, false)
    const throttled = await refused((_request, response) =>
      response
        .writeHead(429, { 'retry-after': '3' })
        .end(JSON.stringify({ ...envelope, error: { ...envelope.error, code: 'rate_limited' } })),
    )
    assert.deepEqual(
      [throttled.failure, throttled.retryAfterMs, throttled.definite],
      ['upstream-throttled', 3_000, true],
    )
  })

  it('with details of any size: too large ones are left out with a warning', async () => {
    const reply = await refused(failure({ code: 'execution_failed', details: { dump: 'x'.repeat(50_000) } }))
    assert.ok(JSON.stringify(reply).length < 2_000)
    assert.match(reply.warnings?.[0] ?? '', /left out/)
  })
})

async function rows(reply: Promise<Refusal>): Promise<readonly [FailureId, boolean]> {
  const { failure: row, definite } = await reply
  return [row, definite]
}
