// From a caller to a four-outcome tool through the whole runtime: what the caller said arrives, and what it claims does not count.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { JsonObject } from '../../src/util/json.ts'
import { EVERYTHING, runtimeWith } from '../pipeline/harness.ts'
import { listenHttp, type Received, sendJson } from './tool-peer.ts'

const CALL_ID = '7f1c1a52-3c0c-4b8e-9d57-0b6f6f2f9a11'

/** Calls the tool with a request as it comes over the wire; gives what the tool was sent. */
async function toldBy(t: TestContext, request: (origin: string) => JsonObject) {
  const peer = await listenHttp((received, response) => {
    const { call_id } = JSON.parse(received.body) as { call_id: string }
    sendJson(response, {
      call_id,
      status: 'success',
      output: 'ok',
      metrics: { duration_ms: 1, cpu_ms: 211, memory_peak_mb: 74 },
      provenance: { tool_id: 'probe', tool_version: '1.0.0' },
    })
  })
  t.after(() => peer.close())
  const { runtime } = await runtimeWith(t, [])
  const door = runtime.as({ actor: 'agent-a', agents: ['agent://*'], permissions: EVERYTHING })
  const text = `
apiVersion: writ.dev/v1
kind: Tool
metadata: { name: probe }
spec:
  type: external
  version: 1.0.0
  endpoint: ${peer.origin}/
  contract: four-outcome
  effect: { class: read-only }
`
  const applied = await runtime.resources.apply([{ text, file: 'probe.yaml' }])
  assert.ok(applied.ok, JSON.stringify(applied.problems))
  const decoded = runtime.dialects.decode(request(peer.origin), () => runtime.mint())
  assert.ok(decoded.ok, JSON.stringify(decoded))
  const answer = await door.call(decoded.call)
  assert.equal(answer.output, 'ok', JSON.stringify(answer))
  const sent = JSON.parse((peer.received[0] as Received).body) as Record<string, JsonObject>
  return { answer, sent, origin: peer.origin }
}

test("a four-outcome tool gets a four-outcome caller's own context, provenance and limits", async (t) => {
  const context = {
    timezone: 'Europe/Prague',
    env: 'staging',
    clock: 'monotonic',
    locale: 'cs-CZ',
    scopes: ['read:web'],
    trace_id: '3d6f0a58-7a1c-4f64-8a4e-1f0c9e7b2d33',
  }
  const { sent, origin } = await toldBy(t, (reached) => ({
    call_id: CALL_ID,
    tool_id: 'probe',
    tool_version: '1.x',
    fn: 'invoke',
    input: { q: 1 },
    context: { ...context, actor_id: 'agent://somebody-else' },
    constraints: {
      timeout_ms: 5_000,
      deadline_unix_ms: Date.now() + 60_000,
      idempotency_key: '0123456789abcdef',
      memory_mb_limit: 512,
      net_allowlist: [reached, 'https://example.com'],
    },
    provenance: { commit: 'git:abc123' },
  }))
  assert.partialDeepStrictEqual(sent.context, { ...context, actor_id: 'agent-a' })
  assert.partialDeepStrictEqual(sent.provenance, { commit: 'git:abc123', attempt: 1 })
  assert.equal(sent.constraints?.memory_mb_limit, 512)
  assert.deepEqual(sent.constraints?.net_allowlist, [origin, 'https://example.com'])
})

test('S24: the attempt that a request claims is not the one that a tool is told or a caller hears', async (t) => {
  const { answer, sent } = await toldBy(t, () => ({
    request_id: 'r-1',
    tool: { name: 'probe' },
    input: { q: 1 },
    attempt: 9,
  }))
  assert.equal(sent.provenance?.attempt, 1)
  assert.equal(answer.usage.attempt, 1)
  // Nobody has said where this caller is.
  assert.partialDeepStrictEqual(sent.context, { timezone: 'UTC', env: 'prod', clock: 'wall' })
  assert.ok(!('net_allowlist' in (sent.constraints ?? {})))
})
