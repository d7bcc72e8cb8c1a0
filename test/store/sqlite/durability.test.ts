// What SQLite keeps when things go wrong for real: a kill, a full disk, a dead writer.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import diagnostics from 'node:diagnostics_channel'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import type { Worker } from 'node:worker_threads'
import { createSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { type Store, StoreUnavailable } from '../../../src/store/store.ts'
import { verifyChain } from '../case/evidence-cases.ts'
import { insertOf, makeEntry, makeEvidence, newLife, SCOPE } from '../fixture.ts'
import { type Child, startChild, temporaryFolder } from './process.ts'

/** Everything the child was told is kept is there, and the chain of its life holds. Gives the last link's hash. */
async function checkKept(store: Store, child: Child): Promise<string> {
  const epoch = child.lines[0]!.slice('epoch '.length)
  let checked = 0
  const settled = new Set(
    child.lines.filter((line) => line.startsWith('settled ')).map((line) => line.slice(8)),
  )
  for (const line of child.lines) {
    if (!line.startsWith('intended ')) continue
    const key = line.slice('intended '.length)
    const entry = await store.entries.find(SCOPE, key)
    assert.ok(entry !== undefined, `${key} was acknowledged and is gone`)
    if (settled.has(key)) assert.equal(entry.state, 'done', key)
    checked += 1
  }
  assert.ok(checked > 0)
  const links = await store.evidence.links(epoch, 1, 100_000)
  verifyChain(links)
  return links.at(-1)!.hash
}

it('S34: after kill -9 every acknowledged write is there, the chain holds, and the next life names its end', async (t) => {
  const path = join(temporaryFolder(t), 'writ.db')
  for (const lines of [50, 700]) {
    const child = startChild(t, 'write', path)
    await child.said(lines)
    child.process.kill('SIGKILL')
    assert.deepEqual(await child.ended, { code: null, signal: 'SIGKILL' })
    const world = newLife()
    const store = await createSqliteStore({ world, path })
    const last = await checkKept(store, child)
    const [start] = await store.evidence.links(world.epoch, 1, 1)
    assert.equal(start!.records[0]!.body.previous_hash, last)
    await store.entries.erase(Number.MAX_SAFE_INTEGER, 100_000)
    await store.entries.forget(Number.MAX_SAFE_INTEGER, 100_000)
    await store.close()
  }
})

it('S37: a write past the file size limit fails the store once, and what it acknowledged is kept', async (t) => {
  const path = join(temporaryFolder(t), 'writ.db')
  // In blocks of 512 bytes: the log may grow to one megabyte.
  const child = startChild(t, 'write', path, 'ulimit -f 2048')
  await checkFailed(child)
  const store = await createSqliteStore({ world: newLife(), path })
  await checkKept(store, child)
  await store.close()
})

it('S37: a full disk fails the store once, and what it acknowledged is kept', async (t) => {
  const folder = temporaryFolder(t)
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', folder])
  if (mounted.status !== 0) {
    t.skip('mounting a small disk needs root: run the tests as root, or in a container with CAP_SYS_ADMIN')
    return
  }
  try {
    const path = join(folder, 'writ.db')
    const child = startChild(t, 'write', path)
    await checkFailed(child)
    // The operator makes room, and starts again.
    assert.equal(spawnSync('mount', ['-o', 'remount,size=16m', folder]).status, 0)
    const store = await createSqliteStore({ world: newLife(), path })
    await checkKept(store, child)
    await store.close()
  } finally {
    assert.equal(spawnSync('umount', [folder]).status, 0)
  }
})

async function checkFailed(child: Child): Promise<void> {
  assert.deepEqual(await child.ended, { code: 0, signal: null }, child.stderr())
  const line = child.lines.at(-1)!
  assert.ok(line.startsWith('failed '), line)
  const { message, ...rest } = JSON.parse(line.slice('failed '.length))
  assert.deepEqual(rest, {
    reasons: ['StoreUnavailable'],
    failures: 1,
    read: 'StoreUnavailable',
    later: 'StoreUnavailable',
  })
  assert.match(
    message,
    /the store failed and takes no more writes: (database or disk is full|disk I\/O error)/,
  )
}

/** The worker threads that are made while a test runs. */
function watchWorkers(t: TestContext): Worker[] {
  const workers: Worker[] = []
  const listener = (message: unknown) => workers.push((message as { worker: Worker }).worker)
  diagnostics.subscribe('worker_threads', listener)
  t.after(() => diagnostics.unsubscribe('worker_threads', listener))
  return workers
}

it("S37: the death of the writer's thread fails the store, also while nothing is written", async (t) => {
  const workers = watchWorkers(t)
  const failures: StoreUnavailable[] = []
  const path = join(temporaryFolder(t), 'writ.db')
  const world = newLife()
  const store = await createSqliteStore({ world, path, onFailed: (error) => failures.push(error) })
  assert.equal(workers.length, 1)
  await workers[0]!.terminate()
  assert.equal(failures.length, 1)
  assert.equal(store.failed, failures[0])
  await assert.rejects(store.ledger.intend(insertOf(makeEntry(world))), StoreUnavailable)
  assert.throws(() => store.ledger.note({ namespace: 'default' }), StoreUnavailable)
  await assert.rejects(store.entries.countOpen(), StoreUnavailable)
  await assert.rejects(store.flush(), StoreUnavailable)
  await store.close()
})

it("S37: the death of the writer's thread rejects the writes it carried", async (t) => {
  const workers = watchWorkers(t)
  const world = newLife()
  const failures: StoreUnavailable[] = []
  const path = join(temporaryFolder(t), 'writ.db')
  const store = await createSqliteStore({ world, path, onFailed: (error) => failures.push(error) })
  const writes = Array.from({ length: 200 }, () => store.ledger.intend(insertOf(makeEntry(world))))
  const results = Promise.allSettled(writes)
  void workers[0]!.terminate()
  for (const result of await results) {
    assert.ok(result.status === 'rejected' && result.reason instanceof StoreUnavailable)
  }
  assert.equal(failures.length, 1)
  await store.close()
})

it('a program that forgets to close its store still ends, with everything it noted', async (t) => {
  const path = join(temporaryFolder(t), 'writ.db')
  const child = startChild(t, 'leave-open', path)
  assert.deepEqual(await child.ended, { code: 0, signal: null }, child.stderr())
  const store = await createSqliteStore({ world: newLife(), path })
  assert.deepEqual(await store.evidence.forCall('default', 'left'), [makeEvidence('left')])
  await store.close()
})
