// Kind AgentRole: every field with its default, and every mistake at its place.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { declared, problems, warnings } from './governance-support.ts'

test('an empty role permits nothing, and that is said', () => {
  const { version, ...role } = declared('AgentRole', '')
  assert.deepEqual(role, {
    namespace: 'default',
    name: 'probe',
    description: '',
    permissions: [],
    inherits: [],
    clearance: 'internal',
  })
  assert.match(version, /^0-[0-9a-f]{12}$/)
  assert.deepEqual(warnings('AgentRole', ''), [
    '4:7 spec: permits nothing: it has no permissions and inherits none',
  ])
})

test('permissions are trimmed, their fixed parts lower-cased, and named once; names keep their case', () => {
  const { permissions } = declared(
    'AgentRole',
    `permissions: [' Tool:Weather:INVOKE', 'tool:Weather:invoke', 'Capability:Mail.Send', 'class:Gold', 'APPROVAL:decide']`,
  )
  assert.deepEqual(permissions, [
    'tool:Weather:invoke',
    'capability:mail.send',
    'class:Gold',
    'approval:decide',
  ])
})

test('a role has what was written, and its version changes with its meaning only', () => {
  const spec =
    'description: a\npermissions: [tool:a:invoke]\ninherits: [reader, reader]\nclearance: Restricted\n'
  const one = declared('AgentRole', spec, { profile: 'local', effectDefault: 'declared', generation: 3 })
  assert.deepEqual([one.inherits, one.clearance, one.description], [['reader'], 'restricted', 'a'])
  assert.match(one.version, /^3-/)
  const digest = (text: string) => declared('AgentRole', text).version
  assert.equal(digest(spec), digest(spec.replace('description: a', 'description: b')))
  assert.notEqual(digest(spec), digest(spec.replace('tool:a', 'tool:b')))
  assert.throws(() => Object.assign(one.permissions, ['x']), TypeError, 'frozen throughout')
})

test('S41: a permission that covers everything is accepted with a warning', () => {
  for (const all of ['tool:*:invoke', 'capability:*', 'class:*']) {
    const [warning, ...more] = warnings('AgentRole', `permissions: ['${all}']`)
    assert.match(warning ?? '', /^5:17 spec\.permissions\[0\]: '.*' covers every/)
    assert.deepEqual(more, [])
  }
  assert.deepEqual(warnings('AgentRole', `permissions: ['tool:weather-*:invoke']`), [])
})

test('a permission that could never match is an error, one that looks like a slip a warning', () => {
  const bad = [
    '*',
    'tool:*',
    'tool:a*b:invoke',
    '*:read',
    'tool:a:read',
    'tool::invoke',
    'tool:a',
    'capability:',
  ]
  for (const permission of bad) {
    const found = problems('AgentRole', `permissions: [class:a, '${permission}']`)
    assert.equal(found.length, 1, permission)
    assert.match(found[0] ?? '', /^5:26 spec\.permissions\[1\]: /)
  }
  assert.deepEqual(problems('AgentRole', `permissions: ['a b']`), [
    "5:17 spec.permissions[0]: 'a b' is no permission",
  ])
  assert.deepEqual(warnings('AgentRole', 'permissions: [tools:a:invoke]'), [
    "5:17 spec.permissions[0]: 'tools:a:invoke' is no permission that Writ asks for",
  ])
  assert.deepEqual(warnings('AgentRole', 'permissions: [billing:close]'), [], 'a rule may require it')
})

test('every bad value is said at its place', () => {
  const cases: [string, string][] = [
    ['permissions: tool:a:invoke', "5:16 spec.permissions: must be a list; it is 'tool:a:invoke'"],
    ['permissions: [1]', '5:17 spec.permissions[0]: must be text; it is 1'],
    ['inherits: [not a name]', "5:14 spec.inherits[0]: 'not a name' is no valid name"],
    [
      'clearance: secret',
      "5:14 spec.clearance: must be one of public, internal, confidential, restricted; it is 'secret'",
    ],
    ['description: [a]', '5:16 spec.description: must be text; it is a list'],
    ['permission: [a]', '5:3 spec.permission: is not a known field'],
  ]
  for (const [spec, says] of cases) assert.deepEqual(problems('AgentRole', spec), [says], spec)
})
