// Trouble with the disk under a real server: it fills up, it turns read-only, its database file is damaged (S34, S37).
import assert from 'node:assert/strict'
import {
  cpSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it, type TestContext } from 'node:test'
import { EXIT } from '../../src/cli/cli-error.ts'
import type { CallReply } from '../../src/client/call-reply.ts'
import { createClient } from '../../src/client/client.ts'
import { type Ended, runWrit, startUp, type UpServer } from '../cli/writ-process.ts'
import { until } from '../pipeline/until.ts'
import { type CountingTool, type Disk, journaledDisk, smallDisk, startCountingTool } from './weather.ts'

const STACK = /\n\s+at .+:\d+:\d+/

/** What a caller was told; undefined where it was told nothing, or that the server takes no calls. */
type Told = CallReply | undefined

interface Running extends UpServer {
  ask(name: string, more?: { readonly hold?: true; readonly text?: string }): Promise<Told>
}

async function up(t: TestContext, data: string): Promise<Running> {
  const server = await startUp({ cwd: tmpdir(), args: ['--data', data, '--log-level', 'error'] })
  t.after(async () => {
    server.child.kill('SIGKILL')
    await server.ended
  })
  const token = readFileSync(join(data, 'admin-token'), 'utf8').trim()
  const client = createClient({ url: server.url, token })
  t.after(() => client.close())
  return {
    ...server,
    ask: (name, more = {}) =>
      client
        .call({ request_id: name, tool: { name: 'pay' }, input: { name, ...more } })
        .catch(() => undefined),
  }
}

function applyPay(data: string, tool: CountingTool): Promise<Ended> {
  const input = `apiVersion: writ.dev/v1\nkind: Tool\nmetadata: {name: pay}\nspec: {type: http, endpoint: "${tool.url}", effect: {class: external-communication}, limits: {concurrency: 64}}\n`
  return runWrit(['apply', '-f', '-', '--data', data], { cwd: tmpdir(), input })
}

const REFUSED = ['intent-not-recorded', true, 'none']
const OPEN = [undefined, undefined, 'pending']
const UNSURE = ['outcome-not-recorded', false, 'unknown']
const summary = (told: Told) => [told?.failure?.id, told?.failure?.retryable, told?.effect]

/** Asks in threes until a call is not done; `text` makes the disk fill soon. */
async function askUntilTrouble(server: Running, told: Map<string, Told>): Promise<void> {
  const text = 'x'.repeat(4_000)
  let next = 0
  let trouble = false
  const ask = async () => {
    while (!trouble) {
      const name = `load-${next++}`
      told.set(name, undefined)
      const reply = await server.ask(name, { text })
      told.set(name, reply)
      trouble ||= reply?.state !== 'succeeded'
    }
  }
  await Promise.all([ask(), ask(), ask()])
}

/** What readiness says once it is false. */
function untilUnready({ url }: Running): Promise<string> {
  return until(async () => {
    const ready = await fetch(`${url}/readyz`)
    const text = await ready.text()
    return ready.status === 503 && text
  }, 30_000)
}

/** Calls, trouble in their midst, and a start on the mended disk. */
async function weather(
  t: TestContext,
  disk: Disk,
  strike: (server: Running, told: Map<string, Told>) => Promise<void>,
  mend: () => Promise<void>,
): Promise<void> {
  const tool = await startCountingTool(t)
  const first = await up(t, disk.path)
  assert.equal((await applyPay(disk.path, tool)).code, 0)
  const told = new Map<string, Told>([['before', await first.ask('before')]])
  const held = first.ask('held', { hold: true })
  await until(() => tool.effects.has('held'))

  // The call that is held keeps the server until it is answered, for a second at most.
  const [unready] = await Promise.all([untilUnready(first), strike(first, told)])
  assert.match(unready, /store: the store failed and takes no more writes/)
  tool.release()
  told.set('held', await held)
  assert.deepEqual(summary(told.get('held')), UNSURE, 'what was at the tool and could not be recorded')
  const { code, err } = await first.ended
  assert.equal(code, EXIT.failed)
  assert.match(err, /writ: the store failed, and nothing is sent any more: .*writ\.db/)
  assert.match(err, /\nFix: mend the disk/)
  assert.doesNotMatch(err, STACK)

  const done = [...told].filter(([, reply]) => reply?.state === 'succeeded').map(([name]) => name)
  for (const [name, reply] of told) {
    if (reply === undefined || reply.state === 'succeeded') continue
    const sent = tool.effects.has(name)
    // An intent that was on its way to the disk may be there: such a call is open, and was not sent.
    const expected = sent ? UNSURE : reply.state === 'running' ? OPEN : REFUSED
    assert.deepEqual(summary(reply), expected, `${name}, ${sent ? 'sent' : 'not sent'}`)
  }
  await mend()

  const second = await up(t, disk.path)
  for (const [name, reply] of told) {
    const wasSent = tool.effects.has(name)
    const more = name === 'held' ? ({ hold: true } as const) : {}
    const text = name.startsWith('load') ? { text: 'x'.repeat(4_000) } : {}
    const again = await second.ask(name, { ...more, ...text })
    if (reply?.state === 'succeeded') {
      assert.deepEqual(
        [again?.state, again?.replayed, again?.output],
        ['succeeded', true, { did: name }],
        name,
      )
    } else {
      assert.equal(again?.state, wasSent ? 'unknown' : 'succeeded', `${name}, told ${summary(reply)}`)
    }
    assert.equal(tool.effects.get(name), 1, `the effect of ${name}`)
  }
  assert.ok(done.length > 0)
  const head = join(disk.path, 'audit-head.json')
  // Kept with the first checkpoint of a server, which comes within a second.
  await until(() => existsSync(head))
  const verified = await runWrit(['audit', 'verify', '--head', head, '--data', disk.path], { cwd: tmpdir() })
  assert.equal(verified.code, 0, `${verified.out}${verified.err}`)
  assert.equal((await second.stop()).code, 0)
}

describe('S37: a disk that fills up', () => {
  it('ends the server with callers told, and with room again everything that was answered is there', async (t) => {
    const disk = smallDisk(t, '3m')
    if (disk === undefined) return
    await weather(t, disk, askUntilTrouble, () => disk.remount('size=32m'))
  })

  it('is said at a start, with nothing left behind', async (t) => {
    const disk = smallDisk(t, '64k')
    if (disk === undefined) return
    fill(join(disk.path, 'filler'))
    const { code, err } = await runWrit(['up', '--port', '0', '--data', disk.path], { cwd: tmpdir() })
    assert.equal(code, EXIT.startFailed)
    assert.match(err, /^writ: .*admin-token\S* cannot be written: ENOSPC/)
    assert.match(err, /\nFix: make room on its disk, or choose another folder with --data/)
    assert.doesNotMatch(err, STACK)
  })
})

function fill(path: string): void {
  const file = openSync(path, 'w')
  assert.throws(() => {
    for (;;) writeSync(file, Buffer.alloc(4_096))
  }, /ENOSPC/)
}

describe('S37: a disk that turns read-only', () => {
  it('under a running server refuses what is not sent, leaves the rest unknown, and is recovered from', async (t) => {
    const disk = journaledDisk(t)
    if (disk === undefined) return
    await weather(
      t,
      disk,
      async (server, told) => {
        await disk.remount('abort')
        // The server may have noticed by a write of its own, and take no calls any more.
        const reply = await server.ask('refused')
        if (reply !== undefined) assert.deepEqual(summary(reply), reply.state === 'running' ? OPEN : REFUSED)
        told.set('refused', reply)
      },
      () => disk.again(),
    )
  })

  it('is said at a start, with what to do', async (t) => {
    const disk = smallDisk(t, '1m')
    if (disk === undefined) return
    await disk.remount('ro')
    const { code, err } = await runWrit(['up', '--port', '0', '--data', disk.path], { cwd: tmpdir() })
    assert.equal(code, EXIT.startFailed)
    assert.match(err, new RegExp(`^writ: the data folder ${disk.path} cannot be written: EROFS`))
    assert.match(err, /\nFix: mount its disk for writing/)
    assert.doesNotMatch(err, STACK)
  })
})

describe('S37: a damaged database file', () => {
  /** What is overwritten: the first bytes of the file, or the root page of a table or an index. */
  const DAMAGE = [
    { what: 'its header', root: undefined, seen: 'start' },
    { what: 'a page of entries', root: 'entry', seen: 'call' },
    { what: 'a page of the index of keys', root: 'entry_key', seen: 'call' },
  ] as const

  it('is named with what to do, nothing is sent, and a copy of the folder goes on', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'writ-damage-'))
    t.after(() => rmSync(folder, { recursive: true, force: true }))
    const good = join(folder, 'good')
    const tool = await startCountingTool(t)
    const server = await up(t, good)
    assert.equal((await applyPay(good, tool)).code, 0)
    const names = Array.from({ length: 15 }, (_, index) => `paid-${index}`)
    const paid = await Promise.all(names.map((name) => server.ask(name)))
    for (const reply of paid) assert.equal(reply?.state, 'succeeded')
    assert.equal((await server.stop()).code, 0)

    await Promise.all(
      DAMAGE.map(async ({ what, root, seen }, index) => {
        const data = join(folder, `bad-${index}`)
        cpSync(good, data, { recursive: true })
        const file = join(data, 'writ.db')
        const bad = damaged(file, root)
        writeFileSync(file, bad)
        const error = seen === 'start' ? await refusedStart(data) : await refusedCall(t, data)
        assert.match(
          error,
          new RegExp(`${file} is damaged: leave it as it is, restore the newest copy`),
          what,
        )
        assert.match(error, /writ audit verify/, what)
        assert.doesNotMatch(error, STACK, what)
        if (seen === 'start') assert.ok(readFileSync(file).equals(bad), `${what}: the file is left as it is`)
      }),
    )
    assert.deepEqual(Object.fromEntries(tool.effects), Object.fromEntries(names.map((name) => [name, 1])))

    const restored = await up(t, good)
    assert.equal((await restored.ask('paid-7'))?.replayed, true)
    assert.equal(tool.effects.get('paid-7'), 1)
  })

  function damaged(file: string, root: string | undefined): Buffer {
    const bytes = readFileSync(file)
    if (root === undefined) return bytes.fill(0xa5, 0, 64)
    const db = new DatabaseSync(file, { readOnly: true })
    const found = db.prepare('select rootpage from sqlite_schema where name = ?').get(root)
    const size = Number(db.prepare('pragma page_size').get()?.page_size)
    db.close()
    const at = (Number(found?.rootpage) - 1) * size
    return bytes.fill(0xa5, at, at + size)
  }

  async function refusedStart(data: string): Promise<string> {
    const { code, err } = await runWrit(['up', '--port', '0', '--data', data], { cwd: tmpdir() })
    assert.equal(code, EXIT.startFailed)
    return err
  }

  /** The first use of what is damaged ends the server. */
  async function refusedCall(t: TestContext, data: string): Promise<string> {
    const server = await up(t, data)
    assert.deepEqual(summary(await server.ask('paid-7')), REFUSED)
    const { code, err } = await server.ended
    assert.equal(code, EXIT.failed)
    return err
  }
})
