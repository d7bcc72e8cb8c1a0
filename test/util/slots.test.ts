// So many at a time, in order, and nobody waits for ever.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Abort } from '../../src/util/abort.ts'
import { createSlots } from '../../src/util/slots.ts'

it('no more slots are out than there are, and those who wait get them in order', async () => {
  const slots = createSlots(2)
  const abort = new Abort()
  const first = await slots.take(abort)
  await slots.take(abort)
  const order: number[] = []
  const waiting = [1, 2].map(async (n) => {
    const release = await slots.take(abort)
    order.push(n)
    return release
  })
  await Promise.resolve()
  assert.deepEqual(order, [])
  first?.()
  const third = await waiting[0]
  assert.deepEqual(order, [1])
  first?.()
  await Promise.resolve()
  assert.deepEqual(order, [1], 'a slot is given back once')
  third?.()
  await waiting[1]
  assert.deepEqual(order, [1, 2])
})

it('a wait that is aborted gets none, and takes none from the others', async () => {
  const slots = createSlots(1)
  const held = await slots.take(new Abort())
  const abort = new Abort()
  const given = slots.take(abort)
  const next = slots.take(new Abort())
  abort.abort('canceled')
  assert.equal(await given, undefined)
  assert.equal(await slots.take(abort), undefined, 'nor does one that comes too late')
  held?.()
  assert.equal(typeof (await next), 'function')
})
