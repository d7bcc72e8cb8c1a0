// Waiting for a call that ends elsewhere: no event tells of it here, so it is found by looking (S38).
import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { test } from 'node:test'
import type { FastifyReply } from 'fastify'
import type { CallState } from '../../src/contract/answer.ts'
import type { CallRecord } from '../../src/contract/call.ts'
import { createEvents } from '../../src/event/event.ts'
import type { Edge } from '../../src/server/edge.ts'
import { waitForEnd } from '../../src/server/wait-for-end.ts'
import { createSystemWorld } from '../../src/util/clock.ts'

const world = createSystemWorld()

function record(state: CallState): CallRecord {
  return { id: 'c', state } as CallRecord
}

function scene(states: readonly CallState[]) {
  const events = createEvents()
  const raw = new EventEmitter()
  let draining = false
  let looks = 0
  const edge = { world, runtime: { events }, draining: () => draining } as unknown as Edge
  return {
    events,
    raw,
    drain: () => {
      draining = true
    },
    get looks() {
      return looks
    },
    wait: (ms: number, first: CallState = 'unknown') =>
      waitForEnd(edge, record(first), {
        ms,
        reply: { raw } as unknown as FastifyReply,
        async look() {
          const state = states[Math.min(looks++, states.length - 1)]
          if (state === undefined) throw new Error('the store is closed')
          return record(state)
        },
      }),
  }
}

test('S38: what another replica settles is found without an event', async () => {
  const { wait, raw } = scene(['unknown', 'reconciling', 'succeeded'])
  assert.equal((await wait(60_000)).state, 'succeeded')
  assert.equal(raw.listenerCount('close'), 0)
})

test('what ends here is seen at once, and of other calls nothing is', async () => {
  const one = scene(['unknown', 'unknown', 'unknown', 'unknown', 'unknown', 'unknown', 'succeeded'])
  const settled = { entry_id: 'e', tool_id: 't', state: 'done', by: 'person' } as const
  const waiting = one.wait(60_000)
  while (one.looks < 5) await new Promise((resolve) => setTimeout(resolve, 5))
  const looks = one.looks
  one.events.emit('entry:settled', { ...settled, call_id: 'another' })
  assert.equal(one.looks, looks)
  const start = performance.now()
  for (let turn = 0; turn < 3; turn++) {
    one.events.emit('entry:settled', { ...settled, call_id: 'c' })
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  assert.equal((await waiting).state, 'succeeded')
  assert.ok(performance.now() - start < 300, 'sooner than by looking')
  assert.equal(one.events.heard('entry:settled'), false)
})

test('a wait ends with its time, with its caller, and with the server', async () => {
  assert.equal((await scene(['unknown']).wait(30)).state, 'unknown')
  const left = scene(['unknown'])
  const leaving = left.wait(60_000)
  left.raw.emit('close')
  assert.equal((await leaving).state, 'unknown')
  const stopped = scene(['unknown'])
  stopped.drain()
  assert.equal((await stopped.wait(60_000)).state, 'unknown')
  assert.equal(stopped.looks, 0)
})

test('while the server stops, a call that runs is still waited for, also when the store is closed meanwhile', async () => {
  const ends = scene(['running', 'succeeded'])
  ends.drain()
  assert.equal((await ends.wait(60_000, 'running')).state, 'succeeded')
  const closed = scene([])
  closed.drain()
  assert.equal((await closed.wait(60, 'running')).state, 'running')
  await assert.rejects(scene([]).wait(60, 'running'), /the store is closed/)
})
