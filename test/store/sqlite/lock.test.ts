// The data lock: one holder, and no death of it leaves a lock behind.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { it } from 'node:test'
import { lockFile } from '../../../src/store/sqlite/lock.ts'
import { startChild, temporaryFolder } from './process.ts'

it('S52: a second process is refused with the folder and what to do', async (t) => {
  const folder = temporaryFolder(t)
  const lock = lockFile(join(folder, 'writ.db'))
  const second = startChild(t, 'lock', folder)
  assert.equal((await second.ended).code, 1)
  assert.deepEqual(second.lines, [])
  assert.match(
    second.stderr(),
    /is in use by another Writ: stop that one, or start this one with another folder \(--data\)/,
  )
  assert.ok(second.stderr().includes(folder))
  lock.release()
})

it('S52: the lock holds even when nobody keeps it, and dies with its process, also by kill -9', async (t) => {
  const folder = temporaryFolder(t)
  const holder = startChild(t, 'lock', folder)
  await holder.said(1)
  assert.throws(() => lockFile(join(folder, 'writ.db')), /is in use by another Writ/)
  holder.process.kill('SIGKILL')
  await holder.ended
  lockFile(join(folder, 'writ.db')).release()
})

it('S52: a second holder in the same process is refused, until the first lets go', (t) => {
  const folder = temporaryFolder(t)
  const first = lockFile(join(folder, 'writ.db'))
  assert.throws(() => lockFile(join(folder, 'writ.db')), /is in use by another Writ/)
  // The refused attempt has closed its file; that must not have freed the lock of the first.
  assert.throws(() => lockFile(join(folder, 'writ.db')), /is in use by another Writ/)
  first.release()
  first.release()
  const second = lockFile(join(folder, 'writ.db'))
  assert.throws(() => lockFile(join(folder, 'writ.db')), /is in use by another Writ/)
  second.release()
})

it('a refused attempt in this process does not free the lock for other processes', async (t) => {
  const folder = temporaryFolder(t)
  const lock = lockFile(join(folder, 'writ.db'))
  assert.throws(() => lockFile(join(folder, 'writ.db')))
  const other = startChild(t, 'lock', folder)
  assert.equal((await other.ended).code, 1)
  lock.release()
})

it('a folder that is not there is refused with its name', (t) => {
  const folder = join(temporaryFolder(t), 'none')
  assert.throws(
    () => lockFile(join(folder, 'writ.db')),
    /cannot lock the database .*none.*Its folder must exist and be writable/,
  )
})
