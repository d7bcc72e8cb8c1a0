// How results look, and what never reaches a terminal.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parse } from 'yaml'
import { clean, printResult, renderAge, renderFields, renderTable, styleOf } from '../../src/cli/print.ts'
import { createRecordingTerminal } from './recording-terminal.ts'

const columns = [
  { title: 'NAME', value: (row: { name: string; text: string }) => row.name },
  { title: 'TEXT', value: (row: { name: string; text: string }) => row.text },
]
const plain = styleOf(createRecordingTerminal())

describe('tables', () => {
  it('line up, without spaces at the end of a line', () => {
    const rows = [
      { name: 'a', text: 'one' },
      { name: 'longer', text: '' },
    ]
    assert.equal(renderTable(rows, columns, plain, 'None.'), 'NAME    TEXT\na       one\nlonger\n')
  })

  it('say so when there is nothing', () => {
    assert.equal(renderTable([], columns, plain, 'None.'), 'None.\n')
  })

  it('keep one row on one line', () => {
    assert.doesNotMatch(renderTable([{ name: 'a\nb', text: 'c' }], columns, plain, ''), /a\nb/)
  })
})

describe('fields', () => {
  it('line up, indent later lines and leave out what is not known', () => {
    assert.equal(
      renderFields([
        ['A', 'x'],
        ['Longer', 'y\nz'],
        ['Missing', undefined],
      ]),
      'A:       x\nLonger:  y\n         z\n',
    )
  })
})

describe('text from elsewhere', () => {
  it('cannot move the cursor, change colours or turn the writing direction', () => {
    const nasty = 'a\u001b[31mred\u0007\r\u009b2J\u202eback\u0000'
    const shown = clean(nasty)
    assert.doesNotMatch(shown, /[\p{Cc}\u202e]/u)
    assert.match(shown, /\\u001b\[31mred/)
    assert.equal(clean('two\nlines\tand umlauts äöü 漢字'), 'two\nlines\tand umlauts äöü 漢字')
  })
})

describe('data', () => {
  const value = { a: [1, { b: 'x: y' }], c: null }

  it('is JSON or YAML that reads back the same', async () => {
    for (const [format, read] of [
      ['json', JSON.parse],
      ['yaml', parse],
    ] as const) {
      const terminal = createRecordingTerminal()
      await printResult(terminal, format, value, () => assert.fail('no table was asked for'))
      assert.deepEqual((read as (text: string) => unknown)(terminal.written.out), value)
      assert.equal(terminal.written.err, '')
    }
  })
})

describe('colour', () => {
  const bold = (options: Parameters<typeof createRecordingTerminal>[0]) =>
    styleOf(createRecordingTerminal(options)).bold('x')

  it('is for a terminal only, and never with NO_COLOR', () => {
    assert.equal(bold({ outIsTty: true }), '\u001b[1mx\u001b[0m')
    assert.equal(bold({ outIsTty: false }), 'x')
    assert.equal(bold({ outIsTty: true, env: { NO_COLOR: '1' } }), 'x')
    assert.equal(bold({ outIsTty: true, env: { TERM: 'dumb' } }), 'x')
  })
})

describe('ages', () => {
  it('are in the largest unit that fits, and never negative', () => {
    assert.deepEqual([-5, 90_000, 600_000, 10_000_000, 900_000_000].map(renderAge), [
      '0s',
      '90s',
      '10m',
      '2h',
      '10d',
    ])
  })
})
