// Reading requests: what the vectors cannot say.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { createDialects } from '../../../src/contract/dialect/registry.ts'
import type { Json, JsonObject } from '../../../src/util/json.ts'
import { counterMint } from '../support.ts'

const dialects = createDialects()
const decode = (body: Json) => dialects.decode(body, counterMint())

describe('decoding a request', () => {
  it('refuses what is no object', () => {
    for (const body of [null, 1, 'x', [], [{}]]) {
      const decoded = decode(body)
      assert.ok(!decoded.ok)
      assert.equal(decoded.failure.id, 'envelope-invalid')
      assert.equal(decoded.call.dialect, 'v1')
    }
  })

  it('answers any JSON object without throwing, with ids to answer by', () => {
    const marks = [
      'request_id',
      'tool',
      'call_id',
      'fn',
      'context',
      'constraints',
      'auth',
      'runtime',
      'trace',
      'action',
    ]
    const key = fc.oneof(fc.constantFrom(...marks), fc.string())
    fc.assert(
      fc.property(fc.dictionary(key, fc.jsonValue({ maxDepth: 3 })), (body) => {
        const { call } = decode(body as JsonObject)
        assert.match(call.id, /^[0-9a-f-]{36}$/)
        assert.match(call.requestId, /^[A-Za-z0-9._:/-]{1,128}$/)
      }),
      { numRuns: 500 },
    )
  })

  it('S2: never repeats an inline credential, whatever it is called and wherever it is', () => {
    const secret = 'hunter2-hunter2'
    const names = fc.constantFrom(
      'token',
      'Token',
      'access_token',
      'api-key',
      'apiKey',
      'password',
      'client_secret',
    )
    const place = fc.constantFrom('auth', 'context', 'runtime', 'tool', 'constraints', 'provenance')
    const marks = fc.constantFrom<JsonObject>({ tool: { name: 'x' } }, { tool: 'x' }, { call_id: 'x' })
    fc.assert(
      fc.property(names, place, marks, (name, where, body) => {
        const decoded = decode({ request_id: 'r', ...body, [where]: { deep: { [name]: secret } } })
        assert.ok(!decoded.ok)
        assert.equal(decoded.failure.id, 'inline-credential')
        assert.ok(!JSON.stringify(decoded).includes(secret))
      }),
    )
  })

  it('bounds the list of violations, and says that there are more', () => {
    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`field${index}`, 1]))
    const decoded = decode({ request_id: 'r', tool: { name: 'x' }, ...many })
    assert.ok(!decoded.ok)
    const { violations } = decoded.failure.details
    assert.ok(Array.isArray(violations) && violations.length <= 101)
    assert.match(JSON.stringify(violations.at(-1)), /more problems/)
  })

  it('mints W3C trace ids where none are given, and keeps those that are', () => {
    const minted = decode({ request_id: 'r', tool: { name: 'x' } }).call.trace
    assert.match(minted.traceId, /^[0-9a-f]{32}$/)
    assert.match(minted.spanId, /^[0-9a-f]{16}$/)
    const kept = decode({ request_id: 'r', tool: { name: 'x' }, trace: { trace_id: 'trace-abc' } }).call.trace
    assert.equal(kept.traceId, 'trace-abc')
    assert.match(kept.spanId, /^[0-9a-f]{16}$/)
  })

  it("S24: keeps a request's attempt as a claim that changes nothing else of the call", () => {
    const pairs = [
      [{ request_id: 'r', tool: { name: 'x' } }, { attempt: 5 }],
      [{ request_id: 'r', tool: 'x' }, { context: { attempt: 5 } }],
    ] as const
    for (const [plain, claim] of pairs) {
      const [without, with5] = [decode(plain), decode({ ...plain, ...claim })]
      assert.ok(without.ok && with5.ok)
      const { attempt, ...claims } = with5.call.claims
      assert.equal(attempt, 5)
      assert.deepEqual({ ...with5.call, claims }, without.call)
    }
  })

  it('recognises the dialect by its marks; a version field makes it v1', () => {
    const name = (body: JsonObject) => dialects.recognise(body).name
    assert.equal(name({}), 'v1')
    assert.equal(name({ tool: { name: 'x' } }), 'v1')
    assert.equal(name({ tool: 'x' }), 'legacy')
    assert.equal(name({ parameters: {} }), 'legacy')
    assert.equal(name({ fn: 'x' }), 'four-outcome')
    assert.equal(name({ constraints: {} }), 'four-outcome')
    assert.equal(name({ tool_contract_version: 'v1', tool: 'x', fn: 'y' }), 'v1')
  })
})
