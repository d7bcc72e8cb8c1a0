import assert from 'node:assert/strict'
import { test } from 'node:test'
import { didYouMean } from '../../src/util/did-you-mean.ts'

test('a slip of the fingers is understood', () => {
  const known = ['timeout', 'endpoint', 'capabilities', 'secretRef']
  assert.equal(didYouMean('timeuot', known), 'timeout')
  assert.equal(didYouMean('endpont', known), 'endpoint')
  assert.equal(didYouMean('SECRETREF', known), 'secretRef')
})

test('another word gets no suggestion', () => {
  assert.equal(didYouMean('color', ['timeout', 'endpoint']), undefined)
  assert.equal(didYouMean('x'.repeat(10_000), ['timeout']), undefined)
  assert.equal(didYouMean('anything', []), undefined)
})
