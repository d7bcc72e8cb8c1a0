// Completion scripts, run by the shells that are here.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { COMMANDS, loadCommands } from '../../src/cli/command/registry.ts'
import { renderCompletion, SHELLS } from '../../src/cli/completion-script.ts'

const commands = await loadCommands()

function complete(words: readonly string[]): string[] {
  const script = `${renderCompletion('bash', commands)}
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_writ
printf '%s\\n' "\${COMPREPLY[@]}"`
  const { stdout, stderr, status } = spawnSync('bash', ['-c', script, 'bash', ...words], { encoding: 'utf8' })
  assert.equal(status, 0, stderr)
  assert.equal(stderr, '')
  return stdout.split('\n').filter((word) => word !== '')
}

describe('completion', () => {
  it('names every command and flag in every shell', () => {
    for (const shell of SHELLS) {
      const script = renderCompletion(shell, commands)
      for (const { name, flags } of commands) {
        for (const word of name.split(' ')) assert.ok(script.includes(word), `${shell}: ${name}`)
        for (const flag of Object.keys(flags)) {
          assert.ok(script.includes(shell === 'fish' ? `-l ${flag}` : `--${flag}`), `${shell}: ${flag}`)
        }
      }
    }
  })

  it('is a script that the shell can read', (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'writ-completion-'))
    t.after(() => rmSync(folder, { recursive: true }))
    for (const shell of SHELLS) {
      const file = join(folder, shell)
      writeFileSync(file, renderCompletion(shell, commands))
      const { error, status, stderr } = spawnSync(shell, ['-n', file], { encoding: 'utf8' })
      if (error) t.diagnostic(`${shell} is not installed; its script was not read. Fix: install ${shell}`)
      else assert.equal(status, 0, `${shell}: ${stderr}`)
    }
  })

  it('bash: completes commands, flags, values and literal arguments', () => {
    assert.deepEqual(complete(['writ', 'appl']), ['apply'])
    const first = complete(['writ', ''])
    for (const name of Object.keys(COMMANDS)) assert.ok(first.includes(name.split(' ')[0] ?? ''), name)
    assert.deepEqual(complete(['writ', 'call', 'weather', '--dia']), ['--dialect'])
    assert.deepEqual(complete(['writ', 'call', 'weather', '--dialect', '']), ['v1', 'legacy', 'four-outcome'])
    assert.deepEqual(complete(['writ', 'get', 'tools', '-o', 'y']), ['yaml'])
    assert.deepEqual(complete(['writ', 'explain', 'ca']), ['call'])
    assert.deepEqual(complete(['writ', 'describe', '-o', 'json', 't']), ['tools'])
    assert.deepEqual(complete(['writ', 'up', '--profile', 'p']), ['production'])
    assert.deepEqual(complete(['writ', 'help', 'val']), ['validate'])
    assert.deepEqual(complete(['writ', 'freeze', 'ca']), ['caller'])
    assert.deepEqual(complete(['writ', 'policy', 'test', `${process.cwd()}/packag`]).sort(), [
      `${process.cwd()}/package-lock.json`,
      `${process.cwd()}/package.json`,
    ])
  })

  it('bash: completes the second word of a command, and then what that command takes', () => {
    assert.deepEqual(complete(['writ', 'saga', '']), ['open', 'list', 'show', 'complete', 'abort'])
    assert.deepEqual(complete(['writ', 'calls', 'comm']), ['commit'])
    assert.ok(complete(['writ', 'calls', '']).includes('--state'))
    assert.deepEqual(complete(['writ', 'calls', 'settle', 'some-id', '--as', '']), [
      'done',
      'not-done',
      'undone',
    ])
    assert.ok(!complete(['writ', 'calls', 'settle', 'some-id', '']).includes('--cursor'))
    assert.deepEqual(complete(['writ', 'calls', 'some-id', '--wa']), ['--wait'])
    assert.deepEqual(complete(['writ', 'saga', 'open', 'ab']), [])
  })

  it('fish: completes the second word of a command, and then what that command takes', (t) => {
    const [, , fish] = SHELLS
    const ask = (line: string): string[] => {
      const script = `${renderCompletion(fish, commands)}\ncomplete -C '${line}'`
      const { stdout, error } = spawnSync(fish, ['--no-config', '-c', script], { encoding: 'utf8' })
      if (error) t.skip('fish is not installed. Fix: install fish')
      return (stdout ?? '').split('\n').map((word) => word.split('\t')[0] ?? '')
    }
    const sagas = ask('writ saga ')
    if (sagas.join('') === '') return
    assert.deepEqual(sagas.filter((word) => word !== '').toSorted(), [
      'abort',
      'complete',
      'list',
      'open',
      'show',
    ])
    assert.ok(ask('writ calls settle x --').includes('--reason'))
    assert.ok(!ask('writ calls settle x --').includes('--cursor'))
    assert.ok(ask('writ calls --').includes('--cursor'))
  })

  it('bash: offers nothing where only the user knows', () => {
    assert.deepEqual(complete(['writ', 'call', 'x', '--key', '']), [])
    assert.deepEqual(complete(['writ', 'nonsense', '']), [])
    assert.deepEqual(complete(['writ', 'describe', 'tool', 't']), [])
    assert.deepEqual(complete(['writ', 'get', '--data', 'x', 'tools', 'tool']), [])
    assert.ok(!complete(['writ', 'describe', 'tool', '']).includes('tool'))
    assert.ok(complete(['writ', 'describe', 'tool', '']).includes('--version'))
  })
})
