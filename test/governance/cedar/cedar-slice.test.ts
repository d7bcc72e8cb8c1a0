// Slices: a call pays for the policies that can match it, the answer is that of all of them, and nothing piles up.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import type * as Wasm from '@cedar-policy/cedar-wasm/nodejs'
import fc from 'fast-check'
import { createCedarEngine, type Slice } from '../../../src/governance/cedar/cedar-engine.ts'
import { principalEntity, toRequest } from '../../../src/governance/cedar/cedar-request.ts'
import { inputType } from '../../../src/governance/cedar/cedar-type.ts'
import { compileCedar } from '../../../src/governance/cedar/compile-cedar.ts'
import { type CallMade, engine, facts, object, policy, role, setOf, tool } from './support.ts'

const INPUT = object({ n: { type: 'integer' }, s: { type: 'string' }, f: { type: 'number' } })
const toolOf = (name: string) =>
  tool(name, INPUT, {
    operations: {
      invoke: { operation_classes: ['write'] },
      fetch: { operation_classes: ['read'], effect: { class: 'read-only' } },
      delete: { operation_classes: ['delete', 'write'] },
    },
  })
const a = toolOf('a')
const b = toolOf('b')
const ROLES = [role('r0', 'r1'), role('r1'), role('r2')]
const WHOLE = { context: new Set<string>(), fields: new Set<string>(), allOfContext: true, allOfInput: true }

const PRINCIPALS = [
  'principal',
  'principal == Writ::Agent::"x"',
  'principal == Writ::Person::"x"',
  'principal in Writ::Role::"r0"',
  'principal in Writ::Role::"r1"',
  'principal is Writ::Agent',
  'principal is Writ::Person in Writ::Role::"r2"',
  'principal in Writ::Agent::"x"',
]
const ACTIONS = [
  'action',
  'action == Writ::Action::"invoke"',
  'action in Writ::Action::"write"',
  'action in [Writ::Action::"read", Writ::Action::"delete"]',
  'action == Writ::Action::"delete"',
  'action in []',
]
const RESOURCES = [
  'resource',
  'resource == Writ::Tool::"a"',
  'resource in Writ::Tool::"b"',
  'resource is Writ::Tool',
  'resource is Writ::Tool in Writ::Tool::"a"',
]
const CONDITIONS = [
  '',
  'when { context.input has n && context.input.n > 3 }',
  'unless { context.input has s && context.input.s like "x*" }',
  'when { context.input has f && context.input.f.lessThan(decimal("1.5")) }',
  'when { context.input == {} }',
  'when { context has task }',
  'when { principal.roles.contains("r1") && context.time.hour < 12 }',
  'when { context.input has n && context.input.n * 9007199254740991 * 9007199254740991 > 0 }',
  'when { if context.risk == "low" then context.spend["p0#0"] > 1 else resource.name == "a" }',
  'when { [context.input, {n: 4}].contains({n: 4}) && context.operation == "fetch" }',
]

const written = fc
  .tuple(
    fc.constantFrom('permit', 'forbid'),
    fc.constantFrom(...PRINCIPALS),
    fc.constantFrom(...ACTIONS),
    fc.constantFrom(...RESOURCES),
    fc.constantFrom(...CONDITIONS),
  )
  .map(([effect, who, what, on, when]) => `${effect} (${who}, ${what}, ${on}) ${when};`)

const call: fc.Arbitrary<CallMade> = fc.record(
  {
    tool: fc.constantFrom(a, b),
    operation: fc.constantFrom('invoke', 'fetch', 'delete'),
    input: fc.record(
      {
        n: fc.integer({ min: 0, max: 6 }),
        s: fc.constantFrom('x', 'xy', 'z'),
        f: fc.constantFrom(1, 1.5, 2.25),
      },
      { requiredKeys: [] },
    ),
    caller: fc.record({
      actor: fc.constantFrom('x', 'y'),
      kind: fc.constantFrom('agent', 'person', 'service'),
      roles: fc.subarray(['r0', 'r2']),
    }),
    now: fc.constantFrom(0, 50_000_000),
    spent: fc.constantFrom(new Map([['p0#0', 0]]), new Map([['p0#0', 5]])),
    taskId: fc.constant('t'),
  },
  { requiredKeys: ['tool', 'operation', 'input', 'caller', 'now', 'spent'] },
)

/** Every policy alone, in its own words, over everything that can be known of the call. */
function unsliced(texts: readonly string[], made: CallMade): { matched: string[]; failed: boolean } {
  const cedar = createRequire(import.meta.url)('@cedar-policy/cedar-wasm/nodejs') as typeof Wasm
  const given = facts(made)
  const principal = principalEntity(given, new Map(ROLES.map((one) => [one.name, one])))
  const type = inputType(given.operation.inputSchema)
  const { request } = toRequest(given, principal, type, ['p0#0'], [WHOLE])
  const matched: string[] = []
  let failed = false
  for (const [index, text] of texts.entries()) {
    const answer = cedar.isAuthorized({ ...request, policies: { staticPolicies: { p: text } } })
    assert.equal(answer.type, 'success')
    failed ||= answer.response.diagnostics.errors.length > 0
    if (answer.response.diagnostics.reason.length > 0) matched.push(`p${index}`)
  }
  return { matched, failed }
}

test('S44: a slice answers as all policies together would, over random policies and calls', () => {
  const budget = { tools: [], per: 'caller', periodMs: 1_000, max: 1 } as const
  fc.assert(
    fc.property(
      fc.array(written, { minLength: 1, maxLength: 8 }),
      fc.array(call, { minLength: 1, maxLength: 4 }),
      (texts, calls) => {
        const policies = texts.map((text, index) => policy(text, { name: `p${index}`, budgets: [budget] }))
        const compiled = compileCedar(setOf(policies, ...ROLES), engine)
        assert.ok(compiled)
        for (const made of calls) {
          const expected = unsliced(texts, made)
          if (expected.failed) {
            assert.throws(() => compiled.matches(facts(made)), { name: 'CedarFailed' })
            continue
          }
          const found = compiled.matches(facts(made))
          const matched = found.filter(({ code }) => code !== 'cedar-not-permitted')
          assert.deepEqual(
            matched.map(({ policyId }) => policyId.replace('AgentPolicy/', '')).sort(),
            expected.matched,
          )
          for (const { code, policyId } of found) {
            const index = Number(policyId.replace('AgentPolicy/p', ''))
            if (code === 'cedar-not-permitted') assert.match(texts[index] ?? '', /^permit/)
          }
        }
      },
    ),
    { numRuns: 150 },
  )
})

test('the order of policies changes nothing', () => {
  fc.assert(
    fc.property(fc.uniqueArray(written, { minLength: 2, maxLength: 6 }), call, (texts, made) => {
      const answer = (ordered: readonly string[]) => {
        const policies = ordered.map((text) => policy(text, { name: text, budgets: [] }))
        const compiled = compileCedar(setOf(policies, ...ROLES), engine)
        try {
          const all = compiled?.matches({ ...facts(made), spent: new Map() }) ?? []
          return all.map(({ policyId, decision }) => `${policyId} ${decision}`).sort()
        } catch (error) {
          return (error as Error).name
        }
      }
      assert.deepEqual(answer(texts), answer(texts.toReversed()))
    }),
    { numRuns: 40 },
  )
})

function numbered(count: number, version: number): string {
  return Array.from(
    { length: count },
    (_, index) =>
      `forbid (principal in Writ::Role::"r${index}", action, resource) when { context.time.hour > ${version} };`,
  ).join('\n')
}

test('S44: policies whose scope cannot match are not in the slice', () => {
  const seen: number[] = []
  const own = createCedarEngine()
  const watched = {
    ...own,
    evaluate: (slice: Slice, request: Parameters<typeof own.evaluate>[1]) => {
      seen.push(slice.texts.length)
      return own.evaluate(slice, request)
    },
  }
  const text = `${numbered(1_000, 0)}
forbid (principal, action, resource == Writ::Tool::"b");
forbid (principal, action == Writ::Action::"fetch", resource);`
  const compiled = compileCedar(setOf([policy(text)]), watched)
  assert.ok(compiled)
  compiled.matches(facts({ tool: a, caller: { roles: ['r1', 'r7', 'r500'] } }))
  compiled.matches(facts({ tool: a, operation: 'fetch' }))
  assert.deepEqual(seen, [3, 1])
  compiled.matches(facts({ tool: a }))
  assert.deepEqual(seen, [3, 1], 'where nothing can match the engine is not asked')
})

test('applying 1,000 times leaves the memory as it is', { timeout: 120_000 }, () => {
  const own = createCedarEngine({ slices: 8, policies: 200 })
  const roles = Array.from({ length: 10 }, (_, index) => `r${index}`)
  const apply = (version: number) => {
    const compiled = compileCedar(setOf([policy(`${numbered(10, version % 24)}\n// ${version}`)]), own)
    // Slices of several callers, some of which nobody asks for again.
    for (const count of [10, 1 + (version % 9)]) {
      const matches = compiled?.matches(
        facts({ tool: a, now: 86_399_000, caller: { roles: roles.slice(0, count) } }),
      )
      assert.equal(matches?.length, version % 24 < 23 ? count : 0)
    }
  }
  for (let version = 0; version < 200; version++) apply(version)
  const before = process.memoryUsage().external
  for (let version = 200; version < 1_200; version++) apply(version)
  const grown = process.memoryUsage().external - before
  // The memory of the engine only ever grows, in steps; 1,000 versions that are kept would be 30 MB.
  assert.ok(grown < 4_000_000, `grown by ${grown} bytes`)
})

test('rules that are still in use are answered by their own policies after others took their place', () => {
  const own = createCedarEngine({ slices: 1 })
  const versions = [1, 2, 3].map((version) =>
    compileCedar(setOf([policy(`@id("v${version}") forbid (principal, action, resource);`)]), own),
  )
  for (let round = 0; round < 3; round++) {
    const rules = versions.map((one) => one?.matches(facts({ tool: a })).map(({ rule }) => rule))
    assert.deepEqual(rules, [['cedar:1:1#v1'], ['cedar:1:1#v2'], ['cedar:1:1#v3']])
  }
})

test('an engine that broke is loaded anew: one call fails, the next one does not', () => {
  const own = createCedarEngine()
  const compiled = compileCedar(setOf([policy('forbid (principal, action, resource);')]), own)
  assert.equal(compiled?.matches(facts({ tool: a })).length, 1)
  // Past what check lets through: the stack of the engine ends.
  const bad = `permit (principal, action, resource) when { ${'('.repeat(3_000)}true${')'.repeat(3_000)} };`
  const { request } = toRequest(
    facts({ tool: a }),
    principalEntity(facts({ tool: a }), new Map()),
    inputType(undefined),
    [],
    [],
  )
  assert.throws(() => own.evaluate({ texts: [bad] }, request), { name: 'EngineBroke' })
  assert.equal(own.loaded, false)
  assert.equal(compiled?.matches(facts({ tool: a })).length, 1)
})
