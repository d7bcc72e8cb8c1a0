import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { request } from 'undici'
import { createSystemWorld } from '../../src/util/clock.ts'
import { isUuid } from '../../src/util/uuid.ts'

const world = createSystemWorld()
after(() => world.network.close())

const wait = (ms: number) => new Promise<void>((resolve) => world.after(ms, resolve))

test('the clocks are the real ones', () => {
  assert.ok(Math.abs(world.clock.now() - Date.now()) < 1_000)
  const first = world.clock.monotonic()
  assert.ok(world.clock.monotonic() >= first)
  assert.ok(world.random() >= 0 && world.random() < 1)
})

test('S12: a timer never fires before its time on the monotonic clock', async () => {
  for (const ms of [0, 1, 2.5, 7, 20]) {
    const started = world.clock.monotonic()
    await wait(ms)
    assert.ok(world.clock.monotonic() - started >= ms)
  }
})

test('S12: a timer past 2^31 ms does not fire at once', async () => {
  let fired = false
  const timers = [2 ** 31, 2 ** 33, Number.POSITIVE_INFINITY].map((ms) =>
    world.after(ms, () => (fired = true)),
  )
  await wait(20)
  for (const timer of timers) timer.cancel()
  assert.ok(!fired)
})

test('a canceled timer never fires; a negative delay fires soon', async () => {
  let fired = 0
  world.after(5, () => (fired += 1)).cancel()
  world.after(-10, () => (fired += 10))
  await wait(15)
  assert.equal(fired, 10)
})

test('soon runs after the current work, promises included', async () => {
  const order: string[] = []
  await new Promise<void>((resolve) => {
    world.soon(() => {
      order.push('soon')
      resolve()
    })
    Promise.resolve().then(() => order.push('promise'))
    order.push('now')
  })
  assert.deepEqual(order, ['now', 'promise', 'soon'])
})

test('ids are fresh and grow; each world is another life', () => {
  const [a, b] = [world.id(), world.id()]
  assert.ok(isUuid(a) && isUuid(world.epoch))
  assert.ok(world.epoch < a && a < b)
  const other = createSystemWorld({ network: world.network })
  assert.notEqual(other.epoch, world.epoch)
  assert.equal(other.network, world.network)
})

test('a world that was given no network has none: nothing leaves it, and it closes', async () => {
  const { network } = createSystemWorld()
  await assert.rejects(request('http://127.0.0.1:1/', { dispatcher: network }), /has no network. Fix:/)
  await network.close()
  await network.destroy()
  await new Promise<void>((resolve) => network.close(resolve))
  await new Promise<void>((resolve) => network.destroy(null, resolve))
})
