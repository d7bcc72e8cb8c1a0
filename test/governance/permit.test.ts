// Who may call what: permissions by name and by wildcard, and what a refusal gives away (S41).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CallerSnapshot } from '../../src/contract/entry.ts'
import { mayInvokeName, permit } from '../../src/governance/permit.ts'
import type { ToolSpec } from '../../src/resource/tool.ts'
import { runtimeWith, steeredTool, WRITE } from '../pipeline/harness.ts'
import { manifest, resolved } from '../resource/support.ts'

const NAME = manifest().metadata.name

function holder(...permissions: string[]): CallerSnapshot {
  return { actor: 'a', namespace: 'default', roles: [], permissions, admin: false }
}

function missing(spec: ToolSpec, caller: CallerSnapshot): readonly string[] {
  const permission = permit(caller, resolved(spec))
  return permission.kind === 'denied' ? permission.missing : []
}

test('S41: a star at the end of a name covers what begins with it, and nothing else', () => {
  const covers = (permission: string, name: string) => mayInvokeName(holder(permission), name)
  for (const name of ['pay', 'payroll', 'pay.out', 'pay-2']) {
    assert.equal(covers('tool:pay*:invoke', name), true, name)
    assert.equal(covers('tool:*:invoke', name), true, name)
    assert.equal(covers(`tool:${name}:invoke`, name), true, name)
  }
  for (const name of ['pa', 'Pay', 'repay', 'refund', 'x', '*', '']) {
    assert.equal(covers('tool:pay*:invoke', name), false, name)
    assert.equal(covers('tool:pay:invoke', name), false, name)
  }
  for (const permission of [
    '*',
    'tool:*',
    'tool:pay',
    'tool:pay*',
    '*:invoke',
    'tool:*pay:invoke',
    'tool:p*y:invoke',
    'tool:pay*:describe',
    'tool:pay*:invoke ',
    'Tool:pay*:invoke',
    'capability:pay*',
    'tool:pay?:invoke',
    'tool:pay.*:invoke',
    '',
  ]) {
    assert.equal(covers(permission, 'pay'), false, permission)
  }
  assert.equal(mayInvokeName(holder(), 'pay'), false, 'no permission: denied')
})

test('S41: capabilities and the class are needed each, by name or by a wildcard of their own kind', () => {
  const spec: ToolSpec = { capabilities: ['network.read', 'data.read'], permission_class: 'reports' }
  const name = `tool:${NAME}:invoke`
  assert.deepEqual(missing(spec, holder(name)), [
    'capability:network.read',
    'capability:data.read',
    'class:reports',
  ])
  assert.deepEqual(missing(spec, holder(name, 'capability:network*', 'class:reports')), [
    'capability:data.read',
  ])
  assert.deepEqual(missing(spec, holder(name, 'capability:*')), ['class:reports'])
  assert.deepEqual(missing(spec, holder(name, 'capability:*', 'class:rep*')), [])
  assert.deepEqual(missing(spec, holder('capability:*', 'class:*')), [name])
  assert.deepEqual(missing(spec, holder(name, 'tool:*:invoke', 'class:*', 'capability:data.read')), [
    'capability:network.read',
  ])
})

test('S41: what cannot be undone is granted by name alone, also where one operation of many is so', () => {
  const dangerous: ToolSpec = {
    capabilities: ['data.write'],
    operations: {
      look: { effect: { class: 'read-only' } },
      wipe: { effect: { class: 'irreversible', identity: ['/id'] } },
    },
  }
  const wild = holder('tool:*:invoke', `tool:${NAME}*:invoke`, 'capability:*', 'class:*')
  assert.deepEqual(missing(dangerous, wild), [`tool:${NAME}:invoke`, 'capability:data.write'])
  assert.deepEqual(missing(dangerous, holder(`tool:${NAME}:invoke`, 'capability:data.*')), [
    'capability:data.write',
  ])
  assert.deepEqual(missing(dangerous, holder(`tool:${NAME}:invoke`, 'capability:data.write')), [])
  assert.deepEqual(missing(dangerous, { ...wild, admin: true }), [], 'the local admin excepted')
})

/** What a holder of wildcards may not call, each for another reason, and with something to hide. */
const hiddenTools = () => [
  steeredTool('guarded', { ...WRITE, version: '3.1.4', capabilities: ['data.write'] }),
  steeredTool('guarded', { ...WRITE, version: '2.7.1', capabilities: ['data.write'] }),
  steeredTool('danger', { effect: { class: 'irreversible', identity: ['/id'] }, version: '3.1.4' }),
  steeredTool('classy', { ...WRITE, version: '3.1.4', permission_class: 'payments' }),
  steeredTool('old', {
    ...WRITE,
    version: '3.1.4',
    capabilities: ['data.write'],
    deprecation: { deprecated: '2020-01-01', replacement: 'next' },
  }),
  steeredTool('gone', {
    ...WRITE,
    version: '3.1.4',
    capabilities: ['data.write'],
    deprecation: { removal: '2020-01-01', replacement: 'next' },
  }),
  steeredTool('twins', { ...WRITE, version: '3.1.4+a', capabilities: ['data.write'] }),
  steeredTool('twins', { ...WRITE, version: '3.1.4+b', capabilities: ['data.write'] }),
]
const HIDDEN_NAMES = ['guarded', 'danger', 'classy', 'old', 'gone', 'twins']
const PERMISSIONS = ['tool:*:invoke', 'tool:guard*:invoke']
/** Versions, operations and replacements; a digest is recognised by its beginning. */
const SECRETS = /3\.1\.4|2\.7\.1|invoke, status|"invoke","status"|"next|use next|sha256/
const QUESTIONS = [
  {},
  { version: '9.x' },
  { version: '3.1.4' },
  { operation: 'nope' },
  { version: '9.x', operation: 'nope' },
  { operation: 'status', input: { not: 'asked for' } },
]

test('S41: wildcards learn neither versions nor operations from refusals of tools they may not call', async (t) => {
  const tools = hiddenTools()
  const open = steeredTool('open', { ...WRITE, version: '3.1.4' })
  const { runtime } = await runtimeWith(t, [...tools, open])
  const door = runtime.as({ actor: 'a', permissions: PERMISSIONS })
  for (const tool of HIDDEN_NAMES) {
    for (const more of QUESTIONS) {
      const { state, failure } = await door.call({ tool, input: 1, ...more })
      const about = `${tool} ${JSON.stringify(more)}`
      assert.deepEqual([state, failure?.id], ['denied', 'permission-denied'], about)
      assert.equal(JSON.stringify(failure).match(SECRETS)?.[0], undefined, about)
    }
  }
  // The same questions about a tool it may call are answered.
  const range = await door.call({ tool: 'open', version: '9.x' })
  assert.deepEqual([range.failure?.id, range.failure?.details.versions], ['version-unmatched', ['3.1.4']])
  const operation = await door.call({ tool: 'open', operation: 'nope' })
  assert.deepEqual(operation.failure?.details.operations, ['invoke', 'status'])
  for (const tool of [...tools, open]) assert.equal(tool.sends.length, 0)
})

test('S41: nor does the rest of the answer, a dry run or an explanation tell them a version, a digest or a deprecation', async (t) => {
  const { runtime } = await runtimeWith(t, hiddenTools())
  const door = runtime.as({ actor: 'a', permissions: PERMISSIONS })
  for (const tool of HIDDEN_NAMES) {
    for (const more of QUESTIONS) {
      const answer = await door.call({ tool, input: 1, ...more })
      const about = `${tool} ${JSON.stringify(more)}`
      assert.deepEqual([answer.tool.version, answer.tool.digest], [undefined, undefined], about)
      assert.deepEqual(answer.warnings, [], about)
      const kept = await door.getCall(answer.callId)
      assert.equal(kept?.version, undefined, about)
      const dry = await door.call({ tool, input: 1, ...more, dryRun: true })
      const explained = await door.explain({ tool, input: 1, ...more })
      assert.deepEqual([dry.state, explained.decision], ['denied', 'deny'], about)
      assert.equal(JSON.stringify([dry, explained]).match(SECRETS)?.[0], undefined, about)
    }
  }
})
