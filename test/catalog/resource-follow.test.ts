// What other processes apply and delete: live after a refresh, or without being asked, whatever happens meanwhile.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createEvents } from '../../src/event/event.ts'
import { createMemoryData } from '../../src/store/memory/memory-data.ts'
import { createMemoryStore } from '../../src/store/memory/memory-store.ts'
import type { Store } from '../../src/store/store.ts'
import { createSystemWorld } from '../../src/util/clock.ts'
import { until } from '../pipeline/until.ts'
import { document } from '../resource/governance-support.ts'
import { apply, openDoor, POLICY, ROLE, setOf, storeOf, TOOL } from './resource-harness.ts'

test('what another process applies and deletes is live after a refresh, and told', async () => {
  const store = await storeOf()
  const a = await openDoor(store)
  const b = await openDoor(store)
  await apply(a, ROLE, POLICY)
  assert.deepEqual(setOf(b).roles, [])
  assert.equal(await b.door.refresh(), true)
  assert.deepEqual(setOf(b), setOf(a))
  assert.deepEqual(b.told.toSorted(), ['default/AgentPolicy', 'default/AgentRole'])
  b.told.length = 0
  assert.equal(await b.door.refresh(), false)
  assert.deepEqual(b.told, [])
  const c = await openDoor(store)
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
  const a = await openDoor(await withRows(place.store))
  const b = await openDoor(place.store)
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
  assert.equal((await apply(await openDoor(store), ROLE)).ok, true)
  return store
}

test('what is written while rows are read is live in the end, whoever writes it', async () => {
  const inner = await withRows(await storeOf())
  const a = await openDoor(inner)
  const place = watched(inner)
  const b = await openDoor(place.store)
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
  const c = await openDoor(racing)
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
  const a = await openDoor(inner)
  const place = watched(inner)
  const b = await openDoor(place.store)
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
  const a = await openDoor(await createMemoryStore({ world: createSystemWorld(), data }))
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
  const a = await openDoor(store)
  const b = await openDoor(store)
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
  const a = await openDoor(inner)
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
  const b = await openDoor(store, undefined, events)
  t.after(() => b.door.close())
  b.door.follow()
  await until(() => heard.length > 0)
  await apply(a, ROLE)
  await until(() => setOf(b).roles.length === 1)
  assert.deepEqual(heard, ['resources'])
})
