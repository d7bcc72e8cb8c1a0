import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { stringify } from 'yaml'
import { KINDS } from '../../src/resource/kinds.ts'
import { formatProblem, type Manifests, readManifests } from '../../src/resource/manifest.ts'
import { planApply } from '../../src/resource/plan-apply.ts'
import { LOCAL } from './support.ts'

/** Whatever came in: an answer, of bounded size, with places that exist, and nothing left of the input's own commands. */
function assertSane(source: string | Uint8Array, read: Manifests): void {
  const text = typeof source === 'string' ? source : new TextDecoder().decode(source)
  const lines = text.split(/\r\n|\n|\r/).length
  assert.ok(read.documents.length + read.problems.length > 0, 'nothing is passed over in silence')
  assert.ok(read.problems.length <= 1_000)
  for (const problem of read.problems) {
    assert.ok(problem.line >= 1 && problem.line <= lines + 1, `line ${problem.line} of ${lines}`)
    assert.ok(problem.column >= 1)
    assert.doesNotMatch(formatProblem(problem), /\p{Cc}/u)
  }
  const plan = planApply([], read.documents, LOCAL)
  assert.ok(plan.problems.every((problem) => problem.line >= 1))
}

test('no bytes make the reader throw', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => assertSane(bytes, readManifests(bytes, 'f'))),
    { numRuns: 300 },
  )
})

test('no text of YAML pieces makes the reader throw', () => {
  const piece = fc.constantFrom(
    ...[
      'a: ',
      '- ',
      '\n',
      '  ',
      '\t',
      '{',
      '}',
      '[',
      ']',
      '"',
      "'",
      ': ',
      ',',
      '&x ',
      '*x',
      '!!str ',
      '<<: ',
      '? ',
    ],
    ...[
      '|\n',
      '>-\n',
      '---\n',
      '...\n',
      '%YAML 1.1\n',
      '#',
      'kind: Tool\n',
      'spec:\n',
      '1e999',
      '__proto__: ',
      '\u2028',
      '\\u0000',
    ],
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
      const text = pieces.join('')
      assertSane(text, readManifests(text, 'f'))
    }),
    { numRuns: 500 },
  )
})

const ROWS = KINDS.flatMap((kind) => kind.fields.rows)

/** Field names that mean something, at places where they may not belong, with values that may not fit. */
const names = [
  ...new Set(
    ROWS.flatMap((row) => [row.path, ...row.aliases.map((alias) => alias.path)]).flatMap((path) =>
      path.split(/[.[\]]+/),
    ),
  ),
].filter((name) => name !== '' && name !== '*')
const word = fc.constantFrom(
  ...names,
  'none',
  'http',
  'read-only',
  'cli',
  '30s',
  '512Mi',
  '10/s',
  'https://a.example.com',
  '/a',
)
const node = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    word,
    fc.constantFrom(0, 1, -1, 1.5, true, false, null, ''),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(word, tie('value'), { maxKeys: 5 }),
  ),
})).value

const kindName = fc.constantFrom(...KINDS.map((kind) => kind.name))

test('no manifest of known words makes reading or resolving throw', () => {
  fc.assert(
    fc.property(fc.dictionary(word, node, { maxKeys: 8 }), fc.boolean(), kindName, (spec, flat, kind) => {
      const document = flat
        ? { toolId: 'x', ...spec }
        : { apiVersion: 'writ.dev/v1', kind, metadata: { name: 'x' }, spec }
      const text = stringify(document)
      assertSane(text, readManifests(text, 'f'))
    }),
    { numRuns: 400 },
  )
})

test('no value of one field makes reading or resolving throw', () => {
  const leaf = fc.constantFrom(
    ...KINDS.flatMap((kind) => kind.fields.rows.map((row) => ({ kind: kind.name, path: row.path }))).filter(
      ({ path }) => path.startsWith('spec.') && !path.includes('*'),
    ),
  )
  fc.assert(
    fc.property(leaf, node, ({ kind, path }, value) => {
      const [, ...segments] = path.replaceAll('[]', '.[]').split('.')
      const spec = segments.reduceRight<unknown>(
        (inner, name) => (name === '[]' ? [inner] : { [name]: inner }),
        value,
      )
      const text = JSON.stringify({ apiVersion: 'writ.dev/v1', kind, metadata: { name: 'x' }, spec })
      assertSane(text, readManifests(text, 'f'))
    }),
    { numRuns: 900 },
  )
})
