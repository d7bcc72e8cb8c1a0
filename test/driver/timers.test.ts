// What becomes of a timer that a process has claimed (S12, S35).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type DriverKit, startTimers, type TimerHandlers } from '../../src/driver/timers.ts'
import { createEvents } from '../../src/event/event.ts'
import { createMemoryData } from '../../src/store/memory/memory-data.ts'
import { createMemoryStore } from '../../src/store/memory/memory-store.ts'
import type { DueTimer } from '../../src/store/store.ts'
import { until } from '../pipeline/until.ts'
import { newLife } from '../store/fixture.ts'

test('S12: a timer of a kind that a build has no handler for is left to a build that has one', async (t) => {
  const data = createMemoryData()
  let skew = 0
  const live = async (handlers: TimerHandlers) => {
    const world = newLife()
    const store = await createMemoryStore({ world, data, now: () => world.clock.now() + skew })
    const loop = startTimers({ world, store, events: createEvents() } as DriverKit, handlers, { idleMs: 5 })
    const end = async () => {
      await loop.stop()
      await store.close()
    }
    t.after(end)
    return { store, end }
  }
  const about = { saga: 'trip', call_id: 'c-1' }
  const older = await live({ retention: async () => assert.fail('nothing of that kind is there') })
  const get = () => older.store.timers.get('default', 'saga', 's-1')
  const set = { kind: 'saga', subject: 's-1', inMs: 0, data: about } as const
  await older.store.ledger.settle({ namespace: 'default', timers: [set] })
  const first = await get()
  const left = await until(async () => {
    const now = await get()
    return now?.dueAt === first?.dueAt ? undefined : { now }
  })
  assert.deepEqual(left.now?.data, about)
  assert.ok((left.now?.dueAt ?? 0) > (first?.dueAt ?? 0), 'and not at once again')
  await older.end()
  skew = 3_600_000
  const handled: DueTimer[] = []
  const newer = await live({
    saga: async (timer) => {
      handled.push(timer)
      return { kind: 'done' }
    },
  })
  await until(async () => (await newer.store.timers.get('default', 'saga', 's-1')) === undefined)
  assert.deepEqual(
    handled.map(({ subject, data: told }) => [subject, told]),
    [['s-1', about]],
  )
})
