// Imports go down. One that goes up, sideways or in a circle fails here, and so does a check that cannot fail.
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import packageJson from '../package.json' with { type: 'json' }
import { importsOf } from '../scripts/imports.ts'
import { ROOT, repoFiles, repoPaths } from '../scripts/repo-files.ts'
import {
  brokenImports,
  cycles,
  type Edge,
  edgesOf,
  layerOf,
  partOf,
  sideways,
  unlisted,
  wrongWay,
} from './import-checks.ts'
import { GRANTS, LAYERS, SIBLINGS, WAYS_OUT } from './layers.ts'

const files = repoFiles().filter((file) => file.path.startsWith('src/') && file.path.endsWith('.ts'))
const paths: ReadonlySet<string> = new Set(
  repoPaths()
    .filter((path) => path.startsWith('src/'))
    .map((path) => path.slice('src/'.length)),
)
const edges = edgesOf(files)

function none(wrong: readonly string[]): void {
  if (wrong.length > 0) assert.fail(wrong.join('\n'))
}

/** The edges of files made up for a test. */
function madeUp(sources: Readonly<Record<string, string>>): readonly Edge[] {
  return edgesOf(Object.entries(sources).map(([path, text]) => ({ path: `src/${path}`, text })))
}

describe('the sources', () => {
  it('import only files that exist, inside src, by literal names', () => {
    assert.ok(edges.length > 100, 'the sources are read')
    none(brokenImports(edges, paths))
  })

  it('import downwards only', () => none(wrongWay(edges)))

  it('have no implementation that knows its sibling', () => {
    none(SIBLINGS.flatMap((siblings) => [...sideways(siblings, edges), ...unlisted(siblings, paths)]))
  })

  it('have no cycle at run time', () => none(cycles(edges)))

  it('reach the server from the command line in `up` alone', () => {
    const reaching = edges.filter((edge) => layerOf(edge.from) === 'cli' && layerOf(edge.to) === 'server')
    assert.deepEqual([...new Set(reaching.map((edge) => edge.from))], ['cli/command/up.ts'])
  })
})

describe('the table', () => {
  it('has a row for every folder and file of src, and no other', () => {
    const there = new Set([...paths].filter((path) => path.endsWith('.ts')).map(layerOf))
    assert.deepEqual(Object.keys(LAYERS).sort(), [...there].sort())
  })

  it('lists lower layers first, so that two can never allow each other', () => {
    const order = Object.keys(LAYERS)
    for (const [at, folder] of order.entries()) {
      const below = new Set(order.slice(0, at))
      none(
        (LAYERS[folder] ?? [])
          .filter((one) => !below.has(one))
          .map((one) => `${folder} names ${one}, which is not below it`),
      )
    }
  })

  it('names no file that is gone', () => {
    none([...Object.keys(GRANTS), ...WAYS_OUT].filter((path) => !paths.has(path)))
    for (const { folder, shared, choosers, implementations } of SIBLINGS) {
      const named = [...shared, ...choosers, ...Object.values(implementations).flat()]
      const gone = named.filter((name) => ![...paths].some((path) => path.startsWith(`${folder}/${name}`)))
      none(gone.map((name) => `${folder}/${name} is in the table only`))
    }
  })
})

describe('the entry points', () => {
  for (const [subpath, target] of Object.entries(packageJson.exports)) {
    it(`writ${subpath.slice(1)} has its source`, () => {
      const source = target.default.replace('./dist/', 'src/').replace(/\.js$/, '.ts')
      assert.ok(existsSync(join(ROOT, source)), `${source} does not exist`)
      assert.equal(target.types, target.default.replace(/\.js$/, '.d.ts'))
    })
  }
})

describe('the check', () => {
  const up = { 'util/a.ts': "import { b } from '../contract/b.ts'", 'contract/b.ts': '' }

  it('fails on an import that goes up', () => {
    assert.deepEqual(wrongWay(madeUp(up)), [
      "src/util/a.ts:1: util may not import contract ('../contract/b.ts')",
    ])
  })

  for (const [how, text] of Object.entries({
    'import type': "import type { B } from '../server/b.ts'",
    'an inline type': "import { type B } from '../server/b.ts'",
    're-export': "export { b } from '../server/b.ts'",
    'export *': "export * from '../server/b.ts'",
    'export type': "export type { B } from '../server/b.ts'",
    'a side effect': "import '../server/b.ts'",
    'import()': "const b = await import('../server/b.ts')",
    'import() in a type': "type B = import('../server/b.ts').B",
    'import() in a template': `const b = \`\${await import('../server/b.ts')}\``,
    'a worker': "new Worker(new URL('../server/b.ts', import.meta.url))",
  })) {
    it(`sees ${how}`, () => assert.equal(wrongWay(madeUp({ 'util/a.ts': text })).length, 1))
  }

  it('lets a layer know types where the table says so, and only types', () => {
    const into = (text: string) => wrongWay(madeUp({ 'server/a.ts': text })).length
    assert.equal(into("import type { B } from '../store/b.ts'"), 0)
    assert.equal(into("import { type B, b } from '../store/b.ts'"), 1)
  })

  it('reads no import in a comment, a string or a regular expression', () => {
    const text = `
      // import { b } from '../server/b.ts'
      const text = "import { b } from '../server/b.ts'"
      const pattern = /import '..\\/server'/
      const half = 4 / 2 / 1
      const template = \`import '../server/b.ts' \${half} import '../server/b.ts'\``
    assert.deepEqual(importsOf(text), [])
  })

  it('tells what is erased from what is loaded', () => {
    const kinds = (text: string) => importsOf(text).map((found) => found.kind)
    assert.deepEqual(kinds("import { type A, type B } from './a.ts'"), ['type'])
    assert.deepEqual(kinds("import { type A, b } from './a.ts'"), ['value'])
    assert.deepEqual(kinds("import type from './a.ts'"), ['value'])
    assert.deepEqual(kinds("import type A from './a.ts'"), ['type'])
    assert.deepEqual(kinds("import a, { type B } from './a.ts'"), ['value'])
  })

  it('fails on an import from a sibling, and on a file that nobody explained', () => {
    const siblings = {
      folder: 'transport',
      shared: ['transport.ts'],
      choosers: ['registry.ts'],
      implementations: { http: ['http.ts'], native: ['native.ts'] },
    }
    const check = (from: string, to: string) =>
      sideways(siblings, madeUp({ [`transport/${from}`]: `import './${to}'` })).length
    assert.equal(check('http.ts', 'native.ts'), 1)
    assert.equal(check('transport.ts', 'native.ts'), 1)
    assert.equal(check('http.ts', 'registry.ts'), 1)
    assert.equal(check('http.ts', 'transport.ts'), 0)
    assert.equal(check('registry.ts', 'native.ts'), 0)
    assert.equal(unlisted(siblings, ['transport/new.ts', 'transport/http.ts', 'store/new.ts']).length, 1)
    assert.equal(partOf(siblings, 'store/http.ts'), undefined)
  })

  it('fails on a cycle that exists at run time, and only there', () => {
    const circle = (kind: string) => ({
      'util/a.ts': "import { b } from './b.ts'",
      'util/b.ts': `import ${kind}{ a } from './a.ts'`,
    })
    assert.deepEqual(cycles(madeUp(circle(''))), ['src/util/a.ts > src/util/b.ts > src/util/a.ts'])
    assert.deepEqual(cycles(madeUp(circle('type '))), [])
  })

  it('fails on an import that leads nowhere, out of src, or is computed', () => {
    const broken = (text: string) => brokenImports(madeUp({ 'util/a.ts': text }), paths).length
    assert.equal(broken("import './gone.ts'"), 1)
    assert.equal(broken("import '../../test/layers.ts'"), 1)
    assert.equal(broken('await import(name)'), 1)
    assert.equal(broken("import './json.ts'"), 0)
  })
})
