// The input of a call: where it comes from and what is refused.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { CliError } from '../../src/cli/cli-error.ts'
import { type InputFlags, readInput } from '../../src/cli/read-input.ts'
import { createRecordingTerminal } from './recording-terminal.ts'

const folder = mkdtempSync(join(tmpdir(), 'writ-input-'))
after(() => rmSync(folder, { recursive: true }))

function read(
  flags: Partial<InputFlags>,
  options: { readonly dash?: boolean; readonly input?: string } = {},
) {
  const terminal = createRecordingTerminal({
    cwd: folder,
    ...(options.input === undefined ? {} : { input: options.input }),
  })
  return readInput(
    terminal,
    { input: undefined, 'input-file': undefined, set: [], ...flags },
    options.dash ?? false,
  )
}

describe('readInput', () => {
  it('gives no input at all when none is given', async () => {
    assert.equal(await read({}), undefined)
  })

  it('reads JSON text, a file, and standard input', async () => {
    writeFileSync(join(folder, 'in.json'), '{"a": [1]}')
    assert.deepEqual(await read({ input: '{"a": 1}' }), { a: 1 })
    assert.deepEqual(await read({ 'input-file': 'in.json' }), { a: [1] })
    assert.deepEqual(await read({}, { dash: true, input: '"x"' }), 'x')
    assert.deepEqual(await read({ input: '-' }, { input: '2' }), 2)
    assert.deepEqual(await read({ 'input-file': '-' }, { input: 'null' }), null)
  })

  it('sets fields over the rest: JSON where it is JSON, text where it is not', async () => {
    assert.deepEqual(
      await read({
        input: '{"a": {"b": 1, "c": 2}}',
        set: ['a.b=3', 'x=Oslo', 'y=007', 'z="5"', 'e=', 'w.v=[1]'],
      }),
      {
        a: { b: 3, c: 2 },
        x: 'Oslo',
        y: '007',
        z: '5',
        e: '',
        w: { v: [1] },
      },
    )
    assert.deepEqual(await read({ set: ['a\\.b=1', 'q=a=b'] }), { 'a.b': 1, q: 'a=b' })
  })

  it('never reaches a prototype', async () => {
    for (const key of ['__proto__.x', 'constructor.prototype.x', 'a.__proto__', 'a.']) {
      await assert.rejects(read({ set: [`${key}=1`] }), CliError)
    }
    assert.equal(({} as Record<string, unknown>).x, undefined)
  })

  it('S3: says where JSON breaks a rule, and exits as invalid', async () => {
    for (const [input, where] of [
      ['{"a": 9007199254740993}', /\/a/],
      ['{"a": 1, "a": 2}', /\/a/],
      ['{"__proto__": 1}', /__proto__/],
      ['{"a": ', /--input/],
      ['['.repeat(200) + ']'.repeat(200), /level|deep|nest/i],
    ] as const) {
      await assert.rejects(read({ input }), (error: CliError) => {
        assert.equal(error.exit, 3)
        assert.match(error.lines.join('\n'), where)
        return true
      })
    }
    await assert.rejects(read({ set: ['a=9007199254740993'] }), { exit: 3 })
  })

  it('refuses two sources, fields on what is no object, and files that are not there', async () => {
    await assert.rejects(read({ input: '1', 'input-file': 'in.json' }), { exit: 2, message: /twice/ })
    await assert.rejects(read({ input: '1' }, { dash: true }), { exit: 2, message: /twice/ })
    await assert.rejects(read({ input: '[1]', set: ['a=1'] }), { exit: 2, message: /object/ })
    await assert.rejects(read({ input: '{"a": 1}', set: ['a.b=1'] }), { exit: 2, message: /not an object/ })
    await assert.rejects(read({ set: ['=1'] }), { exit: 2, message: /KEY=VALUE/ })
    await assert.rejects(read({ 'input-file': 'none.json' }), { exit: 2, message: /none\.json/ })
    await assert.rejects(read({ 'input-file': '.' }), { exit: 2 })
  })
})
