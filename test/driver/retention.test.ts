// How long what is kept: what the sweep is told to drop, and what evidence says about it.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createRetention, retentionPolicy } from '../../src/driver/retention.ts'
import type { DriverKit } from '../../src/driver/timers.ts'
import { createMemoryStore } from '../../src/store/memory/memory-store.ts'
import { Abort } from '../../src/util/abort.ts'
import { newLife } from '../store/fixture.ts'

async function sweep(evidenceMs: number | undefined, rows: number[], stopping = new Abort()) {
  const world = newLife()
  const store = await createMemoryStore({ world })
  const asked: number[] = []
  const retention = createRetention(evidenceMs === undefined ? {} : { evidenceMs }, async (before) => {
    asked.push(before)
    return rows.shift() ?? 0
  })
  const dueAt = world.clock.now() - 60_000
  const timer = { namespace: '', kind: 'retention', subject: '', dueAt, data: {} } as const
  const end = await retention(timer, { world, store, stopping } as unknown as DriverKit)
  await store.close()
  return { asked, dueAt, end }
}

describe('retention of evidence', () => {
  it('S39: drops it in steps until nothing old is left', async () => {
    const { asked, dueAt, end } = await sweep(5_000, [200, 7, 1])
    assert.deepEqual(
      asked,
      Array(4).fill(dueAt - 5_000),
      'as of when it was due, whatever the clock says by now',
    )
    assert.deepEqual(end, { kind: 'again', inMs: 3_600_000 })
  })

  it('S18: what has to stop is due again at once, for whoever is there then', async () => {
    const stopping = new Abort()
    const rows = [200, 200]
    rows.shift = () => {
      stopping.abort('shutdown')
      return 200
    }
    const { asked, end } = await sweep(5_000, rows, stopping)
    assert.equal(asked.length, 1, 'it does not go on')
    assert.deepEqual(end, { kind: 'again', inMs: 0 })
  })

  it('S39: keeps it for good where nothing is said', async () => {
    assert.deepEqual((await sweep(undefined, [1])).asked, [])
  })

  it('S39: is what evidence says it is', () => {
    const day = 86_400_000
    assert.deepEqual(retentionPolicy({}), { payload_ms: 7 * day, key_ms: 407 * day, evidence_ms: null })
    assert.deepEqual(retentionPolicy({ keepMs: 1, tombstoneMs: 2, evidenceMs: 3 }), {
      payload_ms: 1,
      key_ms: 3,
      evidence_ms: 3,
    })
  })
})
