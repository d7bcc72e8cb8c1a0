// The external transport: the envelope both ways, in every dialect a tool may speak.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Send } from '../../src/transport/transport.ts'
import type { Json, JsonObject } from '../../src/util/json.ts'
import { answer, attempt, external, failure, fourOutcome, refused, UUID } from './external-harness.ts'
import { makeSend, makeSink, makeTool } from './send-fixture.ts'
import { listenHttp, type Received, type Respond } from './tool-peer.ts'
import { success } from './transport-contract.ts'

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

  /** Every list has the peer in it, since nothing is sent elsewhere; it is left out of what is given back. */
  async function told(send: Partial<Send>, netAllowlist: readonly string[] = []) {
    const peer = await listenHttp(fourOutcome({ status: 'success', output: null }))
    const withPeer = (list: readonly string[]) => (list.length === 0 ? list : [...list, peer.origin])
    try {
      const tool = makeTool({
        type: 'external',
        endpoint: peer.origin,
        contract: 'four-outcome',
        netAllowlist: withPeer(netAllowlist),
      })
      const { constraints } = send
      const asked = constraints?.netAllowlist
      const narrowed = asked && { constraints: { ...constraints, netAllowlist: withPeer(asked) } }
      const made = makeSend(tool, {}, { requestId: UUID, ...send, ...narrowed })
      success(await external.attempt(made, makeSink()))
      const sent = JSON.parse((peer.received[0] as Received).body) as Record<string, JsonObject>
      const list = sent.constraints?.net_allowlist
      if (!Array.isArray(list)) return sent
      const others = list.filter((entry) => entry !== peer.origin)
      return { ...sent, constraints: { ...sent.constraints, net_allowlist: others } as JsonObject }
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
