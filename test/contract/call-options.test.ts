// Calls from a program obey the rules of the wire.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type CallOptions, createCall, withKey } from '../../src/contract/call-options.ts'
import type { Violation } from '../../src/util/json.ts'
import { counterMint } from './support.ts'

function violations(options: object): readonly Violation[] {
  const made = createCall(options as CallOptions, counterMint())
  assert.ok(!made.ok)
  assert.equal(made.failure.id, 'envelope-invalid')
  return made.failure.details.violations as unknown as readonly Violation[]
}

function call(options: CallOptions) {
  const made = createCall(options, counterMint())
  assert.ok(made.ok, made.ok ? '' : made.failure.message)
  return made.call
}

describe('createCall', () => {
  it('makes a v1 call with a fresh request id', () => {
    const made = call({ tool: 'x', input: { a: 1 } })
    assert.partialDeepStrictEqual(made, {
      dialect: 'v1',
      tool: 'x',
      operation: 'invoke',
      freshId: true,
      dryRun: false,
    })
    assert.notEqual(made.requestId, made.id)
    assert.equal(call({ tool: 'x', requestId: 'r' }).freshId, false)
  })

  it('takes every option over', () => {
    const made = call({
      tool: 'x',
      operation: 'set',
      version: '^1.2.0',
      namespace: 'n',
      requestId: 'r',
      idempotencyKey: 'k',
      deadlineUnixMs: 5,
      timeoutMs: 6,
      maxAttempts: 2,
      dryRun: true,
      saga: 's',
      taskId: 't',
      agent: 'a',
      trace: { traceId: 'tr', spanId: 'sp' },
    })
    assert.partialDeepStrictEqual(made, {
      operation: 'set',
      version: '^1.2.0',
      namespace: 'n',
      requestId: 'r',
      key: 'k',
      deadlineUnixMs: 5,
      constraints: { timeoutMs: 6, maxAttempts: 2 },
      dryRun: true,
      saga: 's',
      taskId: 't',
      agent: 'a',
      trace: { traceId: 'tr', spanId: 'sp' },
    })
  })

  it('refuses NaN, negative, zero and endless timeouts with their place', () => {
    for (const timeoutMs of [Number.NaN, -1, 0, 1.5, Number.POSITIVE_INFINITY]) {
      assert.deepEqual(
        violations({ tool: 'x', timeoutMs }).map((one) => one.path),
        ['/timeoutMs'],
        String(timeoutMs),
      )
    }
  })

  it('refuses unknown options with a suggestion, and input that JSON cannot say', () => {
    assert.match(violations({ tool: 'x', timeoutMS: 5 })[0]?.message ?? '', /timeoutMs/)
    assert.deepEqual(
      violations({ tool: 'x', input: { a: [Number.NaN] } }).map((one) => one.path),
      ['/input/a/0'],
    )
    assert.deepEqual(
      violations({ tool: 'x', version: 'newest' }).map((one) => one.path),
      ['/version'],
    )
    assert.deepEqual(
      violations({}).map((one) => one.path),
      ['/tool'],
    )
  })
})

describe('withKey', () => {
  const plain = () => call({ tool: 'x' })

  it('takes the header over, quoted or not', () => {
    for (const header of ['order-42', '"order-42"', ' order-42 ']) {
      const merged = withKey(plain(), header)
      assert.ok(merged.ok && merged.call.key === 'order-42', header)
    }
  })

  it('refuses an empty, an endless and a contradicting key', () => {
    for (const header of ['', '""', 'k'.repeat(513)]) assert.equal(withKey(plain(), header).ok, false)
    assert.equal(withKey(call({ tool: 'x', idempotencyKey: 'a' }), 'b').ok, false)
    assert.equal(withKey(call({ tool: 'x', idempotencyKey: 'a' }), 'a').ok, true)
  })
})
