// A file with a secret: who may read it, and which of two writers wins.
import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import {
  makeSecretFile,
  readSecretFile,
  replaceSecretFile,
  SecretExposed,
} from '../../src/util/secret-file.ts'

const root = mkdtempSync(join(tmpdir(), 'writ-secret-'))
after(() => rmSync(root, { recursive: true }))

let files = 0
function newPath(): string {
  return join(mkdtempSync(join(root, `${++files}-`)), 'secret')
}

describe('a file with a secret', () => {
  it('is made once, for its owner alone, and leaves nothing beside it', () => {
    const path = newPath()
    const umask = process.umask(0)
    try {
      assert.equal(makeSecretFile(path, 'one'), true)
    } finally {
      process.umask(umask)
    }
    assert.equal(makeSecretFile(path, 'two'), false)
    assert.equal(readSecretFile(path, 'the key'), 'one')
    assert.equal(statSync(path).mode & 0o777, 0o600)
    assert.deepEqual(readdirSync(join(path, '..')), ['secret'])
  })

  it('is replaced whole, and is for its owner alone whatever it was before', () => {
    const path = newPath()
    writeFileSync(path, 'before', { mode: 0o644 })
    replaceSecretFile(path, 'after')
    assert.equal(readSecretFile(path, 'the key'), 'after')
    assert.deepEqual(readdirSync(join(path, '..')), ['secret'])
  })

  it('is not read where others have rights on it, and the message says how to mend that', () => {
    const path = newPath()
    makeSecretFile(path, 'CANARY')
    for (const rights of [0o640, 0o604, 0o620, 0o601]) {
      chmodSync(path, rights)
      assert.throws(
        () => readSecretFile(path, 'the key'),
        (error: Error) =>
          error instanceof SecretExposed &&
          error.message === `others can read or change the key ${path}. Fix: chmod 600 '${path}'`,
      )
    }
  })

  it('that is not there is told from one that cannot be read', () => {
    assert.equal(readSecretFile(newPath(), 'the key'), undefined)
    assert.throws(() => readSecretFile(root, 'the key'))
    assert.throws(() => makeSecretFile(join(root, 'no', 'such', 'folder'), 'x'), { code: 'ENOENT' })
  })

  it('that several processes make at once holds what one of them wrote, and all of them read that', async () => {
    const path = newPath()
    const program = join(root, 'make.mjs')
    writeFileSync(
      program,
      `import { makeSecretFile, readSecretFile } from ${JSON.stringify(import.meta.resolve('../../src/util/secret-file.ts'))}
process.on('message', () => {
  const made = makeSecretFile(${JSON.stringify(path)}, String(process.pid))
  process.send({ made, read: readSecretFile(${JSON.stringify(path)}, 'the key') }, () => process.disconnect())
})
process.send('ready')
`,
    )
    const makers = Array.from({ length: 4 }, () => fork(program))
    await Promise.all(makers.map((maker) => new Promise((resolve) => maker.once('message', resolve))))
    const told = await Promise.all(
      makers.map(
        (maker) =>
          new Promise<{ made: boolean; read: string }>((resolve, reject) => {
            maker.once('message', (message) => resolve(message as { made: boolean; read: string }))
            maker.once('error', reject)
            maker.send('go')
          }),
      ),
    )
    assert.equal(told.filter(({ made }) => made).length, 1)
    assert.deepEqual([...new Set(told.map(({ read }) => read))], [readFileSync(path, 'utf8')])
    assert.deepEqual(readdirSync(join(path, '..')), ['secret'])
  })
})
