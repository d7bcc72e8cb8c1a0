// ARCHITECTURE.md says what the sources say.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { ARCHITECTURE, withLayers } from '../../scripts/layers-doc.ts'
import { OPEN_STATES, OUTCOMES } from '../../src/contract/answer.ts'
import { DIALECT_NAMES } from '../../src/contract/call.ts'
import { FAILURES } from '../../src/contract/failures.ts'
import { STAGES } from '../../src/pipeline/stages.ts'
import { readPage } from './markdown.ts'

const text = readFileSync(ARCHITECTURE, 'utf8')
const page = readPage('ARCHITECTURE.md', text)

/** The names in backticks of the row of a word. */
function namesOf(word: string): readonly string[] {
  const row = text.split('\n').find((line) => line.startsWith(`| ${word} |`)) ?? ''
  return [...row.matchAll(/`([^`]+)`/g)].map(([, name]) => name ?? '')
}

describe('ARCHITECTURE.md', () => {
  const diagram =
    page.fences
      .find((fence) => /^\s*stage\s+asks/.test(fence.text))
      ?.text.split('\n')
      .slice(2) ?? []

  it('draws the stages in the order in which they run', () => {
    assert.deepEqual(
      diagram.map((line) => line.trim().split(/\s+/)[0]),
      [...STAGES],
    )
  })

  it('names failures that are in the table', () => {
    const words = new Set(diagram.flatMap((line) => line.slice(65).match(/[a-z]+(-[a-z]+)+/g) ?? []))
    const states: readonly string[] = [...OUTCOMES, ...OPEN_STATES]
    const unknown = [...words].filter((word) => !Object.hasOwn(FAILURES, word) && !states.includes(word))
    assert.ok(words.size > 5)
    assert.deepEqual(unknown, [])
  })

  it('has the outcomes, the open states and the dialects', () => {
    assert.deepEqual(namesOf('Outcome'), [...OUTCOMES])
    assert.deepEqual(namesOf('Open state'), [...OPEN_STATES])
    assert.deepEqual(namesOf('Dialect'), [...DIALECT_NAMES])
  })

  it('has the layers', () => {
    assert.match(text, /\| `util` \| nothing \|/)
    assert.equal(text, withLayers(text), 'Fix: run `npx node scripts/layers-doc.ts`')
  })
})
