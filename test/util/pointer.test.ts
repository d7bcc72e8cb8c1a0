import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { escapePointer, isPointer, pointer, readPointer, splitPointer } from '../../src/util/pointer.ts'

// The examples of RFC 6901, section 5.
const RFC = {
  foo: ['bar', 'baz'],
  '': 0,
  'a/b': 1,
  'c%d': 2,
  'e^f': 3,
  'g|h': 4,
  'i\\j': 5,
  'k"l': 6,
  ' ': 7,
  'm~n': 8,
}

test('the examples of RFC 6901 are read', () => {
  assert.equal(readPointer(RFC, ''), RFC)
  assert.deepEqual(readPointer(RFC, '/foo'), ['bar', 'baz'])
  assert.equal(readPointer(RFC, '/foo/0'), 'bar')
  assert.equal(readPointer(RFC, '/'), 0)
  assert.equal(readPointer(RFC, '/a~1b'), 1)
  assert.equal(readPointer(RFC, '/m~0n'), 8)
})

test('what is not there is undefined', () => {
  for (const text of ['/nope', '/foo/2', '/foo/-', '/foo/00', '/foo/length', '/foo/0/x', 'foo', '/a~2b']) {
    assert.equal(readPointer(RFC, text), undefined, text)
  }
  assert.equal(readPointer(undefined, '/a'), undefined)
  assert.equal(readPointer(null, '/a'), undefined)
})

test('a pointer never reaches a prototype', () => {
  for (const text of ['/constructor', '/__proto__', '/toString', '/foo/map', '/constructor/prototype']) {
    assert.equal(readPointer(RFC, text), undefined, text)
  }
})

test('only pointers are pointers', () => {
  for (const text of ['', '/', '/a/b', '/~0~1', '//']) assert.ok(isPointer(text), text)
  for (const text of ['a', '#/a', '/~', '/~2', ' /a']) assert.ok(!isPointer(text), text)
  assert.equal(splitPointer('a'), undefined)
})

test('any path of keys comes back from its pointer', () => {
  fc.assert(
    fc.property(fc.array(fc.string()), (path) => {
      assert.deepEqual(splitPointer(pointer(path)), path)
      assert.equal(pointer(path), path.map((key) => `/${escapePointer(key)}`).join(''))
    }),
  )
})
