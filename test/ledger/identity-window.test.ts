// Where the window of an identity begins, as the ledger tells the store (S14).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLedger } from '../../src/ledger/ledger.ts'
import { createMemoryStore } from '../../src/store/memory/memory-store.ts'
import { makeEndedCall, makeEntry, newLife } from '../store/fixture.ts'

const HOUR = 3_600_000
const WINDOW = 24 * HOUR

test('S14: an effect that came of a late retry is noticed by another key for a whole window', async (t) => {
  let now = 1_000
  const system = newLife()
  const world = { ...system, clock: { ...system.clock, now: () => now } }
  const store = await createMemoryStore({ world })
  t.after(() => store.close())
  const ledger = createLedger(world, store)
  const draft = () => {
    const { identityAt, ...entry } = makeEntry(world, { identity: 'order-1', createdAt: now })
    return { ...entry, state: 'reserved' as const, revision: 0 }
  }
  const intend = async (entry: ReturnType<typeof makeEntry>) => {
    const result = await ledger.intend(entry, now - WINDOW, [])
    assert.equal(result.kind, 'intended')
    const { id } = entry
    const kept = await ledger.get('default', id)
    const intended = result.kind === 'intended' ? result.entry : undefined
    assert.equal(intended?.identityAt, now)
    assert.equal(kept?.identityAt, now)
    return intended!
  }
  const outcome = { sideEffects: [], warnings: [] }
  const call = makeEndedCall(world)

  const first = draft()
  await ledger.settle(await intend(first), { path: ['not-done'], attempts: 1, outcome }, call, [])
  now += 25 * HOUR
  const again = await intend((await ledger.get('default', first.id))!)
  await ledger.settle(again, { path: ['sent', 'done'], attempts: 2, outcome }, call, [])

  now += 60_000
  assert.equal((await ledger.findByIdentity('order-1', now - WINDOW))?.id, first.id)
  const repeat = await ledger.intend(draft(), now - WINDOW, [])
  assert.equal(repeat.kind === 'conflict' && repeat.on, 'identity')
  now += WINDOW
  await intend(draft())
})
