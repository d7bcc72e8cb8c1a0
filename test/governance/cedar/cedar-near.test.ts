// Explanations of Cedar: policies that were one clause away, the clause in their author's words, and what it saw.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { clausesOf, policyOf } from '../../../src/governance/cedar/cedar-clause.ts'
import { splitCedar } from '../../../src/governance/cedar/cedar-text.ts'
import { compileCedar } from '../../../src/governance/cedar/compile-cedar.ts'
import { createRules } from '../../../src/governance/create-rules.ts'
import { asked, type CallMade, engine, facts, object, policy, role, setOf, tool } from './support.ts'

const PAY = tool(
  'pay',
  object(
    {
      amount: { type: 'number' },
      to: { type: 'string' },
      count: { type: 'integer' },
      card: object({ country: { type: 'string' } }, ['country']),
    },
    ['amount', 'to'],
  ),
)
const HEAD = 'forbid (principal, action, resource == Writ::Tool::"pay")'
const CALL: CallMade = { tool: PAY, input: { amount: 50, to: 'eve', count: 2 } }
const NOTHING_SPENT = new Map<string, number>()

function nearTo(cedar: string | ReturnType<typeof setOf>, call: CallMade = CALL) {
  const compiled = compileCedar(typeof cedar === 'string' ? setOf([policy(cedar)]) : cedar, engine)
  assert.ok(compiled)
  return compiled.near(facts({ spent: NOTHING_SPENT, ...call }))
}

/** `DECISION RULE: MISSED` of each. */
function told(cedar: string | ReturnType<typeof setOf>, call: CallMade = CALL): readonly string[] {
  return nearTo(cedar, call).near.map(({ decision, rule, missed }) => `${decision} ${rule}: ${missed}`)
}

describe('a policy with exactly one clause that fails is near, and names it with what it saw', () => {
  const cases: Readonly<Record<string, readonly [string, readonly string[]]>> = {
    'one condition of one': [
      `${HEAD} when { context.input.amount.greaterThan(decimal("100.0")) };`,
      [
        'deny cedar:1:1#0: context.input.amount.greaterThan(decimal("100.0")) (context.input.amount was 50.0)',
      ],
    ],
    'one of several, in several whens': [
      `@id("large") @decision("require-approval")
${HEAD} when { context.input.to == "eve" && // who
  context.input.count > 3 } when { true };`,
      ['require-approval cedar:1:1#large: context.input.count > 3 (context.input.count was 2)'],
    ],
    'two that fail are not near': [
      `${HEAD} when { context.input.to == "bob" && context.input.count > 3 };`,
      [],
    ],
    'none that fails is a match': [`${HEAD} when { context.input.to == "eve" };`, []],
    'no condition at all is a match': [`${HEAD};`, []],
    'an unless is denied, part by part': [
      `${HEAD} unless { context.input.to like "e*" || principal in Writ::Role::"finance" };`,
      ['deny cedar:1:1#0: !(context.input.to like "e*") (context.input.to was "eve")'],
    ],
    'an unless of && is one clause': [
      `${HEAD} unless { context.input.to == "eve" && context.input.count == 2 };`,
      [
        'deny cedar:1:1#0: !(context.input.to == "eve" && context.input.count == 2) (context.input.to was "eve"; context.input.count was 2)',
      ],
    ],
    'a || binds less than &&': [
      `${HEAD} when { context.risk == "x" && true || false };`,
      [`deny cedar:1:1#0: context.risk == "x" && true || false (context.risk was "${PAY.riskLevel}")`],
    ],
    'brackets are looked into': [
      `${HEAD} when { (context.input.to == "eve" && (true && context.input.count > 3)) };`,
      ['deny cedar:1:1#0: context.input.count > 3 (context.input.count was 2)'],
    ],
    'an if is one clause': [
      `${HEAD} when { if context.input.to == "eve" && true then false else true && true };`,
      [
        'deny cedar:1:1#0: if context.input.to == "eve" && true then false else true && true (context.input.to was "eve")',
      ],
    ],
    'words in texts are no operators': [
      `${HEAD} when { context.input.to == "a && b || context.risk // no" };`,
      ['deny cedar:1:1#0: context.input.to == "a && b || context.risk // no" (context.input.to was "eve")'],
    ],
    'an operator right before a sign': [
      `${HEAD} when { true&&!(context.input.to == "eve") };`,
      ['deny cedar:1:1#0: !(context.input.to == "eve") (context.input.to was "eve")'],
    ],
    'a permit that would have permitted': [
      `permit (principal, action, resource == Writ::Tool::"pay") when { context.input.count < 2 };`,
      ['allow cedar:1:1#0: context.input.count < 2 (context.input.count was 2)'],
    ],
    'the principal of the scope': [
      'forbid (principal in Writ::Role::"finance", action, resource) when { context.input.to == "eve" };',
      ['deny cedar:1:1#0: principal in Writ::Role::"finance" (principal was Writ::Agent::"ada")'],
    ],
    'the action of the scope': [
      'forbid (principal, action in [Writ::Action::"read",\n  Writ::Action::"refund"], resource);',
      [
        'deny cedar:1:1#0: action in [Writ::Action::"read", Writ::Action::"refund"] (action was Writ::Action::"invoke")',
      ],
    ],
    'the scope and a condition are two': [
      'forbid (principal in Writ::Role::"finance", action, resource) when { context.input.to == "bob" };',
      [],
    ],
    'two parts of the scope are two': [
      'forbid (principal is Writ::Person, action == Writ::Action::"refund", resource);',
      [],
    ],
    'another tool is never near': ['forbid (principal, action, resource == Writ::Tool::"mail");', []],
    'a field that is not there is told': [
      `${HEAD} when { context.input has card };`,
      ['deny cedar:1:1#0: context.input has card'],
    ],
    'what reads a field that is not there fails with its has': [
      `${HEAD} when { context.input has card && context.input.card.country == "DE" };`,
      [],
    ],
    'attributes of principal, resource, time and spend': [
      `${HEAD} when { principal.id == "bob" };
${HEAD} when { resource["name"] == "mail" };
${HEAD} when { context.time.hour > 5 };
${HEAD} when { context.time.at > datetime("2027-01-01") };`,
      [
        'deny cedar:1:1#0: principal.id == "bob" (principal.id was "ada")',
        'deny cedar:2:1#1: resource["name"] == "mail" (resource["name"] was "pay")',
        'deny cedar:3:1#2: context.time.hour > 5 (context.time.hour was 0)',
        'deny cedar:4:1#3: context.time.at > datetime("2027-01-01") (context.time.at was 1970-01-01T00:00:00.000Z)',
      ],
    ],
  }
  for (const [name, [text, expected]] of Object.entries(cases)) {
    test(name, () => assert.deepEqual(told(text), expected))
  }
})

test('the targets of the AgentPolicy are a clause, too', () => {
  const scoped = { applyMode: 'scoped', agents: ['bob'], systems: [], tasks: [] } as const
  const near = (text: string) => told(setOf([policy(text, { targets: scoped })]))
  assert.deepEqual(near(`${HEAD};`), ['deny cedar:1:1#0: the call is of agent bob'])
  assert.deepEqual(near(`${HEAD} when { context.input.to == "bob" };`), [])
})

test('a clause that cannot be evaluated fails, and says why without values', () => {
  const text = `${HEAD} when { context.input.to == "eve" && context.input.count * 9223372036854775807 > 1 };`
  const set = setOf([policy(text, { mode: 'monitor' })])
  assert.deepEqual(told(set), [
    'deny cedar:1:1#0: context.input.count * 9223372036854775807 > 1 (context.input.count was 2; it cannot be evaluated: a sum, difference or product is too large)',
  ])
})

test('what is not known is not near: a value that Cedar cannot hold, and what budgets have taken', () => {
  const outside = 'forbid (principal in Writ::Role::"x", action, resource) when'
  const text = `${outside} { context.input.count > 1 };`
  assert.equal(told(text).length, 1)
  assert.deepEqual(told(text, { ...CALL, input: { amount: 1, to: 'a', count: 2 ** 53 + 2 } }), [])
  const spending = { tools: [], per: 'caller', periodMs: 1_000, max: 1 } as const
  const set = setOf([policy(`${outside} { context.spend["rules#0"] < 1 };`, { budgets: [spending] })])
  assert.equal(told(set).length, 1)
  const compiled = compileCedar(set, engine)
  assert.deepEqual(compiled?.near(facts(CALL)).near, [])
})

test('S5: where the input has sensitive fields neither their values nor what they are compared with is told', () => {
  const login = tool(
    'login',
    object({ pin: { type: 'string', writeOnly: true }, n: { type: 'integer' } }, ['pin']),
  )
  const call = { tool: login, input: { pin: '4711' } }
  const forms = [
    'context.input.pin == "1234"',
    '(context).input.pin == "1234"',
    'context["input"]["pin"] == "1234"',
    'if context.input.pin == "1234" then true else false',
  ]
  for (const form of forms) {
    const [only, ...more] = told(`forbid (principal, action, resource) when { ${form} };`, call)
    assert.ok(only !== undefined && more.length === 0, form)
    assert.match(only, /what it asks of context\S* holds$/)
    assert.doesNotMatch(only, /1234|4711/)
  }
  const risk = 'forbid (principal, action, resource) when { context.risk == "x" };'
  assert.match(told(risk, call).join(), /context\.risk == "x"/)
})

test('a long clause and a long value are cut', () => {
  const long = 'x'.repeat(900)
  const [only = ''] = told(`${HEAD} when { context.input.to == "${long}" };`, {
    ...CALL,
    input: { amount: 1, to: 'y'.repeat(900) },
  })
  assert.ok(only.length < 450, String(only.length))
  assert.equal(only.match(/…/g)?.length, 2)
})

test('no more than 200 clauses are asked, and what was left out is counted', () => {
  const one = (index: number) =>
    `${HEAD} when { context.input.count > ${index + 10} && context.input.to == "eve" };`
  const { near, unchecked } = nearTo(Array.from({ length: 250 }, (_, index) => one(index)).join('\n'))
  assert.deepEqual([near.length, unchecked], [100, 150])
  const many = Array.from({ length: 201 }, (_, index) => `context.input.count != ${index + 10}`).join(' && ')
  assert.deepEqual(nearTo(`${HEAD} when { ${many} };`), { near: [], unchecked: 1 })
})

test('long rows inside a clause, which JSON of the engine could not hold, are borne', () => {
  const row = Array.from({ length: 200 }, (_, index) => `context.input.count == ${index + 10}`).join(' || ')
  const { near, unchecked } = nearTo(`${HEAD} when { context.input.to == "eve" && (${row}) };`)
  assert.deepEqual([near.length, unchecked], [1, 0])
})

test('near comes with an explanation only: a decision asks for nothing else and keeps nothing else', () => {
  const calls: string[] = []
  const watched = {
    ...engine,
    read: engine.read,
    evaluate: (...args: Parameters<typeof engine.evaluate>) => {
      calls.push('evaluate')
      return engine.evaluate(...args)
    },
    evaluateOnce: (...args: Parameters<typeof engine.evaluateOnce>) => {
      calls.push('once')
      return engine.evaluateOnce(...args)
    },
  }
  const set = setOf([policy(`${HEAD} when { context.input.count > 3 };`)])
  const cedar = compileCedar(set, watched)
  assert.ok(cedar)
  const rules = createRules(set, { profile: 'local', cedar })
  const call = facts({ ...CALL, caller: { permissions: ['tool:pay:invoke'] } })
  assert.deepEqual(rules.decide(call).near, [])
  assert.deepEqual(calls, ['evaluate'])
  assert.equal(rules.decide(call, { explain: true }).near.length, 1)
  assert.deepEqual(calls, ['evaluate', 'evaluate', 'once'])
})

const FLAGS = ['a', 'b', 'c', 'd'] as const
const expression = fc.letrec<{ expr: string; atom: string }>((tie) => ({
  atom: fc.oneof(
    fc.constantFrom(...FLAGS).map((flag) => `context.input.${flag}`),
    fc.constantFrom('true', 'false', '"&& ||" == "}"', '[true, false].contains(true)', '{x: true}.x'),
  ),
  expr: fc.oneof(
    { maxDepth: 4 },
    tie('atom'),
    fc.tuple(tie('expr'), tie('expr')).map(([one, other]) => `(${one}) && (${other})`),
    fc.tuple(tie('expr'), tie('expr')).map(([one, other]) => `(${one})||(${other})`),
    fc.tuple(tie('atom'), tie('atom'), tie('atom')).map(([x, y, z]) => `${x} && // ) }\n ${y}&&!(${z})`),
    fc.tuple(tie('atom'), tie('atom'), tie('atom')).map(([x, y, z]) => `${x} && ${y} || ${z}`),
    fc.tuple(tie('expr'), tie('expr'), tie('expr')).map(([x, y, z]) => `if ${x} then ${y} else ${z}`),
    tie('expr').map((one) => `!(${one})`),
  ),
})).expr

test('property: a policy matches exactly where all of its clauses hold, and all but one make it near', () => {
  const flags = tool(
    'flags',
    object(Object.fromEntries(FLAGS.map((one) => [one, { type: 'boolean' }])), FLAGS),
  )
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.constantFrom('when', 'unless'), expression), { minLength: 1, maxLength: 3 }),
      fc.record({ a: fc.boolean(), b: fc.boolean(), c: fc.boolean(), d: fc.boolean() }),
      (conditions, input) => {
        const text = `forbid (principal, action, resource)${conditions.map(([kind, one]) => ` ${kind} {${one}}`).join('')};`
        const call = { tool: flags, input }
        const [statement] = splitCedar(text)
        assert.ok(statement)
        const clauses = clausesOf(statement).conditions
        const request = {
          principal: { type: 'A', id: 'a' },
          action: { type: 'Action', id: 'a' },
          resource: { type: 'A', id: 'a' },
          context: { input },
          entities: [],
        }
        const verdict = engine.evaluateOnce(clauses.map(policyOf), request)
        assert.ok(verdict.ok, text)
        assert.deepEqual(verdict.failed, [])
        const set = setOf([policy(text)], role('x'))
        const missing = clauses.length - verdict.satisfied.length
        assert.equal(asked(set, call).length, missing === 0 ? 1 : 0, text)
        assert.equal(nearTo(set, call).near.length, missing === 1 ? 1 : 0, text)
      },
    ),
    { numRuns: 150 },
  )
})
