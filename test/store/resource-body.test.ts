// A body that somebody damaged hides no other row.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readStop, stopsGuard } from '../../src/contract/stop.ts'
import { readResourceBody } from '../../src/store/resource-body.ts'

const DAMAGED = ['', '{"kind":', 'null', '[]', '"text"', '7', '\u0000']

test('a body is what was written, and one that is damaged has nothing in it', () => {
  assert.deepEqual(readResourceBody('{"kind":"Tool","spec":{"a":[1]}}'), { kind: 'Tool', spec: { a: [1] } })
  for (const text of DAMAGED) assert.deepEqual(readResourceBody(text), {}, text)
})

test('S44: a stop whose body is damaged still stands', () => {
  for (const text of DAMAGED) {
    const stop = readStop('default', 'tool:pay', readResourceBody(text))
    assert.equal(stopsGuard(stop, { stop: 'tool:pay' }, Date.now()), true, text)
  }
})
