// Requirements, cases and reasons belong together: none without the others, none stale.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { it } from 'node:test'
import { CONFORMANCE_DOC, generateConformanceDoc } from '../../scripts/conformance-doc.ts'
import { createEndpointBackend } from '../../src/conformance/backend/external.ts'
import { BACKEND_NAMES, loadBackend } from '../../src/conformance/backend/registry.ts'
import { CASES } from '../../src/conformance/cases.ts'
import { EXIT_CRITERIA, GROUPS, REQUIREMENTS, UNCOVERED } from '../../src/conformance/requirements.ts'
import { OPERATIONS } from '../../src/conformance/tools.ts'

interface Data {
  readonly requirements: readonly string[]
  readonly cases: readonly { readonly id: string; readonly requirements: readonly string[] }[]
  readonly uncovered: Readonly<Record<string, string>>
}

/** Everything that does not fit together. */
function gaps({ requirements, cases, uncovered }: Data): readonly string[] {
  const covered = new Set(cases.flatMap((one) => one.requirements))
  return [
    ...requirements
      .filter((id) => !covered.has(id) && uncovered[id] === undefined)
      .map((id) => `${id} has neither case nor reason`),
    ...[...covered]
      .filter((id) => !requirements.includes(id))
      .map((id) => `a case covers ${id}, which is none`),
    ...Object.entries(uncovered).flatMap(([id, reason]) => [
      ...(requirements.includes(id) ? [] : [`a reason for ${id}, which is none`]),
      ...(covered.has(id) ? [`the reason for ${id} is stale: it has a case`] : []),
      ...(reason.trim() === '' ? [`the reason for ${id} is empty`] : []),
    ]),
    ...cases.filter((one) => one.requirements.length === 0).map(({ id }) => `case ${id} covers nothing`),
  ]
}

it('every requirement has a case or a reason, and no reason is stale', () => {
  assert.deepEqual(
    gaps({ requirements: REQUIREMENTS.map(({ id }) => id), cases: CASES, uncovered: { ...UNCOVERED } }),
    [],
  )
})

it('the gate sees each kind of gap', () => {
  const found = gaps({
    requirements: ['A', 'B', 'C'],
    cases: [
      { id: 'one', requirements: ['B', 'X'] },
      { id: 'two', requirements: [] },
    ],
    uncovered: { B: 'not built', C: ' ', Y: 'gone' },
  })
  assert.deepEqual(found, [
    'A has neither case nor reason',
    'a case covers X, which is none',
    'the reason for B is stale: it has a case',
    'the reason for C is empty',
    'a reason for Y, which is none',
    'case two covers nothing',
  ])
})

it('the eight groups have the requirements of seed 003, each with its line', () => {
  assert.deepEqual(
    GROUPS.map(({ id }) => REQUIREMENTS.filter(({ group }) => group === id).length),
    [5, 4, 4, 4, 3, 3, 4, 3],
  )
  const lines = [...REQUIREMENTS, ...EXIT_CRITERIA].map(({ source }) =>
    Number(/^seed 003, line (\d+)$/.exec(source)?.[1]),
  )
  assert.deepEqual(
    lines,
    [...new Set(lines)].sort((a, b) => a - b),
  )
  for (const { id, group } of REQUIREMENTS) assert.ok(id.startsWith(`${group}.`), id)
})

it('cases have ids of their own and need operations that there are', () => {
  assert.equal(new Set(CASES.map(({ id }) => id)).size, CASES.length)
  for (const { id, needs = [] } of CASES) {
    assert.match(id, /^[a-z]+\/[a-z-]+$/)
    for (const need of needs) assert.ok(OPERATIONS.includes(need), `${id} needs ${need}`)
  }
})

it('limitations are of requirements that there are, and say why', async () => {
  const backends = await Promise.all(BACKEND_NAMES.map(loadBackend))
  const ids: readonly string[] = REQUIREMENTS.map(({ id }) => id)
  for (const { name, limitations, isolation, notes } of [...backends, createEndpointBackend('http://x/')]) {
    for (const [id, reason] of Object.entries(limitations)) {
      assert.ok(ids.includes(id), `${name}: ${id}`)
      assert.ok(reason.length > 20, `${name}: ${id}`)
    }
    assert.ok(isolation.boundary.length > 20, name)
    for (const note of notes) assert.ok(note.length > 20, name)
  }
})

it('the page on conformance is what its script makes', async () => {
  const fix = 'run `node scripts/conformance-doc.ts`'
  assert.equal(readFileSync(CONFORMANCE_DOC, 'utf8'), await generateConformanceDoc(), fix)
})
