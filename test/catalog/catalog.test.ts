// Which version a name and a range mean, and that the answer is never older than the last change.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Catalog, createCatalog } from '../../src/catalog/catalog.ts'
import type { ResolvedTool } from '../../src/resource/resolved-tool.ts'
import type { ToolSpec } from '../../src/resource/tool.ts'
import { resolved } from '../resource/support.ts'

const NOW = Date.parse('2026-01-01T00:00:00Z')
const NAMESPACE = 'default'
const NAME = 'probe'

function version(text: string, spec: ToolSpec = {}): ResolvedTool {
  return resolved({ version: text, ...spec })
}

function catalogOf(...versions: string[]): Catalog {
  const catalog = createCatalog()
  for (const one of versions) catalog.put(version(one))
  return catalog
}

/** The version that was found, or the row it ended in. */
function ask(catalog: Catalog, range?: string, now = NOW): string {
  const found = catalog.resolve(NAMESPACE, NAME, range, now)
  return found.kind === 'found' ? found.tool.tool.version : found.failure
}

function details(catalog: Catalog, range?: string): unknown {
  const found = catalog.resolve(NAMESPACE, NAME, range, NOW)
  return found.kind === 'failed' ? found.details : assert.fail('found')
}

test('S49: a range takes its highest match, whatever the order in which versions came', () => {
  const inOrders = [
    ['1.0.0', '1.2.0', '1.10.0', '2.0.0', '0.9.0'],
    ['2.0.0', '1.10.0', '1.2.0', '1.0.0', '0.9.0'],
    ['0.9.0', '1.10.0', '1.0.0', '2.0.0', '1.2.0'],
  ]
  for (const versions of inOrders) {
    const catalog = catalogOf(...versions)
    const asked = {
      '': '2.0.0',
      '1.x': '1.10.0',
      '^1.0.0': '1.10.0',
      '~1.2': '1.2.0',
      '1.2.0': '1.2.0',
      '=1.0.0': '1.0.0',
      '<1.0.0': '0.9.0',
      '>=1.1.0 <1.5.0 || 0.x': '1.2.0',
      '*': '2.0.0',
      '>=3': 'version-unmatched',
    }
    for (const [range, expected] of Object.entries(asked)) {
      assert.equal(ask(catalog, range === '' ? undefined : range), expected, `${range} of ${versions.join()}`)
    }
    assert.deepEqual(details(catalog, '>=3'), {
      range: '>=3',
      versions: ['2.0.0', '1.10.0', '1.2.0', '1.0.0', '0.9.0'],
    })
  }
})

test('A pre-release is taken only by who names it, or where there is no release', () => {
  const catalog = catalogOf('1.0.0', '2.0.0-beta.1', '2.0.0-beta.2')
  assert.equal(ask(catalog), '1.0.0')
  assert.equal(ask(catalog, '>=1.0.0'), '1.0.0')
  assert.equal(ask(catalog, '2.x'), 'version-unmatched')
  assert.equal(ask(catalog, '>=2.0.0-beta.1'), '2.0.0-beta.2')
  assert.equal(ask(catalog, '2.0.0-beta.1'), '2.0.0-beta.1')
  assert.equal(ask(catalogOf('0.1.0-alpha', '0.1.0-beta')), '0.1.0-beta')
})

test('Two builds of one version are ambiguous', () => {
  const catalog = catalogOf('1.0.0+a', '1.0.0+b', '0.5.0')
  for (const range of [undefined, '1.x', '1.0.0', '>=0.1.0']) {
    assert.equal(ask(catalog, range), 'version-ambiguous', String(range))
    const { versions } = details(catalog, range) as { versions: string[] }
    assert.deepEqual([...versions].sort(), ['1.0.0+a', '1.0.0+b'])
  }
  assert.equal(ask(catalog, '0.x'), '0.5.0')
  catalog.put(version('1.1.0'))
  assert.equal(ask(catalog), '1.1.0', 'a higher one is not ambiguous')
  assert.equal(ask(catalog, '1.0.0'), 'version-ambiguous')
  catalog.remove(NAMESPACE, NAME, '1.0.0+a')
  assert.equal(ask(catalog, '1.0.0'), '1.0.0+b')
})

test('Each of two builds of one version can be had by its full name', () => {
  for (const versions of [
    ['1.0.0+a', '1.0.0+b'],
    ['1.0.0+b', '1.0.0+a'],
  ]) {
    const catalog = catalogOf(...versions)
    for (const one of versions) assert.equal(ask(catalog, one), one, `${one} of ${versions.join()}`)
  }
})

test('A broken version is named to those who would have got it, and to nobody else', () => {
  const catalog = catalogOf('1.0.0')
  catalog.putBroken(NAMESPACE, NAME, '2.0.0', 'its schema cannot be read')
  for (const range of [undefined, '*', '2.x', '2.0.0']) {
    assert.equal(ask(catalog, range), 'config-invalid', String(range))
    const found = catalog.resolve(NAMESPACE, NAME, range, NOW)
    assert.match(found.kind === 'failed' ? found.message : '', /2\.0\.0.*its schema cannot be read/)
  }
  assert.equal(ask(catalog, '1.x'), '1.0.0')
  catalog.put(version('3.0.0'))
  assert.equal(ask(catalog), '3.0.0')
  assert.equal(ask(catalog, '>=1.0.0'), '3.0.0')
  catalog.put(version('2.0.0'))
  assert.equal(ask(catalog, '2.x'), '2.0.0', 'mended')
  catalog.putBroken(NAMESPACE, 'other', '1.0.0', 'why')
  assert.equal(catalog.resolve(NAMESPACE, 'other', undefined, NOW).kind, 'failed', 'alone, too')
  catalog.remove(NAMESPACE, 'other', '1.0.0')
  const gone = catalog.resolve(NAMESPACE, 'other', undefined, NOW)
  assert.equal(gone.kind === 'failed' && gone.failure, 'tool-unknown')
})

test('Whoever would have got a broken version is not sent to another one, and is told which', () => {
  const catalog = catalogOf('1.0.0', '2.0.0', '3.0.0')
  catalog.putBroken(NAMESPACE, NAME, '2.1.0', 'why')
  for (const range of ['2.x', '>=2.0.0 <3.0.0', '2.1.0', '~2.1', '<3.0.0']) {
    assert.equal(ask(catalog, range), 'config-invalid', range)
  }
  for (const range of ['2.0.0', '~2.0']) assert.equal(ask(catalog, range), '2.0.0', range)
  assert.equal(ask(catalog, '1.x'), '1.0.0')
  assert.equal(ask(catalog), '3.0.0')
})

test('A broken pre-release is in the way of those who named it, and a live one does not hide a broken release', () => {
  const beta = catalogOf('1.0.0')
  beta.putBroken(NAMESPACE, NAME, '2.0.0-beta', 'why')
  assert.equal(ask(beta), '1.0.0')
  assert.equal(ask(beta, '>=1.0.0'), '1.0.0')
  assert.equal(ask(beta, '2.0.0-beta'), 'config-invalid')
  const release = catalogOf('1.0.0', '3.0.0-beta')
  release.putBroken(NAMESPACE, NAME, '2.0.0', 'why')
  assert.equal(ask(release), 'config-invalid', 'without a range the highest release is meant')
})

test('What a range meant is forgotten at every change of the tool', () => {
  const catalog = catalogOf('1.0.0')
  const both = () => [ask(catalog), ask(catalog, '^1.0.0')]
  assert.deepEqual(both(), ['1.0.0', '1.0.0'])
  catalog.put(version('1.1.0'))
  assert.deepEqual(both(), ['1.1.0', '1.1.0'], 'a higher version came')
  catalog.remove(NAMESPACE, NAME, '1.1.0')
  assert.deepEqual(both(), ['1.0.0', '1.0.0'], 'and went')
  catalog.putBroken(NAMESPACE, NAME, '1.2.0', 'why')
  assert.deepEqual(both(), ['config-invalid', 'config-invalid'], 'a higher one is broken')
  catalog.remove(NAMESPACE, NAME, '1.2.0')
  assert.deepEqual(both(), ['1.0.0', '1.0.0'], 'and went')

  const rebuilt = version('1.0.0', { risk_level: 'high' })
  catalog.put(rebuilt)
  const found = catalog.resolve(NAMESPACE, NAME, '^1.0.0', NOW)
  assert.equal(
    found.kind === 'found' && found.tool.tool.digest,
    rebuilt.digest,
    'the same version, built anew',
  )
  catalog.remove(NAMESPACE, NAME, '1.0.0')
  assert.deepEqual(both(), ['tool-unknown', 'tool-unknown'])
})

test('A removal date ends a version although its range was asked for before', () => {
  const catalog = catalogOf('1.0.0')
  const deprecation = { removal: '2026-06-01', replacement: 'better' }
  catalog.put(version('2.0.0', { deprecation }))
  const before = Date.parse('2026-05-31T23:59:59.999Z')
  const after = Date.parse('2026-06-01T00:00:00Z')
  for (const range of [undefined, '*']) {
    assert.equal(ask(catalog, range, before), '2.0.0', String(range))
    assert.equal(ask(catalog, range, after), '1.0.0', 'the highest that is live')
    assert.equal(ask(catalog, range, before), '2.0.0', 'clocks may be set back')
  }
  assert.equal(ask(catalog, '2.x', after), 'tool-removed')
  const gone = catalog.resolve(NAMESPACE, NAME, '2.x', after)
  assert.deepEqual(gone.kind === 'failed' && gone.details, { version: '2.0.0', replacement: 'better' })
  catalog.remove(NAMESPACE, NAME, '1.0.0')
  assert.equal(ask(catalog, undefined, after), 'tool-removed', 'nothing else is left')
})

test('Callers write ranges, so only so many of a tool are remembered, and all are answered', () => {
  const catalog = catalogOf('1.0.0')
  const ranges = Array.from({ length: 1_000 }, (_, index) => `>=0.0.${index} <2.0.0`)
  const once = ranges.map((range) => catalog.resolve(NAMESPACE, NAME, range, NOW))
  // An answer that is remembered is the same object; one that is found anew is another.
  const remembered = ranges.filter(
    (range, index) => catalog.resolve(NAMESPACE, NAME, range, NOW) === once[index],
  )
  assert.ok(remembered.length <= 200, `${remembered.length} of ${ranges.length} are remembered`)
  assert.ok(once.every((one) => one.kind === 'found'))
  catalog.put(version('1.5.0'))
  for (const range of ranges) assert.equal(ask(catalog, range), '1.5.0', range)
})

test('Tools of two namespaces never meet, and a pinned build is found by its digest alone', () => {
  const catalog = catalogOf('1.0.0', '2.0.0')
  const old = version('1.0.0')
  assert.equal(catalog.pinned(NAMESPACE, NAME, old.digest)?.tool.version, '1.0.0')
  assert.equal(catalog.pinned('other', NAME, old.digest), undefined)
  assert.equal(catalog.pinned(NAMESPACE, 'other', old.digest), undefined)
  const elsewhere = catalog.resolve('other', NAME, undefined, NOW)
  assert.equal(elsewhere.kind === 'failed' && elsewhere.failure, 'tool-unknown')
  catalog.put(version('1.0.0', { risk_level: 'high' }))
  assert.equal(catalog.pinned(NAMESPACE, NAME, old.digest), undefined, 'another build has taken its place')
  assert.deepEqual(
    catalog
      .list(NAMESPACE)
      .map((one) => one.version)
      .sort(),
    ['1.0.0', '2.0.0'],
  )
  assert.deepEqual(catalog.list('other'), [])
})
