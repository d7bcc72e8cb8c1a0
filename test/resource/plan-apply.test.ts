import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatProblem, readManifests } from '../../src/resource/manifest.ts'
import {
  type AppliedResource,
  type ApplyPlan,
  formatDiff,
  type PlanApplyOptions,
  planApply,
} from '../../src/resource/plan-apply.ts'
import type { ResourceChange, ResourceRow } from '../../src/store/store.ts'
import { LOCAL, PRODUCTION, rowsOf } from './support.ts'

const TOOL = `apiVersion: writ.dev/v1
kind: Tool
metadata:
  name: probe
spec:
  version: 1.0.0
  type: http
  endpoint: https://a.example.com/x
  effect: {class: external-communication, identity: [to]}
`

function plan(
  text: string,
  existing: readonly AppliedResource[] = [],
  options: PlanApplyOptions = LOCAL,
): ApplyPlan {
  const { documents, problems } = readManifests(text, 'set.yaml')
  assert.deepEqual(problems.map(formatProblem), [])
  return planApply(existing, documents, options)
}

/** What the store would hold after applying `text`. */
function applied(text: string, options: PlanApplyOptions = LOCAL): AppliedResource[] {
  const made = plan(text, [], options)
  assert.deepEqual(made.problems.filter((problem) => problem.severity === 'error').map(formatProblem), [])
  return rowsOf(made)
}

function errors(result: ApplyPlan): string[] {
  return result.problems.filter((problem) => problem.severity === 'error').map(formatProblem)
}

test('what is not there is created, and must still not be there when it is written', () => {
  const { changes, diff, tools, namespace } = plan(TOOL)
  assert.equal(namespace, 'default')
  assert.equal(changes.length, 1)
  const [change] = changes
  assert.deepEqual(
    [change?.kind, change?.name, change?.version, change?.expect],
    ['Tool', 'probe', '1.0.0', 0],
  )
  assert.equal(change?.put.digest, tools[0]?.digest)
  assert.deepEqual(change?.put.body.metadata, { name: 'probe', namespace: 'default' })
  assert.equal(diff[0]?.action, 'create')
  assert.ok(diff[0]?.changes.every((field) => field.op === 'add'))
})

test('a plan fits the store, in both directions', () => {
  const row: ResourceRow = {
    ...(applied(TOOL)[0] as AppliedResource),
    generation: 1,
    createdAt: 0,
    updatedAt: 0,
  }
  const changes: readonly ResourceChange[] = plan(TOOL.replace('/x', '/y'), [row]).changes
  assert.equal(changes[0]?.expect, 1)
})

test('applying the same again changes nothing, whatever the spelling', () => {
  const rows = applied(TOOL)
  const again = plan(TOOL, rows)
  assert.deepEqual(again.changes, [])
  assert.equal(again.diff[0]?.action, 'unchanged')
  assert.deepEqual(again.diff[0]?.changes, [])
  assert.equal(again.tools.length, 1)
  const respelt = TOOL.replace(
    'effect: {class: external-communication, identity: [to]}',
    'sideEffectClass: External communication\n  effect: {identity: [to]}',
  )
  assert.equal(plan(respelt, rows).diff[0]?.action, 'unchanged')
})

test('a change is shown field by field and expects what was read', () => {
  const rows = applied(TOOL)
  const text = TOOL.replace('/x', '/y')
    .replace('  name: probe\n', '  name: probe\n  labels: {team: a}\n')
    .concat('  owner: me\n  capabilities: [a.b]\n')
  const { changes, diff } = plan(text, rows)
  assert.equal(changes[0]?.expect, 1)
  assert.deepEqual(diff[0]?.changes, [
    { op: 'add', path: 'metadata.labels.team', to: 'a' },
    { op: 'change', path: 'spec.endpoint', from: 'https://a.example.com/x', to: 'https://a.example.com/y' },
    { op: 'add', path: 'spec.owner', to: 'me' },
    { op: 'add', path: 'spec.capabilities[0]', to: 'a.b' },
  ])
  const back = plan(TOOL, applied(text)).diff[0]?.changes.filter((field) => field.op === 'remove')
  assert.deepEqual(
    back?.map((field) => field.path),
    ['metadata.labels.team', 'spec.owner', 'spec.capabilities[0]'],
  )
})

test('description, labels and annotations are a change, though the digest stays', () => {
  const rows = applied(TOOL)
  const { changes, diff } = plan(`${TOOL}  description: new words\n`, rows)
  assert.equal(diff[0]?.action, 'update')
  assert.equal(changes[0]?.put.digest, rows[0]?.digest)
})

test('a row whose digest no longer fits is written anew', () => {
  const rows = applied(TOOL).map((row) => ({ ...row, digest: 'sha256:old' }))
  const { diff, changes } = plan(TOOL, rows)
  assert.equal(diff[0]?.action, 'update')
  assert.equal(changes.length, 1)
})

test('versions live side by side', () => {
  const rows = applied(TOOL)
  const { changes, diff } = plan(
    TOOL.replace('1.0.0', '2.0.0').replace('a.example.com', 'b.example.com'),
    rows,
  )
  assert.deepEqual([changes[0]?.version, changes[0]?.expect, diff[0]?.action], ['2.0.0', 0, 'create'])
  assert.deepEqual(
    plan(`${TOOL}---\n${TOOL.replace('1.0.0', '1.1.0')}`).changes.map((change) => change.version),
    ['1.0.0', '1.1.0'],
  )
})

test('all or nothing: one error, and nothing would be written', () => {
  const result = plan(
    `${TOOL}---\n${TOOL.replace('name: probe', 'name: other').replace('https://a', 'ftp://a')}`,
  )
  assert.deepEqual(errors(result), [
    'set.yaml:18:13: error: spec.endpoint: is no address that can be called. Fix: write it such as https://HOST/PATH',
  ])
  assert.deepEqual(result.changes, [])
  assert.equal(result.diff.length, 1, 'what could be resolved is still shown')
})

test('warnings do not stop it, and have their place', () => {
  const result = plan(TOOL.replace('  effect: {class: external-communication, identity: [to]}\n', ''))
  assert.equal(result.changes.length, 1)
  assert.match(
    formatProblem(result.problems[0] as never),
    /^set\.yaml:5:1: warning: spec\.effect: is not declared/,
  )
})

test('one resource is declared once', () => {
  const result = plan(`${TOOL}---\n${TOOL}`)
  assert.deepEqual(errors(result), [
    'set.yaml:14:9: error: metadata.name: Tool probe 1.0.0 is declared twice, first at set.yaml:4. Fix: keep one',
  ])
})

test('one apply changes one namespace', () => {
  const other = TOOL.replace('name: probe', 'name: other\n  namespace: team')
  assert.deepEqual(errors(plan(`${TOOL}---\n${other}`)), [
    "set.yaml:15:14: error: metadata.namespace: 'team' is not 'default', and one apply changes one namespace. Fix: apply each namespace by itself",
  ])
  assert.deepEqual(errors(plan(other, [], { ...LOCAL, namespace: 'mine' })), [
    "set.yaml:5:14: error: metadata.namespace: 'team' is not 'mine', which was asked for. Fix: apply each namespace by itself",
  ])
  assert.equal(
    plan(TOOL, [], { ...LOCAL, namespace: 'mine' }).changes[0]?.put.body.metadata &&
      plan(TOOL, [], { ...LOCAL, namespace: 'mine' }).namespace,
    'mine',
  )
  assert.equal(plan(other).namespace, 'team')
})

test('rows of another namespace are not this resource', () => {
  const rows = applied(TOOL).map((row) => ({ ...row, namespace: 'team' }))
  assert.equal(plan(TOOL, rows).diff[0]?.action, 'create')
})

test('metadata.resourceVersion must be the one that is there', () => {
  const rows = applied(TOOL)
  const with_ = (version: string) =>
    TOOL.replace('  name: probe\n', `  name: probe\n  resourceVersion: ${version}\n`)
  assert.deepEqual(errors(plan(with_('1'), rows)), [])
  assert.deepEqual(errors(plan(with_("'1'"), rows)), [])
  assert.deepEqual(errors(plan(with_('7'), rows)), [
    'set.yaml:5:20: error: metadata.resourceVersion: is 7, but it is 1 by now. Fix: read it again and repeat the change',
  ])
  assert.match(errors(plan(with_('1'), []))[0] ?? '', /is 1, but it does not exist by now/)
  assert.deepEqual(errors(plan(with_('0'), [])), [])
  assert.match(errors(plan(with_('0'), rows))[0] ?? '', /is 0, but it is 1 by now/)
  assert.equal(
    JSON.stringify(
      plan(
        with_('1'),
        rows.map((row) => ({ ...row, digest: 'x' })),
      ).changes,
    ).includes('resourceVersion'),
    false,
  )
})

test('S49: another effect, identity or endpoint origin needs another version', () => {
  const rows = applied(TOOL)
  const effect = 'effect: {class: external-communication, identity: [to]}'
  const change = (to: string) => errors(plan(TOOL.replace(effect, to), rows))
  assert.deepEqual(change('effect: {class: administrative, identity: [to]}'), [
    'set.yaml:9:11: error: spec.effect: is another effect than probe 1.0.0 has. Fix: write version: 2.0.0',
  ])
  assert.match(
    change('effect: {class: external-communication, identity: [to], idempotency: natural}')[0] ?? '',
    /another effect/,
  )
  assert.match(
    change('effect: {class: external-communication, identity: [to], refused_on: [409]}')[0] ?? '',
    /another effect/,
  )
  assert.deepEqual(change('effect: {class: external-communication, identity: [to, subject]}'), [
    'set.yaml:9:53: error: spec.effect.identity: is another identity than probe 1.0.0 has. Fix: write version: 2.0.0',
  ])
  assert.match(change('effect: {class: external-communication}')[0] ?? '', /another identity/)
  assert.deepEqual(errors(plan(TOOL.replace('https://a.', 'https://b.'), rows)), [
    'set.yaml:8:13: error: spec.endpoint: is another place than probe 1.0.0 has. Fix: write version: 2.0.0',
  ])
  assert.equal(errors(plan(TOOL.replace('https:', 'http:'), rows)).length, 1)
  assert.deepEqual(
    errors(plan(TOOL.replace('/x', '/y'), rows)),
    [],
    'another path of the same origin is the same place',
  )
})

test('S49: a named operation goes to the same place under the same version', () => {
  const query = 'status_query: {url: "https://a.example.com/s/{key}"}'
  const egress = 'egress: {allow: ["https://*.example.com"]}'
  const text = `${TOOL.replace('identity: [to]}', `identity: [to], ${query}}`)}  ${egress}\n`
  const rows = applied(text)
  assert.deepEqual(errors(plan(text.replace('/s/', '/status/'), rows)), [], 'another path is the same place')
  assert.deepEqual(errors(plan(text.replace('a.example.com/s/', 'b.example.com/s/'), rows)), [
    'set.yaml:9:11: error: spec.effect: names another place than probe 1.0.0 does. Fix: write version: 2.0.0',
  ])
  assert.match(errors(plan(text.replace('{key}"', '{key}", fencing: true'), rows))[0] ?? '', /another effect/)
})

test('S49: each operation is held to its own effect', () => {
  const text = `${TOOL}  operations:\n    send: {}\n    look: {effect: {class: read-only}}\n`
  const rows = applied(text)
  assert.deepEqual(errors(plan(text.replace('class: read-only', 'class: administrative'), rows)), [
    'set.yaml:12:20: error: spec.operations.look.effect: is another effect than probe 1.0.0 has. Fix: write version: 2.0.0',
  ])
  assert.deepEqual(errors(plan(`${text}    more: {}\n`, rows)), [], 'another operation may join')
})

test('S49: what was accepted in another profile is compared, not judged again', () => {
  const text = TOOL.replace('https://a.example.com/x', 'http://localhost:1/x')
  const rows = applied(text)
  assert.deepEqual(
    errors(plan(TOOL, rows, PRODUCTION)).map((line) => line.split(': ')[2]),
    ['spec.endpoint'],
  )
})

test('S49: a row that this build cannot read is not replaced under its version', () => {
  const rows = applied(TOOL).map((row) => ({
    ...row,
    digest: 'sha256:x',
    body: { ...row.body, spec: { future: true } },
  }))
  assert.match(errors(plan(TOOL, rows))[0] ?? '', /cannot be read by this build/)
})

test('S14: the profile counts', () => {
  const text = TOOL.replace('class: external-communication, identity: [to]', 'class: irreversible')
  assert.deepEqual(errors(plan(text)), [])
  assert.equal(errors(plan(text, [], PRODUCTION)).length, 1)
})

test('what is planned can be read back and applied again', () => {
  const [row] = applied(TOOL)
  const text = JSON.stringify({ ...row?.body, status: { phase: 'Ready', digest: row?.digest } })
  assert.equal(plan(text, row ? [row] : []).diff[0]?.action, 'unchanged')
})

test('a diff is plain text for people', () => {
  const rows = applied(TOOL)
  const text = `${TOOL.replace('/x', '/y')}  owner: "\\e[31mred"\n---\n${TOOL.replace('probe', 'other')}`
  const { diff } = plan(text, rows)
  const shown = formatDiff([...diff, ...plan(TOOL, rows).diff])
  assert.equal(
    shown,
    `--- Tool default/probe 1.0.0 (applied)
+++ Tool default/probe 1.0.0 (declared)
- spec.endpoint: "https://a.example.com/x"
+ spec.endpoint: "https://a.example.com/y"
+ spec.owner: "\\u001b[31mred"

--- (nothing)
+++ Tool default/other 1.0.0 (declared)
+ apiVersion: "writ.dev/v1"
+ kind: "Tool"
+ metadata.name: "other"
+ metadata.namespace: "default"
+ spec.version: "1.0.0"
+ spec.type: "http"
+ spec.endpoint: "https://a.example.com/x"
+ spec.effect.class: "external-communication"
+ spec.effect.identity[0]: "to"

    Tool default/probe 1.0.0: unchanged
`,
  )
})
