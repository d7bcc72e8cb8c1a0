// The files beside the database: who may read them, and what they say about a server that is gone.
import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, beforeEach, describe, it } from 'node:test'
import {
  type DataFolder,
  dataFolderAt,
  isAlive,
  makeDataFolder,
  readAdminToken,
  readOrMakeAdminToken,
  readServerNote,
  removeServerNote,
  writeServerNote,
} from '../../src/cli/data-folder.ts'
import { findServer } from '../../src/cli/find-server.ts'
import { createRecordingTerminal } from './recording-terminal.ts'

const root = mkdtempSync(join(tmpdir(), 'writ-data-'))
after(() => rmSync(root, { recursive: true }))

let folder: DataFolder
let count = 0
beforeEach(() => {
  folder = dataFolderAt(root, `data-${++count}`)
  makeDataFolder(folder)
})

const NOTE = { url: 'http://127.0.0.1:1', pid: process.pid, started_at: '2026-01-01T00:00:00.000Z' }
/** Above every pid that Linux gives. */
const NO_PID = 4_194_305

function mode(path: string): number {
  return statSync(path).mode & 0o777
}

describe('the data folder', () => {
  it('is made for its owner alone, whatever the umask', () => {
    const before = process.umask(0)
    try {
      const fresh = dataFolderAt(root, 'fresh')
      makeDataFolder(fresh)
      assert.equal(mode(fresh.path), 0o700)
    } finally {
      process.umask(before)
    }
  })

  it('says why it cannot be made', () => {
    writeFileSync(join(root, 'a-file'), '')
    assert.throws(() => makeDataFolder(dataFolderAt(root, 'a-file/data')), {
      exit: 1,
      message: /cannot be made/,
      fix: new RegExp(`you can write in ${join(root, 'a-file')}$`),
    })
  })

  it('says so when it is a file', () => {
    writeFileSync(join(root, 'b-file'), '')
    assert.throws(() => makeDataFolder(dataFolderAt(root, 'b-file')), {
      exit: 1,
      message: /b-file is a file$/,
      fix: /--data/,
    })
  })

  it('is made with its parents', () => {
    const deep = dataFolderAt(root, 'x/y/z')
    makeDataFolder(deep)
    assert.equal(mode(deep.path), 0o700)
    makeDataFolder(deep)
  })
})

describe('the admin token', () => {
  it('is random, kept, and readable by its owner alone', () => {
    const { token, made } = readOrMakeAdminToken(folder)
    assert.equal(made, true)
    assert.match(token, /^[\w-]{43}$/)
    assert.equal(mode(folder.tokenFile), 0o600)
    assert.deepEqual(readOrMakeAdminToken(folder), { token, made: false })
    assert.deepEqual(readdirSync(folder.path), ['admin-token'])
  })

  it('is refused when others can read the file, with the command that mends it', () => {
    readOrMakeAdminToken(folder)
    for (const rights of [0o640, 0o604, 0o644, 0o620]) {
      chmodSync(folder.tokenFile, rights)
      assert.throws(() => readAdminToken(folder), { fix: /chmod 600/ })
    }
  })

  it('is refused when the file holds no token', () => {
    for (const text of ['', 'short', `${'x'.repeat(40)} ${'y'.repeat(40)}`]) {
      writeFileSync(folder.tokenFile, text, { mode: 0o600 })
      assert.throws(() => readAdminToken(folder), /usable token/)
    }
  })
})

describe('server.json', () => {
  it('tells where a server listens, and goes with the process that wrote it', () => {
    writeServerNote(folder, NOTE)
    assert.deepEqual(readServerNote(folder), NOTE)
    assert.equal(mode(folder.serverFile), 0o600)
    removeServerNote(folder, NOTE.pid + 1)
    assert.deepEqual(readServerNote(folder), NOTE)
    removeServerNote(folder, NOTE.pid)
    assert.equal(readServerNote(folder), undefined)
  })

  it('is ignored when it is half written or not ours', () => {
    for (const text of ['', '{"url": ', '[]', '{"url": "file:///etc", "pid": 1, "started_at": ""}']) {
      writeFileSync(folder.serverFile, text)
      assert.equal(readServerNote(folder), undefined)
    }
  })

  it('knows a process that runs from one that does not', () => {
    assert.equal(isAlive(process.pid), true)
    assert.equal(isAlive(NO_PID), false)
  })
})

describe('findServer', () => {
  const token = 'environment-token'
  const find = (env: Record<string, string>) =>
    findServer(createRecordingTerminal({ env, cwd: root }), folder.path)

  it('takes the address and the token from the environment', () => {
    assert.deepEqual(find({ WRIT_URL: 'http://x:1', WRIT_TOKEN: token }), { url: 'http://x:1', token })
  })

  it('does not send the token of a data folder to another address', () => {
    readOrMakeAdminToken(folder)
    writeServerNote(folder, NOTE)
    assert.throws(() => find({ WRIT_URL: 'http://elsewhere' }), { exit: 2, fix: /WRIT_TOKEN/ })
  })

  it('refuses an address that is none, or that carries a credential', () => {
    for (const url of ['127.0.0.1:7411', 'file:///etc/passwd', 'http://me:secret@host']) {
      assert.throws(
        () => find({ WRIT_URL: url, WRIT_TOKEN: token }),
        (error: Error) => {
          assert.doesNotMatch(error.message, /secret/)
          return true
        },
      )
    }
  })

  it('takes both from the data folder, and the token from the environment where it is set', () => {
    const made = readOrMakeAdminToken(folder)
    writeServerNote(folder, NOTE)
    assert.deepEqual(find({}), { url: NOTE.url, token: made.token, pid: NOTE.pid })
    assert.deepEqual(find({ WRIT_TOKEN: token }), { url: NOTE.url, token, pid: NOTE.pid })
    assert.deepEqual(
      findServer(createRecordingTerminal({ env: { WRIT_DATA: folder.path }, cwd: root }), undefined).url,
      NOTE.url,
    )
  })

  it('says what to do when no server was started, and when one was killed', () => {
    assert.throws(() => find({}), { exit: 6, fix: /writ up/ })
    writeServerNote(folder, { ...NOTE, pid: NO_PID })
    assert.throws(() => find({}), { exit: 6, message: /is gone/ })
  })

  it('asks for a token where none is kept in a file', () => {
    writeServerNote(folder, NOTE)
    assert.throws(() => find({}), { exit: 2, fix: /WRIT_TOKEN/ })
  })

  it('never reads a token that others can read', () => {
    readOrMakeAdminToken(folder)
    writeServerNote(folder, NOTE)
    chmodSync(folder.tokenFile, 0o644)
    assert.throws(() => find({}), /others can read/)
  })
})
