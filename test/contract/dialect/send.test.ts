// What a tool is sent is a valid request of its dialect, and carries no credential.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { VECTORS_ROOT } from '../../../scripts/vectors.ts'
import { DIALECT_NAMES } from '../../../src/contract/call.ts'
import type { ToolRequest } from '../../../src/contract/dialect/dialect.ts'
import { createDialects } from '../../../src/contract/dialect/registry.ts'
import { SCHEMAS } from '../../../src/contract/schema/registry.ts'
import { V1_AUTH_PROFILES, V1_MODES } from '../../../src/contract/schema/v1.ts'
import { AUTH_PROFILES, ISOLATION_MODES } from '../../../src/resource/resolved-tool.ts'
import type { JsonObject } from '../../../src/util/json.ts'
import { compileSchema } from '../../../src/util/json-schema.ts'
import { counterMint } from '../support.ts'

const dialects = createDialects()

const request: ToolRequest = {
  requestId: 'req-1',
  callId: '01890a5d-ac96-774b-bcce-b302099a8057',
  namespace: 'default',
  taskId: 'weekly',
  agent: 'research',
  actor: 'agent://a',
  tool: {
    name: 'crm.update',
    operation: 'set',
    version: '1.4.2',
    digest: 'sha256:ab',
    capabilities: ['data.write'],
    riskLevel: 'high',
  },
  input: { id: 7 },
  isolation: 'none',
  timeoutMs: 1_499.7,
  deadlineUnixMs: 1_893_456_000_000,
  attempt: 2,
  key: 'x'.repeat(43),
  trace: { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' },
  scopes: ['crm.write'],
}

describe('sending to a tool', () => {
  for (const name of DIALECT_NAMES) {
    it(`${name}: is a valid request that decodes to the same call`, () => {
      const body = dialects.get(name).encodeSend(request)
      assert.deepEqual(compileSchema(SCHEMAS[`${name}-request`]).check(body), [])
      assert.equal(dialects.recognise(body).name, name)
      const decoded = dialects.decode(body, counterMint())
      assert.ok(decoded.ok)
      assert.partialDeepStrictEqual(decoded.call, {
        tool: 'crm.update',
        operation: 'set',
        input: { id: 7 },
        key: request.key,
      })
    })
  }

  it('S2: names no credential, which whoever reads it would take for a claim about one of its own', () => {
    for (const name of DIALECT_NAMES) {
      const body = dialects.get(name).encodeSend(request)
      assert.ok(!('auth' in body), name)
      const decoded = dialects.decode(body, counterMint())
      assert.ok(decoded.ok)
      const { authProfile, secretRef } = decoded.call.claims
      assert.deepEqual([authProfile, secretRef], [undefined, undefined], name)
    }
  })

  it("v1: carries the caller's task, agent, trace, attempt, key and deadline", () => {
    assert.partialDeepStrictEqual(dialects.get('v1').encodeSend(request), {
      request_id: 'req-1',
      task_id: 'weekly',
      agent: 'research',
      attempt: 2,
      idempotency_key: request.key,
      deadline_unix_ms: 1_893_456_000_000,
      trace: { trace_id: request.trace.traceId, span_id: request.trace.spanId },
    })
  })

  it('four-outcome: makes UUIDs where 004 wants them, and stays below its cap', () => {
    const body = dialects.get('four-outcome').encodeSend({ ...request, timeoutMs: 900_000 })
    assert.partialDeepStrictEqual(body, {
      call_id: request.callId,
      context: { trace_id: '4bf92f35-77b3-4da6-a3ce-929d0e0e4736' },
      constraints: { timeout_ms: 600_000 },
      provenance: { request_id: 'req-1', attempt: 2 },
    })
    const odd = dialects
      .get('four-outcome')
      .encodeSend({ ...request, trace: { traceId: 'trace-abc', spanId: 's' } })
    assert.partialDeepStrictEqual(odd, { context: { trace_id: request.callId } })
  })

  const four = (more: Partial<ToolRequest>) =>
    dialects.get('four-outcome').encodeSend({ ...request, ...more }) as Record<string, JsonObject>

  it("four-outcome: tells the caller's own surroundings, as a four-outcome request gave them", () => {
    const full = JSON.parse(
      readFileSync(join(VECTORS_ROOT, 'four-outcome', 'request-full.json'), 'utf8'),
    ) as { request: Record<string, JsonObject> }
    const decoded = dialects.decode(full.request, counterMint())
    assert.ok(decoded.ok && decoded.call.echo)
    const { scopes: _, ...open } = request
    const sent = dialects
      .get('four-outcome')
      .encodeSend({ ...open, trace: decoded.call.trace, echo: decoded.call.echo }) as Record<
      string,
      JsonObject
    >
    // Who asks is who was authenticated; the rest is what the caller said.
    assert.deepEqual(sent.context, { ...full.request.context, actor_id: 'agent://a' })
    assert.partialDeepStrictEqual(sent.provenance, { ...full.request.provenance, attempt: 2 })
    assert.deepEqual(compileSchema(SCHEMAS['four-outcome-request']).check(sent), [])
  })

  it('four-outcome: makes nothing up for a caller that spoke it, and needs no words from one that did not', () => {
    const echo = { context: { timezone: 'Europe/Prague', env: 'dev' }, provenance: {} }
    const { clock, timezone, env, locale } = four({ echo }).context ?? {}
    assert.deepEqual(
      { clock, timezone, env, locale },
      { clock: undefined, timezone: 'Europe/Prague', env: 'dev', locale: undefined },
    )
    assert.partialDeepStrictEqual(four({}).context, { timezone: 'UTC', clock: 'wall', env: 'prod' })
  })

  it('four-outcome: what the caller says never stands for what the runtime knows', () => {
    const lies = { attempt: 9, digest: 'sha256:lie', namespace: 'other', writ_call_id: 'x', commit: 'git:1' }
    const sent = four({
      echo: { context: { timezone: 'UTC', env: 'prod', actor_id: 'root' }, provenance: lies },
    })
    assert.equal(sent.context?.actor_id, 'agent://a')
    assert.partialDeepStrictEqual(sent.provenance, {
      attempt: 2,
      digest: 'sha256:ab',
      namespace: 'default',
      writ_call_id: request.callId,
      commit: 'git:1',
    })
  })

  it('S2: four-outcome: the scopes that the caller names only narrow those of the credential', () => {
    const echo = {
      context: { timezone: 'UTC', env: 'prod', scopes: ['crm.read', 'crm.write'] },
      provenance: {},
    }
    assert.deepEqual(four({ echo }).context?.scopes, ['crm.write'])
    assert.deepEqual(four({}).context?.scopes, ['crm.write'])
  })

  it('four-outcome: limits are told where there are any, and an input of null stays null', () => {
    assert.deepEqual(Object.keys(four({}).constraints ?? {}).sort(), [
      'deadline_unix_ms',
      'idempotency_key',
      'timeout_ms',
    ])
    assert.partialDeepStrictEqual(four({ memoryMb: 512, netAllowlist: [] }).constraints, {
      memory_mb_limit: 512,
      net_allowlist: [],
    })
    assert.equal(four({ input: null }).input, null)
  })

  it('knows the isolation modes and auth profiles that tools can declare', () => {
    assert.deepEqual([...V1_MODES], [...ISOLATION_MODES])
    assert.deepEqual(
      V1_AUTH_PROFILES.filter((one) => one !== 'bearer_token'),
      [...AUTH_PROFILES],
    )
  })
})
