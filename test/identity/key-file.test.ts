// The file of the token keys: made once, rotated with overlap, read again when it changed.
import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { KeysUnwritable, openTokenKeys, rotateKeyFile } from '../../src/identity/key-file.ts'
import { verifyOwnToken } from '../../src/identity/own-token.ts'
import { refusalIn, START, standingClock, tokenOf } from './support.ts'

let folder: string
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'writ-keys-'))
})
after(() => rmSync(folder, { recursive: true }))

let files = 0
const newPath = () => join(folder, `keys-${++files}.json`)
const DAY = 86_400_000

describe('the file of the token keys', () => {
  it('is made for its owner alone, once', () => {
    const path = newPath()
    const world = standingClock()
    const { kid } = openTokenKeys({ path, make: true, world }).ring().signer
    assert.equal(statSync(path).mode & 0o777, 0o600)
    assert.equal(openTokenKeys({ path, make: true, world }).ring().signer.kid, kid)
  })

  it('is not made where it is meant to be there, and the message says how to make it', () => {
    const path = newPath()
    assert.throws(
      () => openTokenKeys({ path, make: false, world: standingClock() }),
      /not there.*Fix: writ token rotate --file/,
    )
    rotateKeyFile(path, START)
    assert.ok(openTokenKeys({ path, make: false, world: standingClock() }))
  })

  it('is refused when others can read it', () => {
    const path = newPath()
    rotateKeyFile(path, START)
    chmodSync(path, 0o644)
    assert.throws(
      () => openTokenKeys({ path, make: true, world: standingClock() }),
      /others can read.*Fix: chmod 600/,
    )
  })

  it('is refused with what is wrong, and never with what is in it', () => {
    const path = newPath()
    rotateKeyFile(path, START)
    const good = JSON.parse(readFileSync(path, 'utf8'))
    const [key] = good.keys
    const bad: [unknown, RegExp][] = [
      ['{"keys": [{"d": "SECRET-CANARY', /not JSON/],
      [{}, /no list "keys"/],
      [{ keys: [] }, /no list "keys"/],
      [{ keys: [7] }, /keys\[0\] is not a key/],
      [{ keys: [{ ...key, crv: 'X25519' }] }, /not an Ed25519/],
      [{ keys: [{ ...key, kid: 'other' }] }, /kid that does not belong/],
      [{ keys: [{ ...key, d: undefined }] }, /no private part/],
      [{ keys: [key, key] }, /same key twice/],
      [{ keys: [{ ...key, made_at: 'soon' }] }, /made_at/],
      [{ keys: [{ ...key, verifies_until: 'never' }] }, /verifies_until/],
    ]
    for (const [content, message] of bad) {
      writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
      assert.throws(
        () => openTokenKeys({ path, make: true, world: standingClock() }),
        (error: Error) =>
          message.test(error.message) && !/CANARY/.test(error.message) && /Fix: /.test(error.message),
        String(message),
      )
    }
  })
})

describe('rotation', () => {
  it('signs with the new key at once; tokens of the old one are good until the longest has expired', async () => {
    const path = newPath()
    const world = standingClock()
    const keys = openTokenKeys({ path, make: true, world })
    const options = { keys, audience: 'writ', world }
    const old = await tokenOf(keys, { expiresAt: START + 30 * DAY })
    const oldKid = keys.ring().signer.kid
    const { kid } = keys.rotate()
    assert.notEqual(kid, oldKid)
    assert.equal(keys.fresh().signer.kid, kid)
    assert.match(refusalIn(await verifyOwnToken(await tokenOf(keys), options)), /a caller/)
    world.move(30 * DAY)
    assert.match(refusalIn(await verifyOwnToken(old, options)), /a caller/, 'until its last moment')
    world.move(120_000)
    assert.equal(refusalIn(await verifyOwnToken(old, options)), 'unknown-key')
    assert.deepEqual(keys.rotate().dropped, [oldKid])
    assert.equal(readFileSync(path, 'utf8').includes(oldKid), false)
  })

  it('of a file that cannot be written says so, and where to change it', () => {
    const path = join(folder, 'none', 'keys.json')
    assert.throws(
      () => rotateKeyFile(path, START),
      (error) =>
        error instanceof KeysUnwritable && /cannot be written.*Fix: change the keys/.test(error.message),
    )
  })

  it('leaves only one private key in the file', () => {
    const path = newPath()
    for (let i = 0; i < 3; i++) rotateKeyFile(path, START + i)
    const { keys } = JSON.parse(readFileSync(path, 'utf8'))
    assert.equal(keys.length, 3)
    assert.equal(keys.filter(({ d }: { d?: string }) => d !== undefined).length, 1)
  })

  it('by another process is noticed: a new key at its first token, a removed one within a second', async () => {
    const path = newPath()
    const world = standingClock()
    const here = openTokenKeys({ path, make: true, world })
    const there = openTokenKeys({ path, make: false, world })
    const old = await tokenOf(here)
    const options = { keys: here, audience: 'writ', world }
    there.rotate()
    assert.match(refusalIn(await verifyOwnToken(await tokenOf(there), options)), /a caller/)
    assert.equal(here.fresh().signer.kid, there.ring().signer.kid, 'what signs is looked at anew')

    const kept = JSON.parse(readFileSync(path, 'utf8'))
    writeFileSync(path, JSON.stringify({ keys: kept.keys.slice(0, 1) }))
    utimesSync(path, START / 1000, START / 1000)
    world.move(1000)
    assert.equal(refusalIn(await verifyOwnToken(old, options)), 'unknown-key')
  })

  it('keeps what it knows while the file is broken, and says so once', async () => {
    const path = newPath()
    const world = standingClock()
    const troubles: string[] = []
    const keys = openTokenKeys({ path, make: true, world, onTrouble: (message) => troubles.push(message) })
    const text = readFileSync(path, 'utf8')
    writeFileSync(path, '{')
    for (let i = 0; i < 3; i++) {
      world.move(1000)
      assert.match(
        refusalIn(await verifyOwnToken(await tokenOf(keys), { keys, audience: 'writ', world })),
        /a caller/,
      )
    }
    assert.equal(troubles.length, 1)
    assert.match(troubles[0] ?? '', /not JSON/)
    writeFileSync(path, text)
    world.move(1000)
    assert.ok(keys.ring())
    assert.equal(troubles.length, 1)
  })

  it('by two at once is refused for one of them: no key that has signed is lost', () => {
    const path = newPath()
    rotateKeyFile(path, START)
    writeFileSync(`${path}.lock`, '')
    const now = statSync(`${path}.lock`).mtimeMs
    assert.throws(() => rotateKeyFile(path, now + 1000), /another rotation.*Fix: wait/)
    assert.ok(rotateKeyFile(path, now + 11_000).kid, 'a lock that was left behind is taken over')
  })
})
