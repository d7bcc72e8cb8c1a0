// The merge of coverage is a union over processes: what one of them ran is covered, whatever the others did.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { pathToFileURL } from 'node:url'
import { type Counts, readLcov } from '../../scripts/coverage.ts'
import { codeLines, eraseTypes, type Merged, mergeCoverage } from '../../scripts/merge-coverage.ts'
import { ROOT } from '../../scripts/repo-files.ts'

const SOURCE = `// Says which.
interface Named {
  readonly name: string
}

export function pick(a: boolean): string {
  if (a) {
    return 'a'
  } else {
    return 'b'
  }
}
export function idle(): number {
  const one = 1
  return one
}
`
/** Where `from` begins and `to` ends, and how often that ran. */
const range = (count: number, from: string, to: string) => {
  const startOffset = SOURCE.indexOf(from)
  return { startOffset, endOffset: SOURCE.indexOf(to, startOffset) + to.length, count }
}
const whole = { ranges: [{ startOffset: 0, endOffset: SOURCE.length, count: 1 }] }
const idle = (count: number) => ({ ranges: [range(count, 'function idle', 'one\n}')] })
const pick = (a: number, b: number) => ({
  ranges: [
    range(a + b, 'function pick', "'b'\n  }\n}"),
    ...(a + b === 0 ? [] : [range(a, "{\n    return 'a", '}'), range(b, "{\n    return 'b", '}')]),
  ],
})

const folders: string[] = []
function scratch(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'writ-merge-')))
  folders.push(folder)
  mkdirSync(join(folder, 'src', 'util'), { recursive: true })
  mkdirSync(join(folder, 'raw'))
  return folder
}
after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

/** Merges what processes said about src/util/a.ts; each element is the functions of one process, or the text of its file. */
function merge(
  ...processes: readonly (string | readonly object[])[]
): Merged & { readonly counts: Counts | undefined } {
  const root = scratch()
  const file = join(root, 'src', 'util', 'a.ts')
  writeFileSync(file, SOURCE)
  for (const [at, said] of processes.entries()) {
    const text =
      typeof said === 'string'
        ? said
        : JSON.stringify({
            result: [
              { scriptId: '1', url: 'node:internal/x', functions: [whole] },
              { scriptId: '2', url: pathToFileURL(file).href, functions: said },
              { scriptId: '3', url: pathToFileURL(join(root, 'test', 'a.ts')).href, functions: [whole] },
            ],
            timestamp: 1,
          })
    writeFileSync(join(root, 'raw', `coverage-${at}.json`), text)
  }
  const merged = mergeCoverage(join(root, 'raw'), root)
  return { ...merged, counts: readLcov(merged.lcov).get('src/util/a.ts') }
}
const hit = (lcov: string, line: number): string | undefined =>
  new RegExp(`^DA:${line},(\\d+)$`, 'm').exec(lcov)?.[1]

describe('merged coverage', () => {
  it('is full where one process ran one branch and another the other', () => {
    const merged = merge([whole, pick(1, 0), idle(1)], [whole, pick(0, 2), idle(0)])
    assert.deepEqual(merged.counts, { lines: 11, linesHit: 11, branches: 2, branchesHit: 2 })
    assert.equal(merged.processes, 2)
  })

  it('is not full for one of them alone', () => {
    const { counts, lcov } = merge([whole, pick(1, 0), idle(1)])
    assert.deepEqual(counts, { lines: 11, linesHit: 9, branches: 2, branchesHit: 1 })
    assert.equal(hit(lcov, 8), '1')
    assert.equal(hit(lcov, 10), '0')
  })

  it('loses nothing to processes that load a file without running it', () => {
    const ran = [whole, pick(1, 1), idle(1)]
    const loaded = [whole, pick(0, 0), idle(0)]
    for (const order of [
      [ran, loaded, loaded],
      [loaded, loaded, ran],
    ]) {
      assert.deepEqual(merge(...order).counts, { lines: 11, linesHit: 11, branches: 2, branchesHit: 2 })
    }
  })

  it('takes the innermost of nested ranges, in whatever order they come', () => {
    const inner = range(0, "return 'a'", "'a'")
    const functions = [{ ranges: [inner] }, ...[pick(1, 1), whole, idle(1)]]
    // The first function of a script is the whole of it: V8 gives it first.
    const { lcov } = merge([whole, ...functions])
    assert.equal(hit(lcov, 8), '0')
    assert.equal(hit(lcov, 7), '1')
    assert.equal(hit(lcov, 9), '1')
  })

  it('has the lines of a function that nobody calls as not covered, but for that where it begins', () => {
    const { lcov, counts } = merge([whole, pick(1, 1), idle(0)], [whole, pick(0, 0), idle(0)])
    assert.deepEqual(
      [13, 14, 15, 16].map((line) => hit(lcov, line)),
      ['1', '0', '0', '0'],
    )
    assert.deepEqual(counts, { lines: 11, linesHit: 8, branches: 2, branchesHit: 2 })
  })

  it('has no line for blanks, comments and types', () => {
    assert.deepEqual(
      codeLines(SOURCE).map(({ line }) => line),
      [6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16],
    )
    const text = [
      'import type { A } from "./a.ts" // erased',
      'const url = "http://x" // a comment',
      'const t = `',
      '  // text of a template',
      '',
      '$' + '{url}`',
      '/* a long',
      '   one */ const re = /[/]\\/*/',
      'type B =',
      '  | A',
    ].join('\n')
    assert.deepEqual(
      codeLines(text).map(({ line, code }) => `${line} ${code.map((at) => text[at]).join('')}`),
      ['2 consturl="http://x"', '3 constt=`', '4 //textofatemplate', '6 $' + '{url}`', '8 constre=/[/]\\/*/'],
    )
  })

  it('leaves out files cut short by a kill, and says how many', () => {
    const merged = merge([whole, pick(1, 1), idle(1)], '{"result":[{"scriptId":"1","url":"file', '')
    assert.equal(merged.torn, 2)
    assert.equal(merged.processes, 1)
    assert.equal(merged.counts?.linesHit, 11)
  })

  it('leaves out what is said about another text than the source, and names the source', () => {
    const other = { ranges: [{ startOffset: 0, endOffset: SOURCE.length - 5, count: 1 }] }
    const merged = merge([other, pick(1, 1), idle(1)], [whole, pick(0, 0), idle(0)])
    assert.deepEqual(merged.changed, ['src/util/a.ts'])
    assert.equal(merged.counts?.linesHit, 2)
  })

  it('reads what Node writes, at the offsets of the source, and nothing of a killed process', async () => {
    const root = scratch()
    // What is erased is wider than one byte per character, and must not move what is behind it.
    writeFileSync(
      join(root, 'src', 'util', 'a.ts'),
      SOURCE.replace('readonly name: string', "readonly name: 'é→😀'"),
    )
    const start = (name: string, code: string): ChildProcess => {
      const main = join(root, `${name}.ts`)
      writeFileSync(main, `import { idle, pick } from './src/util/a.ts'\n${code}\n`)
      const env = { ...process.env, NODE_V8_COVERAGE: join(root, 'raw') }
      return spawn(process.execPath, [main], { env, stdio: ['ignore', 'pipe', 'inherit'] })
    }
    assert.deepEqual(await once(start('one', 'pick(true)'), 'exit'), [0, null])
    assert.deepEqual(await once(start('two', 'pick(false)'), 'exit'), [0, null])
    const killed = start('three', 'console.log(idle()); setInterval(() => {}, 1000)')
    assert.ok(killed.stdout)
    await once(killed.stdout, 'data')
    killed.kill('SIGKILL')
    assert.deepEqual(await once(killed, 'exit'), [null, 'SIGKILL'])

    const merged = mergeCoverage(join(root, 'raw'), root)
    assert.deepEqual([merged.processes, merged.torn, merged.changed], [2, 0, []])
    assert.deepEqual(
      [7, 8, 9, 10, 13, 14, 15].map((line) => hit(merged.lcov, line)),
      ['1', '1', '1', '1', '1', '0', '0'],
    )
    const counts = readLcov(merged.lcov).get('src/util/a.ts')
    assert.equal(counts?.branchesHit, counts?.branches)
    assert.ok((counts?.branches ?? 0) >= 2, 'V8 tells the two branches apart')
  })

  it('rests on sources that keep their offsets when their types are erased', () => {
    for (const path of globSync('src/**/*.ts', { cwd: ROOT })) {
      const text = readFileSync(join(ROOT, path), 'utf8')
      const lines = text.split('\n')
      const erased = eraseTypes(text)
      assert.equal(erased.length, text.length, path)
      // A semicolon may stand where a type was, so that two statements do not become one.
      const moved = erased.split('\n').findIndex((line, at) => {
        const written = lines[at] ?? ''
        return [...line.matchAll(/[^\s;]+/g)].some(({ 0: code, index }) => !written.startsWith(code, index))
      })
      assert.equal(moved, -1, `${path}:${moved + 1}`)
    }
  })
})
