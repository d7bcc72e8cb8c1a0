import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { createUuid7, isUuid } from '../../src/util/uuid.ts'

const V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

test('an id is a UUIDv7 that holds its millisecond', () => {
  const id = createUuid7(() => 0x0123_4567_89ab, randomBytes)()
  assert.match(id, V7)
  assert.equal(id.slice(0, 13), '01234567-89ab')
})

test('the example of RFC 9562, appendix A.6, comes out of its bits', () => {
  // rand_b is 18C4DC0C0C07398F; the counter starts from the two bytes after it.
  const bytes = Buffer.from('18c4dc0c0c07398f0000', 'hex')
  const id = createUuid7(
    () => 0x017f22e279b0,
    (size) => Buffer.alloc(size, bytes),
  )()
  assert.equal(id, '017f22e2-79b0-7000-98c4-dc0c0c07398f')
})

test('ids only grow, whatever the clock does', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 2 ** 48 - 10_000 }), { minLength: 2, maxLength: 300 }),
      (times) => {
        let at = 0
        const next = createUuid7(() => times[at++ % times.length] as number, randomBytes)
        let last = next()
        for (let i = 1; i < times.length; i++) {
          const id = next()
          assert.match(id, V7)
          assert.ok(id > last, `${id} after ${last}`)
          last = id
        }
      },
    ),
    { numRuns: 50 },
  )
})

test('ten thousand ids in one millisecond are different and sorted', () => {
  const next = createUuid7(() => 1_700_000_000_000, randomBytes)
  const ids = Array.from({ length: 10_000 }, next)
  assert.equal(new Set(ids).size, ids.length)
  assert.deepEqual([...ids].sort(), ids)
})

test('the same clock and the same random bytes give the same ids', () => {
  const make = () =>
    createUuid7(
      () => 5,
      (size) => Buffer.alloc(size, 7),
    )
  const [a, b] = [make(), make()]
  for (let i = 0; i < 300; i++) assert.equal(a(), b())
})

test('only UUIDs are UUIDs', () => {
  for (const text of ['00000000-0000-0000-0000-000000000000', '9B1DEB4D-3B7D-4BAD-9BDD-2B0D7B3DCB6D'])
    assert.ok(isUuid(text))
  for (const text of [
    '',
    'x',
    '9b1deb4d3b7d4bad9bdd2b0d7b3dcb6d',
    '{9b1deb4d-3b7d-4bad-9bdd-2b0d7b3dcb6d}',
    '9b1deb4d-3b7d-4bad-9bdd-2b0d7b3dcb6g',
    '9b1deb4d-3b7d-4bad-9bdd-2b0d7b3dcb6d\n',
  ]) {
    assert.ok(!isUuid(text), text)
  }
})
