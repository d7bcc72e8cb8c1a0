// What the call that undoes another one is given (S27, S29).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeUndoInput } from '../../src/pipeline/undo-template.ts'

const subject = { input: { a: [1, { b: 'x' }], '': 0 }, output: { id: null, 'a/b': 2 }, toolKey: 'k' }

test('S29: pointers of the template are looked up at any depth, all else is itself', () => {
  const template = {
    id: '/output/id',
    list: ['/input/a/1/b', 7, null, { deep: '/output/a~1b' }],
    whole: '/input',
    path: '/inputs/a',
    text: 'input/a',
    empty: '',
  }
  assert.deepEqual(makeUndoInput(template, subject), {
    kind: 'made',
    input: {
      id: null,
      list: ['x', 7, null, { deep: 2 }],
      whole: subject.input,
      path: '/inputs/a',
      text: 'input/a',
      empty: '',
    },
  })
})

test('S29: every pointer that finds nothing is named, and nothing is made', () => {
  const template = {
    a: '/output/missing',
    b: ['/input/a/9'],
    c: '/output/id/deeper',
    d: '/input/constructor',
  }
  assert.deepEqual(makeUndoInput(template, subject), {
    kind: 'missing',
    pointers: ['/output/missing', '/input/a/9', '/output/id/deeper', '/input/constructor'],
  })
  const nothing = makeUndoInput({ a: '/output' }, { input: 1, output: undefined, toolKey: 'k' })
  assert.deepEqual(nothing, { kind: 'missing', pointers: ['/output'] })
})

test('S27: without a template it is told which call it is about, and what that call was', () => {
  assert.deepEqual(makeUndoInput(undefined, subject), {
    kind: 'made',
    input: { idempotency_key: 'k', input: subject.input },
  })
  assert.deepEqual(makeUndoInput(undefined, { input: undefined, output: 1, toolKey: 'k' }), {
    kind: 'made',
    input: { idempotency_key: 'k' },
  })
})
