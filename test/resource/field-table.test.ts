import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { governancePages } from '../../scripts/governance-doc.ts'
import { renderToolDoc, TOOL_DOC } from '../../scripts/tool-doc.ts'
import { FIELDS, SAME_SHAPE } from '../../src/resource/field-table.ts'
import { KINDS } from '../../src/resource/kinds.ts'
import { ToolSchema } from '../../src/resource/tool.ts'

interface SchemaNode {
  readonly properties?: Readonly<Record<string, SchemaNode>>
  readonly patternProperties?: Readonly<Record<string, SchemaNode>>
  readonly items?: SchemaNode
  readonly anyOf?: readonly SchemaNode[]
  readonly type?: string
  readonly sameAs?: string
}

/** Every place of the schema that a manifest can write to, in the notation of the table. */
function placesOf(node: SchemaNode, path: string): string[] {
  const own = path === '' ? [] : [path]
  if (node.sameAs !== undefined) return own
  const join = (name: string) => (path === '' ? name : `${path}.${name}`)
  const inner = [
    ...Object.entries(node.properties ?? {}).flatMap(([name, child]) => placesOf(child, join(name))),
    ...Object.values(node.patternProperties ?? {}).flatMap((child) =>
      child.properties ? placesOf(child, join('*')) : [],
    ),
    ...(node.items?.properties ? placesOf(node.items, `${path}[]`) : []),
    ...(node.anyOf ?? []).flatMap((child) => placesOf(child, path).filter((place) => place !== path)),
  ]
  return [...own, ...new Set(inner)]
}

const schema = ToolSchema as unknown as SchemaNode
const rows = FIELDS.map((row) => row.path)

for (const kind of KINDS) {
  const paths = kind.fields.rows.map((row) => row.path)

  test(`S48: the table of ${kind.name} has a row for every field of the schema, and the schema a field for every row`, () => {
    assert.deepEqual(paths.toSorted(), placesOf(kind.schema as unknown as SchemaNode, '').toSorted())
    assert.equal(new Set(paths).size, paths.length, 'no field has two rows')
  })

  test(`every row of ${kind.name} says where it comes from, whether it is enforced and what it means`, () => {
    for (const row of kind.fields.rows) {
      assert.ok(
        row.source.length > 0 && row.source.every((one) => /^(?:00[0-4]|S\d{1,2})$/.test(one)),
        row.path,
      )
      assert.ok(row.enforced.length > 2 && row.type !== '' && row.description.length > 2, row.path)
    }
  })

  test(`an alias of ${kind.name} is never the name of a field, and stands for one field only`, () => {
    const all = kind.fields.rows.flatMap((row) => row.aliases)
    for (const alias of all) {
      const taken = alias.when === undefined && paths.includes(alias.path)
      assert.ok(!taken, `${alias.path} is a field of its own`)
    }
    const keys = all.map((alias) => `${alias.path} ${alias.when ?? ''}`)
    assert.equal(new Set(keys).size, keys.length)
  })

  test(`the schema of ${kind.name} holds to the strict rules of draft 2020-12`, () => {
    const ajv = new Ajv2020({ strict: true, strictTypes: false })
    ajv.addVocabulary(['expected', 'sameAs', 'notation'])
    assert.doesNotThrow(() => ajv.compile(kind.schema))
  })
}

test('every kind has a reference page, and the contents of the docs lead to it', () => {
  const contents = readFileSync(new URL('../../docs/README.md', import.meta.url), 'utf8')
  for (const { name, singular } of KINDS)
    assert.ok(contents.includes(`[${name}](reference/${singular}.md)`), name)
})

test('blocks that are described elsewhere are described there', () => {
  const seen: string[] = []
  const visit = (node: SchemaNode): void => {
    if (node.sameAs !== undefined) seen.push(node.sameAs)
    const children = [node.properties, node.patternProperties].flatMap((map) => Object.values(map ?? {}))
    for (const child of [...children, ...(node.anyOf ?? []), ...(node.items ? [node.items] : [])])
      visit(child)
  }
  visit(schema)
  assert.ok(seen.length > 0)
  for (const path of seen) assert.ok(rows.includes(path), path)
  for (const { from, to } of SAME_SHAPE) assert.ok(rows.includes(from) && rows.includes(to), `${from} ${to}`)
})

test('S48: the aliases that the rules name are there', () => {
  const aliases = FIELDS.flatMap((row) => row.aliases.map((alias) => alias.path.replace('spec.', '')))
  const named = [
    ...[
      'toolId',
      'timeoutSeconds',
      'retryPolicy',
      'rateLimits',
      'concurrency',
      'authenticationRef',
      'permissionClass',
    ],
    ...[
      'approvalTriggers',
      'sideEffectClass',
      'idempotency',
      'compensation',
      'egressPolicy',
      'auditFields',
      'inputSchema',
    ],
    ...[
      'outputSchema',
      'dataClassification',
      'tool_id',
      'semver',
      'determinism',
      'limits.timeout_ms_default',
    ],
    ...[
      'limits.timeout_ms_max',
      'limits.memory_mb_max',
      'limits.concurrency_max',
      'capabilities',
      'errorspec',
    ],
    ...['schema.request', 'schema.response'],
  ]
  for (const name of named) assert.ok(aliases.includes(name), name)
  for (const name of [
    'spec.slo',
    'spec.health',
    'spec.digest',
    'spec.owner',
    'spec.errors',
    'spec.deprecation',
  ]) {
    assert.ok(rows.includes(name), `${name} has the same name there and here`)
  }
})

test('docs/reference/tool.md is what the table says', () => {
  assert.equal(readFileSync(TOOL_DOC, 'utf8'), renderToolDoc(), 'run: node scripts/tool-doc.ts')
  for (const path of rows) assert.ok(renderToolDoc().includes(`| \`${path}\` |`), path)
})

test('the reference pages of what governs are what the tables say', () => {
  for (const { file, text, rows } of governancePages()) {
    assert.equal(readFileSync(file, 'utf8'), text, 'run: node scripts/governance-doc.ts')
    for (const row of rows) assert.ok(text.includes(`| \`${row.path}\` |`), row.path)
  }
})
