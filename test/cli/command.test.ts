// Every other command that talks to a server, against a real one.
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { parse, parseAllDocuments } from 'yaml'
import { startServerCommands } from './server-commands.ts'

const { env, cwd, writ, close } = await startServerCommands()
after(close)

const manifest = (name: string, more = '') => `apiVersion: writ.dev/v1
kind: Tool
metadata:
  name: ${name}
spec:
  endpoint: http://127.0.0.1:9/
  operation_classes: [read]
${more}`

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

  it('does not say of an open call that it had ended', async () => {
    const lost = await writ('call post --set text=lost-2 --set ms=5000 --timeout 50ms')
    const [, id] = /call: (\S+)/.exec(lost.err) ?? []
    const { code, out } = await writ(`cancel ${id}`)
    assert.equal(code, 8)
    assert.match(out, /does not run, so there is nothing to cancel; it is open: unknown/)
    const waiting = await writ('call pay --set amount=7000')
    const [, other] = /call: (\S+)/.exec(waiting.err) ?? []
    assert.doesNotMatch((await writ(`cancel ${other}`)).out, /had already ended: awaiting/)
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
    const report = (await writ('describe tool weather -o yaml')).out
    assert.equal(parse(report).tool.spec.description, 'sun')
    assert.match(report, /^# A report, not a manifest: 'writ get tools weather -o yaml'/)

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

  it('prints as YAML what apply takes, one document for each version', async () => {
    const both = ['1.0.0', '2.0.0'].map((version) => manifest('twice', `  version: ${version}\n`))
    assert.equal((await writ('apply -f -', { input: `---\n${both.join('---\n')}` })).code, 0)
    const { out } = await writ('get tools twice -o yaml')
    assert.equal(parseAllDocuments(out).length, 2)
    const again = await writ('apply -f -', { input: out })
    assert.equal(again.code, 0, again.err)
    assert.deepEqual(again.out.trimEnd().split('\n').toSorted(), [
      'Tool default/twice 1.0.0 unchanged',
      'Tool default/twice 2.0.0 unchanged',
    ])
    assert.equal(JSON.parse((await writ('get tools twice -o json')).out).length, 2)
  })

  it('tells problems in the order of the file, whichever check found them', async () => {
    const text = [
      manifest('one').replace('operation_classes: [read]', 'version: nonsense'),
      manifest('two', '  no_such_field: 1\n'),
      manifest('three').replace('operation_classes: [read]', 'version: nonsense'),
    ].join('---\n')
    writeFileSync(join(cwd, 'three.yaml'), text)
    const lines = [...(await writ('validate -f three.yaml')).err.matchAll(/^three\.yaml:(\d+):/gm)]
    const at = lines.map(([, line]) => Number(line))
    assert.ok(new Set(at).size >= 3, at.join())
    assert.deepEqual(
      at,
      at.toSorted((a, b) => a - b),
    )
    const data = JSON.parse((await writ('validate -f three.yaml -o json')).out)
    assert.deepEqual(
      data.problems.map(({ line }: { line: number }) => line),
      at,
    )
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
    assert.match(err, /^Fix: set WRIT_TOKEN to a token of the server that WRIT_URL names$/m)
    const doctor = await writ('doctor', { env: { ...env, WRIT_TOKEN: 'wrong-token' } })
    assert.match(doctor.out, /Fix: set WRIT_TOKEN to a token/)
  })
})
