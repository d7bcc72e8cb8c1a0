// From words to an exit code: help, unknown commands, and bugs.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { describe, it } from 'node:test'
import { renderCliDoc } from '../../src/cli/cli-doc.ts'
import { COMMANDS, loadCommands } from '../../src/cli/command/registry.ts'
import { dispatch } from '../../src/cli/dispatch.ts'
import { createRecordingTerminal } from './recording-terminal.ts'
import { runWrit } from './writ-process.ts'

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

describe('every command', async () => {
  const commands = await loadCommands()

  it('is listed under its own name and summary', () => {
    assert.deepEqual(
      commands.map(({ name, summary }) => [name, summary]),
      Object.entries(COMMANDS).map(([name, { summary }]) => [name, summary]),
    )
  })

  for (const spec of commands) {
    it(`explains itself: ${spec.name}`, async () => {
      const { code, out, err } = await writ([spec.name, '--help'])
      assert.equal(code, 0)
      assert.equal(err, '')
      assert.match(out, new RegExp(`^Usage: writ ${spec.name}`, 'm'))
      for (const [name, flag] of Object.entries(spec.flags)) {
        assert.match(out, new RegExp(`--${name}\\b`))
        assert.match(flag.description, /\.$/, `--${name} is described in whole sentences`)
      }
      for (const { line } of spec.examples) assert.match(line, /\bwrit\b/)
      assert.deepEqual((await writ(['help', spec.name])).out, out)
      assert.equal((await writ([spec.name, '--no-such-flag'])).code, 2)
    })

    it(`has flags that do not clash: ${spec.name}`, () => {
      const shorts = Object.values(spec.flags).flatMap(({ short }) => short ?? [])
      assert.equal(new Set(shorts).size, shorts.length)
      for (const short of shorts) assert.match(short, /^[a-gi-zA-Z]$/)
      for (const name of Object.keys(spec.flags)) assert.match(name, /^(?!help$)[a-z][a-z-]*$/)
      assert.doesNotMatch(
        Object.keys(spec.flags).join(),
        /token|secret|password/,
        'no secret goes on a command line',
      )
    })
  }

  it('is on docs/reference/cli.md as it declares itself; run node scripts/cli-doc.ts after a change', () => {
    const page = readFileSync(new URL('../../docs/reference/cli.md', import.meta.url), 'utf8')
    assert.equal(page, renderCliDoc(commands))
  })
})
