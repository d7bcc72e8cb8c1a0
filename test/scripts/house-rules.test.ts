// Each rule of the house can fail, and does not fail on what only looks like a breach.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { HOUSE_RULES } from '../../scripts/house-rules.ts'
import { tokensOf } from '../../scripts/tokens.ts'

/** Lines that `name` finds fault with; -1 where the rule does not apply to the path. */
function faults(name: string, path: string, text: string): readonly number[] {
  const rule = HOUSE_RULES.find((one) => one.name === name)
  assert.ok(rule, `there is a rule '${name}'`)
  return rule.applies(path) ? rule.find({ path, text }).map((finding) => finding.line) : [-1]
}

/** Words that the rules look for, put together here so that this file does not break them. */
const marker = (...parts: string[]) => parts.join('')

describe('left-overs', () => {
  it('are found in any file, as whole words', () => {
    for (const word of [marker('TO', 'DO'), marker('FIX', 'ME'), marker('XX', 'X'), marker('HA', 'CK')]) {
      assert.deepEqual(faults('left-overs', 'docs/a.md', `fine\nnot fine: ${word}`), [2])
    }
    assert.deepEqual(faults('left-overs', 'src/a.ts', 'const XXXX = 1 // hacksaw'), [])
  })
})

describe('tests', () => {
  it('may not be narrowed or skipped without a reason', () => {
    const found = (text: string) => faults('tests', 'test/a.test.ts', text).length
    assert.equal(found(`it.${'only'}('x', () => {})`), 1)
    assert.equal(found(`describe.${'skip'}('x', () => {})`), 1)
    assert.equal(found(`test('x', { ${'only'}: true }, () => {})`), 1)
    assert.equal(found("test('x', { skip: 'no docker here; install it' }, () => {})"), 0)
    assert.equal(found("t.skip('no docker here; install it')"), 0)
    assert.equal(found("const only = 'it.only()'"), 0)
  })
})

describe('length', () => {
  it('is 500 lines at most, generated JSON aside', () => {
    assert.deepEqual(faults('length', 'src/a.ts', 'x\n'.repeat(500)), [])
    assert.deepEqual(faults('length', 'src/a.ts', 'x\n'.repeat(501)), [501])
    assert.deepEqual(faults('length', 'test/vectors/a.json', 'x\n'.repeat(501)), [-1])
  })
})

describe('the first line', () => {
  it('is a comment', () => {
    assert.deepEqual(faults('first line', 'src/a.ts', '// What it is.\nexport {}'), [])
    assert.deepEqual(faults('first line', 'src/a.ts', "import './b.ts'\n// late"), [1])
  })
})

describe('names', () => {
  it('are in kebab-case', () => {
    assert.deepEqual(faults('names', 'src/store/write-queue.ts', ''), [])
    assert.deepEqual(faults('names', 'test/store/write-queue.test.ts', ''), [])
    for (const path of ['src/writeQueue.ts', 'src/Store/a.ts', 'src/a_b.ts'])
      assert.deepEqual(faults('names', path, ''), [1])
  })
})

describe('the world', () => {
  const reads = [
    'Date.now()',
    'new Date()',
    'Math.random()',
    'process.env.HOME',
    'performance.now()',
    'setTimeout(run, 1)',
    'globalThis.setInterval(run, 1)',
    'setImmediate(run)',
    'AbortSignal.timeout(5)',
    "import { setTimeout as sleep } from 'node:timers/promises'",
  ]
  for (const text of reads) {
    it(`is not read by ${text}`, () =>
      assert.deepEqual(faults('world', 'src/pipeline/a.ts', `\n${text}`), [2]))
  }

  it('is read through node:crypto only by composition roots', () => {
    assert.equal(
      faults('world', 'src/server/a.ts', "import { randomBytes } from 'node:crypto'\nrandomBytes(4)").length,
      1,
    )
    assert.deepEqual(faults('world', 'src/util/uuid.ts', 'const pool = randomBytes(8)'), [])
  })

  it('may be spoken of, dated and scheduled through', () => {
    const text = `
      // Date.now() is not trusted
      const text = 'process.env'
      const at = new Date(stamp).toISOString()
      world.setTimeout(5)
      const half = total / 2 // Math.random()`
    assert.deepEqual(faults('world', 'src/pipeline/a.ts', text), [])
  })

  it('is made in the composition roots', () => {
    for (const path of [
      'src/util/clock.ts',
      'src/runtime.ts',
      'src/cli/main.ts',
      'src/store/sqlite/worker.ts',
    ]) {
      assert.deepEqual(faults('world', path, 'Date.now()'), [-1])
    }
    assert.deepEqual(faults('world', 'src/store/sqlite/worker-flusher.ts', 'Date.now()'), [1])
  })
})

describe('module state', () => {
  const found = (text: string) => faults('module state', 'src/a.ts', text).length

  it('is not kept in variables, collections, objects or static fields', () => {
    for (const text of [
      'let count = 0',
      'export let count = 0',
      'var count = 0',
      'const seen = new Set<string>()',
      'export const cache: Map<string, number> = new Map()',
      'const list: string[] = []',
      'const table = {}',
      'const ajv = new Ajv()',
      'class A { static count = 0 }',
      'class A { static readonly seen = new Map<string, number>() }',
    ]) {
      assert.equal(found(text), 1, text)
    }
  })

  it('is not a constant, and not what a function keeps', () => {
    for (const text of [
      'const names: ReadonlySet<string> = new Set(["a"])',
      'const rows: ReadonlyMap<string, number> = new Map([["a", 1]])',
      'const table = { a: 1 } as const',
      'const pattern = new RegExp("a")',
      'const nothing = new Uint8Array(0)',
      'function f() { let x = 0; const seen = new Set(); return { x, seen } }',
      'const f = () => { let x = 0; return x }',
      'class A { static make() { return new Map() } }',
      'class A { static readonly size = 4 }',
      'for (const x of y) { let z = x }',
      `const text = \`\${(() => { let x = 1; return x })()} let y\``,
    ]) {
      assert.equal(found(text), 0, text)
    }
  })
})

describe('machine', () => {
  it('paths and registry hosts are found, addresses and longer paths are not', () => {
    const found = (text: string, path = 'docs/a.md') => faults('machine', path, text).length
    for (const path of [
      ['', 'home', 'ann', 'x'],
      ['', 'root', 'x'],
      ['', 'Users', 'ann'],
      ['', 'work', 'x'],
    ]) {
      assert.equal(found(`see ${path.join('/')}`), 1, path.join('/'))
    }
    assert.equal(found(`https://${['registry', 'npmjs', 'org'].join('.')}/writ`), 1)
    assert.equal(found('"resolved": "https://example.com/a.tgz"', 'package-lock.json'), 1)
    assert.equal(found('https://example.com/home/ann and docs/work/x and ./root/x'), 0)
  })
})

describe('tokens', () => {
  it('know their line and how deep they are', () => {
    const tokens = tokensOf('a\n(b, `x$' + '{ c }y`)')
    assert.deepEqual(
      tokens.map(({ kind, text, line, depth }) => [kind, text, line, depth]),
      [
        ['word', 'a', 1, 0],
        ['mark', '(', 2, 0],
        ['word', 'b', 2, 1],
        ['mark', ',', 2, 1],
        ['template', '`x$' + '{', 2, 1],
        ['word', 'c', 2, 2],
        ['template', '}y`', 2, 1],
        ['mark', ')', 2, 0],
      ],
    )
  })
})
