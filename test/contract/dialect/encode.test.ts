// Every answer has an envelope that its schema accepts, and says the same in every dialect.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { type Answer, OPEN_STATES, OUTCOMES } from '../../../src/contract/answer.ts'
import { DIALECT_NAMES } from '../../../src/contract/call.ts'
import { encodeAnswer } from '../../../src/contract/dialect/encode-answer.ts'
import { EFFECT_STATES } from '../../../src/contract/effect.ts'
import { FAILURE_IDS, failureRow } from '../../../src/contract/failures.ts'
import { createFailure } from '../../../src/contract/projection.ts'
import { SCHEMAS } from '../../../src/contract/schema/registry.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../src/util/json.ts'
import { compileSchema } from '../../../src/util/json-schema.ts'
import { anAnswer } from '../support.ts'

const json = fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<Json>
const object = fc.dictionary(fc.string(), json) as fc.Arbitrary<JsonObject>
const optional = <T>(key: string, value: fc.Arbitrary<T>) =>
  fc.option(
    value.map((one) => ({ [key]: one })),
    { nil: {} },
  )

/** Any answer that the runtime could give, and many that it could not. */
const answers: fc.Arbitrary<Answer> = fc
  .record({
    callId: fc.uuid(),
    requestId: fc.oneof(fc.uuid(), fc.stringMatching(/^[A-Za-z0-9._:/-]{1,128}$/)),
    state: fc.constantFrom(...OUTCOMES, ...OPEN_STATES),
    final: fc.boolean(),
    effect: fc.constantFrom(...EFFECT_STATES),
    failure: fc
      .record({
        id: fc.constantFrom(...FAILURE_IDS),
        harmless: fc.boolean(),
        message: fc.string(),
        details: object,
      })
      .map(({ id, ...facts }) => createFailure(id, facts)),
    usage: fc.record({ durationMs: fc.double({ min: 0, max: 1e9, noNaN: true }), attempt: fc.nat(99) }),
    trace: fc.record({ traceId: fc.string(), spanId: fc.string() }),
    replayed: fc.boolean(),
    warnings: fc.array(fc.string()),
    sideEffects: fc.array(object),
    named: fc.record({ name: fc.string(), operation: fc.string() }),
    resolved: optional('version', fc.string()),
    token: optional('commitToken', fc.string()),
    saga: optional('saga', fc.string()),
    output: optional('output', json),
  })
  .map(({ named, resolved, token, saga, output, ...rest }) => ({
    ...rest,
    tool: { ...named, ...resolved },
    ...token,
    ...saga,
    ...output,
  }))

describe('encoding an answer', () => {
  for (const dialect of DIALECT_NAMES) {
    const schema = compileSchema(SCHEMAS[`${dialect}-response`])
    const declared = new Set(Object.keys(SCHEMAS[`${dialect}-response`].properties as object))

    it(`${dialect}: every answer with a failure validates against the response schema`, () => {
      fc.assert(
        fc.property(answers, (answer) => {
          const response = encodeAnswer(dialect, answer)
          assert.deepEqual(schema.check(response), [])
          for (const field of Object.keys(response)) assert.ok(declared.has(field), field)
        }),
        { numRuns: 300 },
      )
    })

    it(`${dialect}: every success validates against the response schema`, () => {
      fc.assert(
        fc.property(answers, fc.constantFrom('succeeded', 'prepared'), ({ failure: _, ...answer }, state) => {
          assert.deepEqual(schema.check(encodeAnswer(dialect, { ...answer, state })), [])
        }),
        { numRuns: 100 },
      )
    })

    it(`${dialect}: every row says its id, its fix and the effect, and what the tool has used`, () => {
      for (const id of FAILURE_IDS) {
        // A detail of the same name, from whatever place, does not hide what the runtime knows.
        const failure = createFailure(id, { details: { failure: 'x', fix: 'y', effect: 'z' } })
        const usage = { durationMs: 1, attempt: 1, cpuMs: 0.5, memoryPeakMb: 74 }
        const response = encodeAnswer(dialect, anAnswer({ failure, effect: 'not-done', usage }))
        assert.ok(isJsonObject(response.error))
        const { fix } = failureRow(id)
        assert.partialDeepStrictEqual(response.error.details, { failure: id, fix, effect: 'not-done' })
        assert.partialDeepStrictEqual(response.usage ?? response.metrics, { cpu_ms: 0.5, memory_peak_mb: 74 })
      }
    })

    it(`S8: ${dialect}: a running call has no envelope`, () => {
      const { output: _, ...running } = anAnswer({ state: 'running', final: false, effect: 'pending' })
      assert.throws(() => encodeAnswer(dialect, running), /bug: a call that is 'running' has no envelope/)
    })
  }

  it('v1: usage, trace, effect and final are always there', () => {
    for (const failure of [undefined, createFailure('timeout')]) {
      const answer = failure === undefined ? anAnswer() : anAnswer({ failure })
      assert.partialDeepStrictEqual(encodeAnswer('v1', answer), {
        usage: { duration_ms: 12, attempt: 1 },
        trace: { trace_id: 't', span_id: 's' },
        effect: 'done',
        final: true,
      })
    }
  })

  it('S7: legacy gives the human message as tool_reason', () => {
    const failure = createFailure('rate-limited', { message: 'slow down' })
    assert.partialDeepStrictEqual(encodeAnswer('legacy', anAnswer({ failure })), {
      status: 'error',
      error: { tool_code: 'rate_limited', tool_reason: 'slow down', retryable: true },
    })
  })

  it('S6: replayed and saga live in provenance, and an unresolved tool still has a version', () => {
    const answer = anAnswer({ replayed: true, saga: 's-1', tool: { name: 'x', operation: 'invoke' } })
    assert.partialDeepStrictEqual(encodeAnswer('four-outcome', answer), {
      provenance: { replayed: true, saga: 's-1', tool_version: '0.0.0-unresolved' },
    })
  })

  it('S6: success_prep is never written: a prepared call is a success with a commit token', () => {
    const answer = anAnswer({ state: 'prepared', final: false, effect: 'prepared', commitToken: 'ct' })
    assert.partialDeepStrictEqual(encodeAnswer('four-outcome', answer), {
      status: 'success',
      commit_token: 'ct',
    })
  })

  it('four-outcome: each outcome has what 004 promises with it', () => {
    const details = (id: 'connect-failed' | 'deadline-past', more = {}) => {
      const { error } = encodeAnswer(
        'four-outcome',
        anAnswer({ failure: createFailure(id, { details: more }) }),
      )
      return isJsonObject(error) ? (error.details as JsonObject) : {}
    }
    assert.equal(details('connect-failed').retry_after_ms, 1_000)
    assert.equal(details('connect-failed', { retry_after_ms: 50 }).retry_after_ms, 50)
    assert.equal((details('deadline-past').violations as readonly Json[]).length, 1)
  })

  it('a row that is retryable under a condition is terminal where the condition fails', () => {
    const failure = createFailure('upstream-error', { harmless: false })
    assert.equal(encodeAnswer('four-outcome', anAnswer({ failure })).status, 'terminal_error')
    const safe = createFailure('upstream-error', { harmless: true })
    assert.equal(encodeAnswer('four-outcome', anAnswer({ failure: safe })).status, 'retryable_error')
  })
})
