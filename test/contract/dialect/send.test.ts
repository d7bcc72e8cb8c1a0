// What a tool is sent is a valid request of its dialect, and carries no credential.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { DIALECT_NAMES } from '../../../src/contract/call.ts'
import type { ToolRequest } from '../../../src/contract/dialect/dialect.ts'
import { createDialects } from '../../../src/contract/dialect/registry.ts'
import { SCHEMAS } from '../../../src/contract/schema/registry.ts'
import { V1_AUTH_PROFILES, V1_MODES } from '../../../src/contract/schema/v1.ts'
import { AUTH_PROFILES, ISOLATION_MODES } from '../../../src/resource/resolved-tool.ts'
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
  auth: { profile: 'bearer', secretRef: 'crm-token', scopes: ['crm.write'] },
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

  it("v1: carries the caller's task, agent, trace, attempt, key and deadline", () => {
    assert.partialDeepStrictEqual(dialects.get('v1').encodeSend(request), {
      request_id: 'req-1',
      task_id: 'weekly',
      agent: 'research',
      attempt: 2,
      idempotency_key: request.key,
      deadline_unix_ms: 1_893_456_000_000,
      trace: { trace_id: request.trace.traceId, span_id: request.trace.spanId },
      auth: { profile: 'bearer', secret_ref: 'crm-token' },
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

  it('knows the isolation modes and auth profiles that tools can declare', () => {
    assert.deepEqual([...V1_MODES], [...ISOLATION_MODES])
    assert.deepEqual(
      V1_AUTH_PROFILES.filter((one) => one !== 'bearer_token'),
      [...AUTH_PROFILES],
    )
  })
})
