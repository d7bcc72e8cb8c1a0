// apply, diff, get, describe, delete and validate for roles, permissions and policies, against a real server.
import assert from 'node:assert/strict'
import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { document } from '../resource/governance-support.ts'
import { type ServerCommands, startServerCommands } from './server-commands.ts'

let s: ServerCommands
before(async () => {
  s = await startServerCommands()
  cpSync(join(import.meta.dirname, '..', '..', 'examples', 'governance'), join(s.cwd, 'governance'), {
    recursive: true,
  })
})
after(() => s.close())

test('the examples are valid, compared, applied whole, and unchanged the second time', async () => {
  const valid = await s.writ('validate -f governance')
  assert.deepEqual([valid.code, valid.out], [0, '4 manifests valid\n'], valid.err)
  const diff = await s.writ('diff -f governance')
  assert.equal(diff.code, 0, diff.err)
  assert.match(diff.out, /^\+\+\+ AgentRole default\/support-lead \(declared\)$/m)
  const dry = await s.writ('apply -f governance --dry-run')
  assert.match(dry.out, /^AgentPolicy default\/refunds would be created$/m)
  assert.equal((await s.writ('get agent-roles')).out.includes('support'), false)
  const applied = await s.writ('apply -f governance')
  assert.equal(applied.code, 0, applied.err)
  assert.match(applied.out, /^ToolPermission default\/refund created$/m)
  const again = await s.writ('apply -f governance')
  assert.match(again.out, /^AgentRole default\/support-agent unchanged$/m)
})

test('every kind is listed and described, and what is listed as YAML can be applied', async () => {
  const roles = await s.writ('get agent-roles')
  assert.match(roles.out, /^NAME +PERMISSIONS +INHERITS +CLEARANCE +AGE +DESCRIPTION\n/)
  assert.match(roles.out, /^support-lead +1 +support-agent +confidential /m)
  assert.equal((await s.writ('get roles')).out, roles.out, 'the short word is the same')
  assert.match((await s.writ('describe policy refunds')).out, /escalate_to: support-lead/)
  assert.match((await s.writ('get tool-permissions')).out, /^refund +refund +global +2 /m)
  assert.match((await s.writ('get agent-policy refunds')).out, /^refunds +enforce +scoped +2 +2 +no /m)
  const described = await s.writ('describe agent-policy refunds')
  assert.equal(described.code, 0, described.err)
  assert.match(described.out, /escalate_to: support-lead/)
  assert.equal(described.out.includes('Version'), false, 'it has none')
  const yaml = await s.writ('get agent-policies refunds -o yaml')
  writeFileSync(join(s.cwd, 'again.yaml'), yaml.out)
  const again = await s.writ('apply -f again.yaml')
  assert.match(again.out, /^AgentPolicy default\/refunds unchanged$/m, again.err)
})

test('a name that is not there is guessed, a version of what has none is refused', async () => {
  const missing = await s.writ('describe agent-role support-laed')
  assert.notEqual(missing.code, 0)
  assert.match(missing.err, /No agent role 'support-laed' in this namespace/)
  assert.match(missing.err, /did you mean 'support-lead'\?/)
  const listed = await s.writ('get agent-role suport-lead')
  assert.match(listed.err, /there is no agent role 'suport-lead'/)
  const version = await s.writ('delete agent-role support-lead --version 1.0.0')
  assert.match(version.err, /agent roles have no versions/)
  assert.notEqual((await s.writ('get agent-rolls')).code, 0)
})

test('a role that is named is not deleted, one that is free is', async () => {
  const refused = await s.writ('delete agent-role support-lead')
  assert.notEqual(refused.code, 0)
  assert.match(refused.err, /named by ToolPermission refund, AgentPolicy refunds/)
  for (const [what, name] of [
    ['agent-policy', 'refunds'],
    ['tool-permissions', 'refund'],
    ['agent-role', 'support-lead'],
  ]) {
    const deleted = await s.writ(`delete ${what} ${name}`)
    assert.equal(deleted.code, 0, deleted.err)
  }
  assert.equal((await s.writ('get agent-policies')).out.includes('refunds'), false)
})

test('all errors of a set are told with file, line and column, and nothing is changed', async () => {
  writeFileSync(join(s.cwd, 'role.yaml'), document('AgentRole', 'fresh', 'permissions: [tool:a:invoke]'))
  const policy = 'apply_mode: global\nblocked_tools: [echo]\nescalate_to: nobody\napproval: {role: noone}'
  writeFileSync(join(s.cwd, 'policy.yaml'), document('AgentPolicy', 'bad', policy))
  const refused = await s.writ('apply -f role.yaml -f policy.yaml')
  assert.notEqual(refused.code, 0)
  assert.match(refused.err, /^policy\.yaml:7:16: error: spec\.escalate_to: there is no AgentRole 'nobody'/m)
  assert.match(refused.err, /^policy\.yaml:8:20: error: spec\.approval\.role: there is no AgentRole 'noone'/m)
  assert.equal((await s.writ('get agent-roles')).out.includes('fresh'), false)
  const offline = await s.writ('validate -f policy.yaml')
  assert.equal(offline.code, 0, 'without a server nobody knows whether the role is there')
  assert.match(
    offline.err,
    /warning: spec\.escalate_to: there is no AgentRole 'nobody' among these manifests/,
  )
})

test('validate reads the syntax and the annotations of Cedar, without a server', async () => {
  const cedar =
    'apply_mode: global\ncedar: |\n  @resaon("x")\n  forbid (principal, action, resource);\n  forbid (;'
  writeFileSync(join(s.cwd, 'cedar.yaml'), document('AgentPolicy', 'cedar', cedar))
  const { code, err } = await s.writ('validate -f cedar.yaml')
  assert.equal(code, 3, err)
  assert.match(
    err,
    /^cedar\.yaml:\d+:\d+: error: spec\.cedar: line 1, column 1 of the text: the annotation @resaon /m,
  )
  assert.match(err, /spec\.cedar: line 3, column \d+ of the text: unexpected token/)
  const fine = cedar.replace('@resaon', '@reason').replace('\n  forbid (;', '')
  writeFileSync(join(s.cwd, 'cedar.yaml'), document('AgentPolicy', 'cedar', fine))
  const valid = await s.writ('validate -f cedar.yaml')
  assert.equal(valid.code, 0, valid.err)
})

test('validate --profile production asks of which tool Cedar can ask for approval', async () => {
  const tool = (name: string) =>
    document(
      'Tool',
      name,
      'type: http\nendpoint: https://a.example.com/x\neffect: {class: irreversible, identity: [to]}\ninput_schema: {type: object, properties: {to: {type: string}}}\n',
    )
  const policy = document(
    'AgentPolicy',
    'c',
    'apply_mode: global\ncedar: |\n  @decision("require-approval")\n  forbid (principal, action, resource == Writ::Tool::"wipe");',
  )
  writeFileSync(join(s.cwd, 'risky.yaml'), [tool('wipe'), tool('burn'), policy].join('---\n'))
  const { err } = await s.writ('validate -f risky.yaml --profile production')
  const found = err.match(/^risky\.yaml:\d+.*no approval rule among these manifests concerns it/gm) ?? []
  assert.equal(found.length, 1, err)
  assert.match(err, /^risky\.yaml:1\d:.*no approval rule/m, 'the second tool')
})

test('a freeze of a tool that is not there holds, and says which one may be meant', async () => {
  const frozen = await s.writ('freeze tool ehco --reason typo')
  assert.deepEqual([frozen.code, frozen.out], [0, 'tool ehco is frozen\n'], frozen.err)
  assert.match(frozen.err, /^writ: there is no tool 'ehco' in this namespace now: did you mean 'echo'\?$/m)
  assert.equal((await s.writ('freeze tool echo --reason meant')).err, '')
  for (const name of ['ehco', 'echo']) assert.equal((await s.writ(`thaw tool ${name} --reason done`)).code, 0)
})

test('Cedar that fails against the schema is shown at its line and column in the file, also by apply', async () => {
  const text = document(
    'AgentPolicy',
    'c',
    'apply_mode: global\ncedar: |\n  forbid (principal, action, resource)\n  when { context.nope == 1 };',
  )
  writeFileSync(join(s.cwd, 'nope.yaml'), text)
  const line = text.split('\n').findIndex((one) => one.includes('context.nope')) + 1
  const column = (text.split('\n')[line - 1] ?? '').indexOf('context.nope') + 1
  const { code, err } = await s.writ('apply -f nope.yaml')
  assert.equal(code, 3)
  assert.ok(err.startsWith(`nope.yaml:${line}:${column}: error: spec.cedar: `), err)
})
