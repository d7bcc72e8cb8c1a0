// Reads of tools that may take their time: on record when the tool has taken them on, and not before (S34, S36).
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import { createLocalAdmin } from '../../src/contract/caller.ts'
import { createRuntime, createWorld, type RuntimeOptions } from '../../src/runtime.ts'
import type { CallerDoor, Runtime } from '../../src/runtime-api.ts'
import { createMemoryData } from '../../src/store/memory/memory-data.ts'
import { createMemoryStore } from '../../src/store/memory/memory-store.ts'
import { until } from '../pipeline/until.ts'
import { type CallbackPeer, envelopeOf, startCallbackPeer } from '../transport/callback-peer.ts'
import { sendJson } from '../transport/tool-peer.ts'

const ASK = { tool: 'report', input: { year: 2026 }, requestId: 'r-1', idempotencyKey: 'k' }
const TOLD = { publicUrl: 'http://writ.test', key: 'a-key-of-the-server-that-is-long-enough-0123' }

/** A place that lives share, each of them a runtime with the same tool. */
async function place(t: TestContext) {
  const peer = await startCallbackPeer()
  const data = createMemoryData()
  const world = createWorld()
  const opened: Runtime[] = []
  t.after(async () => {
    for (const runtime of opened) await runtime.close({ drainMs: 0 })
    await world.network.destroy()
    await peer.close()
  })
  const open = async (effect = 'read-only', options: RuntimeOptions = {}) => {
    const life = { ...world, epoch: world.id() }
    const store = await createMemoryStore({ world: life, data, leaseMs: 60_000 })
    const runtime = await createRuntime({
      world: life,
      store: { kind: 'given', store },
      onWarning: () => {},
      ...options,
    })
    opened.push(runtime)
    await runtime.resources.apply([{ text: JSON.stringify(manifest(peer, effect)), file: 'report.json' }])
    return { runtime, door: runtime.as(createLocalAdmin()) }
  }
  return { peer, open }
}

function manifest({ url }: CallbackPeer, effect: string): object {
  const spec = {
    type: 'webhook-callback',
    endpoint: url,
    effect: { class: effect },
    webhook: { poll: '100ms' },
    runtime: { timeout: '20s' },
  }
  return { apiVersion: 'writ.dev/v1', kind: 'Tool', metadata: { name: 'report' }, spec }
}

async function statesOf(door: CallerDoor): Promise<readonly string[]> {
  const open = await door.listOpen({ states: ['intended', 'sent'], limit: 10 })
  return open.map(({ state }) => state)
}

/** What is on record when the tool is asked. */
async function atTheTool(
  t: TestContext,
  effect: string,
  options: RuntimeOptions,
): Promise<readonly string[]> {
  const { peer, open } = await place(t)
  const { door } = await open(effect, options)
  let seen: readonly string[] | undefined
  peer.answer = (_, response) => {
    statesOf(door).then((states) => {
      seen = states
      sendJson(response, envelopeOf('r-1', 1))
    })
    return true
  }
  assert.equal((await door.call(ASK)).output, 1)
  return seen ?? []
}

test('S34: a read that can only be asked for is not on record when it is sent; a write is', async (t) => {
  assert.deepEqual(await atTheTool(t, 'read-only', {}), [])
  assert.deepEqual(await atTheTool(t, 'external-communication', {}), ['intended'])
})

test('a read whose tool may report by itself is on record when it is sent: the report may come first', async (t) => {
  assert.deepEqual(await atTheTool(t, 'read-only', { toolCallbacks: TOLD }), ['intended'])
})

test('S36: a read that its tool has taken on is on record, with what let it through, and the next life goes on', async (t) => {
  const { peer, open } = await place(t)
  const first = await open()
  const handle = first.door.start(ASK)
  await until(async () => (await statesOf(first.door)).includes('sent'))
  await first.runtime.close({ drainMs: 0 })
  const second = await open()
  assert.equal((await second.door.getCall(handle.id))?.state, 'running')
  peer.end('r-1', 'told to the second')
  const joined = await second.door.call(ASK)
  assert.deepEqual([joined.output, joined.replayed], ['told to the second', true])
  assert.equal(peer.received.filter(({ method }) => method === 'POST').length, 1)
})

test('S10: two processes whose reads of one key were taken on at once follow one work, and both are told its end', async (t) => {
  const { peer, open } = await place(t)
  const doors = [(await open()).door, (await open()).door]
  const waiting: ServerResponse[] = []
  peer.answer = ({ method }, response) => {
    if (method !== 'POST') return false
    waiting.push(response)
    if (waiting.length === 2) for (const one of waiting) sendJson(one, { status: 'pending' }, 202)
    return true
  }
  const answers = Promise.all(doors.map((door) => door.call(ASK)))
  await until(async () => (await statesOf(doors[0] as CallerDoor)).includes('sent'))
  peer.end('r-1', 7)
  const told = await answers
  assert.deepEqual(
    told.map(({ state, output }) => [state, output]),
    [
      ['succeeded', 7],
      ['succeeded', 7],
    ],
  )
  assert.deepEqual(told.map(({ replayed }) => replayed).sort(), [false, true])
})
