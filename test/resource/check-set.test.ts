// A set of documents of several kinds: what only shows when all of them are looked at together.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createCedarAsks } from '../../src/governance/cedar/cedar-asks.ts'
import { createCedarEngine } from '../../src/governance/cedar/cedar-engine.ts'
import { formatProblem, readManifests } from '../../src/resource/manifest.ts'
import { type AppliedResource, planApply } from '../../src/resource/plan-apply.ts'
import type { ResourceFinding } from '../../src/resource/problem.ts'
import { document, planOf, told } from './governance-support.ts'
import { LOCAL, PRODUCTION, rowsOf } from './support.ts'

const TOOL = document(
  'Tool',
  'pay',
  'type: http\nendpoint: https://a.example.com/x\neffect: {class: read-only}\n',
)
const set = (...documents: string[]) => documents.join('---\n')

/** What a store would hold after applying it. */
function kept(text: string): AppliedResource[] {
  return rowsOf(planOf(text))
}

test('a role that does not exist is an error wherever it is named, unless it comes along or is there', () => {
  const naming = set(
    document('AgentRole', 'a', 'inherits: [lead]'),
    document('ToolPermission', 'pay', 'operation_rules: [{verdict: deny}]\napproval: {role: lead}'),
    document(
      'AgentPolicy',
      'p',
      'target_tools: [pay]\nblocked_tools: [pay]\nescalate_to: lead\napproval: {role: lead}',
    ),
    TOOL.replace('effect:', 'approval: {role: lead}\n  effect:'),
  )
  const missing = told(planOf(naming))
  assert.deepEqual(missing, [
    "set.yaml:5:14: error: spec.inherits[0]: there is no AgentRole 'lead'. Fix: add the AgentRole lead, or apply it together with this",
    "set.yaml:29:20: error: spec.approval.role: there is no AgentRole 'lead'. Fix: add the AgentRole lead, or apply it together with this",
    "set.yaml:12:20: error: spec.approval.role: there is no AgentRole 'lead'. Fix: add the AgentRole lead, or apply it together with this",
    "set.yaml:21:20: error: spec.approval.role: there is no AgentRole 'lead'. Fix: add the AgentRole lead, or apply it together with this",
    "set.yaml:20:16: error: spec.escalate_to: there is no AgentRole 'lead'. Fix: add the AgentRole lead, or apply it together with this",
  ])
  const lead = document('AgentRole', 'lead', 'permissions: [approval:decide]')
  assert.deepEqual(told(planOf(set(naming, lead))), [])
  const later = planApply(kept(lead), readManifests(naming, 'set.yaml').documents, LOCAL)
  assert.deepEqual(told(later), [])
  assert.equal(later.changes.length, 4)
})

test('a name that is nearly one of a role is guessed; without a server it is only a warning', () => {
  const text = set(
    document('AgentRole', 'lead', 'permissions: [a:b]'),
    document('AgentRole', 'x', 'inherits: [laed]'),
  )
  assert.match(told(planOf(text))[0] ?? '', /Fix: did you mean lead\?$/)
  const partial = planOf(text, { ...LOCAL, partial: true })
  assert.deepEqual(told(partial), [])
  assert.match(told(partial, 'warning')[0] ?? '', /no AgentRole 'laed' among these manifests/)
})

test('roles that inherit each other in a circle are refused, also through one that was there before', () => {
  const a = document('AgentRole', 'a', 'inherits: [b]')
  const b = document('AgentRole', 'b', 'inherits: [c]')
  const c = document('AgentRole', 'c', 'inherits: [a]')
  const found = told(planOf(set(a, b, c)))
  assert.equal(found.length, 3)
  assert.match(
    found[0] ?? '',
    /spec\.inherits\[0\]: goes in a circle: a > b > c > a\. Fix: take one of them out/,
  )
  const open = set(a.replace('[b]', '[]'), b.replace('[c]', '[a]'))
  const closing = planApply(
    kept(open),
    readManifests(document('AgentRole', 'a', 'inherits: [b]'), 'x').documents,
    LOCAL,
  )
  assert.match(told(closing)[0] ?? '', /goes in a circle: a > b > a/)
  assert.match(told(planOf(document('AgentRole', 'a', 'inherits: [a]')))[0] ?? '', /circle: a > a/)
})

test('a tool that is not there is a warning: a rule may come first, or be misspelt', () => {
  const text = document('ToolPermission', 'pya', 'operation_rules: [{verdict: deny}]')
  assert.match(told(planOf(text), 'warning')[0] ?? '', /there is no tool 'pya' yet/)
  assert.match(told(planOf(set(TOOL, text)), 'warning')[0] ?? '', /Fix: did you mean pay\?$/)
  const policy = document(
    'AgentPolicy',
    'p',
    "target_tools: ['pa*']\nblocked_tools: ['x-*']\nrules: [{tools: [zzz], decision: deny}]",
  )
  const found = told(planOf(set(TOOL, policy)), 'warning')
  assert.deepEqual(
    found.map((one) => one.replace(/^\S+ warning: /, '')),
    [
      "spec.blocked_tools[0]: no tool matches 'x-*' yet. Fix: apply the tool, or correct the name",
      "spec.rules[0].tools[0]: there is no tool 'zzz' yet. Fix: apply the tool, or correct the name",
    ],
  )
})

test('one error anywhere in the set, and nothing of it is changed', () => {
  const good = document('AgentRole', 'a', 'permissions: [x:y]')
  const bad = document('AgentPolicy', 'p', 'apply_mode: global\nblocked_tools: [pay]\nescalate_to: nobody')
  assert.equal(planOf(set(TOOL, good)).changes.length, 2)
  const plan = planOf(set(TOOL, good, bad))
  assert.deepEqual(plan.changes, [])
  assert.equal(plan.diff.length, 3)
})

test('resources of two kinds may share a name; two of one kind may not', () => {
  const both = planOf(set(TOOL, document('ToolPermission', 'pay', 'required_permissions: [a:b]')))
  assert.deepEqual(told(both), [])
  const twice = planOf(set(document('AgentRole', 'a', ''), document('AgentRole', 'a', '')))
  assert.deepEqual(told(twice), [
    'set.yaml:8:18: error: metadata.name: AgentRole a is declared twice, first at set.yaml:3. Fix: keep one',
  ])
})

const RISKY = `type: http
endpoint: https://a.example.com/x
operation_classes: [write]
effect: {class: irreversible, identity: [to]}
input_schema: {type: object, properties: {to: {type: string}}}
`

test('production: what cannot be taken back needs an approval rule that concerns it, or a written waiver', () => {
  const tool = document('Tool', 'pay', RISKY)
  const lacking = /operation invoke is irreversible, and no approval rule concerns it/
  assert.deepEqual(told(planOf(tool)), [], 'not outside production')
  const asks = createCedarAsks(createCedarEngine())
  const production = (...more: string[]) => told(planOf(set(tool, ...more), { ...PRODUCTION, asks }))
  assert.match(production()[0] ?? '', lacking)
  const covering = [
    document(
      'ToolPermission',
      'pay',
      'operation_rules: [{operation_class: write, verdict: approval_required}]',
    ),
    document('ToolPermission', 'x', 'tool_ref: pay\noperation_rules: [{verdict: approval_required}]'),
    document(
      'AgentPolicy',
      'p',
      "target_tools: ['p*']\nrules: [{operation_classes: [write], decision: require-approval}]",
    ),
    set(
      document(
        'AgentPolicy',
        'p',
        'apply_mode: global\nescalate_to: e\nrules: [{decision: escalate, when: [{field: to, op: exists}]}]',
      ),
      document('AgentRole', 'e', ''),
    ),
    document(
      'AgentPolicy',
      'p',
      `apply_mode: global\ncedar: |\n  @decision("require-approval")\n  forbid(principal, action, resource);`,
    ),
  ]
  for (const one of covering) assert.deepEqual(production(one), [], one)
  const missing = [
    document(
      'ToolPermission',
      'pay',
      'operation_rules: [{operation_class: read, verdict: approval_required}]',
    ),
    document('ToolPermission', 'other', 'operation_rules: [{verdict: approval_required}]'),
    document('AgentPolicy', 'p', 'rules: [{decision: require-approval}]'),
    document('AgentPolicy', 'p', 'apply_mode: global\nmode: monitor\nrules: [{decision: require-approval}]'),
    document(
      'AgentPolicy',
      'p',
      'apply_mode: global\nrules: [{operations: [other], decision: require-approval}]',
    ),
    document(
      'AgentPolicy',
      'p',
      'apply_mode: global\nrules: [{risk_levels: [high], decision: require-approval}]',
    ),
    document(
      'AgentPolicy',
      'p',
      `apply_mode: global\ncedar: |\n  // @decision("require-approval")\n  forbid(principal, action, resource);`,
    ),
    document(
      'AgentPolicy',
      'p',
      `apply_mode: global\ncedar: |\n  @decision("escalate")\n  forbid(principal, action, resource == Writ::Tool::"look");`,
    ),
  ]
  for (const one of missing) assert.match(production(one)[0] ?? '', lacking, one)
  const own = (line: string) => told(planOf(document('Tool', 'pay', `${RISKY}${line}\n`), PRODUCTION))
  assert.deepEqual(own('approval_triggers: [{field: to, op: exists}]'), [])
  assert.deepEqual(own('approval_waiver: a person reads every message before it goes out'), [])
  const empty = readManifests(document('Tool', 'pay', `${RISKY}approval_waiver: ''\n`), 'x.yaml')
  assert.match(empty.problems[0]?.message ?? '', /must not be empty/, 'an empty one waives nothing')
})

test('who approves and the waiver are no part of the digest: they govern a tool, they are not what it is', () => {
  const digest = (spec: string) =>
    planOf(set(document('Tool', 'pay', spec), document('AgentRole', 'r', ''))).tools[0]?.digest
  assert.equal(digest(RISKY), digest(`${RISKY}approval: {role: r, quorum: 2}\napproval_waiver: why not\n`))
})

test('what a part of another layer finds in the whole set is told at its place, inside a text too', () => {
  const cedar = document(
    'AgentPolicy',
    'p',
    'apply_mode: global\ncedar: |\n  permit(\n    principal, action, resource);',
  )
  const found = {
    kind: 'AgentPolicy',
    name: 'p',
    path: ['spec', 'cedar'],
    message: 'is odd',
    severity: 'error',
  } as const
  const check = (inside?: ResourceFinding['inside']) => (): readonly ResourceFinding[] => [
    { ...found, ...(inside === undefined ? {} : { inside }) },
  ]
  const at = (text: string, inside?: ResourceFinding['inside']) =>
    told(planOf(text, { ...LOCAL, check: check(inside) }))
  assert.deepEqual(at(cedar), ['set.yaml:6:10: error: spec.cedar: is odd'])
  assert.deepEqual(at(cedar, { line: 1, column: 1 }), ['set.yaml:7:5: error: spec.cedar: is odd'])
  assert.deepEqual(at(cedar, { line: 2, column: 3 }), ['set.yaml:8:7: error: spec.cedar: is odd'])
  const quoted = cedar.replace(/\|[\s\S]*/, '"permit(a);"\n')
  assert.deepEqual(at(quoted, { line: 1, column: 8 }), ['set.yaml:6:18: error: spec.cedar: is odd'])
  const folded = cedar.replace('|', '>')
  assert.deepEqual(at(folded, { line: 1, column: 8 }), ['set.yaml:6:10: error: spec.cedar: is odd'])
  const seen: number[] = []
  planOf(set(cedar, TOOL), {
    ...LOCAL,
    check: (governing, tools) => {
      seen.push(governing.policies.length, tools.length)
      return []
    },
  })
  assert.deepEqual(seen, [1, 1])
})

test('what the runtime makes itself is not declared, and the refusal says what to do instead', () => {
  for (const kind of ['ToolApproval', 'toolapproval', 'Stop', 'ApprovalGrant']) {
    const { problems } = readManifests(
      `apiVersion: orloj.dev/v1\nkind: ${kind}\nmetadata: {name: x}\nspec: {anything: 1}\n`,
      'x.yaml',
    )
    assert.equal(problems.length, 1)
    assert.match(
      problems.map(formatProblem)[0] ?? '',
      /^x\.yaml:2:7: error: kind: a \w+ is not declared by a manifest\. Fix: remove it: /,
    )
  }
})

test('documents of orloj.dev/v1 are read, with kinds in any case', () => {
  const text = document('agentrole', 'a', 'permissions: [tool:pay:invoke]').replace('writ.dev', 'orloj.dev')
  const plan = planOf(text)
  assert.deepEqual(told(plan), [])
  assert.deepEqual(plan.changes[0]?.put.body, {
    apiVersion: 'writ.dev/v1',
    kind: 'AgentRole',
    metadata: { name: 'a', namespace: 'default' },
    spec: { permissions: ['tool:pay:invoke'] },
  })
  assert.equal(plan.changes[0]?.version, '0.0.0')
})

test('the examples apply together, in production, without a word but for tools that are not there', () => {
  const folder = join(import.meta.dirname, '..', '..', 'examples', 'governance')
  const read = ['agent-role.yaml', 'tool-permission.yaml', 'agent-policy.yaml'].map((name) =>
    readManifests(readFileSync(join(folder, name)), name),
  )
  assert.deepEqual(
    read.flatMap((one) => one.problems),
    [],
  )
  const plan = planApply(
    [],
    read.flatMap((one) => one.documents),
    PRODUCTION,
  )
  assert.deepEqual(told(plan), [])
  assert.deepEqual(
    plan.changes.map(({ kind, name }) => `${kind}/${name}`),
    ['AgentRole/support-agent', 'AgentRole/support-lead', 'ToolPermission/refund', 'AgentPolicy/refunds'],
  )
  for (const warning of told(plan, 'warning')) assert.match(warning, /there is no tool 'refund' yet/)
})
