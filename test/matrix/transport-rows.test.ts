// Every transport with every way in which a call over it can fail, against real peers: the row, what callers read of it,
// and what it means for the effect of a read and of a write that declares nothing.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Answer } from '../../src/contract/answer.ts'
import { createDialects } from '../../src/contract/dialect/registry.ts'
import { FAILURE_IDS, type FailureId } from '../../src/contract/failures.ts'
import { builtTypes } from '../../src/transport/registry.ts'
import type { JsonObject } from '../../src/util/json.ts'
import { ELSEWHERE, NOT_HERE } from './row-absent.ts'
import { endRows, OPEN, openRows, placesOf, rowsOf, runRows } from './row-run.ts'
import { type Cell, SUBJECTS, V1 } from './row-table.ts'
import { createPlainVoice } from './row-voice.ts'

test('every row either happens over a transport, or it is said why it cannot', () => {
  const elsewhere: readonly FailureId[] = Object.values(ELSEWHERE).flat()
  for (const subject of SUBJECTS) {
    const here = [...rowsOf(subject)]
    const not = Object.keys(NOT_HERE[subject]) as FailureId[]
    assert.deepEqual([...here, ...not, ...elsewhere].sort(), [...FAILURE_IDS].sort(), subject)
  }
})

test('every transport of this build is in the matrix; native handlers are functions, with tests of their own', () => {
  const types = new Set(SUBJECTS.map((subject) => subject.split(' ')[0]))
  assert.deepEqual([...types, 'native'].sort(), [...builtTypes].sort())
})

test('each row that can happen is read by callers in one way', () => {
  const happen = new Set(SUBJECTS.flatMap((subject) => [...rowsOf(subject)]))
  assert.deepEqual(Object.keys(V1).sort(), [...happen].sort())
})

const dialects = createDialects()

function readOf(answer: Answer): { readonly cell: Cell | undefined; readonly v1: readonly unknown[] } {
  const { failure, state, effect } = answer
  const wire = dialects.get('v1').encode(answer)
  const error = (wire.error ?? {}) as JsonObject
  return {
    cell: failure && [failure.id, state, effect, failure.retryable],
    v1: [wire.status, error.code, error.reason, error.retryable],
  }
}

for (const subject of SUBJECTS) {
  test(`S22, S23, S24: what can fail over ${subject}`, async (t) => {
    const places = placesOf(subject)
    const opened = await openRows(t, { places, voice: createPlainVoice(), open: OPEN[subject] })
    const all = [...(await runRows(opened, places)), ...(await endRows(opened, places))]
    assert.equal(all.length, places.length)
    for (const { place, answer } of all) {
      const { way, kind, cell } = place
      await t.test(`${way}: ${kind} is ${cell[0]}`, () => {
        assert.ok(answer.failure !== undefined, JSON.stringify(answer))
        const read = readOf(answer)
        assert.deepEqual(read.cell, cell, answer.failure.message)
        assert.deepEqual(read.v1, [...(V1[cell[0]] ?? []), cell[3]])
      })
    }
  })
}
