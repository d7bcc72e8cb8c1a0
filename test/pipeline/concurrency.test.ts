// Places in limits.concurrency: whatever becomes of a call, it leaves the place it took, and leaves it once.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAdmission } from '../../src/pipeline/admission.ts'
import { createRuntime, createWorld } from '../../src/runtime.ts'
import type { CallerDoor, Runtime } from '../../src/runtime-api.ts'
import { never, standingWorld } from './bounds-fixture.ts'
import { type FailingStore, failingStore } from './failing-store.ts'
import {
  EVERYTHING,
  gate,
  READ,
  runtimeWith,
  type SteeredTool,
  settleDown,
  steeredTool,
  WRITE,
} from './harness.ts'

test('A place that is left twice is left once', async (t) => {
  const one = steeredTool('one', { ...READ, limits: { concurrency: 2 } })
  const { runtime } = await runtimeWith(t, [one])
  const [tool] = runtime.tools('default')
  assert.ok(tool)
  const admission = createAdmission(standingWorld(t).world)
  const first = admission.enter(tool)
  assert.equal(admission.enter(tool).kind, 'entered')
  assert.equal(admission.enter(tool).kind, 'full')
  for (let index = 0; index < 2; index++) if (first.kind === 'entered') first.slot.leave()
  assert.equal(admission.inFlight, 1)
  assert.equal(admission.peek(tool).kind, 'entered')
  assert.equal(admission.peek(tool).kind, 'entered', 'a look takes no place')
  assert.equal(admission.enter(tool).kind, 'entered')
  assert.equal(admission.enter(tool).kind, 'full')
})

interface Ways {
  readonly tool: SteeredTool
  readonly door: CallerDoor
  readonly runtime: Runtime
  readonly failing: FailingStore['failing']
}

/** What listeners threw while `run` ran: it would end the process, and belongs to no call. */
async function faultsOf(run: () => Promise<unknown>): Promise<number> {
  const faults: unknown[] = []
  process.setUncaughtExceptionCaptureCallback((error) => faults.push(error))
  await run()
  await settleDown()
  process.setUncaughtExceptionCaptureCallback(null)
  return faults.length
}

/** Every way out of a call that had taken a place; each gives how it ended. */
const WAYS_OUT: Readonly<Record<string, (ways: Ways) => Promise<readonly unknown[]>>> = {
  succeeded: async ({ door }) => [(await door.call({ tool: 't' })).state],
  'the intent is not written': async ({ door, failing }) => {
    failing.add('intend')
    return [(await door.call({ tool: 't' })).failure?.id]
  },
  'the outcome is not written': async ({ door, failing }) => {
    failing.add('settle')
    return [(await door.call({ tool: 't' })).failure?.id]
  },
  'the tool crashes': async ({ tool, door }) => {
    tool.behave(() => {
      throw new Error('crash')
    })
    return [(await door.call({ tool: 't' })).failure?.id]
  },
  'the output is not what it promised': async ({ tool, door }) => {
    tool.behave(() => 7)
    return [(await door.call({ tool: 't' })).failure?.id]
  },
  'out of time': async ({ tool, door }) => {
    tool.behave(never)
    return [(await door.call({ tool: 't', timeoutMs: 200 })).failure?.id]
  },
  'canceled while it runs': async ({ tool, door }) => {
    tool.behave(never)
    const handle = door.start({ tool: 't' })
    await settleDown(20)
    handle.cancel()
    return [(await handle.answer()).failure?.id]
  },
  'canceled before it is sent': async ({ door }) => {
    const handle = door.start({ tool: 't' })
    handle.cancel()
    return [(await handle.answer()).state]
  },
  'the same key twice at once': async ({ tool, door }) => {
    const hold = gate<string>()
    tool.behave(() => hold.opened)
    const both = [1, 2].map(() => door.call({ tool: 't', idempotencyKey: 'k' }))
    await settleDown(10)
    hold.open('ok')
    return (await Promise.all(both)).map(({ state }) => state)
  },
  'a listener of facts throws': async ({ tool, door }) => {
    const handle = door.start({ tool: 't' })
    handle.onFact(() => {
      throw new Error('listener')
    })
    const faults = await faultsOf(() => handle.answer())
    return [(await handle.answer()).state, tool.sends.length, faults]
  },
  'listeners of events throw': async ({ tool, door, runtime }) => {
    const stop = (['call:started', 'attempt:failed', 'entry:unknown', 'call:ended'] as const).map((name) =>
      runtime.events.on(name, () => {
        throw new Error(name)
      }),
    )
    tool.behave(() => {
      throw new Error('crash')
    })
    const ended: unknown[] = []
    const faults = await faultsOf(async () => ended.push((await door.call({ tool: 't' })).failure?.id))
    for (const one of stop) one()
    return [...ended, faults]
  },
}

const ENDS: Readonly<Record<keyof typeof WAYS_OUT, readonly unknown[]>> = {
  succeeded: ['succeeded'],
  'the intent is not written': ['intent-not-recorded'],
  'the outcome is not written': ['outcome-not-recorded'],
  'the tool crashes': ['tool-crashed'],
  'the output is not what it promised': ['output-invalid'],
  'out of time': ['timeout-unknown-commit'],
  'canceled while it runs': ['canceled'],
  'canceled before it is sent': ['canceled'],
  'the same key twice at once': ['succeeded', 'succeeded'],
  'a listener of facts throws': ['succeeded', 1, 1],
  'listeners of events throw': ['tool-crashed', 4],
}

for (const [name, leave] of Object.entries(WAYS_OUT)) {
  test(`A call leaves its place in limits.concurrency: ${name}`, async (t) => {
    const world = createWorld()
    t.after(() => world.network.destroy())
    const { store, failing } = await failingStore(world)
    const tool = steeredTool('t', {
      ...WRITE,
      limits: { concurrency: 1 },
      output_schema: { type: 'string' },
    })
    tool.behave(() => 'ok')
    const runtime = await createRuntime({
      world,
      store: { kind: 'given', store },
      tools: [tool.definition],
    })
    t.after(() => runtime.close({ drainMs: 0 }))
    const door = runtime.as({ actor: 'a', permissions: EVERYTHING })
    assert.deepEqual(await leave({ tool, door, runtime, failing }), ENDS[name])
    failing.clear()
    tool.behave(() => 'ok')
    assert.equal((await door.call({ tool: 't' })).state, 'succeeded', 'the place is free again')
    // And it was left once, not twice: there is still room for one only.
    const hold = gate<string>()
    tool.behave(() => hold.opened)
    const one = door.call({ tool: 't' })
    await settleDown()
    assert.equal((await door.call({ tool: 't' })).failure?.id, 'concurrency-exceeded')
    hold.open('ok')
    assert.equal((await one).state, 'succeeded')
  })
}
