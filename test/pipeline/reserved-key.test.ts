// Keys under which the runtime itself undoes effects: no caller can be there first (S29).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runtimeWith, steeredTool, WRITE } from './harness.ts'

const KEY = 'compensation:018f2b6e-0000-7000-8000-000000000000:1'

test("S29: a caller's key or request id that could be one of the runtime's own is refused, with its path", async (t) => {
  const pay = steeredTool('pay', WRITE)
  const { door } = await runtimeWith(t, [pay])
  const byKey = await door.call({ tool: 'pay', input: 1, idempotencyKey: KEY })
  const byId = await door.call({ tool: 'pay', input: 1, requestId: KEY })
  const paths = [byKey, byId].map(({ failure }) => [failure?.id, failure?.message.split(':')[0]])
  assert.deepEqual(paths, [
    ['envelope-invalid', '/idempotency_key'],
    ['envelope-invalid', '/request_id'],
  ])
  assert.equal(pay.sends.length, 0)
  const other = await door.call({ tool: 'pay', input: 1, requestId: KEY, idempotencyKey: 'own' })
  assert.equal(other.state, 'succeeded', 'a request id that is no key meets none')
})
