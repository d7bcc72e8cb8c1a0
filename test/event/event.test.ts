// Events: who listens hears, and nothing that a listener does reaches the call or the other listeners.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createEvents } from '../../src/event/event.ts'
import { READ, runtimeWith, settleDown, steeredTool, WRITE } from '../pipeline/harness.ts'

const FAILED = { message: 'disk gone' }

/** What would end the process; a listener's fault is the program's own and must not vanish. */
function uncaught(t: TestContext): unknown[] {
  const errors: unknown[] = []
  process.setUncaughtExceptionCaptureCallback((error) => errors.push(error))
  t.after(() => process.setUncaughtExceptionCaptureCallback(null))
  return errors
}

test('Every listener of a name hears its events in order, until it stops listening', () => {
  const events = createEvents()
  const heard: string[] = []
  assert.equal(events.heard('store:failed'), false)
  const stop = events.on('store:failed', ({ message }) => heard.push(`one ${message}`))
  events.on('store:failed', ({ message }) => heard.push(`two ${message}`))
  events.on('recovery:ended', () => heard.push('another name'))
  assert.equal(events.heard('store:failed'), true)
  events.emit('store:failed', FAILED)
  stop()
  stop()
  events.emit('store:failed', FAILED)
  assert.deepEqual(heard, ['one disk gone', 'two disk gone', 'two disk gone'])
  assert.equal(events.heard('store:failed'), true)
  assert.equal(events.heard('call:started'), false)
})

test('A listener that throws stops neither the emitter nor the listeners after it, and its fault is not lost', async (t) => {
  const errors = uncaught(t)
  const events = createEvents()
  const heard: string[] = []
  const fault = new Error('listener')
  events.on('store:failed', () => {
    throw fault
  })
  events.on('store:failed', () => heard.push('second'))
  events.emit('store:failed', FAILED)
  assert.deepEqual(heard, ['second'])
  await settleDown()
  assert.deepEqual(errors, [fault])
})

test('S53: listeners that throw at every event of a call change neither its answer nor what was sent', async (t) => {
  const errors = uncaught(t)
  const retries = { runtime: { retry: { max_attempts: 2, backoff: '1ms' } } }
  const read = steeredTool('read', { ...READ, ...retries })
  const write = steeredTool('write', WRITE)
  const { runtime, door } = await runtimeWith(t, [read, write])
  const heard: string[] = []
  const names = ['call:started', 'attempt:failed', 'tool:crashed', 'entry:unknown', 'call:ended'] as const
  for (const name of names) {
    runtime.events.on(name, () => {
      throw new Error(name)
    })
    runtime.events.on(name, () => heard.push(name))
  }
  read.behave(() => {
    if (read.sends.length === 1) throw new Error('flaky')
    return 'ok'
  })
  write.behave(() => {
    throw new Error('lost')
  })
  const [reading, writing] = [
    await door.call({ tool: 'read' }),
    await door.call({ tool: 'write', idempotencyKey: 'k' }),
  ]
  assert.deepEqual([reading.state, reading.output, reading.usage.attempt], ['succeeded', 'ok', 2])
  assert.deepEqual(
    [writing.state, writing.failure?.id, writing.usage.attempt],
    ['unknown', 'tool-crashed', 1],
  )
  await settleDown(20)
  assert.deepEqual([...heard].sort(), [
    'attempt:failed',
    'attempt:failed',
    'call:ended',
    'call:ended',
    'call:started',
    'call:started',
    'entry:unknown',
    'tool:crashed',
    'tool:crashed',
  ])
  assert.equal(errors.length, heard.length)
  assert.equal((await door.getCall(writing.callId))?.state, 'unknown')
  assert.equal((await runtime.health()).inFlight, 0)
  assert.deepEqual([read.sends.length, write.sends.length], [2, 1])
})
