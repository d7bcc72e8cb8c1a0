// Kind ToolPermission: every field with its default, and every mistake at its place.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { declared, problems, warnings } from './governance-support.ts'

test('the defaults are those of seed 002', () => {
  const { version: _version, ...permission } = declared('ToolPermission', '')
  assert.deepEqual(permission, {
    namespace: 'default',
    name: 'probe',
    tool: 'probe',
    action: 'invoke',
    requiredPermissions: [],
    matchMode: 'all',
    targets: { applyMode: 'global', agents: [], systems: [], tasks: [] },
    operationRules: [],
    approval: { quorum: 1, ttlMs: 600_000 },
  })
  assert.deepEqual(warnings('ToolPermission', ''), [
    '4:7 spec: demands nothing: it has no required_permissions and no operation_rules',
  ])
})

test('everything that is written is read, in both spellings', () => {
  const snake = `tool_ref: pay
action: Invoke
required_permissions: [billing:Close, billing:close]
match_mode: ANY
apply_mode: scoped
target_agents: [bot, team-*]
operation_rules: [{}, {operation_class: Write, verdict: approval_required}]
approval: {role: lead, quorum: 2, ttl: 1h}
`
  const camel = snake
    .replace('tool_ref', 'toolRef')
    .replace('required_permissions', 'requiredPermissions')
    .replace('match_mode', 'matchMode')
    .replace('apply_mode', 'applyMode')
    .replace('target_agents', 'targetAgents')
    .replace('operation_rules', 'operationRules')
    .replace('operation_class', 'operationClass')
  for (const spec of [snake, camel]) {
    const { version: _version, ...permission } = declared('ToolPermission', spec)
    assert.deepEqual(permission, {
      namespace: 'default',
      name: 'probe',
      tool: 'pay',
      action: 'invoke',
      requiredPermissions: ['billing:close'],
      matchMode: 'any',
      targets: { applyMode: 'scoped', agents: ['bot', 'team-*'], systems: [], tasks: [] },
      operationRules: [
        { operationClass: '*', verdict: 'allow' },
        { operationClass: 'write', verdict: 'approval_required' },
      ],
      approval: { role: 'lead', quorum: 2, ttlMs: 3_600_000 },
    })
  }
})

test('S42: a rule that a stricter one makes void is said', () => {
  const rules = `operation_rules:
- {operation_class: read, verdict: allow}
- {operation_class: '*', verdict: deny}
- {operation_class: write, verdict: approval_required}
`
  assert.deepEqual(warnings('ToolPermission', rules), [
    '6:5 spec.operation_rules[0]: has no effect: operation_rules[1] matches the same calls and is stricter',
    '8:5 spec.operation_rules[2]: has no effect: operation_rules[1] matches the same calls and is stricter',
  ])
  const apart = 'operation_rules: [{operation_class: read, verdict: deny}, {operation_class: write}]'
  assert.deepEqual(warnings('ToolPermission', apart), [])
})

test('every bad value is said at its place', () => {
  const cases: [string, string][] = [
    ['tool_ref: a b', "5:13 spec.tool_ref: 'a b' is no valid name"],
    ['action: read', "5:11 spec.action: must be invoke; it is 'read'"],
    [
      "required_permissions: ['tool:*:invoke']",
      "5:26 spec.required_permissions[0]: 'tool:*:invoke' has a wildcard, and what is required is named whole",
    ],
    ['match_mode: some', "5:15 spec.match_mode: must be one of all, any; it is 'some'"],
    ['apply_mode: local', "5:15 spec.apply_mode: must be one of global, scoped; it is 'local'"],
    ['apply_mode: scoped', '4:1 spec.target_agents: is empty, and apply_mode is scoped'],
    ['apply_mode: scoped\ntarget_agents: [a*b]', "6:19 spec.target_agents[0]: 'a*b' is no name"],
    [
      'operation_rules: [{operation_class: run}]',
      "5:39 spec.operation_rules[0].operation_class: must be one of read, write, delete, admin, *; it is 'run'",
    ],
    [
      'operation_rules: [{verdict: maybe}]',
      "5:31 spec.operation_rules[0].verdict: must be one of allow, approval_required, deny; it is 'maybe'",
    ],
    ['operation_rules: [{verdicts: deny}]', '5:22 spec.operation_rules[0].verdicts: is not a known field'],
    ['approval: {quorum: 0}', '5:22 spec.approval.quorum: must be 1 to 100; it is 0'],
    ['approval: {ttl: 10}', '5:19 spec.approval.ttl: must be a duration such as 30s, 500ms or 24h; it is 10'],
    ['approval: {ttl: 0s}', '5:19 spec.approval.ttl: must be at least 1s'],
    ['approval: {ttl: 1000h}', '5:19 spec.approval.ttl: must not be longer than 720h'],
    ['approval: {role: a b}', "5:20 spec.approval.role: 'a b' is no valid name"],
  ]
  for (const [spec, says] of cases) assert.deepEqual(problems('ToolPermission', spec), [says], spec)
})

test('targets that cannot matter are said', () => {
  assert.deepEqual(warnings('ToolPermission', 'required_permissions: [a:b]\ntarget_agents: [bot]'), [
    '6:18 spec.target_agents: has no effect: apply_mode is global, so it is for everybody',
  ])
})
