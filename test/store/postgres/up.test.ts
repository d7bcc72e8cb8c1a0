// writ up with WRIT_STORE: replicas as real processes over one PostgreSQL.
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, beforeEach, describe, it } from 'node:test'
import { runWrit, startToolPeer, startUp, type ToolPeer, type UpServer } from '../../cli/writ-process.ts'
import { type PostgresServer, startPostgres } from '../../postgres/server.ts'

const root = mkdtempSync(join(tmpdir(), 'writ-up-postgres-'))
const running = new Set<UpServer>()
let postgres: PostgresServer
let peer: ToolPeer
let database: string
let env: Record<string, string>

before(async () => {
  postgres = await startPostgres()
  peer = await startToolPeer()
})
after(async () => {
  await peer.close()
  await postgres.stop()
  rmSync(root, { recursive: true })
})
beforeEach(async () => {
  const url = await postgres.createDatabase()
  database = new URL(url).pathname.slice(1)
  env = { WRIT_STORE: url, WRIT_ADMIN_TOKEN: 'a'.repeat(40), WRIT_STORE_LEASE_MS: '2000' }
})
afterEach(async () => {
  for (const server of running) {
    server.child.kill('SIGKILL')
    await server.ended
  }
  running.clear()
})

async function up(): Promise<UpServer & { cwd: string }> {
  const cwd = mkdtempSync(join(root, 'replica-'))
  const server = await startUp({ cwd, env })
  running.add(server)
  return { ...server, cwd }
}

/** A command that talks to one replica. */
function writ(server: UpServer, args: readonly string[], input?: string) {
  const { WRIT_ADMIN_TOKEN = '' } = env
  return runWrit(args, {
    cwd: root,
    env: { WRIT_URL: server.url, WRIT_TOKEN: WRIT_ADMIN_TOKEN },
    ...(input === undefined ? {} : { input }),
  })
}

async function applyTool(server: UpServer, name: string, query: string): Promise<void> {
  const manifest = `
apiVersion: writ.dev/v1
kind: Tool
metadata: {name: ${name}}
spec:
  endpoint: ${peer.url}/?${query}
  effect: {class: external-communication}
`
  const { code, err } = await writ(server, ['apply', '-f', '-'], manifest)
  assert.equal(code, 0, err)
}

const sends = (text: string) => peer.seen.filter((body) => body.includes(text)).length

describe('replicas', () => {
  it('S13: what one replica did is replayed by another, which sends nothing', async () => {
    const first = await up()
    await applyTool(first, 'note', 'ms=0')
    const done = await writ(first, ['call', 'note', '--key', 'k-1', '--set', 'text=once'])
    assert.equal(done.code, 0, done.err)
    const second = await up()
    const again = await writ(second, ['call', 'note', '--key', 'k-1', '--set', 'text=once'])
    assert.equal(again.code, 0, again.err)
    assert.deepEqual(JSON.parse(again.out), JSON.parse(done.out))
    assert.equal(sends('once'), 1)
    assert.equal(existsSync(join(first.cwd, '.writ', 'writ.db')), false, 'nothing is kept beside')
    for (const server of [first, second]) assert.equal((await server.stop()).code, 0)
  })

  it('S36: what a replica had under way when it was killed is taken over, and its key answers on the other', async () => {
    const [first] = [await up()]
    await applyTool(first, 'stuck', 'ms=60000')
    const call = writ(first, ['call', 'stuck', '--key', 'k-2', '--set', 'text=killed'])
    while (sends('killed') === 0) await new Promise((resolve) => setTimeout(resolve, 20))
    const second = await up()
    await first.stop('SIGKILL')
    await call
    // Only after the lease has ended is it known that nobody works on it.
    const states = async () =>
      (await postgres.query('select state from writ.entry', [], database)).map(({ state }) => state)
    while ((await states())[0] === 'sent' || (await states())[0] === 'intended')
      await new Promise((resolve) => setTimeout(resolve, 50))
    assert.deepEqual(await states(), ['unknown'])
    const again = await writ(second, ['call', 'stuck', '--key', 'k-2', '--set', 'text=killed'])
    assert.equal(again.code, 8, again.err)
    assert.equal(sends('killed'), 1)
  })

  it('S32, S35: a replica that another has ended says so, and exits with 7, which is no bug', async () => {
    const first = await up()
    await up()
    first.child.kill('SIGSTOP')
    const ended = async () =>
      (await postgres.query('select 1 from writ.life where ended', [], database)).length > 0
    while (!(await ended())) await new Promise((resolve) => setTimeout(resolve, 50))
    first.child.kill('SIGCONT')
    const { code, err } = await first.ended
    assert.equal(code, 7, err)
    assert.match(err, /^writ: another replica has ended this process after its lease ran out/m)
    assert.match(err, /^Fix: start it again/m)
    assert.doesNotMatch(err, /mend the disk/)
  })

  it('shows where the database is, and never its password', async () => {
    const server = await up()
    assert.match(server.written.out, /Store: +postgres:\/\/writ@127\.0\.0\.1:\d+\/test_\d+$/m)
    const { out, err } = await server.stop()
    assert.doesNotMatch(`${out}${err}`, /a-secret/)
  })

  it('a second start on the same data folder warns of no lost ledger', async () => {
    const first = await up()
    await first.stop()
    const second = await startUp({ cwd: first.cwd, env })
    running.add(second)
    const { code, err } = await second.stop()
    assert.equal(code, 0, err)
    assert.doesNotMatch(err, /WARNING/)
  })
})

describe('a start that cannot be', () => {
  it('a wrong password ends it with what to do, and without the password', async () => {
    const { code, out, err } = await runWrit(['up', '--port', '0'], {
      cwd: root,
      env: { ...env, WRIT_STORE: postgres.url('postgres', { password: 'wrong-secret' }) },
    })
    assert.notEqual(code, 0)
    assert.match(err, /refuses the user or the password of postgres:\/\/writ@/)
    assert.doesNotMatch(`${out}${err}`, /wrong-secret/)
  })
})
