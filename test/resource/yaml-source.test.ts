import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MAX_FILE_BYTES } from '../../src/resource/source-text.ts'
import { toJson } from '../../src/resource/source-tree.ts'
import { readYaml } from '../../src/resource/yaml-source.ts'

/** `line:column path message` */
function problems(source: string | Uint8Array): string[] {
  return readYaml(source).problems.map(({ at, path, message }) =>
    `${at.line}:${at.column} ${path.join('/')} ${message}`.replace('  ', ' '),
  )
}

function values(source: string): unknown[] {
  const read = readYaml(source)
  assert.deepEqual(read.problems, [])
  return read.documents.map(toJson)
}

test('many documents are read, empty ones between them are not', () => {
  assert.deepEqual(values('a: 1\n---\n---\n# nothing\n---\nb: [x, y]\n'), [{ a: 1 }, { b: ['x', 'y'] }])
})

test('JSON is read too, also when it is indented with tabs', () => {
  assert.deepEqual(values('{\n\t"a": [1, true, null],\n\t"b": {"c": "d"}\n}\n'), [
    { a: [1, true, null], b: { c: 'd' } },
  ])
})

test('YAML 1.2: yes, no, on and dates are text', () => {
  assert.deepEqual(values('a: yes\nb: no\nc: on\nd: 2026-01-01\ne: 0x10\n'), [
    { a: 'yes', b: 'no', c: 'on', d: '2026-01-01', e: 16 },
  ])
  assert.deepEqual(values('%YAML 1.1\n---\na: yes\n'), [{ a: 'yes' }])
})

test('anchors and aliases are read by value', () => {
  assert.deepEqual(values('a: &x {n: 1}\nb: *x\nc: [*x]\n'), [{ a: { n: 1 }, b: { n: 1 }, c: [{ n: 1 }] }])
})

test('every duplicate key is found, at the second key, with the line of the first', () => {
  assert.deepEqual(problems('a: 1\nb:\n  c: 1\n  d: 2\n  c: 3\na: 2\n'), [
    '5:3 b/c is given twice, first in line 3',
    '6:1 a is given twice, first in line 1',
  ])
  assert.deepEqual(problems('{"a": 1, "a": 2}'), ['1:10 a is given twice, first in line 1'])
})

test('ten thousand keys are checked for duplicates in no more than linear time', () => {
  const text = Array.from({ length: 10_000 }, (_, index) => `k${index}: 1\n`).join('')
  const started = performance.now()
  assert.equal(Object.keys(values(text)[0] as object).length, 10_000)
  assert.ok(performance.now() - started < 5_000)
})

test('tabs as indentation and entries out of line are placed exactly', () => {
  assert.deepEqual(problems('a:\n\tb: 1\n'), ['2:1 tabs are not allowed as indentation'])
  assert.deepEqual(problems('a:\n  - b\n c: 1\n'), ['3:1 all mapping items must start at the same column'])
})

test('what is opened must be closed', () => {
  assert.deepEqual(problems('a: [1, 2'), [
    '1:9 flow sequence in block collection must be sufficiently indented and end with a ]',
  ])
})

test('a document that cannot be parsed does not hide the others', () => {
  const read = readYaml('a: 1\n---\nb:\n\tc: 1\n---\nd: 1\n')
  assert.deepEqual(read.documents.map(toJson), [{ a: 1 }, { d: 1 }])
  assert.equal(read.problems[0]?.at.line, 4)
})

test('bytes that are not UTF-8 are refused where they begin', () => {
  const bytes = Buffer.concat([Buffer.from('a: é\nbc: '), Buffer.from([0xff, 0xfe]), Buffer.from('\n')])
  assert.deepEqual(problems(bytes), ['2:5 is not UTF-8'])
  assert.deepEqual(problems(Buffer.from([0x61, 0x3a, 0x20, 0xe2, 0x82])), ['1:4 is not UTF-8'])
  assert.deepEqual(readYaml(Buffer.from('\uFEFFa: 1\n')).documents.map(toJson), [{ a: 1 }])
})

test('a file over 1 MiB is refused without being parsed', () => {
  const big = `a: ${'x'.repeat(MAX_FILE_BYTES)}`
  assert.match(problems(big)[0] ?? '', /^1:1 is 1048579 bytes long; at most 1048576 are read$/)
  assert.match(problems(Buffer.from(big))[0] ?? '', /bytes long/)
})

test('a hostile file of a million tokens is refused in bounded time', () => {
  const started = performance.now()
  for (const unit of ['[', '}', '"', '- ', '? ', '{a: ', '---\n', '&a ', '!a ', '%a\n']) {
    assert.match(
      problems(unit.repeat(Math.floor(MAX_FILE_BYTES / unit.length)))[0] ?? '',
      /more than|deeper than/,
    )
  }
  assert.ok(performance.now() - started < 30_000)
})

test('a bomb of aliases is refused in bounded memory', () => {
  const bomb = ['a: &a [x, x, x, x, x, x, x, x, x]']
  for (const [from, to] of ['ab', 'bc', 'cd', 'de', 'ef', 'fg', 'gh'].map((pair) => pair.split(''))) {
    bomb.push(`${to}: &${to} [${Array.from({ length: 9 }, () => `*${from}`).join(', ')}]`)
  }
  assert.match(problems(bomb.join('\n')).join('\n'), /more than (?:100 YAML aliases|50000 values)/)
})

test('an anchor that contains itself, and an alias without anchor, are refused', () => {
  assert.deepEqual(problems('a: &x\n  b: *x\n'), ["2:6 a/b/b contains itself through the anchor 'x'"])
  assert.deepEqual(problems('a: *nope\n'), ['1:4 a refers to an anchor that is not defined before it'])
})

test('names that reach into prototypes are refused at any depth', () => {
  assert.deepEqual(problems('a:\n  __proto__: {b: 1}\nconstructor: 1\nprototype: 2\n'), [
    '2:3 a/__proto__ is a reserved name',
    '3:1 constructor is a reserved name',
    '4:1 prototype is a reserved name',
  ])
  assert.equal(({} as { b?: number }).b, undefined)
})

test('merge keys, tags and keys that are no names are refused', () => {
  assert.deepEqual(problems('a: &x {b: 1}\nc:\n  <<: *x\n'), ['3:3 c merge keys (<<) are not read'])
  assert.match(problems('a: !!binary aGk=\n')[0] ?? '', /^1:4 unresolved tag/)
  assert.match(problems('? [a]\n: 1\n')[0] ?? '', /^1:3 .*keys must be strings/)
  assert.deepEqual(values('1: one\ntrue: two\n'), [{ 1: 'one', true: 'two' }])
})

test('S3: numbers that cannot be kept exactly are refused with their path', () => {
  assert.deepEqual(problems('a: 9007199254740993\nb: [.nan, -.inf, 1e400]\nc: 0.12345678901234567890123\n'), [
    '1:4 a is a number that cannot be kept exactly',
    '2:5 b/0 is a number that cannot be kept exactly',
    '2:11 b/1 is a number that cannot be kept exactly',
    '2:18 b/2 is a number that cannot be kept exactly',
    '3:4 c is a number that cannot be kept exactly',
  ])
  assert.deepEqual(values('[9007199254740991, 0.1, 1.50, 1e3, -0, +7, 0o17, .5]'), [
    [9007199254740991, 0.1, 1.5, 1000, 0, 7, 15, 0.5],
  ])
})

test('S3: nesting deeper than 128 levels is refused', () => {
  assert.match(problems(`a: ${'['.repeat(129)}${']'.repeat(129)}`)[0] ?? '', /nests deeper than 128 levels/)
  assert.match(problems(`a: ${'['.repeat(50_000)}`)[0] ?? '', /nests deeper than 128 levels|more than/)
})

test('half a character in an escape is refused', () => {
  assert.deepEqual(problems('a: "\\ud800"\n'), ['1:4 a holds half a character (a lone surrogate)'])
})

test('a file without a document is refused', () => {
  for (const text of ['', '\n\n', '# only a comment\n', '---\n', '---\n...\n']) {
    assert.deepEqual(problems(text), ['1:1 holds no document'])
  }
})

test('a broken file is not reported more than a hundred times', () => {
  assert.equal(problems(Array.from({ length: 500 }, () => 'a: 1\n').join('')).length, 100)
})

test('what a password may be that nobody quoted is not repeated (S50)', () => {
  const password = 'Canary7Canary7'
  for (const value of [
    `|${password}`,
    `>${password}`,
    `}${password}`,
    `]${password}`,
    `!${password} x`,
    `*${password}`,
    `@${password}`,
    `"${password}`,
    `"x" ${password}`,
    '77777777777777777777777',
  ]) {
    const found = problems(`a:\n  b: ${value}\n`)
    assert.notEqual(found.length, 0, value)
    assert.doesNotMatch(found.join('\n'), /Canary7|7777/, value)
  }
})
