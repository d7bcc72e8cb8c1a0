// The W3C trace context that tools are sent.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { traceparent } from '../../src/transport/traceparent.ts'

it('ids in the form of W3C are kept, also when they are written as UUIDs', () => {
  const spanId = 'b7ad6b7169203331'
  const kept = `00-0af7651916cd43dd8448eb211c80319c-${spanId}-01`
  assert.equal(traceparent({ traceId: '0af7651916cd43dd8448eb211c80319c', spanId }), kept)
  assert.equal(traceparent({ traceId: '0AF76519-16CD-43DD-8448-EB211C80319C', spanId }), kept)
})

it('other ids give one valid header each, always the same', () => {
  const form = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-01$/
  fc.assert(
    fc.property(fc.string(), fc.string(), (traceId, spanId) => {
      const header = traceparent({ traceId, spanId })
      assert.match(header, form)
      assert.equal(traceparent({ traceId, spanId }), header)
    }),
  )
  assert.match(traceparent({ traceId: '0'.repeat(32), spanId: '0'.repeat(16) }), form)
  assert.notEqual(
    traceparent({ traceId: 'trace-a', spanId: 's' }),
    traceparent({ traceId: 'trace-b', spanId: 's' }),
  )
})
