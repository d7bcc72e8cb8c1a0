// From words to an exit code: help, unknown commands, and bugs.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { renderCliDoc } from '../../src/cli/cli-doc.ts'
import { COMMANDS, loadCommands } from '../../src/cli/command/registry.ts'
import { dispatch } from '../../src/cli/dispatch.ts'
import { createRecordingTerminal } from './recording-terminal.ts'
import { BIN, runWrit } from './writ-process.ts'

async function writ(words: readonly string[], options: Parameters<typeof createRecordingTerminal>[0] = {}) {
  const terminal = createRecordingTerminal(options)
  return { code: await dispatch(words, terminal), ...terminal.written }
}

describe('dispatch', () => {
  it('shows all commands when asked, and says so on stderr when nothing was asked', async () => {
    for (const words of [['--help'], ['-h'], ['help']]) {
      const { code, out, err } = await writ(words)
      assert.equal(code, 0)
      assert.equal(err, '')
      for (const name of Object.keys(COMMANDS)) assert.match(out, new RegExp(`^  ${name} `, 'm'))
    }
    const { code, out, err } = await writ([])
    assert.equal(code, 2)
    assert.equal(out, '')
    assert.match(err, /Usage: writ COMMAND/)
  })

  it('proposes the command that was meant', async () => {
    const { code, err } = await writ(['aplly'])
    assert.equal(code, 2)
    assert.equal(err, "writ: there is no command 'aplly'\nFix: did you mean 'writ apply'?\n")
    assert.match((await writ(['frobnicate'])).err, /writ --help/)
    assert.equal((await writ(['__proto__'])).code, 2)
    assert.equal((await writ(['help', 'nope'])).code, 2)
  })

  it('S32: knows commands of two words, and proposes the one that was meant', async () => {
    const group = await writ(['saga', '--help'])
    assert.equal(group.code, 0)
    for (const name of ['open', 'list', 'show', 'complete', 'abort'])
      assert.match(group.out, new RegExp(`^  saga ${name} `, 'm'))
    assert.deepEqual(await writ(['help', 'saga']), group)
    const alone = await writ(['saga'])
    assert.deepEqual([alone.code, alone.out, alone.err], [2, '', group.out])
    const slip = await writ(['saga', 'opne'])
    assert.equal(slip.code, 2)
    assert.match(slip.err, /does not know 'opne'\nFix: did you mean 'writ saga open'\?/)
    assert.match((await writ(['saga', 'frobnicate'])).err, /use one of open, list, show, complete, abort/)
    assert.match((await writ(['calls', 'comit', 'x'])).err, /did you mean 'writ calls commit'\?/)
    assert.match((await writ(['calls', '--help'])).out, /^ {2}calls settle +Say whether/m)
    assert.match((await writ(['sage', 'open'])).err, /did you mean 'writ saga'\?/)
  })

  it('shows the version', async () => {
    const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
    for (const word of ['version', '--version', '-V'])
      assert.ok((await writ([word])).out.startsWith(`writ ${version} `))
    assert.equal(JSON.parse((await writ(['version', '-o', 'json'])).out).writ, version)
  })

  it('exits with 70 on a bug, and says how to report it', async () => {
    const clock = {
      now: () => {
        throw new TypeError('a bug')
      },
      monotonic: () => 0,
    }
    const { code, err } = await writ(['call', 'x', '--deadline', '1s'], { clock })
    assert.equal(code, 70)
    assert.match(err, /this is a bug in writ/)
    assert.match(err, /TypeError: a bug\n +at /)
    assert.match(err, /^Fix: report it/m)
  })

  it('shows control characters of a mistyped word instead of sending them', async () => {
    assert.ok(!(await writ(['\u001b[2Jx'])).err.includes('\u001b'))
  })
})

describe('bin/writ', () => {
  it('passes the exit code on, and ends quietly when its reader leaves', async () => {
    const cwd = tmpdir()
    assert.equal((await runWrit(['nope'], { cwd })).code, 2)
    const { code, err } = await runWrit(['--help'], {
      cwd,
      shell: 'exec 3>&1; set -- sh -c \'"$@" | head -n 1 >&3\' sh "$@"',
    })
    assert.equal(code, 0)
    assert.equal(err, '')
  })
})

describe('bin/writ without a Node that is new enough', () => {
  const root = mkdtempSync(join(tmpdir(), 'writ-bin-'))
  const bin = join(root, 'package', 'bin', 'writ')
  const path = join(root, 'path')
  after(() => rmSync(root, { recursive: true }))

  /** As it would run with this Node, or none, in the PATH. */
  function run(version: string | undefined) {
    rmSync(path, { recursive: true, force: true })
    mkdirSync(path)
    for (const tool of ['dirname', 'readlink']) symlinkSync(findTool(tool), join(path, tool))
    if (version !== undefined)
      writeFileSync(join(path, 'node'), `#!/bin/sh\necho ${version}\n`, { mode: 0o755 })
    return spawnSync('/bin/sh', [bin, 'version'], { env: { PATH: path }, encoding: 'utf8' })
  }

  function findTool(name: string): string {
    const folders = (process.env.PATH ?? '').split(':')
    return folders.map((folder) => join(folder, name)).find((file) => existsSync(file)) ?? `/usr/bin/${name}`
  }

  before(() => {
    mkdirSync(join(root, 'package', 'bin'), { recursive: true })
    copyFileSync(BIN, bin)
  })

  it('is a start that failed, and says what helps a package', () => {
    for (const [version, what] of [
      ['20', /^writ: Node 20 is too old/],
      [undefined, /^writ: no Node found/],
    ] as const) {
      const { status, stderr } = run(version)
      assert.equal(status, 1, stderr)
      assert.match(stderr, what)
      assert.match(stderr, /install Node 24 or later, or add one beside writ with 'npm install node@24'/)
      assert.doesNotMatch(stderr, /npm ci/)
    }
  })

  it('says what helps a checkout', () => {
    writeFileSync(join(root, 'package', 'package-lock.json'), '{}')
    const { status, stderr } = run('20')
    assert.equal(status, 1)
    assert.match(stderr, /run 'npm ci' in /)
  })
})

describe('every command', async () => {
  const commands = await loadCommands()

  it('is listed under its own name and summary', () => {
    assert.deepEqual(
      commands.map(({ name, summary }) => [name, summary]),
      Object.entries(COMMANDS).map(([name, { summary }]) => [name, summary]),
    )
  })

  for (const spec of commands) {
    const words = spec.name.split(' ')

    it(`explains itself: ${spec.name}`, async () => {
      const { code, out, err } = await writ([...words, '--help'])
      assert.equal(code, 0)
      assert.equal(err, '')
      assert.match(out, new RegExp(`^Usage: writ ${spec.name}`, 'm'))
      for (const [name, flag] of Object.entries(spec.flags)) {
        assert.match(out, new RegExp(`--${name}\\b`))
        assert.match(flag.description, /\.$/, `--${name} is described in whole sentences`)
      }
      for (const { line } of spec.examples) assert.match(line, /\bwrit\b/)
      assert.deepEqual((await writ(['help', ...words])).out, out)
      assert.equal((await writ([...words, '--no-such-flag'])).code, 2)
    })

    it(`has flags that do not clash: ${spec.name}`, () => {
      const shorts = Object.values(spec.flags).flatMap(({ short }) => short ?? [])
      assert.equal(new Set(shorts).size, shorts.length)
      for (const short of shorts) assert.match(short, /^[a-gi-zA-Z]$/)
      for (const name of Object.keys(spec.flags)) assert.match(name, /^(?!help$)[a-z][a-z-]*$/)
      // A commit token is good once and for its own caller, and can be given on standard input.
      const flags = Object.keys(spec.flags).filter(
        (name) => !(spec.name === 'calls commit' && name === 'token'),
      )
      // Names of files, and a name, are no secrets.
      const harmless = ['token-keys', 'token-audience', 'secret-providers']
      const names = flags.filter((flag) => !harmless.includes(flag))
      assert.doesNotMatch(names.join(), /token|secret|password/, 'no secret goes on a command line')
    })
  }

  it('has rows in the reference page that a pipe does not tear', () => {
    const rows = renderCliDoc(commands)
      .split('\n')
      .filter((line) => line.startsWith('|'))
    assert.ok(rows.length > 50)
    for (const row of rows) assert.equal(row.split(/(?<!\\)\|/).length, 4, row)
  })

  it('is on docs/reference/cli.md as it declares itself; run npx node scripts/cli-doc.ts after a change', () => {
    const page = readFileSync(new URL('../../docs/reference/cli.md', import.meta.url), 'utf8')
    assert.equal(page, renderCliDoc(commands))
  })
})
