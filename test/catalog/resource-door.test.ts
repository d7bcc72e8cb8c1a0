// What governs a namespace, live after an apply, and when a row cannot be read.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCatalog } from '../../src/catalog/catalog.ts'
import { createResourceDoor } from '../../src/catalog/resource-door.ts'
import { createEvents } from '../../src/event/event.ts'
import { formatProblem } from '../../src/resource/manifest.ts'
import { createSystemWorld } from '../../src/util/clock.ts'
import { document } from '../resource/governance-support.ts'
import {
  apply,
  type Door,
  openDoor,
  POLICY,
  RESOLVE,
  ROLE,
  setOf,
  storeOf,
  TOOL,
} from './resource-harness.ts'

test('before rows were read nothing is known; an empty namespace is governed by nothing after that', async () => {
  const store = await storeOf()
  const unread = createResourceDoor({
    world: createSystemWorld(),
    store,
    catalog: createCatalog(),
    events: createEvents(),
    resolve: RESOLVE,
  })
  assert.equal(unread.governance('default').kind, 'unavailable')
  const a = await openDoor(store)
  assert.deepEqual(setOf(a), { roles: [], permissions: [], policies: [] })
})

test('all kinds of a set are live at once, with versions that change with what they mean', async () => {
  const a = await openDoor(await storeOf())
  assert.equal((await apply(a, TOOL, ROLE, POLICY)).ok, true)
  assert.deepEqual(a.told.toSorted(), ['default/AgentPolicy', 'default/AgentRole'])
  const { roles, policies } = setOf(a)
  assert.match(roles[0]?.version ?? '', /^1-[0-9a-f]{12}$/)
  assert.equal(policies[0]?.escalateTo, 'reader')
  a.told.length = 0
  await apply(a, ROLE)
  assert.deepEqual(a.told, [], 'what did not change is not told')
  assert.equal(setOf(a).roles[0], roles[0])
  await apply(a, ROLE.replace('tool:a', 'tool:b'))
  assert.deepEqual(a.told, ['default/AgentRole'])
  assert.match(setOf(a).roles[0]?.version ?? '', /^2-/)
  assert.deepEqual(setOf(a, 'other').roles, [], 'another namespace has nothing of it')
})

test('one error, and nothing of the set is written or live', async () => {
  const store = await storeOf()
  const a = await openDoor(store)
  const outcome = await apply(a, TOOL, ROLE, POLICY.replace('escalate_to: reader', 'escalate_to: nobody'))
  assert.equal(outcome.ok, false)
  assert.deepEqual(await store.resources.list({}), [])
  assert.deepEqual(setOf(a).roles, [])
  assert.deepEqual(a.told, [])
})

test('the check that was handed in sees the set as it would be, and can refuse it', async () => {
  const seen: string[][] = []
  const a = await openDoor(await storeOf(), (set, tools) => {
    seen.push([...set.roles, ...set.policies, ...tools].map(({ name }) => name))
    return set.policies.map(({ name }) => ({
      kind: 'AgentPolicy',
      name,
      path: ['spec', 'blocked_tools'],
      message: 'not today',
      severity: 'error',
    }))
  })
  assert.equal((await apply(a, TOOL, ROLE)).ok, true)
  const refused = await apply(a, POLICY)
  assert.deepEqual(refused.problems.map(formatProblem), ['x.yaml:6:18: error: spec.blocked_tools: not today'])
  assert.deepEqual(seen.at(-1), ['reader', 'p', 'a'])
  assert.deepEqual(setOf(a).policies, [])
})

test('a role that others name is not deleted, and the refusal says who they are', async () => {
  const a = await openDoor(await storeOf())
  await apply(a, ROLE, POLICY, document('AgentRole', 'boss', 'inherits: [reader]'))
  const where = { namespace: 'default', kind: 'AgentRole', name: 'reader' }
  const refused = await a.door.delete(where)
  assert.deepEqual(refused, {
    refused: 'the role reader is named by AgentRole boss, AgentPolicy p',
    fix: 'take the role out of these first, or delete them',
  })
  assert.equal(setOf(a).roles.length, 2)
  assert.equal(await a.door.delete({ ...where, name: 'boss' }), 'deleted')
  assert.equal(await a.door.delete({ ...where, kind: 'AgentPolicy', name: 'p' }), 'deleted')
  assert.equal(await a.door.delete(where), 'deleted')
  assert.equal(await a.door.delete(where), 'not-found')
  assert.deepEqual(setOf(a), { roles: [], permissions: [], policies: [] })
})

test('a kept row that this build cannot read makes its namespace unavailable, and no other', async () => {
  const rows: [string, string, object][] = [
    ['AgentRole', 'cannot be read', { kind: 'AgentRole', metadata: { name: 'x' }, spec: { future: 1 } }],
    [
      'AgentPolicy',
      'cannot be used',
      {
        apiVersion: 'writ.dev/v1',
        kind: 'AgentPolicy',
        metadata: { name: 'x' },
        spec: { escalate_to: 'a b' },
      },
    ],
    ['ToolPermission', 'cannot be read', {}],
    ['QuotaPolicy', 'is of a kind that this build does not know', { spec: {} }],
  ]
  for (const [kind, says, body] of rows) {
    const store = await storeOf()
    const a = await openDoor(store)
    await apply(a, ROLE)
    const put = { digest: 'sha256:0', body: JSON.parse(JSON.stringify(body)) }
    await store.resources.apply('default', [{ kind, name: 'x', version: '0.0.0', put }], 0, [])
    await a.door.refresh()
    const governance = a.door.governance('default')
    assert.equal(governance.kind, 'unavailable', kind)
    assert.ok(
      governance.kind === 'unavailable' && governance.why.startsWith(`${kind} x ${says}`),
      JSON.stringify(governance),
    )
    assert.equal(a.door.governance('other').kind, 'ready')
    await store.resources.apply('default', [{ kind, name: 'x', version: '0.0.0' }], 0, [])
    await a.door.refresh()
    assert.equal(setOf(a).roles.length, 1, 'with that row gone the rest governs again')
  }
})

test('a row about every namespace that cannot be read makes every namespace unavailable', async () => {
  const store = await storeOf()
  const a = await openDoor(store)
  await apply(a, ROLE)
  const put = { digest: 'sha256:0', body: {} }
  await store.resources.apply('*', [{ kind: 'Unheard', name: 'x', version: '0.0.0', put }], 0, [])
  await a.door.refresh()
  for (const namespace of ['default', 'other']) assert.equal(a.door.governance(namespace).kind, 'unavailable')
})

test('stops and grants are kept rows: live where they are written, and elsewhere after a refresh', async () => {
  const store = await storeOf()
  const a = await openDoor(store)
  const b = await openDoor(store)
  const put = { digest: 'd', body: { kind: 'freeze' } }
  const version = '0.0.0'
  await a.door.keep('*', [{ kind: 'Stop', name: 'all', version, put }], [])
  await a.door.keep('default', [{ kind: 'Stop', name: 'tool:a', version, put }], [])
  const names = (one: Door, namespace: string) => one.door.rowsOf('Stop', namespace).map(({ name }) => name)
  assert.deepEqual(names(a, 'default'), ['tool:a'])
  assert.deepEqual(names(a, '*'), ['all'])
  assert.deepEqual(a.door.rowsOf('ApprovalGrant', 'default'), [])
  assert.deepEqual(names(b, 'default'), [])
  await b.door.refresh()
  assert.deepEqual([names(b, 'default'), names(b, '*')], [['tool:a'], ['all']])
  assert.deepEqual(b.told, ['*/Stop', 'default/Stop'])
  await a.door.keep('default', [{ kind: 'Stop', name: 'tool:a', version }], [])
  assert.deepEqual(names(a, 'default'), [])
  await apply(a, ROLE)
  const set = setOf(a)
  await a.door.keep('*', [{ kind: 'Stop', name: 'namespace', version, put }], [])
  assert.equal(setOf(a), set, 'they are no part of the set: whoever compiled it need not do so again')
  const refused = await a.door.delete({ namespace: '*', kind: 'Stop', name: 'all' })
  assert.equal(refused, 'not-found', 'they are not deleted as resources')
  const manifest = await apply(a, 'apiVersion: writ.dev/v1\nkind: Stop\nmetadata: {name: all}\nspec: {}\n')
  assert.equal(manifest.ok, false)
})

test('a tool that names a role keeps it, and a replaced tool keeps its build', async () => {
  const store = await storeOf()
  const a = await openDoor(store)
  await apply(a, ROLE, TOOL.replace('effect:', 'approval: {role: reader}\n  effect:'))
  const refused = await a.door.delete({ namespace: 'default', kind: 'AgentRole', name: 'reader' })
  assert.ok(typeof refused === 'object' && refused.refused.endsWith('named by Tool a'))
  const approval = await apply(a, TOOL)
  assert.equal(approval.diff[0]?.action, 'update')
  assert.equal(
    (await store.resources.list({ kind: 'ToolBuild' })).length,
    0,
    'who approves is no other build',
  )
  await apply(a, TOOL.replace('effect:', 'risk_level: high\n  effect:'))
  assert.equal((await store.resources.list({ kind: 'ToolBuild' })).length, 1)
})
