// What governs a namespace, live: after an apply here, after one by another process, and when a row cannot be read.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCatalog } from '../../src/catalog/catalog.ts'
import { createResourceDoor, type LiveResources } from '../../src/catalog/resource-door.ts'
import { createEvents } from '../../src/event/event.ts'
import type { CheckSet } from '../../src/resource/check-set.ts'
import { formatProblem } from '../../src/resource/manifest.ts'
import type { GovernanceSet } from '../../src/resource/resolved-governance.ts'
import { createMemoryData } from '../../src/store/memory/memory-data.ts'
import { createMemoryStore } from '../../src/store/memory/memory-store.ts'
import type { Store } from '../../src/store/store.ts'
import { createSystemWorld } from '../../src/util/clock.ts'
import { until } from '../pipeline/until.ts'
import { document } from '../resource/governance-support.ts'

interface Door {
  readonly door: LiveResources
  readonly told: string[]
}

async function open(store: Store, check?: CheckSet): Promise<Door> {
  const world = createSystemWorld()
  const told: string[] = []
  const door = createResourceDoor({
    world,
    store,
    catalog: createCatalog(),
    events: createEvents(),
    resolve: { profile: 'local', effectDefault: 'declared' },
    ...(check === undefined ? {} : { check }),
  })
  door.onGovernance((namespace, kind) => told.push(`${namespace}/${kind}`))
  await door.refresh()
  return { door, told }
}

const storeOf = () => createMemoryStore({ world: createSystemWorld() })

async function apply({ door }: Door, ...documents: string[]) {
  return door.apply([{ text: documents.join('---\n'), file: 'x.yaml' }])
}

function setOf({ door }: Door, namespace = 'default'): GovernanceSet {
  const governance = door.governance(namespace)
  assert.equal(governance.kind, 'ready')
  return governance.kind === 'ready' ? governance.set : assert.fail()
}

const ROLE = document('AgentRole', 'reader', 'permissions: [tool:a:invoke]')
const POLICY = document('AgentPolicy', 'p', 'apply_mode: global\nblocked_tools: [a]\nescalate_to: reader')
const TOOL = document(
  'Tool',
  'a',
  'type: http\nendpoint: https://a.example.com/x\neffect: {class: read-only}\n',
)

test('before rows were read nothing is known; an empty namespace is governed by nothing after that', async () => {
  const store = await storeOf()
  const unread = createResourceDoor({
    world: createSystemWorld(),
    store,
    catalog: createCatalog(),
    events: createEvents(),
    resolve: { profile: 'local', effectDefault: 'declared' },
  })
  assert.equal(unread.governance('default').kind, 'unavailable')
  const a = await open(store)
  assert.deepEqual(setOf(a), { roles: [], permissions: [], policies: [] })
})

test('all kinds of a set are live at once, with versions that change with what they mean', async () => {
  const a = await open(await storeOf())
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
  const a = await open(store)
  const outcome = await apply(a, TOOL, ROLE, POLICY.replace('escalate_to: reader', 'escalate_to: nobody'))
  assert.equal(outcome.ok, false)
  assert.deepEqual(await store.resources.list({}), [])
  assert.deepEqual(setOf(a).roles, [])
  assert.deepEqual(a.told, [])
})

test('the check that was handed in sees the set as it would be, and can refuse it', async () => {
  const seen: string[][] = []
  const a = await open(await storeOf(), (set, tools) => {
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
  const a = await open(await storeOf())
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

test('what another process applies and deletes is live after a refresh, and told', async () => {
  const store = await storeOf()
  const a = await open(store)
  const b = await open(store)
  await apply(a, ROLE, POLICY)
  assert.deepEqual(setOf(b).roles, [])
  assert.equal(await b.door.refresh(), true)
  assert.deepEqual(setOf(b), setOf(a))
  assert.deepEqual(b.told.toSorted(), ['default/AgentPolicy', 'default/AgentRole'])
  b.told.length = 0
  assert.equal(await b.door.refresh(), false)
  assert.deepEqual(b.told, [])
  const c = await open(store)
  await apply(a, document('AgentRole', 'late', 'inherits: [reader]'))
  const refused = await c.door.delete({ namespace: 'default', kind: 'AgentRole', name: 'reader' })
  assert.ok(typeof refused === 'object' && refused.refused.includes('AgentRole late'))
  await a.door.delete({ namespace: 'default', kind: 'AgentRole', name: 'late' })
  await b.door.refresh()
  b.told.length = 0
  await a.door.delete({ namespace: 'default', kind: 'AgentPolicy', name: 'p' })
  await b.door.refresh()
  assert.deepEqual(setOf(b).policies, [])
  assert.deepEqual(b.told, ['default/AgentPolicy'])
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
    const a = await open(store)
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
  const a = await open(store)
  await apply(a, ROLE)
  const put = { digest: 'sha256:0', body: {} }
  await store.resources.apply('*', [{ kind: 'Unheard', name: 'x', version: '0.0.0', put }], 0, [])
  await a.door.refresh()
  for (const namespace of ['default', 'other']) assert.equal(a.door.governance(namespace).kind, 'unavailable')
})

test('stops and grants are kept rows: live where they are written, and elsewhere after a refresh', async () => {
  const store = await storeOf()
  const a = await open(store)
  const b = await open(store)
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
  const a = await open(store)
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

/** The store, and what was read from it since it was asked last. `during` runs before the next list is given. */
function watched(store: Store) {
  const read: string[] = []
  let during: (() => Promise<unknown>) | undefined
  const resources: Store['resources'] = {
    ...store.resources,
    async list(filter) {
      const rows = await store.resources.list(filter)
      read.push(`rows ${rows.map(({ name }) => name).join(' ')}`)
      const run = during
      during = undefined
      await run?.()
      return rows
    },
    keys() {
      read.push('keys')
      return store.resources.keys()
    },
  }
  return {
    store: Object.create(store, { resources: { value: resources } }) as Store,
    reads: () => read.splice(0),
    whileListed(run: () => Promise<unknown>) {
      during = run
    },
  }
}

test('a change reads what is new, a removal only names: not every row that there is', async () => {
  const place = watched(await storeOf())
  const a = await open(await withRows(place.store))
  const b = await open(place.store)
  place.reads()
  const policy = (name: string) => POLICY.replace('name: p', `name: ${name}`)
  const refresh = async () => {
    place.reads()
    await b.door.refresh()
    return place.reads()
  }
  await apply(a, policy('p1'), policy('p2'))
  assert.deepEqual(await refresh(), ['rows p1 p2'])
  assert.deepEqual(await refresh(), [])
  await a.door.delete({ namespace: 'default', kind: 'AgentPolicy', name: 'p1' })
  await apply(a, policy('p2').replace('[a]', '[b]'), policy('p3'))
  assert.deepEqual(await refresh(), ['rows p2 p3', 'keys'])
  assert.deepEqual(setOf(b), setOf(a))
  await apply(a, TOOL)
  await apply(a, TOOL.replace('effect:', 'risk_level: high\n  effect:'))
  assert.deepEqual(await refresh(), ['rows a a'], 'a build that was replaced is a row as well')
  await apply(a, policy('p4'))
  assert.deepEqual(await refresh(), ['rows p4'])
})

/** With a role that policies may name. */
async function withRows(store: Store): Promise<Store> {
  assert.equal((await apply(await open(store), ROLE)).ok, true)
  return store
}

test('what is written while rows are read is live in the end, whoever writes it', async () => {
  const inner = await withRows(await storeOf())
  const a = await open(inner)
  const place = watched(inner)
  const b = await open(place.store)
  const version = '0.0.0'
  const stop = (name: string) => ({ kind: 'Stop' as const, name, version })
  const put = (name: string, digest = 'd') => ({ ...stop(name), put: { digest, body: { digest } } })
  const stops = () => b.door.rowsOf('Stop', 'default').map((row) => `${row.name} ${row.digest}`)

  await a.door.keep('default', [put('old'), put('mine')], [])
  await b.door.refresh()
  // A removal of another one, hidden by one that came and went between two questions.
  await a.door.keep('default', [stop('old'), put('short')], [])
  place.whileListed(() => a.door.keep('default', [stop('short')], []))
  await b.door.refresh()
  await b.door.refresh()
  assert.deepEqual(stops(), ['mine d'])

  // Lifted here, and put again elsewhere before this one heard of its own write.
  const apply = inner.resources.apply
  const racing = Object.create(inner, {
    resources: {
      value: {
        ...inner.resources,
        async apply(...write: Parameters<typeof apply>) {
          const result = await apply(...write)
          await a.door.keep('default', [put('mine', 'again')], [])
          await c.door.refresh()
          return result
        },
      },
    },
  }) as Store
  const c = await open(racing)
  await c.door.keep('default', [stop('mine')], [])
  assert.deepEqual(
    c.door.rowsOf('Stop', 'default').map(({ digest }) => digest),
    ['again'],
  )

  // Put and lifted here while what is read is from before.
  await a.door.keep('default', [put('other')], [])
  place.whileListed(async () => {
    await b.door.keep('default', [put('late')], [])
    await b.door.keep('default', [stop('other')], [])
  })
  await b.door.refresh()
  await b.door.refresh()
  assert.deepEqual(stops().toSorted(), ['late d', 'mine again'])
})

test('a refresh sees what was written before it was asked for, also while another one is under way', async () => {
  const inner = await storeOf()
  const a = await open(inner)
  const place = watched(inner)
  const b = await open(place.store)
  await apply(a, ROLE)
  let second: Promise<boolean> | undefined
  place.whileListed(async () => {
    await apply(a, POLICY)
    second = b.door.refresh()
  })
  assert.equal(await b.door.refresh(), true)
  assert.equal(await second, true)
  assert.deepEqual(setOf(b), setOf(a))
})

test('a row that came in behind the versions, as from a backup, is found all the same', async () => {
  const data = createMemoryData()
  const a = await open(await createMemoryStore({ world: createSystemWorld(), data }))
  await apply(a, ROLE, document('AgentRole', 'late', 'permissions: [tool:b:invoke]'))
  const [key, row] = [...data.resources].find(([, { name }]) => name === 'late') ?? assert.fail()
  await a.door.delete({ namespace: 'default', kind: 'AgentRole', name: 'late' })
  await a.door.refresh()
  data.resources.set(key, row)
  assert.equal(await a.door.refresh(), true)
  assert.equal(await a.door.refresh(), true)
  assert.deepEqual(
    setOf(a).roles.map(({ name }) => name),
    ['late', 'reader'],
  )
  assert.equal(await a.door.refresh(), false)
})

test('who follows has what others apply and delete, without being asked, until it is closed', async (t) => {
  const store = await storeOf()
  const a = await open(store)
  const b = await open(store)
  t.after(() => b.door.close())
  assert.equal(b.door.current, true)
  b.door.follow()
  assert.equal(b.door.current, true)
  await apply(a, ROLE, POLICY, TOOL)
  await until(() => setOf(b).policies.length === 1)
  assert.deepEqual(b.told.toSorted(), ['default/AgentPolicy', 'default/AgentRole'])
  await a.door.delete({ namespace: 'default', kind: 'AgentPolicy', name: 'p' })
  await until(() => setOf(b).policies.length === 0)
})

test('a look that fails is heard of when it is a fault, and the next one makes up for it', async (t) => {
  const inner = await storeOf()
  const a = await open(inner)
  let faults = 1
  const store = Object.create(inner, {
    resources: {
      value: {
        ...inner.resources,
        stamp: () => (faults-- === 0 ? Promise.reject(new Error('a bug')) : inner.resources.stamp()),
      },
    },
  }) as Store
  const events = createEvents()
  const heard: string[] = []
  events.on('timer:failed', ({ kind }) => heard.push(kind))
  const door = createResourceDoor({
    world: createSystemWorld(),
    store,
    catalog: createCatalog(),
    events,
    resolve: { profile: 'local', effectDefault: 'declared' },
  })
  t.after(() => door.close())
  await door.refresh()
  door.follow()
  await until(() => heard.length > 0)
  await apply(a, ROLE)
  await until(() => setOf({ door, told: [] }).roles.length === 1)
  assert.deepEqual(heard, ['resources'])
})
