// Stops as they are live: put, seen by others that share the store, over by themselves, lifted.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createCatalog } from '../../src/catalog/catalog.ts'
import { createResourceDoor } from '../../src/catalog/resource-door.ts'
import { createStopDoor } from '../../src/catalog/stop-door.ts'
import { createCaller } from '../../src/contract/caller.ts'
import type { Stop } from '../../src/contract/stop.ts'
import { createEvents } from '../../src/event/event.ts'
import { createIsRevoked } from '../../src/identity/revoked.ts'
import { createMemoryData } from '../../src/store/memory/memory-data.ts'
import { createMemoryStore } from '../../src/store/memory/memory-store.ts'
import { StoreUnavailable } from '../../src/store/store.ts'
import { createSystemWorld } from '../../src/util/clock.ts'
import { until } from '../pipeline/until.ts'

const EVIDENCE = { type: 'token.revoked', body: { by: 'test' } } as const

function stopOf(name: string, over: Partial<Stop> = {}): Stop {
  return {
    namespace: 'default',
    name,
    kind: 'revocation',
    reason: 'test',
    by: 'test',
    at: Date.now(),
    inFlight: 'end',
    ...over,
  }
}

/** Doors of processes that share one store. A `clock` of one's own can be moved. */
function place(t: TestContext) {
  const data = createMemoryData()
  const system = createSystemWorld()
  t.after(() => system.network.destroy())
  return async () => {
    let ahead = 0
    let away = false
    const world = {
      ...system,
      epoch: system.id(),
      clock: { now: system.clock.now, monotonic: () => system.clock.monotonic() + ahead },
    }
    const store = await createMemoryStore({ world, data, leaseMs: 60_000 })
    const { resources } = store
    const flaky = Object.create(store, {
      resources: {
        value: {
          ...resources,
          stamp: () => (away ? Promise.reject(new StoreUnavailable('away')) : resources.stamp()),
        },
      },
    }) as typeof store
    const live = createResourceDoor({
      world,
      store: flaky,
      catalog: createCatalog(),
      events: createEvents(),
      resolve: { profile: 'local', effectDefault: 'declared' },
    })
    const seen: string[] = []
    const door = createStopDoor({ world, resources: live, onStop: ({ name }) => seen.push(name) })
    t.after(async () => {
      live.close()
      await store.close()
    })
    await live.refresh()
    live.follow()
    return {
      door,
      seen,
      pass(ms: number) {
        ahead += ms
      },
      goAway(is: boolean) {
        away = is
      },
    }
  }
}

test('a stop is live where it was put at once, and soon where the store is shared', async (t) => {
  const open = place(t)
  const [a, b] = [await open(), await open()]
  const guards = [{ stop: 'token:1' }]
  await a.door.put(stopOf('token:1'), EVIDENCE)
  assert.equal(a.door.standing('default', guards)?.name, 'token:1')
  await until(() => b.door.standing('default', guards) !== undefined)
  assert.deepEqual([a.seen, b.seen], [['token:1'], ['token:1']])
  assert.equal(a.door.standing('blue', guards), undefined, 'not in another namespace')
  assert.equal(await b.door.lift('default', 'token:1', EVIDENCE), true)
  assert.equal(b.door.standing('default', guards), undefined)
  await until(() => a.door.standing('default', guards) === undefined)
  assert.equal(await a.door.lift('default', 'token:1', EVIDENCE), false)
  await b.door.put(stopOf('caller:x', { namespace: '*', kind: 'freeze' }), EVIDENCE)
  await until(() => a.door.standing('blue', [{ stop: 'caller:x' }]) !== undefined)
  assert.deepEqual(a.door.list('blue'), [], 'one that holds everywhere is listed where it was put')
  assert.deepEqual(
    [a.seen, b.seen],
    [
      ['token:1', 'caller:x'],
      ['token:1', 'caller:x'],
    ],
  )
})

test('what is over by itself no longer stands, and is taken out with the next', async (t) => {
  const { door } = await place(t)()
  const now = Date.now()
  await door.put(stopOf('token:old', { at: now - 2000, until: now - 1000 }), EVIDENCE)
  assert.equal(door.standing('default', [{ stop: 'token:old' }]), undefined)
  assert.equal(door.list('default').length, 1)
  await door.put(stopOf('token:new', { until: now + 60_000 }), EVIDENCE)
  assert.deepEqual(
    door.list('default').map(({ name }) => name),
    ['token:new'],
  )
})

test('a stop with `before` is about tokens from before that time alone', async (t) => {
  const { door } = await place(t)()
  await door.put(stopOf('tokens:agent-7', { before: 1000 }), EVIDENCE)
  const stands = (issuedAt: number) =>
    door.standing('default', [{ stop: 'tokens:agent-7', issuedAt }]) !== undefined
  assert.deepEqual([stands(999), stands(1000), stands(1001)], [true, false, false])
})

test('while the store is away nobody can tell whether a token was revoked; a freeze revokes none', async (t) => {
  const { door, pass, goAway } = await place(t)()
  const isRevoked = createIsRevoked(door)
  const caller = { ...createCaller({ actor: 'agent-7' }), token: { id: '1', issuedAt: 5 } }
  await door.put(stopOf('caller:agent-7', { kind: 'freeze' }), EVIDENCE)
  assert.equal(isRevoked(caller), false)
  goAway(true)
  pass(6000)
  assert.throws(() => isRevoked(caller), /could not be asked/)
  assert.equal(isRevoked(createCaller({ actor: 'a' })), false, 'who showed no token has none to lose')
  goAway(false)
  await until(() => door.current)
  assert.equal(isRevoked(caller), false)
})
