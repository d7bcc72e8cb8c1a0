// Broken Cedar is refused before it is applied: what is wrong, at which line and column, and how to mend it.
import assert from 'node:assert/strict'
import { describe, it, test } from 'node:test'
import { checkCedar } from '../../../src/governance/cedar/check-cedar.ts'
import { createRuntime } from '../../../src/runtime.ts'
import { engine, findings, lines, object, policy, role, setOf, tool } from './support.ts'

const pay = tool('pay', object({ amount: { type: 'number' }, note: { type: 'string' } }, ['amount']))
const look = tool('look', object({ path: { type: 'string' } }, ['path']), { effect: { class: 'read-only' } })
const TOOLS = [pay, look]
const HEAD = 'forbid (principal, action, resource)'
const PAY = 'forbid (principal, action, resource == Writ::Tool::"pay")'

/** Text, what is said, and a word of the fix. */
const BROKEN: readonly (readonly [string, string, readonly string[], RegExp])[] = [
  ['nothing', '', ['error 1:1 holds no policy'], /write a permit or a forbid/],
  ['only a comment', '// nothing\n', ['error 1:1 holds no policy'], /leave `cedar` out/],
  [
    'no semicolon',
    HEAD,
    ['error 1:37 unexpected end of input: expected `;` or identifier'],
    /policy-cedar\.md/,
  ],
  [
    'another word',
    'allow (principal, action, resource);',
    ['error 1:1 invalid policy effect: allow'],
    /permit/,
  ],
  [
    'half a scope',
    'forbid (principal, action);',
    ['error 1:26 this policy is missing the `resource` variable in the scope'],
    /resource/,
  ],
  ['an unknown variable', `${HEAD} when { foo == 1 };`, ['error 1:45 invalid variable: foo'], /quotes/],
  ['an open string', `${HEAD} when { "a };`, ['error 1:45 invalid token'], /closed/],
  [
    'an open bracket',
    `${HEAD} when { (true };`,
    ['error 1:51 unexpected token `}`: expected `)`'],
    /policy-cedar/,
  ],
  [
    'a function that is not there',
    `${HEAD} when { now() > 1 };`,
    ['error 1:45 `now` is not a valid function'],
    /did you mean/,
  ],
  [
    'a slot',
    'forbid (principal == ?principal, action, resource);',
    ['error 1:22 expected a static policy, got a template containing the slot ?principal'],
    /slot/,
  ],
  [
    'a second policy without a semicolon between',
    `${HEAD}\n${HEAD};`,
    ['error 2:8 unexpected token `(`: expected `{`'],
    /policy-cedar/,
  ],
  [
    'an unknown annotation',
    `@decisoin("deny")\n${HEAD};`,
    ['error 1:1 the annotation @decisoin is not known'],
    /@decision/,
  ],
  [
    'an unknown decision',
    `@id("x")\n  @decision("require_approval")\n${HEAD};`,
    ['error 2:3 @decision does not know "require_approval"'],
    /require-approval/,
  ],
  ['an annotation without text', `@reason\n${HEAD};`, ['error 1:1 @reason has no text'], /@reason\("…"\)/],
  ['no duration', `@retry_after("soon")\n${HEAD};`, ['error 1:1 @retry_after is no duration'], /10m/],
  [
    'a decision on a permit',
    '@decision("deny")\npermit (principal, action, resource);',
    ['error 1:1 @decision stands on a permit, where it says nothing'],
    /forbid/,
  ],
  [
    'a retry that denies nothing',
    `@decision("escalate") @retry_after("5m")\n${HEAD};`,
    ['error 1:23 @retry_after is about denials, and this forbid does not deny'],
    /take one/,
  ],
  ['no name', `@id("a b")\n${HEAD};`, ['error 1:1 @id is no name'], /letters/],
  [
    'an id twice',
    `@id("a") ${HEAD};\n@id("a") ${HEAD};`,
    ['error 2:1 the id "a" is taken by an earlier policy'],
    /@id of its own/,
  ],
  [
    'an attribute that is not there',
    `${HEAD} when { principal.nmae == "x" };`,
    ['error 1:45 attribute `nmae` on entity type `Writ::Agent` not found'],
    /did you mean/,
  ],
  [
    'a field that is not there',
    `${PAY} when { context.input.amout == decimal("1.0") };`,
    [
      'error 1:66 attribute `input.amout` in context for Writ::Action::"invoke" not found (tool pay, operation invoke)',
    ],
    /amount/,
  ],
  [
    'a field that may be missing',
    `${PAY} when { context.input.note == "x" };`,
    [
      'error 1:66 unable to guarantee safety of access to optional attribute `input.note` in context for Writ::Action::"invoke" (tool pay, operation invoke)',
    ],
    /context\.input has note/,
  ],
  [
    'a number as a whole number',
    `${PAY} when { context.input.amount > 5 };`,
    ['error 1:66 unexpected type: expected Long but saw decimal (tool pay, operation invoke)'],
    /\.greaterThan\(decimal\(/,
  ],
  [
    'too many places',
    `${PAY} when { context.input.amount.lessThan(decimal("1.23456")) };`,
    [
      'error 1:96 error during extension function argument validation: failed to parse as a decimal value: `"1.23456"` (tool pay, operation invoke)',
    ],
    /4 digits/,
  ],
  [
    'an unknown type',
    'forbid (principal is Writ::Agnet, action, resource);',
    ['error 1:22 unrecognized entity type `Writ::Agnet`'],
    /Writ::Agent/,
  ],
  [
    'a tool of an unknown type',
    'forbid (principal, action, resource is Writ::Tol) when { context.input.x };',
    ['error 1:40 unrecognized entity type `Writ::Tol`'],
    /Writ::Tool/,
  ],
  [
    'an unknown operation',
    'forbid (principal, action == Writ::Action::"invok", resource);',
    ['error 1:30 there is no operation "invok"'],
    /did you mean invoke/,
  ],
  [
    'an unknown role',
    'forbid (principal in Writ::Role::"finanse", action, resource);',
    ['error 1:22 there is no role "finanse"'],
    /did you mean finance/,
  ],
  [
    'an unknown role in a condition',
    `${HEAD} when {\n  principal in Writ::Role::"nobody"\n};`,
    ['error 2:16 there is no role "nobody"'],
    /AgentRole/,
  ],
  [
    'a budget that is not there',
    `${HEAD} when { context.spend["rules#7"] > 1 };`,
    ['error 1:45 attribute `spend["rules#7"]` in context for Writ::Action::"invoke" not found'],
    /./,
  ],
]

describe('broken Cedar', () => {
  for (const [name, text, expected, fix] of BROKEN) {
    it(`is refused: ${name}`, () => {
      const found = findings(text, TOOLS, role('finance'))
      assert.deepEqual(lines(found.filter(({ severity }) => severity === 'error')), expected)
      assert.match(found[0]?.fix ?? '', fix)
      for (const one of found) {
        assert.equal(one.policy, 'rules')
        assert.deepEqual(one.path, ['spec', 'cedar'])
        assert.ok(one.message.startsWith(`line ${one.at.line}, column ${one.at.column} of the text: `))
      }
    })
  }
})

test('applied as a manifest, it is refused with the line and column of the file, and nothing is written', async (t) => {
  const runtime = await createRuntime()
  t.after(() => runtime.close({ drainMs: 0 }))
  const text = `apiVersion: writ.dev/v1
kind: AgentPolicy
metadata: { name: night }
spec:
  apply_mode: global
  cedar: |
    // Nothing at night.
    forbid (principal, action, resource)
    when { context.tiem.hour > 20 };
`
  const applied = await runtime.resources.apply([{ text, file: 'night.yaml' }])
  assert.equal(applied.ok, false)
  assert.deepEqual(
    applied.problems.map(({ file, line, column, path }) => `${file}:${line}:${column} ${path}`),
    ['night.yaml:9:12 spec.cedar'],
  )
  assert.match(applied.problems[0]?.message ?? '', /line 3, column 8 of the text: attribute `tiem`/)
  const mended = await runtime.resources.apply([{ text: text.replace('tiem', 'time'), file: 'night.yaml' }])
  assert.equal(mended.ok, true)
  assert.match(JSON.stringify(mended.diff), /create/, 'it was not there before')
})

test('every broken policy of a text is named, and those of every AgentPolicy', () => {
  const set = setOf([
    policy(`${HEAD} when { a };\n${HEAD};\n${HEAD} when { b };`, { name: 'one' }),
    policy(`\n\n${HEAD} when { principal in Writ::Role::"x" };`, { name: 'two' }),
  ])
  assert.deepEqual(
    checkCedar(set, TOOLS, engine).map(({ policy: name, at }) => `${name} ${at.line}:${at.column}`),
    ['one 1:45', 'one 3:45', 'two 3:58'],
  )
})

test('columns count characters, not bytes, and lines are those of the text', () => {
  const text = [
    '// Überweisungen 💶 und ähnliches; ein Strichpunkt endet hier nichts',
    '@id("size") @reason("größe; 日本語 \\" ; 💶")',
    `${PAY} when { "ü💶" == "u" || foo };`,
  ].join('\r\n')
  assert.deepEqual(lines(findings(text, TOOLS)), ['error 3:82 invalid variable: foo'])
  const typed = text.replace('foo', 'context.input.nope == 1')
  const column = `${PAY} when { "ü💶" == "u" || `.length + 1
  assert.deepEqual(lines(findings(typed, TOOLS)), [
    `error 3:${column} attribute \`input.nope\` in context for Writ::Action::"invoke" not found (tool pay, operation invoke)`,
  ])
})

test('what reads the input is checked against every tool that it can be about', () => {
  const open = `${HEAD} when { context.input.amount.lessThan(decimal("1.0")) };`
  assert.deepEqual(lines(findings(open, [pay])), [])
  assert.deepEqual(lines(findings(open, TOOLS)), [
    'error 1:45 attribute `input.amount` in context for Writ::Action::"invoke" not found (tool look, operation invoke)',
  ])
  const asks = `${HEAD} when { context.input has amount && context.input.amount.lessThan(decimal("1.0")) };`
  assert.deepEqual(lines(findings(asks, TOOLS)), [])
  const aimed = checkCedar(setOf([policy(open, { targetTools: ['pa*'] })]), TOOLS, engine)
  assert.deepEqual(lines(aimed), [])
  const reads = `forbid (principal, action in Writ::Action::"read", resource) when { context.input.path like "/etc/*" };`
  assert.deepEqual(lines(findings(reads, TOOLS)), [])
})

test('one mistake is said once, however many tools have it', () => {
  const tools = Array.from({ length: 20 }, (_, index) => tool(`t${index}`, object({ a: { type: 'string' } })))
  const found = findings(`${HEAD} when { context.input.b == "x" };`, tools)
  assert.deepEqual(lines(found), [
    'error 1:45 attribute `input.b` in context for Writ::Action::"invoke" not found (tool t0, operation invoke and 19 more)',
  ])
})

test('a policy that can never match is a warning', () => {
  const never = [
    `${HEAD} when { false };`,
    `${HEAD} when { context.input has nothing };`,
    'forbid (principal, action == Writ::Action::"delete", resource);',
  ]
  for (const text of never) {
    assert.deepEqual(lines(findings(text, TOOLS)), ['warning 1:1 the policy 0 can never match'], text)
  }
})

test('a tool that is not there yet is a warning, and so is what hangs on it', () => {
  const text = `forbid (principal, action == Writ::Action::"refund", resource == Writ::Tool::"later") when { context.input.x == 1 };`
  assert.deepEqual(lines(findings(text, TOOLS)), [
    'warning 1:1 the policy 0 reads the input, and there is no tool that it is about',
    'warning 1:30 there is no operation "refund"',
    'warning 1:66 there is no tool "later"',
  ])
})

test('what comes with a tool that is not there yet is said once, as a warning, in scopes and in conditions', () => {
  const later = 'resource == Writ::Tool::"later"'
  const texts = [
    `forbid (principal, action == Writ::Action::"refund", ${later});`,
    `forbid (principal, action in [Writ::Action::"refund"], ${later}) when { action == Writ::Action::"refund" };`,
    `forbid (principal, action, resource) when { action == Writ::Action::"refund" && ${later} };`,
    `forbid (principal, action, resource) when { action == Writ::Action::"refund" && ${later} && context.input has x };`,
  ]
  for (const text of texts) {
    const found = lines(findings(text, TOOLS))
    const about = (what: string) => found.filter((line) => line.includes(what))
    assert.equal(about('refund').length, 1, `${text}: ${found.join('; ')}`)
    assert.match(about('refund').join(), /^warning 1:\d+ there is no operation "refund"$/)
    assert.equal(about('"later"').length, 1, text)
    assert.deepEqual(about('error'), [])
  }
})

test('a policy that reads the input may compare with another operation', () => {
  const split = tool('split', object({ x: { type: 'string' } }, ['x']), {
    operations: { send: {}, list: {} },
  })
  const text = `forbid (principal, action == Writ::Action::"send", resource == Writ::Tool::"split")
when { context.input.x == "a" && action != Writ::Action::"list" };`
  assert.deepEqual(lines(findings(text, [split])), [])
})

test('a policy about everybody, everything and every call is warned of, unless people are asked each time', () => {
  const warned = (text: string) => lines(findings(text, TOOLS))
  const all = '(principal, action, resource);'
  assert.deepEqual(warned(`permit ${all}`), ['warning 1:1 the policy 0 permits every call of every tool'])
  assert.deepEqual(warned(`forbid ${all}`), ['warning 1:1 the policy 0 denies every call of every tool'])
  assert.deepEqual(warned(`@decision("require-approval") forbid ${all}`), [])
  assert.deepEqual(warned(`${HEAD} when { context.risk == "high" };`), [])
})

test('a policy with a reason, without one, and with every part of the context, is fine', () => {
  const budget = { tools: [], per: 'caller', periodMs: 1_000, max: 1 } as const
  const text = `
@reason("why") ${HEAD} when { context.risk == "high" && context.effect_class == "irreversible" };
permit (principal in Writ::Role::"admin", action, resource is Writ::Tool) unless { context.time.hour > 20 };
forbid (principal is Writ::Agent in Writ::Role::"ops", action in [Writ::Action::"write", Writ::Action::"admin"], resource)
when { context.spend["rules#0"] > 5 && context.time.at > datetime("2026-01-01") };`
  const set = setOf([policy(text, { budgets: [budget] })], role('ops'))
  assert.deepEqual(lines(checkCedar(set, TOOLS, engine)), [])
})

describe('what the engine cannot bear is refused before it gets there', () => {
  const deep: Readonly<Record<string, readonly [string, RegExp]>> = {
    brackets: [`${'('.repeat(5_000)}true${')'.repeat(5_000)}`, /brackets more than 32 deep/],
    sets: [`${'['.repeat(40)}1${']'.repeat(40)} == 1`, /brackets more than 32 deep/],
    sums: [`${'1 + '.repeat(20_000)}1 == 1`, /more than 1000 operators/],
    'a long sum': [`${'1 + '.repeat(400)}1 == 1`, /an expression more than 100 deep/],
    dots: [`context${'.a'.repeat(900)}`, /an expression more than 100 deep/],
    ifs: [`${'if true then '.repeat(800)}true${' else true'.repeat(800)}`, /more than 1000 operators/],
    'some ifs': [`${'if false then true else '.repeat(200)}true`, /an expression more than 100 deep/],
  }
  for (const [name, [condition, says]] of Object.entries(deep)) {
    it(name, () => {
      const found = findings(`${HEAD} when { ${condition} };`, TOOLS)
      assert.equal(found.length, 1)
      assert.match(found[0]?.message ?? '', says)
      assert.deepEqual(lines(findings(`${PAY};`, TOOLS)), [], 'the engine is well')
    })
  }

  it('but a long row of alternatives and a large set are fine', () => {
    const row = Array.from({ length: 200 }, (_, index) => `context.risk == "${index}"`).join(' || ')
    const set = Array.from({ length: 5_000 }, (_, index) => `"${index}"`).join(', ')
    assert.deepEqual(lines(findings(`${HEAD} when { ${row} };`, TOOLS)), [])
    assert.deepEqual(lines(findings(`${HEAD} when { [${set}].contains(context.risk) };`, TOOLS)), [])
  })

  it('more policies than can be looked at', () => {
    const [found] = findings(`${HEAD};\n`.repeat(2_001), TOOLS)
    assert.equal(found?.at.line, 2_001)
    assert.match(found?.message ?? '', /holds 2001 policies; at most 2000/)
  })
})
