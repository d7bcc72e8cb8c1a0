// Every command that talks to a server, against a real one.
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { parse } from 'yaml'
import { dispatch } from '../../src/cli/dispatch.ts'
import { type Harness, startHarness, TOKEN } from '../server/harness.ts'
import { createRecordingTerminal } from './recording-terminal.ts'

let harness: Harness
let env: Record<string, string>
const cwd = mkdtempSync(join(tmpdir(), 'writ-command-'))

before(async () => {
  harness = await startHarness()
  env = { WRIT_URL: harness.url, WRIT_TOKEN: TOKEN }
})
after(async () => {
  await harness.close()
  rmSync(cwd, { recursive: true })
})

type Options = Parameters<typeof createRecordingTerminal>[0]

async function writ(line: string, options: Options = {}) {
  const terminal = createRecordingTerminal({ cwd, env, ...options })
  // Words in quotes are one word, as in a shell.
  const words = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')
  const code = await dispatch(words, terminal)
  return { code, ...terminal.written }
}

const manifest = (name: string, more = '') => `apiVersion: writ.dev/v1
kind: Tool
metadata:
  name: ${name}
spec:
  endpoint: http://127.0.0.1:9/
  operation_classes: [read]
${more}`

describe('writ call', () => {
  it('prints the output on stdout and how it ended on stderr', async () => {
    const { code, out, err } = await writ('call echo --set city=Oslo --set n=3')
    assert.equal(code, 0)
    assert.deepEqual(JSON.parse(out), { said: { city: 'Oslo', n: 3 } })
    assert.match(err, /^succeeded {2}effect: none {2}attempt: 1 {2}\d+ ms {2}call: [0-9a-f-]{36}\n$/)
  })

  for (const dialect of ['v1', 'legacy', 'four-outcome']) {
    it(`asks and answers in ${dialect}`, async () => {
      const { code, out, err } = await writ(`call echo --dialect ${dialect} --input '{"a":1}' -o json`)
      assert.equal(code, 0, err)
      const body = JSON.parse(out)
      assert.deepEqual(body.output ?? body.result, { said: { a: 1 } })
      assert.equal(err, '')
    })
  }

  it('prints data as YAML, and with --raw on one line', async () => {
    assert.equal(parse((await writ('call echo -o yaml')).out).status, 'ok')
    const { out } = await writ('call echo --raw')
    assert.equal(out.trimEnd().includes('\n'), false)
    assert.equal(JSON.parse(out).status, 'ok')
  })

  it('reads its input from a pipe', async () => {
    assert.deepEqual(JSON.parse((await writ('call echo -', { input: '[1, 2]' })).out), { said: [1, 2] })
  })

  it('S32: exits by how the call ended', async () => {
    const codes: Record<string, number> = {
      'call post --set wrong=1': 3,
      'call none-such': 7,
      'call echo --operation none-such': 3,
      'call echo --version ^9': 7,
      'call pay --set amount=5000': 5,
      'call wait --set ms=5000 --timeout 50ms': 6,
      'call wait --set ms=3000 --wait 1s': 5,
      'call wait --set ms=3000 --async': 5,
      'call post --set text=dry --dry-run': 0,
    }
    for (const [line, code] of Object.entries(codes)) {
      const ended = await writ(line)
      assert.equal(ended.code, code, `${line}: ${ended.err}`)
    }
    assert.equal(harness.effects.done.includes('dry'), false)
  })

  it('sends an effect once for one key or one request id', async () => {
    for (const flag of ['--key', '--request-id']) {
      const line = `call post --set text=${flag} ${flag} my-invoice-0000${flag}`
      assert.match((await writ(line)).err, /effect: done/)
      assert.match((await writ(line)).err, /replayed/)
      assert.equal(harness.effects.done.filter((text) => text === flag).length, 1)
    }
    const conflict = await writ('call post --set text=other --key my-invoice-0000--key')
    assert.equal(conflict.code, 3)
    assert.match(conflict.err, /key-conflict/)
  })

  it('lists every violation and the fix', async () => {
    const { out, err } = await writ('call post --set wrong=1')
    assert.equal(out, '')
    assert.match(err, /input-invalid/)
    assert.match(err, /\/wrong/)
    assert.match(err, /^Fix: /m)
  })

  it('says how to go on with a call that is still open', async () => {
    const { err } = await writ('call wait --set ms=1000 --async')
    const [, id] = /See how it goes on: writ calls (\S+)/.exec(err) ?? []
    assert.equal((await writ(`calls ${id}`)).code, 5)
  })

  it('refuses flags that exclude each other, and what the legacy dialect cannot say', async () => {
    assert.equal((await writ('call echo --async --wait 1s')).code, 2)
    for (const flag of ['--timeout 1s', '--version 1', '--dry-run', '--deadline 1s']) {
      const { code, err } = await writ(`call echo --dialect legacy ${flag}`)
      assert.equal(code, 2)
      assert.match(err, /legacy/)
    }
  })

  it('does not let an output drive the terminal of a person', async () => {
    const input = JSON.stringify('\u001b]0;title\u0007\u001b[2J')
    const watched = await writ('call echo -', { input, outIsTty: true })
    assert.ok(!watched.out.includes('\u001b'))
    const deadline = await writ('call echo --deadline 5s')
    assert.equal(deadline.code, 0)
  })

  it('says that a call may have run when the connection breaks, and how to find out', async () => {
    const peer = createServer((socket) => socket.once('data', () => socket.destroy()))
    await new Promise<void>((resolve) => peer.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(peer.address() as AddressInfo).port}`
    const { code, err } = await writ('call echo --request-id mine-1', { env: { ...env, WRIT_URL: url } })
    await new Promise((resolve) => peer.close(resolve))
    assert.equal(code, 8)
    assert.match(err, /may have run/)
    assert.match(err, /--request-id mine-1/)
  })
})

describe('writ calls and cancel', () => {
  it('lists, filters, pages and shows', async () => {
    for (const text of ['p1', 'p2', 'p3'])
      await writ(`call post --set text=${text} --request-id page-${text}`)
    const table = await writ('calls --tool post --limit 2')
    assert.equal(table.code, 0)
    assert.equal(table.out.trimEnd().split('\n').length, 3)
    const [, cursor] = /--cursor (\S+)/.exec(table.err) ?? []
    assert.ok(cursor)
    assert.equal((await writ(`calls --tool post --limit 2 --cursor ${cursor}`)).code, 0)
    const { calls } = JSON.parse((await writ('calls --request-id page-p1 -o json')).out)
    assert.equal(calls.length, 1)
    const shown = await writ(`calls ${calls[0].id}`)
    assert.equal(shown.code, 0)
    assert.match(shown.out, /State: +succeeded\n/)
    assert.match(shown.out, /"posted": "p1"/)
    assert.equal(parse((await writ(`calls ${calls[0].id} -o yaml`)).out).id, calls[0].id)
  })

  it('says so when there is nothing, and refuses what cannot be', async () => {
    assert.equal((await writ('calls --tool nobody')).out, 'No calls.\n')
    assert.equal((await writ('calls --limit 0')).code, 2)
    assert.equal((await writ('calls some-id --tool x')).code, 2)
    const missing = await writ('calls 00000000-0000-7000-8000-000000000000')
    assert.equal(missing.code, 7)
    assert.match(missing.err, /No such call/)
  })

  it('cancels a call that runs, which then exits as canceled', async () => {
    const { err } = await writ('call wait --set ms=20000 --async')
    const [, id] = /call: (\S+)/.exec(err) ?? []
    const canceled = await writ(`cancel ${id}`)
    assert.equal(canceled.code, 0)
    assert.match(canceled.out, /is being canceled/)
    let shown = await writ(`calls ${id}`)
    for (let turn = 0; turn < 100 && shown.code === 5; turn++) {
      await new Promise((resolve) => setTimeout(resolve, 20))
      shown = await writ(`calls ${id}`)
    }
    assert.equal(shown.code, 9, shown.out)
    assert.match((await writ(`cancel ${id}`)).out, /had already ended: canceled/)
    assert.equal((await writ('cancel nonsense')).code, 7)
  })
})

describe('writ apply, diff, validate, get, describe, delete', () => {
  it('goes from a file to a tool and back', async () => {
    writeFileSync(join(cwd, 'weather.yaml'), manifest('weather', '  version: 1.0.0\n'))
    assert.deepEqual(await writ('validate -f weather.yaml'), { code: 0, out: '1 manifest valid\n', err: '' })
    const planned = await writ('diff -f weather.yaml')
    assert.match(planned.out, /^\+ spec\.version: "1\.0\.0"$/m)
    assert.match((await writ('apply -f weather.yaml --dry-run')).out, /would be created/)
    assert.equal((await writ('get tools weather')).code, 7)
    const applied = await writ('apply -f weather.yaml')
    assert.equal(applied.code, 0, applied.err)
    assert.match(applied.out, /^\+ spec\.version: "1\.0\.0"$/m)
    assert.match(applied.out, /^Tool default\/weather 1\.0\.0 created$/m)
    assert.equal((await writ('apply -f weather.yaml')).out, 'Tool default/weather 1.0.0 unchanged\n')
    writeFileSync(join(cwd, 'weather.yaml'), manifest('weather', '  version: 1.0.0\n  description: sun\n'))
    assert.match((await writ('diff -f weather.yaml')).out, /^\+ spec\.description: "sun"$/m)
    assert.match((await writ('apply -f weather.yaml')).out, /updated/)

    assert.match((await writ('get tools')).out, /^weather +1\.0\.0 +http +low +\d+s +sun$/m)
    const described = await writ('describe tool weather')
    assert.match(described.out, /Digest: +sha256:/)
    assert.match(described.out, /endpoint: http:\/\/127\.0\.0\.1:9\//)
    assert.equal(parse((await writ('describe tool weather -o yaml')).out).tool.spec.description, 'sun')

    // What is read back can be applied again.
    const [kept] = JSON.parse((await writ('get tools weather -o json')).out)
    const again = await writ('apply -f -', { input: JSON.stringify(kept) })
    assert.equal(again.out, 'Tool default/weather 1.0.0 unchanged\n', again.err)

    assert.equal((await writ('delete tool weather --version 2.0.0')).code, 7)
    assert.equal((await writ('delete tool weather --version 1.0.0')).out, 'tool weather 1.0.0 deleted\n')
    const gone = await writ('describe tool weather')
    assert.equal(gone.code, 7)
    assert.match(gone.err, /Fix: /)
  })

  it('tells problems where they were written, in several files, whoever finds them', async () => {
    mkdirSync(join(cwd, 'set'))
    writeFileSync(join(cwd, 'set', 'a.yaml'), manifest('first'))
    writeFileSync(
      join(cwd, 'set', 'b.yaml'),
      `---\n${manifest('second', '  version: nonsense\n')}---\n${manifest('first')}`,
    )
    writeFileSync(join(cwd, 'set', 'notes.txt'), 'not a manifest')
    for (const command of ['validate', 'apply', 'diff']) {
      const { code, err, out } = await writ(`${command} -f set`)
      assert.equal(code, 3, err)
      assert.equal(out, '')
      assert.match(err, /^set\/b\.yaml:9:12: error: spec\.version: /m)
      assert.match(
        err,
        /^set\/b\.yaml:14:9: error: metadata\.name: .*declared twice, first at set\/a\.yaml:4/m,
      )
    }
    assert.equal((await writ('get tools first')).code, 7)
  })

  it('finds unknown fields before anything is sent', async () => {
    writeFileSync(join(cwd, 'typo.yaml'), manifest('typo', '  risk_levle: low\n'))
    const { code, err } = await writ('apply -f typo.yaml')
    assert.equal(code, 3)
    assert.match(err, /^typo\.yaml:8:3: error: .*risk_level/m)
    const asData = await writ('validate -f typo.yaml -o json')
    assert.equal(asData.code, 3)
    assert.equal(JSON.parse(asData.out).ok, false)
    assert.equal(JSON.parse(asData.out).problems[0].line, 8)
  })

  it('reads schemas from the files that a manifest names', async () => {
    mkdirSync(join(cwd, 'with-schema'))
    writeFileSync(
      join(cwd, 'with-schema', 'tool.yaml'),
      manifest('with-schema', '  input_schema: input.json\n'),
    )
    assert.equal((await writ('apply -f with-schema/tool.yaml')).code, 3)
    writeFileSync(join(cwd, 'with-schema', 'input.json'), '{"type": "object", "required": ["city"]}')
    const applied = await writ('apply -f with-schema/tool.yaml')
    assert.equal(applied.code, 0, applied.err)
    assert.equal((await writ('call with-schema --input {}')).code, 3)
  })

  it('refuses what is not there', async () => {
    assert.equal((await writ('apply')).code, 2)
    assert.equal((await writ('apply -f none.yaml')).code, 2)
    mkdirSync(join(cwd, 'empty'))
    assert.match((await writ('apply -f empty')).err, /holds no manifest/)
    assert.equal((await writ('apply -f -', { input: '' })).code, 3)
    assert.equal((await writ('apply -f -', { input: 'a: [' })).code, 3)
    assert.equal((await writ('get nonsense')).code, 2)
  })

  it('keeps namespaces apart', async () => {
    assert.equal((await writ('apply -n team-b -f -', { input: manifest('theirs') })).code, 0)
    assert.equal((await writ('get tools theirs')).code, 7)
    assert.equal((await writ('get tools theirs -n team-b')).code, 0)
    assert.equal((await writ(`get tools -n 'No Name'`)).code, 3)
  })

  it('refuses in production what only a laptop may take', async () => {
    writeFileSync(
      join(cwd, 'money.yaml'),
      manifest('money').replace('operation_classes: [read]', 'effect: {class: financial-high-impact}'),
    )
    assert.equal((await writ('validate -f money.yaml')).code, 0)
    assert.equal((await writ('validate -f money.yaml --profile production')).code, 3)
  })
})

describe('writ explain call', () => {
  it('shows every stage, and exits as the call would', async () => {
    const allowed = await writ('explain call echo')
    assert.equal(allowed.code, 0)
    assert.match(allowed.out, /^Decision: allow$/m)
    assert.match(allowed.out, /^permit +ok/m)
    const waiting = await writ('explain call pay --set amount=5000')
    assert.equal(waiting.code, 5)
    assert.match(waiting.out, /require-approval/)
    assert.equal((await writ('explain call post --set wrong=1')).code, 3)
    assert.equal(JSON.parse((await writ('explain call echo -o json')).out).decision, 'allow')
    assert.equal((await writ('explain tool echo')).code, 2)
  })
})

describe('writ doctor', () => {
  it('is content with a server that answers, and says what to do about one that does not', async () => {
    const well = await writ('doctor -o json')
    assert.equal(well.code, 0, well.out)
    const names = JSON.parse(well.out).checks.map(({ name }: { name: string }) => name)
    assert.deepEqual(names, [
      'node',
      'data folder',
      'lock',
      'token file',
      'store',
      'server',
      'token',
      'clock',
    ])
    const ill = await writ('doctor', { env: { ...env, WRIT_URL: 'http://127.0.0.1:1' } })
    assert.equal(ill.code, 7)
    assert.match(ill.out, /^fail +server +no Writ server at http:\/\/127\.0\.0\.1:1/m)
    assert.match(ill.out, /Fix: run 'writ up'/)
    const stranger = await writ('doctor', { env: { ...env, WRIT_TOKEN: 'wrong' } })
    assert.equal(stranger.code, 7)
    assert.match(stranger.out, /^fail +token /m)
  })

  it('sees a clock that is off', async () => {
    for (const [ms, verdict] of [
      [20_000, 'warn'],
      [-3_600_000, 'fail'],
    ] as const) {
      const clock = { now: () => Date.now() + ms, monotonic: () => performance.now() }
      assert.match((await writ('doctor', { clock })).out, new RegExp(`^${verdict} +clock +differs`, 'm'))
    }
  })

  it('sees a store of a newer Writ, rights of others, and a token that others can read', async () => {
    const { DatabaseSync } = await import('node:sqlite')
    const folder = join(cwd, 'old')
    mkdirSync(folder, { mode: 0o755 })
    const db = new DatabaseSync(join(folder, 'writ.db'))
    db.exec('create table writ_schema (version integer primary key, name text not null) strict')
    db.exec("insert into writ_schema values (999, 'future')")
    db.close()
    writeFileSync(join(folder, 'admin-token'), 'x'.repeat(40), { mode: 0o644 })
    const { code, out } = await writ('doctor --data old')
    assert.equal(code, 7)
    assert.match(out, /^fail +store +schema 999 is newer/m)
    assert.match(out, /^warn +data folder +others can look into/m)
    assert.match(out, /^fail +token file +others can read/m)
  })
})

describe('a server that is not there', () => {
  it('S32: is worth another try', async () => {
    const { code, err } = await writ('get tools', { env: { ...env, WRIT_URL: 'http://127.0.0.1:1' } })
    assert.equal(code, 6)
    assert.match(
      err,
      /^writ: no Writ server at http:\/\/127\.0\.0\.1:1 \(ECONNREFUSED\)\nFix: run 'writ up' or set WRIT_URL\n$/,
    )
  })

  it('S32: denies a wrong token', async () => {
    const { code, err } = await writ('call echo', { env: { ...env, WRIT_TOKEN: 'wrong-token' } })
    assert.equal(code, 4)
    assert.doesNotMatch(err, /wrong-token/)
  })
})
