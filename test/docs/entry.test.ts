// docs/reference/entry.md says what the transition table says.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { ENTRY_PAGE, withStates } from '../../scripts/entry-doc.ts'
import { ENTRY_STATES } from '../../src/contract/entry.ts'
import { TRANSITIONS } from '../../src/contract/transitions.ts'

const page = readFileSync(ENTRY_PAGE, 'utf8')

test('the table of entry states is made from the sources', () => {
  assert.equal(withStates(page), page, 'run: node scripts/entry-doc.ts')
})

test('the diagram has every move of the transition table, and no other', () => {
  const drawn = [...page.matchAll(/^ {2}(\w+) --> (\w+)/gm)].map(([, from, to]) => `${from} > ${to}`)
  const name = (state: string) => state.replaceAll('-', '_')
  const known = ENTRY_STATES.flatMap((from) => TRANSITIONS[from].map((to) => `${name(from)} > ${name(to)}`))
  assert.deepEqual(drawn.toSorted(), known.toSorted())
})
