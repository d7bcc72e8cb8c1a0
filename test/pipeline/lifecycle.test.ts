// Whatever becomes of a call, it tells of one start and one end (S53), also when its tool never ends.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CallEndedEvent, CallEvent } from '../../src/event/event.ts'
import { READ, runtimeWith, settleDown, steeredTool, WRITE } from './harness.ts'

test('S53: every way to end gives exactly one start and one end event of the same call', async (t) => {
  const read = steeredTool('read', { ...READ, version: '1.2.3' })
  const stuck = steeredTool('stuck', WRITE)
  const { runtime, door } = await runtimeWith(t, [read, stuck])
  const started: CallEvent[] = []
  const ended: CallEndedEvent[] = []
  runtime.events.on('call:started', (event) => started.push(event))
  runtime.events.on('call:ended', (event) => ended.push(event))
  stuck.behave(() => new Promise(() => {}))

  await door.call({ tool: 'read', input: 'secret-value' })
  await door.call({ tool: 'nope' })
  await runtime.as({ actor: 'nobody' }).call({ tool: 'read' })
  // The handler ignores its signal: the attempt is given up, and the call still reports its end.
  await door.call({ tool: 'stuck', timeoutMs: 100, idempotencyKey: 'k' })
  await door.call({ tool: 'stuck', idempotencyKey: 'k' })
  const canceled = door.start({ tool: 'stuck' })
  await settleDown(20)
  canceled.cancel()
  await canceled.answer()
  await door.call({ tool: 'read', dryRun: true })

  assert.deepEqual(
    ended.map((event) => [event.failure, event.state]),
    [
      ['', 'succeeded'],
      ['tool-unknown', 'failed'],
      ['permission-denied', 'denied'],
      ['timeout-unknown-commit', 'unknown'],
      ['outcome-unknown', 'unknown'],
      ['canceled', 'unknown'],
    ],
  )
  assert.deepEqual(
    started.map((event) => event.call_id),
    ended.map((event) => event.call_id),
  )
  assert.equal(new Set(ended.map((event) => event.call_id)).size, ended.length)
  assert.deepEqual([started[0]?.tool_version, started[0]?.determinism !== ''], ['1.2.3', true])
  assert.ok(!JSON.stringify([started, ended]).includes('secret-value'))
})
