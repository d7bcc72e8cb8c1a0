// Command lines: what is understood, and what is said about the rest.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { CliError } from '../../src/cli/cli-error.ts'
import type { CommandSpec } from '../../src/cli/command.ts'
import { parseCommandLine } from '../../src/cli/parse-command-line.ts'

const spec: CommandSpec = {
  name: 'demo',
  summary: 'Show how flags are read',
  args: [
    { name: 'what', description: 'What.', values: ['tool', 'call'] },
    { name: 'name', description: 'Which.', optional: true },
  ],
  flags: {
    output: { type: 'string', short: 'o', values: ['table', 'json'], default: 'table', description: '' },
    limit: { type: 'integer', default: 20, description: '' },
    wait: { type: 'duration', description: '' },
    set: { type: 'string', multiple: true, description: '' },
    raw: { type: 'boolean', description: '' },
  },
  examples: [],
}

function refusal(...words: string[]): CliError {
  try {
    parseCommandLine(spec, words)
  } catch (error) {
    assert.ok(error instanceof CliError)
    assert.equal(error.exit, 2)
    assert.ok(error.fix, 'a refusal says what to do')
    return error
  }
  return assert.fail(`${words.join(' ')} was accepted`)
}

describe('parseCommandLine', () => {
  it('gives defaults, and nothing for what has none', () => {
    assert.deepEqual(parseCommandLine(spec, ['tool']), {
      help: false,
      args: { what: 'tool', name: undefined },
      flags: { output: 'table', limit: 20, wait: undefined, set: [], raw: false },
    })
  })

  it('reads short flags, inline values, repeats, numbers and durations', () => {
    const { flags, args } = parseCommandLine(spec, [
      '-o',
      'json',
      '--limit=5',
      '--wait',
      '1m30s',
      '--set',
      'a=1',
      'call',
      'x',
      '--set=b=-2',
      '--raw',
    ])
    assert.deepEqual(flags, { output: 'json', limit: 5, wait: 90_000, set: ['a=1', 'b=-2'], raw: true })
    assert.deepEqual(args, { what: 'call', name: 'x' })
  })

  it('takes a lone dash and what follows -- as arguments', () => {
    assert.equal(parseCommandLine(spec, ['tool', '-']).args.name, '-')
    assert.equal(parseCommandLine(spec, ['tool', '--', '--raw']).args.name, '--raw')
  })

  it('an argument that repeats takes all that are left, and at least one', () => {
    const many = { ...spec, args: [{ name: 'file', description: 'Files.', repeats: true }] } as const
    assert.deepEqual(parseCommandLine(many, ['a', '--raw', 'b']).args, { file: ['a', 'b'] })
    assert.throws(() => parseCommandLine(many, []), /needs FILE\.\.\./)
  })

  it('asks for nothing when help is wanted', () => {
    assert.equal(parseCommandLine(spec, ['--help']).help, true)
    assert.equal(parseCommandLine(spec, ['-h']).help, true)
  })

  it('proposes the flag that was meant', () => {
    assert.match(refusal('tool', '--outptu', 'json').fix ?? '', /did you mean --output\?/)
    assert.match(refusal('tool', '--entirely-other').fix ?? '', /--help/)
    assert.match(refusal('tool', '-x').message, /-x/)
  })

  it('proposes the value that was meant', () => {
    assert.match(refusal('tool', '-o', 'jsn').fix ?? '', /'json'/)
    assert.match(refusal('tol').fix ?? '', /'tool'/)
  })

  it('does not take the next flag for a forgotten value', () => {
    assert.match(refusal('tool', '--set', '--raw').message, /--set needs a value/)
    assert.match(refusal('tool', '--set').message, /needs a value/)
    assert.match(refusal('tool', '--set=').message, /needs a value/)
    assert.deepEqual(parseCommandLine(spec, ['tool', '--set=-x']).flags.set, ['-x'])
  })

  it('refuses values of the wrong kind, doubles, extras and what is missing', () => {
    assert.match(refusal('tool', '--limit', '1.5').message, /whole number/)
    assert.match(refusal('tool', '--limit=-1').message, /whole number/)
    assert.match(refusal('tool', '--limit', 'NaN').message, /whole number/)
    assert.match(refusal('tool', '--wait', '5').message, /no duration/)
    assert.match(refusal('tool', '--wait=-5s').message, /no duration/)
    assert.match(refusal('tool', '--raw=yes').message, /takes no value/)
    assert.match(refusal('tool', '--limit', '1', '--limit', '2').message, /twice/)
    assert.match(refusal('tool', 'a', 'b').message, /does not take 'b'/)
    assert.match(refusal().message, /needs tool\|call/)
  })

  it('never takes a name of Object.prototype for a flag', () => {
    for (const name of ['constructor', '__proto__', 'toString', 'hasOwnProperty']) {
      assert.match(refusal('tool', `--${name}`).message, /has no flag/)
    }
  })

  it('answers any words with values or a refusal, never with anything else', () => {
    const word = fc.oneof(
      fc.string(),
      fc.constantFrom('--output', '-o', '--', '-', '--limit=1', 'tool', '--set', '-oraw', '--no-raw'),
    )
    fc.assert(
      fc.property(fc.array(word, { maxLength: 6 }), (words) => {
        try {
          parseCommandLine(spec, words)
        } catch (error) {
          assert.ok(error instanceof CliError, String(error))
        }
      }),
      { numRuns: 500 },
    )
  })
})
