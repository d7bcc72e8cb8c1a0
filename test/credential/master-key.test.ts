// Where master keys come from, and what is said where they cannot be had.
import assert from 'node:assert/strict'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { createMasterKeyRing } from '../../src/credential/key-ring.ts'
import { MasterKeyUnavailable, readMasterKeys } from '../../src/credential/master-key.ts'
import { type MasterKeyChoice, masterKeySource } from '../../src/credential/master-key-source.ts'
import { createSystemWorld } from '../../src/util/clock.ts'

const world = createSystemWorld()
const KEY = Buffer.alloc(32, 7)
const OTHER = Buffer.alloc(32, 8)

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'writ-master-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function open(choice: MasterKeyChoice, folder = '/', env: Record<string, string> = {}) {
  return masterKeySource(choice, { world, env, folder })
}

const idsOf = async (choice: MasterKeyChoice, folder?: string, env?: Record<string, string>) =>
  (await open(choice, folder, env).read()).map(({ id }) => id)

async function refused(work: () => unknown): Promise<string> {
  try {
    await work()
  } catch (error) {
    assert.ok(error instanceof MasterKeyUnavailable, String(error))
    assert.match(error.message, /\. Fix: /)
    return error.message
  }
  throw new assert.AssertionError({ message: 'nothing was refused' })
}

describe('a master key', () => {
  it('is the same one in base64, base64url and hex, from bytes, a file, a variable and a command', async (t) => {
    const folder = folderOf(t)
    const file = join(folder, 'key')
    writeFileSync(file, `${KEY.toString('base64')}\n`, { mode: 0o600 })
    const [id] = await idsOf(KEY)
    assert.match(String(id), /^[0-9a-f]{16}$/)
    assert.deepEqual(await idsOf('file:key', folder), [id])
    assert.deepEqual(await idsOf({ file }, folder), [id])
    assert.deepEqual(await idsOf('env:K', '/', { K: KEY.toString('hex') }), [id])
    assert.deepEqual(await idsOf(`command:cat ${file}`, folder, { PATH: '/usr/bin:/bin' }), [id])
    assert.deepEqual(
      readMasterKeys(KEY.toString('base64url'), 'x').map((key) => key.id),
      [id],
    )
  })

  it('stands before older ones, one to a line; in a variable commas part them, too', async () => {
    const [id] = await idsOf(KEY)
    const [other] = await idsOf(OTHER)
    const both = `${OTHER.toString('base64')},${KEY.toString('base64')}`
    assert.deepEqual(await idsOf('env:K', '/', { K: both }), [other, id])
  })

  it('is refused with the fix and without a word of it where it cannot be used', async (t) => {
    const folder = folderOf(t)
    const write = (name: string, text: string, mode = 0o600) => {
      writeFileSync(join(folder, name), text, { mode })
      chmodSync(join(folder, name), mode)
    }
    write('open', `${KEY.toString('base64')}\n`, 0o644)
    write('empty', '\n')
    write('short', 'canary-canary-canary\n')
    write('many', `${KEY.toString('hex')}\n`.repeat(33))
    const env = { PATH: '/usr/bin:/bin', SHORT: 'canary' }
    const cases: readonly [() => unknown, RegExp][] = [
      [() => open('file:open', folder).read(), /others can read or change/],
      [() => open('file:empty', folder).read(), /is empty/],
      [() => open('file:short', folder).read(), /line 1 is not 32 bytes/],
      [() => open('file:many', folder).read(), /has 33 lines/],
      [() => open('file:missing', folder).read(), /is not there/],
      [() => open('file:.', folder).read(), /cannot be used/],
      [() => open('env:NONE').read(), /NONE is not set/],
      [() => open('env:SHORT', '/', env).read(), /line 1 is not 32 bytes/],
      [() => open('command:false', '/', env).read(), /command false ended with 1/],
      [() => open('command:no-such-program', '/', env).read(), /did not run \(ENOENT\)/],
      [() => open('command:echo canary', '/', env).read(), /line 1 is not 32 bytes/],
      [() => open('vault:x'), /names no place that is known/],
      [() => open(new Uint8Array(31)), /has 31 bytes/],
    ]
    for (const [work, why] of cases) {
      const said = await refused(work)
      assert.match(said, why)
      assert.ok(!said.includes('canary'), said)
    }
  })

  it('is made once, for its owner alone, by however many start at once', async (t) => {
    const folder = folderOf(t)
    const choice = { file: join(folder, 'master-key'), make: true }
    const all = await Promise.all(Array.from({ length: 8 }, () => idsOf(choice)))
    assert.equal(new Set(all.flat()).size, 1)
    assert.equal(statSync(choice.file).mode & 0o777, 0o600)
    assert.deepEqual(await idsOf(choice), all[0])
  })

  it('of a file is added before the others, and found by rings that were there before', async (t) => {
    const folder = folderOf(t)
    const choice = { file: join(folder, 'master-key'), make: true }
    const here = createMasterKeyRing(open(choice), world)
    const there = createMasterKeyRing(open(choice), world)
    const [first] = await here.fresh()
    assert.equal((await there.fresh())[0].id, first.id)
    const { added, keys } = await here.renew()
    assert.equal(added, true)
    assert.deepEqual([keys.length, keys[1]?.id], [2, first.id])
    assert.equal((await there.find(keys[0].id))?.id, keys[0].id, 'a key that is not known is looked for')
    assert.equal((await there.fresh())[0].id, keys[0].id, 'and new ones are sealed with it')
    assert.equal(existsSync(`${choice.file}.lock`), false)
    assert.equal(readFileSync(choice.file, 'utf8').trim().split('\n').length, 2)
  })

  it('is not added to what somebody else keeps: the newest that is there is taken', async () => {
    const ring = createMasterKeyRing(open('env:K', '/', { K: KEY.toString('hex') }), world)
    const { added, keys } = await ring.renew()
    assert.deepEqual([added, keys.map(({ id }) => id)], [false, await idsOf(KEY)])
  })
})
