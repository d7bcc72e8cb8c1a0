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
