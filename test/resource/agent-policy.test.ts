// Kind AgentPolicy: every field with its default, and every mistake at its place.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AGENT_POLICY } from '../../src/resource/agent-policy.ts'
import { declared, problems, warnings } from './governance-support.ts'
import { PRODUCTION } from './support.ts'

test('the defaults: enforced, scoped, about nothing', () => {
  const { version: _version, ...policy } = declared('AgentPolicy', '')
  assert.deepEqual(policy, {
    namespace: 'default',
    name: 'probe',
    mode: 'enforce',
    targets: { applyMode: 'scoped', agents: [], systems: [], tasks: [] },
    targetTools: [],
    blockedTools: [],
    rules: [],
    transforms: [],
    budgets: [],
    approval: { quorum: 1, ttlMs: 600_000 },
    notEnforced: [],
  })
  assert.deepEqual(warnings('AgentPolicy', ''), [
    '4:7 spec: matches nothing: apply_mode is scoped, and it has no targets',
    '4:7 spec: asks for nothing: it has no rules, blocked_tools, cedar, transforms or budgets',
  ])
})

const WHOLE = `apply_mode: scoped
target_agents: [bot]
target_systems: [crm]
target_tasks: [t-*]
target_tools: [pay, mail-*]
mode: Monitor
blocked_tools: [rm]
rules:
- tools: [pay]
  operations: [refund]
  operation_classes: [Write]
  risk_levels: [HIGH, critical]
  when: [{field: order.amount, op: gt, value: 10}, {field: /vip, op: exists}]
  decision: approval_required
  reason: large
- decision: deny
  retry_after: 10m
- decision: ESCALATE
- decision: allow
cedar: |
  forbid(principal, action, resource);
transforms:
- {clamp: {field: /amount, min: 0, max: 99.5}}
- {tools: [pay], when: [{field: a, op: eq, value: 1}], drop: [/note, note, a.b]}
- {dry_run: true}
budgets:
- {tools: [pay], per: tool, period: 24h, sum: order.amount, max: 0.1}
- {period: 1h, calls: true, max: 100}
approval: {role: lead, quorum: 3, ttl: 5m}
escalate_to: boss
`

test('everything that is written is read', () => {
  const { version: _version, namespace: _namespace, name: _name, ...policy } = declared('AgentPolicy', WHOLE)
  const any = { tools: [], operations: [], operationClasses: [], riskLevels: [], when: [] }
  assert.deepEqual(policy, {
    mode: 'monitor',
    targets: { applyMode: 'scoped', agents: ['bot'], systems: ['crm'], tasks: ['t-*'] },
    targetTools: ['pay', 'mail-*'],
    blockedTools: ['rm'],
    rules: [
      {
        tools: ['pay'],
        operations: ['refund'],
        operationClasses: ['write'],
        riskLevels: ['high', 'critical'],
        when: [
          { field: '/order/amount', op: 'gt', value: 10 },
          { field: '/vip', op: 'exists' },
        ],
        decision: 'require-approval',
        reason: 'large',
      },
      { ...any, decision: 'deny', retryAfterMs: 600_000 },
      { ...any, decision: 'escalate' },
      { ...any, decision: 'allow' },
    ],
    cedar: 'forbid(principal, action, resource);\n',
    transforms: [
      { tools: [], when: [], narrow: { kind: 'clamp', field: '/amount', min: 0, max: 99.5 } },
      {
        tools: ['pay'],
        when: [{ field: '/a', op: 'eq', value: 1 }],
        narrow: { kind: 'drop', fields: ['/note', '/a/b'] },
      },
      { tools: [], when: [], narrow: { kind: 'dry_run' } },
    ],
    budgets: [
      { tools: ['pay'], per: 'tool', periodMs: 86_400_000, sum: '/order/amount', max: 100_000 },
      { tools: [], per: 'caller', periodMs: 3_600_000, max: 100_000_000 },
    ],
    approval: { role: 'lead', quorum: 3, ttlMs: 300_000 },
    escalateTo: 'boss',
    notEnforced: [],
  })
  assert.deepEqual(warnings('AgentPolicy', WHOLE), [])
})

test('S48: the other spellings mean the same', () => {
  const rows = AGENT_POLICY.fields.rows.filter((row) => row.aliases.length > 0)
  assert.ok(rows.length >= 10)
  let camel = WHOLE
  for (const { path, aliases } of rows) {
    const last = (text: string) => text.slice(text.lastIndexOf('.') + 1)
    for (const alias of aliases) {
      const before = camel
      camel = camel.replaceAll(new RegExp(`\\b${last(path)}:`, 'g'), `${last(alias.path)}:`)
      assert.notEqual(camel, before, `${path} is in the manifest`)
    }
  }
  assert.deepEqual(declared('AgentPolicy', camel), declared('AgentPolicy', WHOLE))
})

test('tools as the only targets make it about these tools, whoever calls', () => {
  const { targets } = declared('AgentPolicy', 'target_tools: [pay]\nblocked_tools: [pay]')
  assert.equal(targets.applyMode, 'global')
  assert.deepEqual(warnings('AgentPolicy', 'target_tools: [pay]\nblocked_tools: [pay]'), [])
})

test('S38: a budget counts whole millionths, or is refused', () => {
  const max = (text: string) =>
    declared('AgentPolicy', `budgets: [{period: 1h, calls: true, max: ${text}}]`).budgets[0]?.max
  for (const [text, millionths] of [
    ['0', 0],
    ['1', 1_000_000],
    ['0.000001', 1],
    ['0.3', 300_000],
    ['1e3', 1_000_000_000],
    ['9000000000', 9_000_000_000_000_000],
  ] as const) {
    assert.equal(max(text), millionths, text)
  }
  for (const text of ['-1', '0.0000001', '90000000000', '-0.5', '9007199254.740993']) {
    assert.deepEqual(
      problems('AgentPolicy', `budgets: [{period: 1h, calls: true, max: ${text}}]`).map((one) =>
        one.replace(/: \S+ cannot/, ': N cannot'),
      ),
      ['5:44 spec.budgets[0].max: N cannot be counted exactly'],
      text,
    )
  }
})

test('S47: fields that are about running agents are read, warned of, and refused in production', () => {
  const spec =
    'max_tokens_per_run: 5\nallowed_models: [m]\nmax_child_depth: 1\nmax_child_tasks: 2\ntarget_agents: [a]\nblocked_tools: [b]\n'
  const names = ['max_tokens_per_run', 'allowed_models', 'max_child_depth', 'max_child_tasks']
  assert.deepEqual(declared('AgentPolicy', spec).notEnforced, names)
  const found = warnings('AgentPolicy', spec)
  for (const [index, name] of names.entries())
    assert.match(found[index] ?? '', new RegExp(`spec\\.${name}: is about running agents`))
  assert.equal(found.length, 4)
  assert.equal(problems('AgentPolicy', spec, PRODUCTION).length, 4)
})

test('what reaches further than it looks is said', () => {
  assert.deepEqual(warnings('AgentPolicy', `apply_mode: global\nblocked_tools: ['*']`), [
    '6:19 spec.blocked_tools[0]: blocks every tool that is or will be there, for whom the policy is about',
  ])
  for (const tools of ['', "tools: ['*'], "])
    assert.deepEqual(warnings('AgentPolicy', `apply_mode: global\nrules: [{${tools}decision: deny}]`), [
      '6:11 spec.rules[0]: denies every call of every tool, for whom the policy is about',
    ])
  for (const limit of ['tools: [a*]', 'operation_classes: [admin]', 'when: [{field: a, op: exists}]'])
    assert.deepEqual(warnings('AgentPolicy', `apply_mode: global\nrules: [{${limit}, decision: deny}]`), [])
  assert.deepEqual(
    warnings('AgentPolicy', 'apply_mode: global\ntarget_agents: [a]\nrules: [{decision: escalate}]'),
    [
      '6:18 spec.target_agents: has no effect: apply_mode is global, so it is about every call',
      '7:22 spec.rules[0].decision: escalates to nobody in particular: whoever may decide approvals decides',
    ],
  )
})

test('every bad value is said at its place', () => {
  const cases: [string, string][] = [
    ['apply_mode: all', "5:15 spec.apply_mode: must be one of scoped, global; it is 'all'"],
    ['target_agents: [a b]', "5:19 spec.target_agents[0]: 'a b' is no name"],
    ['target_systems: bot', "5:19 spec.target_systems: must be a list; it is 'bot'"],
    ["target_tasks: ['*x']", "5:18 spec.target_tasks[0]: '*x' is no name"],
    ["target_tools: ['a*b']", "5:18 spec.target_tools[0]: 'a*b' is no name of a tool"],
    ['mode: watch', "5:9 spec.mode: must be one of enforce, monitor; it is 'watch'"],
    ["blocked_tools: ['']", "5:19 spec.blocked_tools[0]: '' is no name of a tool"],
    ['rules: [{tools: [a]}]', '5:11 spec.rules[0].decision: is missing'],
    [
      'rules: [{decision: transform}]',
      "5:22 spec.rules[0].decision: must be one of allow, require-approval, escalate, deny; it is 'transform'",
    ],
    [
      'rules: [{decision: deny, operations: [a b]}]',
      "5:41 spec.rules[0].operations[0]: 'a b' is no name of an operation",
    ],
    [
      'rules: [{decision: deny, operation_classes: [run]}]',
      "5:48 spec.rules[0].operation_classes[0]: must be one of read, write, delete, admin; it is 'run'",
    ],
    [
      'rules: [{decision: deny, risk_levels: [big]}]',
      "5:42 spec.rules[0].risk_levels[0]: must be one of low, medium, high, critical; it is 'big'",
    ],
    [
      'rules: [{decision: deny, when: [{field: a, op: like, value: 1}]}]',
      "5:50 spec.rules[0].when[0].op: must be one of eq, ne, gt, gte, lt, lte, in, not_in, in_domain, not_in_domain, exists; it is 'like'",
    ],
    [
      'rules: [{decision: deny, when: [{field: a, op: gt, value: [1]}]}]',
      '5:61 spec.rules[0].when[0].value: does not fit op gt',
    ],
    [
      "rules: [{decision: deny, when: [{field: '', op: exists}]}]",
      "5:43 spec.rules[0].when[0].field: '' names no input field",
    ],
    ['rules: [{decision: deny, retry_after: 1x}]', "5:41 spec.rules[0].retry_after: '1x' is no duration"],
    [
      'rules: [{decision: allow, retry_after: 1m}]',
      '5:42 spec.rules[0].retry_after: says when a denial passes; this rule says allow',
    ],
    ["rules: [{decision: deny, reason: ''}]", '5:36 spec.rules[0].reason: must not be empty'],
    ["cedar: ''", '5:10 spec.cedar: must not be empty'],
    ['transforms: [{tools: [a]}]', '5:16 spec.transforms[0]: changes nothing'],
    ['transforms: [{dry_run: true, drop: [a]}]', '5:16 spec.transforms[0]: says several things at once'],
    ['transforms: [{dry_run: false}]', '5:26 spec.transforms[0].dry_run: must be true'],
    ['transforms: [{clamp: {field: a}}]', '5:24 spec.transforms[0].clamp: has no bounds'],
    [
      'transforms: [{clamp: {field: a, min: 2, max: 1}}]',
      '5:40 spec.transforms[0].clamp.min: is more than max',
    ],
    [
      "transforms: [{clamp: {field: 'a..b', max: 1}}]",
      "5:32 spec.transforms[0].clamp.field: 'a..b' names no input field",
    ],
    ['transforms: [{drop: []}]', '5:23 spec.transforms[0].drop: must not be empty'],
    ['budgets: [{calls: true, max: 1}]', '5:13 spec.budgets[0].period: is missing'],
    ['budgets: [{period: 1h, max: 1}]', '5:13 spec.budgets[0]: counts nothing'],
    [
      'budgets: [{period: 1h, calls: true, sum: a, max: 1}]',
      '5:13 spec.budgets[0]: counts two things at once',
    ],
    ['budgets: [{period: 1h, calls: false, max: 1}]', '5:33 spec.budgets[0].calls: must be true'],
    ['budgets: [{period: 1ms, calls: true, max: 1}]', '5:22 spec.budgets[0].period: must be at least 1s'],
    ['budgets: [{period: 1h, calls: true}]', '5:13 spec.budgets[0].max: is missing'],
    [
      'budgets: [{period: 1h, calls: true, per: team, max: 1}]',
      "5:44 spec.budgets[0].per: must be one of caller, tool; it is 'team'",
    ],
    ['approval: {quorum: 101}', '5:22 spec.approval.quorum: must be 1 to 100; it is 101'],
    ['escalate_to: a b', "5:16 spec.escalate_to: 'a b' is no valid name"],
    ['allowed_models: gpt', "5:19 spec.allowed_models: must be a list; it is 'gpt'"],
    ['ruls: []', '5:3 spec.ruls: is not a known field'],
  ]
  for (const [spec, says] of cases) assert.deepEqual(problems('AgentPolicy', spec), [says], spec)
})
