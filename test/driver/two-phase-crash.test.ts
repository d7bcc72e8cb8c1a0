// A process that dies in the middle of a commit or a rollback, and the one that starts after it (S26, S36).
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createRuntime, createWorld } from '../../src/runtime.ts'
import type { Runtime } from '../../src/runtime-api.ts'
import { createMemoryData } from '../../src/store/memory/memory-data.ts'
import { createMemoryStore } from '../../src/store/memory/memory-store.ts'
import { startTwoPhaseTool } from '../pipeline/two-phase-tool.ts'
import { until } from '../pipeline/until.ts'

const ANN = { actor: 'ann', permissions: ['tool:book:invoke'] }

/** Lives of one store, one after the other; a life that was killed does nothing any more. */
async function lives(t: TestContext, change: (manifest: string, origin: string) => string = (text) => text) {
  const tool = await startTwoPhaseTool()
  const data = createMemoryData()
  const real = createWorld()
  const opened = new Set<Runtime>()
  t.after(async () => {
    tool.release()
    for (const runtime of opened) await runtime.close({ drainMs: 0 })
    await real.network.destroy()
    await tool.close()
  })
  async function start() {
    let dead = false
    const alive = (run: () => void) => () => {
      if (!dead) run()
    }
    const world = {
      ...real,
      epoch: real.id(),
      after: (ms: number, run: () => void) => real.after(ms, alive(run)),
      soon: (run: () => void) => real.soon(alive(run)),
    }
    const store = await createMemoryStore({ world, data })
    const runtime = await createRuntime({ world, store: { kind: 'given', store }, onWarning: () => {} })
    opened.add(runtime)
    return {
      runtime,
      door: runtime.as(ANN),
      kill() {
        dead = true
        opened.delete(runtime)
      },
    }
  }
  const first = await start()
  const text = change(tool.manifest(), tool.peer.origin)
  const applied = await first.runtime.resources.apply([{ text, file: 'book.yaml' }])
  assert.ok(applied.ok, JSON.stringify(applied.problems))
  const prepared = await first.door.call({ tool: 'book', input: { seat: 1 }, idempotencyKey: 'k' })
  assert.equal(prepared.state, 'prepared')
  return { tool, first, start, callId: prepared.callId, token: prepared.commitToken ?? '' }
}

const kept = (tool: Awaited<ReturnType<typeof startTwoPhaseTool>>) => [...tool.kept.values()][0]

test('S26: what was prepared can be committed in a later life, with the same token', async (t) => {
  const { tool, first, start, callId, token } = await lives(t)
  first.kill()
  const { door } = await start()
  const again = await door.call({ tool: 'book', input: { seat: 1 }, idempotencyKey: 'k' })
  assert.deepEqual([again.state, again.commitToken, again.replayed], ['prepared', token, true])
  assert.equal((await door.commit(callId, token)).kind, 'ok')
  assert.equal(kept(tool)?.committed, 1)
})

test('S36: a commit that was under way is unknown to the next life, and is not sent again', async (t) => {
  const { tool, first, start, callId, token } = await lives(t)
  tool.ways.commit = 'hold'
  void first.door.commit(callId, token)
  await until(() => tool.count('commit') === 1)
  first.kill()
  tool.release()
  const { door } = await start()
  assert.equal((await door.getCall(callId))?.state, 'unknown')
  const result = await door.commit(callId, token)
  assert.equal(result.kind === 'refused' && result.failure.id, 'commit-unknown')
  assert.deepEqual([kept(tool)?.committed, tool.count('commit')], [1, 1])
})

test('S35: a commit belongs to the life that sends it, not to the one that prepared', async (t) => {
  const { tool, first, start, callId, token } = await lives(t)
  first.kill()
  const second = await start()
  tool.ways.commit = 'hold'
  void second.door.commit(callId, token)
  await until(() => tool.count('commit') === 1)
  second.kill()
  tool.release()
  const third = await start()
  assert.equal((await third.door.getCall(callId))?.state, 'unknown')
  assert.deepEqual([kept(tool)?.committed, tool.count('commit')], [1, 1])
})

test('S27: the next life asks the tool what became of the commit', async (t) => {
  const { tool, first, start, callId, token } = await lives(t, (text, origin) =>
    text.replace(
      'two_phase:',
      `status_query: { url: '${origin}/status/{key}', fencing: true }\n    two_phase:`,
    ),
  )
  tool.ways.commit = 'lose'
  tool.ways.status = 'drop'
  void first.door.commit(callId, token)
  await until(() => kept(tool)?.committed === 1)
  first.kill()
  tool.ways.status = 'ok'
  const { door } = await start()
  await until(async () => (await door.getCall(callId))?.state === 'succeeded')
  assert.deepEqual([kept(tool)?.committed, tool.count('commit')], [1, 1])
})

test('S26: a rollback that was under way goes on in the next life until it is acknowledged', async (t) => {
  const { tool, first, start, callId } = await lives(t)
  tool.ways.rollback = 'refuse'
  assert.equal((await first.door.rollback(callId)).kind, 'ok')
  first.kill()
  tool.ways.rollback = 'ok'
  const { door } = await start()
  await until(async () => (await door.getCall(callId))?.state === 'canceled')
  assert.equal(kept(tool)?.rolledBack, 1)
})

test('S12: the deadline of a commit passes while no process runs: it is rolled back by the next', async (t) => {
  const { tool, first, start, callId, token } = await lives(t, (text) =>
    text.replace('two_phase:', 'two_phase:\n      deadline: 50ms'),
  )
  first.kill()
  // The time itself is what this is about.
  await new Promise((resolve) => setTimeout(resolve, 80))
  const { door } = await start()
  await until(async () => (await door.getCall(callId))?.state === 'timed-out')
  const late = await door.commit(callId, token)
  assert.equal(late.kind === 'refused' && late.failure.id, 'commit-expired')
  assert.deepEqual([kept(tool)?.rolledBack, tool.count('commit')], [1, 0])
})

test('S26: commits around the deadline are committed or rolled back, never both', async (t) => {
  const { tool, first } = await lives(t, (text) =>
    text.replace('two_phase:', 'two_phase:\n      deadline: 60ms'),
  )
  const { door } = first
  await Promise.all(
    Array.from({ length: 20 }, async (_, index) => {
      const one = await door.call({ tool: 'book', input: { seat: index }, idempotencyKey: `race ${index}` })
      await new Promise((resolve) => setTimeout(resolve, 40 + index * 2))
      await door.commit(one.callId, one.commitToken ?? '')
      await until(async () => {
        const state = (await door.getCall(one.callId))?.state
        return state === 'succeeded' || state === 'timed-out'
      })
    }),
  )
  await until(() => [...tool.kept.values()].every((each) => each.committed + each.rolledBack > 0))
  for (const each of tool.kept.values()) assert.equal(each.committed + each.rolledBack, 1)
})
