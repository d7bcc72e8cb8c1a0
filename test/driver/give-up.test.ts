// A tool that never says what became of an effect: after its time a person is asked, and told so (S27, S28).
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fixOf } from '../../src/contract/projection.ts'
import { createLocalAdmin, createRuntime, defineTool } from '../../src/index.ts'
import { until } from '../pipeline/until.ts'

test('S27: while the tool is asked the caller waits; once that is given up a person is to find out', async (t) => {
  const effect = { class: 'external-communication' } as const
  const tool = defineTool({
    name: 'mute',
    effect: { ...effect, status_query: { operation: 'status', quiet: '10ms', deadline: '1s' } },
    handler() {
      throw new Error('the answer is lost')
    },
    operations: {
      status: {
        effect: { class: 'read-only', determinism: 'pure' },
        handler: () => ({ state: 'running' }),
      },
    },
  })
  const runtime = await createRuntime({ tools: [tool], onWarning: () => {} })
  t.after(() => runtime.close({ drainMs: 0 }))
  const door = runtime.as(createLocalAdmin())
  const { callId, failure } = await door.call({ tool: 'mute', timeoutMs: 100 })
  assert.ok(failure)
  assert.match(fixOf(failure, 'unknown'), /the tool is being asked/)
  await until(async () => {
    const [open] = await door.listOpen({ limit: 1 })
    return open?.state === 'unknown' && open.next === undefined
  })
  const left = (await door.getCall(callId))?.answer?.failure
  assert.ok(left)
  assert.equal(left.id, failure.id)
  assert.match(fixOf(left, 'unknown'), /find out from the tool/)
})
