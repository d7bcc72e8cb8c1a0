// The external transport: the envelope both ways, in every dialect a tool may speak.
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import type { DialectName } from '../../src/contract/call.ts'
import { createDialects } from '../../src/contract/dialect/registry.ts'
import type { FailureId } from '../../src/contract/failures.ts'
import type { ResolvedOperation } from '../../src/resource/resolved-tool.ts'
import { createExternalTransport } from '../../src/transport/external.ts'
import { createNetwork } from '../../src/transport/network.ts'
import type { Refusal, Reply, Send } from '../../src/transport/transport.ts'
import { createSystemWorld } from '../../src/util/clock.ts'
import type { Json, JsonObject } from '../../src/util/json.ts'
import { makeOperation, makeSend, makeSink, makeTool } from './send-fixture.ts'
import { listenHttp, type Received, type Respond, sendJson } from './tool-peer.ts'
import { refusal, success } from './transport-contract.ts'

const network = createNetwork()
const dialects = createDialects()
const external = createExternalTransport({ world: createSystemWorld({ network }), dialects })
after(() => network.destroy())

const UUID = '3f333df6-90a4-4fda-8dd3-9485d27cee36'

async function attempt(
  respond: Respond,
  options: { contract?: DialectName; operation?: Partial<ResolvedOperation>; send?: Partial<Send> } = {},
): Promise<{ reply: Reply; request: Received }> {
  const peer = await listenHttp(respond)
  try {
    const tool = makeTool(
      { type: 'external', endpoint: peer.origin, contract: options.contract ?? 'v1' },
      makeOperation(options.operation),
    )
    const reply = await external.attempt(makeSend(tool, { city: 'Brno' }, options.send), makeSink())
    return { reply, request: peer.received[0] as Received }
  } finally {
    await peer.close()
  }
}

const answer =
  (value: Json, status = 200): Respond =>
  (_request, response) =>
    sendJson(response, value, status)

const failure = (error: JsonObject, rest: JsonObject = {}): Respond =>
  answer({
    request_id: 'req-1',
    status: 'error',
    error: { reason: 'tool_backend_failure', retryable: false, message: 'it says', details: {}, ...error },
    ...rest,
  })

async function refused(respond: Respond, options: Parameters<typeof attempt>[1] = {}): Promise<Refusal> {
  return refusal((await attempt(respond, options)).reply)
}

describe('what an external tool is sent', () => {
  const ok = answer({ request_id: 'req-1', status: 'ok', output: {} })

  it('W2: is the v1 envelope with everything the call carries', async () => {
    const { request } = await attempt(ok, { send: { attempt: 2, timeoutMs: 1_234.5, key: 'the-key' } })
    assert.equal(request.headers['content-type'], 'application/json')
    assert.equal(request.headers['x-tool-contract-version'], 'v1')
    assert.equal(request.headers['idempotency-key'], 'the-key')
    assert.equal(request.headers.traceparent, '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01')
    const envelope = JSON.parse(request.body) as JsonObject
    assert.equal(envelope.request_id, 'req-1')
    assert.equal(envelope.task_id, 'default/weekly')
    assert.equal(envelope.agent, 'tester')
    assert.equal(envelope.namespace, 'default')
    assert.equal(envelope.attempt, 2)
    assert.equal(envelope.idempotency_key, 'the-key')
    assert.equal(envelope.deadline_unix_ms, 1_900_000_000_000)
    assert.deepEqual(envelope.input, { city: 'Brno' })
    assert.deepEqual(envelope.trace, {
      trace_id: '0af7651916cd43dd8448eb211c80319c',
      span_id: 'b7ad6b7169203331',
    })
    assert.deepEqual(envelope.tool, {
      name: 'probe',
      operation: 'invoke',
      version: '1.0.0',
      capabilities: ['network.write'],
      risk_level: 'low',
    })
    assert.equal((envelope.runtime as JsonObject).timeout_ms, 1_234)
  })

  it('W2: keeps its id on every attempt', async () => {
    for (const number of [1, 2, 3]) {
      const { request } = await attempt(ok, { send: { attempt: number } })
      assert.equal((JSON.parse(request.body) as JsonObject).request_id, 'req-1')
    }
  })

  it('S7: is the dialect that the tool declares', async () => {
    const legacy = await attempt(answer({ request_id: 'req-1', status: 'success', result: 1 }), {
      contract: 'legacy',
    })
    const short = JSON.parse(legacy.request.body) as JsonObject
    assert.deepEqual([short.tool, short.action, short.parameters], ['probe', 'invoke', { city: 'Brno' }])
    assert.equal(success(legacy.reply).output, 1)

    const four = await attempt(fourOutcome({ status: 'success', output: { ok: true } }), {
      contract: 'four-outcome',
      send: { requestId: UUID },
    })
    const long = JSON.parse(four.request.body) as JsonObject
    assert.deepEqual([long.call_id, long.tool_id, long.fn], [UUID, 'probe', 'invoke'])
    assert.equal((long.constraints as JsonObject).idempotency_key, makeSend(makeTool(), {}).key)
    assert.deepEqual(success(four.reply).output, { ok: true })
  })
})

describe('what a four-outcome tool is told of the call', () => {
  const declared = ['https://*.example.com', 'http://127.0.0.1:1']

  async function told(send: Partial<Send>, netAllowlist: readonly string[] = []) {
    const peer = await listenHttp(fourOutcome({ status: 'success', output: null }))
    try {
      const tool = makeTool({
        type: 'external',
        endpoint: peer.origin,
        contract: 'four-outcome',
        netAllowlist,
      })
      success(await external.attempt(makeSend(tool, {}, { requestId: UUID, ...send }), makeSink()))
      return JSON.parse((peer.received[0] as Received).body) as Record<string, JsonObject>
    } finally {
      await peer.close()
    }
  }

  it("is the caller's own context and provenance", async () => {
    const context = {
      timezone: 'Asia/Tokyo',
      env: 'staging',
      clock: 'monotonic',
      locale: 'ja',
      scopes: ['a'],
    }
    const sent = await told({ echo: { context, provenance: { commit: 'git:1' } } })
    assert.partialDeepStrictEqual(sent.context, { ...context, actor_id: 'agent://tests' })
    assert.partialDeepStrictEqual(sent.provenance, { commit: 'git:1', attempt: 1 })
  })

  it('S2: is what both lists of origins allow, and no list where nobody has one', async () => {
    assert.ok(!('net_allowlist' in ((await told({})).constraints ?? {})))
    assert.deepEqual((await told({}, declared)).constraints?.net_allowlist, declared)
    const asked = { netAllowlist: ['https://api.example.com', 'https://other.org'] }
    const alone = await told({ constraints: asked })
    assert.deepEqual(alone.constraints?.net_allowlist, asked.netAllowlist)
    const both = await told({ constraints: asked }, declared)
    assert.deepEqual(both.constraints?.net_allowlist, ['https://api.example.com'])
  })

  it('is the memory that the request asks for', async () => {
    const sent = await told({ constraints: { memoryMb: 512 } })
    assert.equal(sent.constraints?.memory_mb_limit, 512)
    assert.ok(!('memory_mb_limit' in ((await told({})).constraints ?? {})))
  })
})

describe('what an external tool answers', () => {
  it('says what it has used, also where it failed', async () => {
    const usage = { duration_ms: 1, cpu_ms: 211, memory_peak_mb: 74 }
    const ok = await attempt(answer({ request_id: 'req-1', status: 'ok', output: 1, usage }))
    assert.deepEqual(success(ok.reply).usage, { cpuMs: 211, memoryPeakMb: 74 })
    const not = await refused(failure({ code: 'execution_failed' }, { usage }))
    assert.deepEqual(not.usage, { cpuMs: 211, memoryPeakMb: 74 })
  })

  it('W1: may be any JSON', async () => {
    for (const output of [{ nested: [1, { a: null }] }, 'text', 7, null, []] as Json[]) {
      const { reply } = await attempt(answer({ request_id: 'req-1', status: 'ok', output }))
      assert.deepEqual(success(reply).output, output)
    }
  })

  it('S7: is read in any of the three dialects', async () => {
    const spoken = [
      answer({ request_id: UUID, status: 'ok', output: 1 }),
      answer({ request_id: UUID, status: 'success', result: 1 }),
      fourOutcome({ status: 'success', output: 1 }),
    ]
    for (const respond of spoken) {
      for (const contract of ['v1', 'legacy', 'four-outcome'] as const) {
        const { reply } = await attempt(respond, { contract, send: { requestId: UUID } })
        assert.equal(success(reply).output, 1)
      }
    }
  })

  it('keeps warnings, side effects and the token of a prepared effect', async () => {
    const { reply } = await attempt(
      answer({
        request_id: 'req-1',
        status: 'ok',
        output: {},
        warnings: ['w'],
        side_effects: [{ kind: 'write' }],
        commit_token: 'tok',
      }),
    )
    const { warnings, sideEffects, commitToken } = success(reply)
    assert.deepEqual([warnings, sideEffects, commitToken], [['w'], [{ kind: 'write' }], 'tok'])
  })

  it('must be an envelope: anything else is malformed, and neither definite nor retryable', async () => {
    const wrong: Respond[] = [
      (_request, response) => response.end('plain text'),
      (_request, response) => response.end(),
      answer({ request_id: 'req-1', status: 'ok', output: 1, error: { code: 'x' } }),
      answer({ request_id: 'req-1', status: 'fine', output: 1 }),
      answer({ request_id: 'req-1', status: 'error' }),
      answer({ tool_contract_version: 'v2', request_id: 'req-1', status: 'ok' }),
      answer([1]),
      answer(null),
      (_request, response) => response.end('{"request_id":"req-1","status":"ok","status":"error"}'),
    ]
    for (const respond of wrong) {
      const reply = await refused(respond)
      assert.equal(reply.failure, 'reply-malformed')
      assert.equal(reply.definite, false)
      assert.equal(reply.toolRetryable, undefined)
      assert.notDeepEqual(reply.details?.violations ?? [], [])
    }
  })

  it('W2: must answer this very request', async () => {
    for (const value of [
      { request_id: 'req-2', status: 'ok', output: 'of somebody else' },
      { status: 'ok', output: 'of nobody' },
    ]) {
      const reply = await refused(answer(value))
      assert.equal(reply.failure, 'reply-malformed')
      assert.match(JSON.stringify(reply.details), /request_id/)
      assert.doesNotMatch(JSON.stringify(reply), /somebody/)
    }
  })
})

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

function fourOutcome(rest: JsonObject): Respond {
  return answer({
    call_id: UUID,
    metrics: { duration_ms: 1 },
    provenance: { tool_id: 'probe', tool_version: '1.0.0' },
    ...rest,
  })
}

async function rows(reply: Promise<Refusal>): Promise<readonly [FailureId, boolean]> {
  const { failure: row, definite } = await reply
  return [row, definite]
}
