// writ up as a real process: how it starts, what it refuses, and every way it ends.
import assert from 'node:assert/strict'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, beforeEach, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { dispatch } from '../../src/cli/dispatch.ts'
import { createRecordingTerminal } from './recording-terminal.ts'
import {
  type RunOptions,
  runWrit,
  startToolPeer,
  startUp,
  type ToolPeer,
  type UpServer,
} from './writ-process.ts'

const root = mkdtempSync(join(tmpdir(), 'writ-up-'))
let peer: ToolPeer
let cwd: string
let count = 0
const running = new Set<UpServer>()

before(async () => {
  peer = await startToolPeer()
})
after(async () => {
  await peer.close()
  rmSync(root, { recursive: true })
})
beforeEach(() => {
  cwd = mkdtempSync(join(root, `${++count}-`))
})
afterEach(async () => {
  for (const server of running) {
    server.child.kill('SIGKILL')
    await server.ended
  }
  running.clear()
})

async function up(options: Partial<RunOptions> & { args?: readonly string[] } = {}): Promise<UpServer> {
  const server = await startUp({ cwd, ...options })
  running.add(server)
  return server
}

const spawned = (args: readonly string[], options: Partial<RunOptions> = {}) =>
  runWrit(args, { cwd, ...options })

/** The same command in this process: it starts at once. */
async function writ(args: readonly string[], options: Partial<RunOptions> = {}) {
  const terminal = createRecordingTerminal({ cwd, ...options })
  const code = await dispatch(args, terminal)
  return { code, ...terminal.written }
}

/** Resolves once the tool was sent something that holds `text`. */
async function sent(text: string): Promise<void> {
  while (!peer.seen.some((body) => body.includes(text))) await sleep(20)
}

const data = (name: string) => join(cwd, '.writ', name)
const mode = (path: string) => statSync(path).mode & 0o777
const note = () => JSON.parse(readFileSync(data('server.json'), 'utf8'))

async function applyTool(name: string, query: string, effect = 'operation_classes: [read]'): Promise<void> {
  const manifest = `
apiVersion: writ.dev/v1
kind: Tool
metadata: {name: ${name}}
spec:
  endpoint: ${peer.url}/?${query}
  ${effect}
`
  const { code, err } = await writ(['apply', '-f', '-'], { input: manifest })
  assert.equal(code, 0, err)
}

describe('a first start', () => {
  it('makes a folder and a token for its owner alone, says where it is, and runs as one process', async () => {
    const server = await up()
    assert.equal(mode(join(cwd, '.writ')), 0o700)
    assert.equal(mode(data('admin-token')), 0o600)
    assert.equal(mode(data('server.json')), 0o600)
    assert.equal(mode(data('writ.db')), 0o600)
    assert.equal(mode(data('writ.db.lock')), 0o600)
    assert.doesNotMatch(server.written.err, /WARNING/)
    assert.deepEqual({ url: note().url, pid: note().pid }, { url: server.url, pid: server.child.pid })
    assert.match(server.written.out, /Profile: +local: for a laptop/)
    const token = readFileSync(data('admin-token'), 'utf8').trim()
    const commandLine = readFileSync(`/proc/${server.child.pid}/cmdline`, 'utf8')

    await applyTool('echo', 'ms=0')
    const called = await spawned(['call', 'echo', '--set', 'a=1'])
    assert.equal(called.code, 0, called.err)
    assert.deepEqual(JSON.parse(called.out), { got: { a: 1 } })
    assert.match(called.err, /^succeeded {2}effect: none {2}attempt: 1 /)

    const { code, out, err } = await server.stop()
    assert.equal(code, 0, err)
    assert.equal(existsSync(data('server.json')), false)
    for (const text of [out, err, called.out, called.err, commandLine]) assert.ok(!text.includes(token))
  })

  it('warns when the ledger of an earlier server is gone, and only then', async () => {
    await (await up()).stop()
    const again = await up()
    assert.doesNotMatch(again.written.err, /WARNING/)
    await again.stop()
    for (const half of ['writ.db', 'writ.db-wal', 'writ.db-shm']) rmSync(data(half), { force: true })
    assert.equal((await writ(['doctor'])).code, 0)
    const fresh = await up({ args: ['--accept-rewound'] })
    assert.match(fresh.written.err, /WARNING: the ledger is new: keys of earlier calls are forgotten/)
    assert.match(fresh.written.err, /^Fix: /m)
  })

  it('S39: does not go on from an old copy of its ledger, unless it is told to', async () => {
    const first = await up()
    assert.equal((await writ(['audit', 'head'])).code, 0)
    await first.stop()
    assert.equal(mode(data('audit-key.pem')), 0o600)
    const copy = readFileSync(data('writ.db'))
    const second = await up()
    await applyTool('echo', 'ms=0')
    await second.stop()
    writeFileSync(data('writ.db'), copy)
    const refused = await spawned(['up', '--port', '0'])
    assert.equal(refused.code, 1)
    assert.match(refused.err, /the store was set back, as by an old backup/)
    assert.match(refused.err, /start once with --accept-rewound/)
    const accepted = await up({ args: ['--accept-rewound'] })
    assert.equal((await writ(['audit', 'verify'])).code, 0)
    assert.match((await writ(['audit', 'export'])).out, /"type":"audit.rewound-accepted"/)
    await accepted.stop()
    await up()
  })

  it('keeps its token and its tools for the next one', async () => {
    const first = await up()
    const token = readFileSync(data('admin-token'), 'utf8')
    await applyTool('echo', 'ms=0')
    await first.stop()
    await up()
    assert.equal(readFileSync(data('admin-token'), 'utf8'), token)
    const { out } = await writ(['get', 'tools', '-o', 'json'])
    assert.equal(JSON.parse(out)[0].metadata.name, 'echo')
  })
})

describe('a start that is refused', () => {
  it('S52: finds another server on the same data, which goes on', async () => {
    const first = await up()
    const second = await spawned(['up', '--port', '0'])
    assert.equal(second.code, 1)
    assert.match(second.err, /in use by another Writ/)
    assert.match(second.err, new RegExp(`process ${first.child.pid} listens on ${first.url}`))
    assert.equal((await writ(['get', 'tools'])).code, 0)
  })

  it('has a data folder that cannot be made, and does not hang', {
    skip: existsSync('/proc/self') ? false : 'there is no /proc. Fix: run it on Linux',
  }, async () => {
    const { code, err } = await spawned(['up', '--port', '0', '--data', '/proc/nope/writ'])
    assert.equal(code, 1)
    assert.match(err, /cannot be made/)
    assert.match(err, /^Fix: choose another with --data, or see that you can write in \/proc$/m)
  })

  it('finds its port taken', async () => {
    const holder = createServer()
    await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve))
    const { port } = holder.address() as AddressInfo
    const { code, err } = await spawned(['up', '--port', String(port)])
    await new Promise((resolve) => holder.close(resolve))
    assert.equal(code, 1)
    assert.match(err, new RegExp(`Port ${port} on 127\\.0\\.0\\.1 is in use`))
    assert.equal(existsSync(data('server.json')), false)
  })

  it('finds a token that others can read', async () => {
    await (await up()).stop()
    chmodSync(data('admin-token'), 0o644)
    const { code, err } = await spawned(['up', '--port', '0'])
    assert.equal(code, 1)
    assert.match(err, /chmod 600/)
  })

  it('has settings that are wrong, and lists them all', async () => {
    const { code, err } = await spawned(['up', '--port', '99999'], {
      env: { WRIT_DRAIN_MS: 'x', WRIT_PROFLE: 'production' },
    })
    assert.equal(code, 2)
    for (const what of [/--port/, /WRIT_DRAIN_MS/, /WRIT_PROFILE/]) assert.match(err, what)
    assert.equal(existsSync(join(cwd, '.writ')), false)
  })

  it('finds the database of another program', async () => {
    await (await up()).stop()
    writeFileSync(
      data('writ.db'),
      'this is no database, but it is long enough to be taken for one'.repeat(100),
    )
    for (const half of ['writ.db-wal', 'writ.db-shm']) rmSync(data(half), { force: true })
    const { code, err } = await spawned(['up', '--port', '0'])
    assert.equal(code, 1)
    assert.match(err, /writ\.db/)
    assert.match(err, /^Fix: restore a backup of it, or choose another folder with --data/m)
  })

  it('has a store that is set and empty, and does not start a ledger of its own', async () => {
    const { code, err } = await spawned(['up', '--port', '0'], { env: { WRIT_STORE: '' } })
    assert.equal(code, 2)
    assert.match(err, /WRIT_STORE is set and empty/)
    assert.equal(existsSync(join(cwd, '.writ')), false)
  })
})

describe('S51: profile production', () => {
  const token = 'production-token-of-more-than-32-characters'
  const production = ['--profile', 'production', '--token-keys', 'keys.json']
  beforeEach(async () => {
    assert.equal((await spawned(['token', 'rotate', '--file', 'keys.json'])).code, 0)
  })

  it('takes its token from the environment and leaves none behind', async () => {
    const server = await up({ args: production, env: { WRIT_ADMIN_TOKEN: token } })
    assert.match(server.written.out, /Profile: +production: .*no TLS/)
    assert.ok(!server.written.out.includes(token))
    assert.equal(existsSync(data('admin-token')), false)
    assert.equal((await writ(['get', 'tools'])).code, 2)
    assert.equal((await writ(['get', 'tools'], { env: { WRIT_TOKEN: token } })).code, 0)
    const wrong = await writ(['get', 'tools'], { env: { WRIT_TOKEN: `${token}x` } })
    assert.equal(wrong.code, 4)
    assert.ok(!wrong.err.includes(token))
  })

  it('does not start without one, in the open without a proxy, or beside a token in a file', async () => {
    const args = ['up', '--port', '0', ...production]
    const env = { WRIT_ADMIN_TOKEN: token }
    assert.match((await spawned(args)).err, /WRIT_ADMIN_TOKEN/)
    const open = await spawned([...args, '--host', '0.0.0.0'], { env })
    assert.equal(open.code, 2)
    assert.match(open.err, /TLS/)
    await (await up()).stop()
    const beside = await spawned(args, { env })
    assert.equal(beside.code, 1)
    assert.match(beside.err, /admin-token/)
  })
})

describe('the end', () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    it(`after ${signal} lets calls under way end, and takes no new ones`, async () => {
      const server = await up()
      await applyTool('slow', 'ms=1200', 'effect: {class: external-communication}')
      const call = writ(['call', 'slow', '--set', `signal=${signal}`])
      await sent(signal)
      server.child.kill(signal)
      await server.until(/letting calls end/)
      const late = await writ(['call', 'slow', '--set', 'signal=late'], {
        env: { WRIT_URL: server.url, WRIT_TOKEN: readFileSync(data('admin-token'), 'utf8').trim() },
      })
      assert.equal(late.code, 6, late.err)
      assert.match(late.err, /shutting down/)
      const beside = await writ(['calls', '--tool', 'slow', '-o', 'json'])
      assert.equal(beside.code, 0, beside.err)
      assert.deepEqual(
        JSON.parse(beside.out).calls.map(({ state }: { state: string }) => state),
        ['running'],
      )
      assert.match((await writ(['doctor'])).out, /^warn +server +\S+ is stopping/m)
      const { code, out, err } = await call
      assert.equal(code, 0, err)
      assert.deepEqual(JSON.parse(out), { got: { signal } })
      assert.ok(!peer.seen.some((body) => body.includes('late')))
      assert.equal((await server.ended).code, 0)
      assert.equal(existsSync(data('server.json')), false)
    })
  }

  it('does not wait longer for calls than drain_ms; what was sent is then unknown', async () => {
    const server = await up({ env: { WRIT_DRAIN_MS: '100' } })
    await applyTool('stuck', 'ms=60000', 'effect: {class: external-communication}')
    const call = writ(['call', 'stuck', '--request-id', 'stuck-1', '--set', 'by=drain'])
    await sent('drain')
    const start = performance.now()
    assert.equal((await server.stop()).code, 0)
    assert.ok(performance.now() - start < 5000)
    assert.equal((await call).code, 8)
    await up()
    const { code, out } = await writ(['calls', '--request-id', 'stuck-1', '-o', 'json'])
    assert.equal(code, 0)
    assert.deepEqual(
      [JSON.parse(out).calls[0].state, JSON.parse(out).calls[0].effect],
      ['unknown', 'unknown'],
    )
  })

  it('comes at once with a second signal', async () => {
    const server = await up()
    await applyTool('stuck', 'ms=60000')
    const call = writ(['call', 'stuck', '--set', 'by=second-signal'])
    await sent('second-signal')
    server.child.kill('SIGINT')
    await server.until(/letting calls end/)
    server.child.kill('SIGINT')
    assert.equal((await server.ended).code, 130)
    assert.equal((await call).code, 8)
  })

  it('by kill -9 is noticed by commands, and the next start recovers', async () => {
    const server = await up()
    await applyTool('stuck', 'ms=60000', 'effect: {class: external-communication}')
    const request = ['call', 'stuck', '--request-id', 'killed-1', '--set', 'by=kill']
    const call = writ(request)
    await sent('kill')
    await server.stop('SIGKILL')
    const cut = await call
    assert.equal(cut.code, 8)
    assert.match(cut.err, /--request-id killed-1/)
    const stale = await writ(['calls'])
    assert.equal(stale.code, 6)
    assert.match(stale.err, /is gone without saying so/)
    assert.match((await writ(['doctor'])).out, /that server was killed/)
    await up()
    const again = await writ(request)
    assert.equal(again.code, 8, again.err)
    assert.equal((await writ(['doctor'])).code, 0)
  })

  it('S32, S37: comes promptly with exit code 7, and not that of a bug, when the store fails', async () => {
    // A limit on file sizes is a disk that is full: the log of the database cannot grow.
    const server = await up({ shell: 'ulimit -f 1000' })
    await applyTool('note', 'ms=0', 'effect: {class: external-communication}')
    const input = JSON.stringify({ text: 'x'.repeat(100_000) })
    for (let turn = 0; turn < 20 && server.child.exitCode === null; turn++) {
      await writ(['call', 'note', '-'], { input })
    }
    const { code, err } = await server.ended
    assert.equal(code, 7)
    assert.match(err, /the store failed/)
    assert.match(err, /Fix: mend the disk or the database/)
    assert.equal(existsSync(data('server.json')), false)
  })
})
