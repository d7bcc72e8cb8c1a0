// The group commit on its own: who shares a flush, who waits, and what a failed flush does to everybody.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { IllegalWrite, StoreUnavailable } from '../../src/store/store.ts'
import { createWriteQueue, type Refused, type WriteQueueOptions } from '../../src/store/write-queue.ts'
import { newLife } from './fixture.ts'

type Result = string | Refused

/** A disk whose flushes end when the test says so. */
function createDisk() {
  const flushes: { batch: readonly string[]; done: () => void; fail: (error: Error) => void }[] = []
  let began = Promise.withResolvers<void>()
  return {
    flushes,
    flush(batch: readonly string[]): Promise<readonly Result[]> {
      const { promise, resolve, reject } = Promise.withResolvers<readonly Result[]>()
      flushes.push({ batch, done: () => resolve(batch.map((write) => `${write}!`)), fail: reject })
      began.resolve()
      began = Promise.withResolvers()
      return promise
    },
    /** Resolves when there have been this many flushes. */
    async reached(count: number): Promise<void> {
      while (flushes.length < count) await began.promise
    },
  }
}

function open(over: Partial<WriteQueueOptions<string, string>> = {}) {
  const disk = createDisk()
  const failures: StoreUnavailable[] = []
  const queue = createWriteQueue<string, string>({
    world: newLife(),
    flush: disk.flush,
    onFailed: (error) => failures.push(error),
    ...over,
  })
  return { disk, queue, failures }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

describe('write queue', () => {
  it('flushes what is written in one turn together, and answers each its own result', async () => {
    const { disk, queue } = open()
    const writes = Promise.all([queue.wait('a'), queue.wait('b'), queue.note('c')])
    await disk.reached(1)
    disk.flushes[0]!.done()
    assert.deepEqual(await writes, ['a!', 'b!', 'c!'])
    assert.deepEqual(disk.flushes[0]!.batch, ['a', 'b', 'c'])
  })

  it('has one flush under way at a time, while the next batch gathers', async () => {
    const { disk, queue } = open()
    const first = queue.wait('a')
    await disk.reached(1)
    const rest = [queue.wait('b'), queue.wait('c')]
    await turn()
    const last = queue.wait('d')
    await turn()
    assert.equal(disk.flushes.length, 1)
    disk.flushes[0]!.done()
    await first
    await disk.reached(2)
    assert.deepEqual(disk.flushes[1]!.batch, ['b', 'c', 'd'])
    disk.flushes[1]!.done()
    assert.deepEqual(await Promise.all([...rest, last]), ['b!', 'c!', 'd!'])
  })

  it('S34: flushes a note alone only after its lag', async () => {
    const { disk, queue } = open({ noteLagMs: 40 })
    const before = performance.now()
    const noted = queue.note('a')
    await disk.reached(1)
    assert.ok(performance.now() - before >= 40)
    disk.flushes[0]!.done()
    assert.equal(await noted, 'a!')
  })

  it('S34: flushes notes before their lag when there are enough of them', async () => {
    const { disk, queue } = open({ noteLagMs: 60_000, noteLimit: 3 })
    const noted = [queue.note('a'), queue.note('b')]
    await turn()
    assert.equal(disk.flushes.length, 0)
    noted.push(queue.note('c'))
    await disk.reached(1)
    disk.flushes[0]!.done()
    await Promise.all(noted)
    assert.deepEqual(disk.flushes[0]!.batch, ['a', 'b', 'c'])
    await queue.close()
  })

  it('flushes a note whose lag ended during a flush right after it', async () => {
    const { disk, queue } = open({ noteLagMs: 10 })
    void queue.wait('a')
    await disk.reached(1)
    const noted = queue.note('b')
    await new Promise((resolve) => setTimeout(resolve, 30))
    disk.flushes[0]!.done()
    await disk.reached(2)
    disk.flushes[1]!.done()
    assert.equal(await noted, 'b!')
  })

  it('keeps the order over batches of bounded size', async () => {
    const { disk, queue } = open({ maxBatch: 2 })
    const writes = ['a', 'b', 'c', 'd', 'e'].map((write) => queue.wait(write))
    for (let count = 1; count <= 3; count += 1) {
      await disk.reached(count)
      disk.flushes[count - 1]!.done()
    }
    await Promise.all(writes)
    assert.deepEqual(
      disk.flushes.map((flush) => flush.batch),
      [['a', 'b'], ['c', 'd'], ['e']],
    )
  })

  it('S34: a full buffer throws for notes and rejects waits, until there is room again', async () => {
    const { disk, queue, failures } = open({ maxBuffered: 2 })
    const first = queue.wait('a')
    await disk.reached(1)
    const second = queue.note('b')
    assert.throws(() => queue.note('c'), /buffer is full: 2 writes wait/)
    await assert.rejects(queue.wait('d'), StoreUnavailable)
    disk.flushes[0]!.done()
    await first
    const third = queue.wait('e')
    await disk.reached(2)
    assert.deepEqual(disk.flushes[1]!.batch, ['b', 'e'])
    disk.flushes[1]!.done()
    await Promise.all([second, third])
    assert.deepEqual(failures, [])
  })

  it('a refused write rejects alone', async () => {
    const refused: Refused = { kind: 'refused', message: 'that is no move' }
    const { queue } = open({
      flush: async (batch) => batch.map((write) => (write === 'bad' ? refused : write)),
    })
    const results = await Promise.allSettled([queue.wait('a'), queue.wait('bad'), queue.wait('b')])
    assert.deepEqual(results[0], { status: 'fulfilled', value: 'a' })
    assert.ok(results[1]?.status === 'rejected' && results[1].reason instanceof IllegalWrite)
    assert.deepEqual(results[2], { status: 'fulfilled', value: 'b' })
    assert.equal(queue.failed, undefined)
  })

  it('S37: a failed flush rejects what it carried, what waits and what comes, once and for all', async () => {
    const { disk, queue, failures } = open()
    const carried = [queue.wait('a'), queue.note('b')]
    await disk.reached(1)
    const waiting = [queue.wait('c'), queue.note('d'), queue.drain()]
    disk.flushes[0]!.fail(new Error('disk full'))
    for (const result of await Promise.allSettled([...carried, ...waiting])) {
      assert.ok(result.status === 'rejected' && result.reason instanceof StoreUnavailable)
      assert.match(result.reason.message, /disk full/)
    }
    await assert.rejects(queue.wait('e'), StoreUnavailable)
    assert.throws(() => queue.note('f'), StoreUnavailable)
    await assert.rejects(queue.drain(), StoreUnavailable)
    await turn()
    assert.equal(disk.flushes.length, 1)
    assert.deepEqual(failures, [queue.failed])
    await queue.close()
  })

  it('S37: nobody has to listen to a note that a failed flush lost', async () => {
    const { disk, queue, failures } = open()
    const unhandled: unknown[] = []
    const listener = (reason: unknown) => unhandled.push(reason)
    process.on('unhandledRejection', listener)
    void queue.note('a')
    const waited = queue.wait('b')
    await disk.reached(1)
    disk.flushes[0]!.fail(new Error('disk full'))
    await assert.rejects(waited)
    await turn()
    await turn()
    process.off('unhandledRejection', listener)
    assert.deepEqual(unhandled, [])
    assert.equal(failures.length, 1)
  })

  it('S37: a flush that ends after the queue was failed acknowledges nothing', async () => {
    const { disk, queue, failures } = open()
    const waited = queue.wait('a')
    await disk.reached(1)
    queue.fail(new Error('the writer died'))
    disk.flushes[0]!.done()
    await assert.rejects(waited, /the writer died/)
    queue.fail(new Error('again'))
    assert.equal(failures.length, 1)
  })

  it('a flush that does not answer every write is a failure', async () => {
    const { queue, failures } = open({ flush: async () => ['only one'] })
    await assert.rejects(Promise.all([queue.wait('a'), queue.wait('b')]), StoreUnavailable)
    assert.match(failures[0]!.message, /2 writes gave 1 results/)
  })

  it('close takes nothing more, and ends when everything taken is on disk', async () => {
    const { disk, queue } = open({ noteLagMs: 60_000 })
    const noted = queue.note('a')
    let closed = false
    const closing = queue.close().then(() => {
      closed = true
    })
    assert.throws(() => queue.note('b'), /closed/)
    await disk.reached(1)
    await turn()
    assert.equal(closed, false)
    disk.flushes[0]!.done()
    await closing
    assert.equal(await noted, 'a!')
    assert.equal(queue.failed, undefined)
  })
})
