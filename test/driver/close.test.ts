// The end of a runtime is bounded, whatever its driver is in the middle of; what is left goes to the next life.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createRuntime, createWorld, type RuntimeOptions } from '../../src/runtime.ts'
import type { Runtime } from '../../src/runtime-api.ts'
import { createMemoryData } from '../../src/store/memory/memory-data.ts'
import { createMemoryStore } from '../../src/store/memory/memory-store.ts'
import type { EntryStore, Store } from '../../src/store/store.ts'
import { ToolError } from '../../src/transport/tool-error.ts'
import type { Timer, World } from '../../src/util/world.ts'
import { EVERYTHING, gate, NATURAL, READ, steeredTool, WRITE } from '../pipeline/harness.ts'
import { until } from '../pipeline/until.ts'

/** Far less than what the driver would wait for, and far more than an end takes on a noisy machine. */
const SOON_MS = 5_000
const never = () => new Promise<never>(() => {})

async function endsSoon(runtime: Runtime, drainMs: number): Promise<void> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error('close() does not end')), SOON_MS)
  try {
    await Promise.race([runtime.close({ drainMs }), late.promise])
  } finally {
    clearTimeout(timer)
  }
}

/** Lives of a process over one memory store, of which a test may stand in for some reads. */
function lives(t: TestContext, tools: NonNullable<RuntimeOptions['tools']>) {
  const base = createWorld()
  t.after(() => base.network.destroy())
  const data = createMemoryData()
  return async ({
    over = {},
    entries = () => ({}),
  }: {
    readonly over?: Partial<World>
    readonly entries?: (store: Store) => Partial<EntryStore>
  } = {}) => {
    let dead = false
    const own = { ...base, ...over }
    const timers: Timer[] = []
    const world: World = {
      ...own,
      epoch: base.id(),
      after(ms, run) {
        const timer = own.after(ms, run)
        timers.push(timer)
        return timer
      },
      soon: (run) => own.soon(() => dead || run()),
    }
    const real = await createMemoryStore({ world, data })
    const store: Store = Object.create(real, { entries: { value: { ...real.entries, ...entries(real) } } })
    const runtime = await createRuntime({
      world,
      store: { kind: 'given', store },
      tools,
      onWarning: () => {},
    })
    // Nothing fires in a process that was killed.
    const kill = () => {
      dead = true
      for (const timer of timers) timer.cancel()
    }
    t.after(() => dead || endsSoon(runtime, 0))
    return { runtime, store, kill, door: runtime.as({ actor: 'a', permissions: EVERYTHING }) }
  }
}

test('S18: close() does not wait for a sweep that pauses, and the next life goes on with it at once', async (t) => {
  const live = lives(t, [])
  const base = createWorld()
  t.after(() => base.network.destroy())
  let skew = 0
  let pausing = false
  const HOUR = 3_600_000
  const first = await live({
    over: {
      clock: { now: base.clock.now, monotonic: () => base.clock.monotonic() + skew },
      after(ms, run) {
        pausing ||= ms >= HOUR
        return base.after(ms, run)
      },
    },
    // Each step seems to take a quarter of an hour, and leaves more to do.
    entries: () => ({
      async erase(_, limit) {
        skew += HOUR / 4
        return limit
      },
    }),
  })
  await until(() => pausing)
  await endsSoon(first.runtime, 0)
  const swept: number[] = []
  await live({
    entries: (store) => ({
      erase(before, limit) {
        swept.push(before)
        return store.entries.erase(before, limit)
      },
    }),
  })
  await until(() => swept.length === 1)
})

test('Nothing becomes due any more while a runtime drains', async (t) => {
  const look = steeredTool('look', READ)
  const reply = gate<string>()
  look.behave(() => reply.opened)
  let sweeps = 0
  const { runtime, store, door } = await lives(t, [look.definition])({
    entries: () => ({
      async erase() {
        sweeps++
        return 0
      },
    }),
  })
  await until(async () => sweeps === 1 && (await store.timers.nextIn()) !== undefined)
  const call = door.call({ tool: 'look' })
  await until(() => look.sends.length === 1)
  const closed = runtime.close({ drainMs: SOON_MS })
  await store.ledger.settle({ namespace: '', timers: [{ kind: 'retention', subject: '', inMs: 0 }] })
  // Long enough for a loop that still looked: it looks at once.
  await new Promise((resolve) => setTimeout(resolve, 50))
  reply.open('seen')
  assert.equal((await call).state, 'succeeded', 'while calls have their time')
  await closed
  assert.equal(sweeps, 1)
})

/** A read by the driver that takes until the runtime is ending its calls: what it begins then comes too late. */
function holdRead(store: Store) {
  const asked = gate()
  const go = gate()
  let armed = false
  const arm = () => {
    armed = true
  }
  const get: EntryStore['get'] = async (namespace, id) => {
    if (armed) {
      armed = false
      asked.open()
      await go.opened
    }
    return store.entries.get(namespace, id)
  }
  return { get, asked: asked.opened, go: () => go.open(), arm }
}

/** Closes while a call of a caller is being ended, and lets the driver begin its own in that moment. */
async function closeMeanwhile(
  { runtime, door }: Awaited<ReturnType<ReturnType<typeof lives>>>,
  hanging: ReturnType<typeof steeredTool>,
  held: ReturnType<typeof holdRead>,
): Promise<void> {
  hanging.behave((_, context) => {
    context.signal.addEventListener('abort', () => held.go())
    return never()
  })
  void door.call({ tool: 'hanging' })
  await until(() => hanging.sends.length === 1)
  await endsSoon(runtime, 50)
}

const LONG = { runtime: { timeout: '60s' } }

test('S36: close() does not wait for a call that the driver begins to send again meanwhile', async (t) => {
  const put = steeredTool('put', { ...NATURAL, ...LONG })
  const hanging = steeredTool('hanging', WRITE)
  put.behave(never)
  const live = lives(t, [put.definition, hanging.definition])
  const first = await live()
  void first.door.call({ tool: 'put', input: 1, idempotencyKey: 'k' })
  await until(() => put.sends.length === 1)
  first.kill()
  const held: { read?: ReturnType<typeof holdRead> } = {}
  const second = await live({
    entries: (store) => {
      held.read = holdRead(store)
      held.read.arm()
      return { get: held.read.get }
    },
  })
  const read = held.read ?? assert.fail()
  await read.asked
  await closeMeanwhile(second, hanging, read)
  assert.equal(put.sends.length, 1, 'it is left to the next life')
})

test('S29: close() does not wait for an undo that the driver begins meanwhile', async (t) => {
  const book = steeredTool('book', {
    effect: { class: 'external-communication', compensation: { tool: 'cancel' } },
  })
  const again = { determinism: 'idempotent', idempotency: 'natural' }
  const cancel = steeredTool('cancel', { effect: { ...WRITE.effect, ...again }, ...LONG })
  const hanging = steeredTool('hanging', WRITE)
  cancel.behave(() => {
    throw new ToolError('busy', { effect: 'none', retryable: true })
  })
  const held: { read?: ReturnType<typeof holdRead> } = {}
  const life = await lives(t, [book.definition, cancel.definition, hanging.definition])({
    entries: (store) => {
      held.read = holdRead(store)
      return { get: held.read.get }
    },
  })
  const read = held.read ?? assert.fail()
  const booked = await life.door.call({ tool: 'book', input: 1 })
  const undone = await life.door.compensate(booked.callId)
  assert.equal(undone.kind, 'ok', JSON.stringify(undone))
  const tried = cancel.sends.length
  cancel.behave(never)
  read.arm()
  await read.asked
  await closeMeanwhile(life, hanging, read)
  assert.equal(cancel.sends.length, tried, 'it is left to the next life')
})
