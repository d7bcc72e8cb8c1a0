// The wall clock of the machine jumps while calls are under way: nothing early, nothing lost, late by the jump at most (S12).
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { createRuntime, createWorld } from '../../src/runtime.ts'
import type { CallerDoor, Runtime } from '../../src/runtime-api.ts'
import { createMemoryStore } from '../../src/store/memory/memory-store.ts'
import { createSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../src/store/store.ts'
import { createUuid7 } from '../../src/util/uuid.ts'
import { collect, KEY, verify } from '../ledger/audit-fixture.ts'
import { EVERYTHING, FENCING, gate, type SteeredTool, steeredTool, WRITE } from '../pipeline/harness.ts'
import { startTwoPhaseTool } from '../pipeline/two-phase-tool.ts'
import { until } from '../pipeline/until.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
/** How much later than asked something may come on a busy machine. */
const SLACK_MS = 3_000
const JUMPS = [
  { name: 'back', by: -HOUR },
  { name: 'forward', by: HOUR },
] as const

interface Machine {
  readonly runtime: Runtime
  readonly door: CallerDoor
  readonly store: Store
  /** Sets the wall clock, by which the store and its timers go. */
  jump(ms: number): void
  now(): number
}

async function machine(
  t: TestContext,
  kind: 'memory' | 'sqlite',
  tools: readonly SteeredTool[],
  retentionMs = 7 * 24 * HOUR,
): Promise<Machine> {
  let ahead = 0
  const now = () => Date.now() + ahead
  const real = createWorld()
  const world = {
    ...real,
    clock: { now, monotonic: real.clock.monotonic },
    id: createUuid7(now, randomBytes),
  }
  const store = await openStore(t, kind, world)
  const runtime = await createRuntime({
    world,
    store: { kind: 'given', store },
    audit: { key: KEY },
    retention: { keepMs: retentionMs },
    onWarning: () => {},
    tools: tools.map((tool) => tool.definition),
  })
  t.after(async () => {
    await runtime.close({ drainMs: 0 })
    await real.network.destroy()
  })
  const jump = (ms: number) => {
    ahead += ms
  }
  const door = runtime.as({ actor: 'agent-a', permissions: EVERYTHING })
  return { runtime, door, store, jump, now }
}

function openStore(
  t: TestContext,
  kind: 'memory' | 'sqlite',
  world: Parameters<typeof createMemoryStore>[0]['world'],
) {
  if (kind === 'memory') return createMemoryStore({ world })
  const folder = mkdtempSync(join(tmpdir(), 'writ-clock-'))
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  return createSqliteStore({ world, path: join(folder, 'writ.db') })
}

async function entryOf({ store }: Machine, callId: string) {
  const entries = await store.entries.list({ namespace: 'default', limit: 100 })
  return entries.find((entry) => entry.callId === callId)
}

/** How far off a timer about the entry of a call is, by the store's clock. */
async function dueIn(here: Machine, kind: 'commit-deadline' | 'reconcile', callId: string): Promise<number> {
  const entry = await entryOf(here, callId)
  assert.ok(entry)
  const timer = await here.store.timers.get('default', kind, entry.id)
  assert.ok(timer, `the ${kind} timer is there`)
  return timer.dueAt - here.now()
}

async function assertEvidence({ runtime }: Machine): Promise<void> {
  await runtime.audit.head()
  const { faults, records } = await verify(await collect(runtime.audit.export()))
  assert.deepEqual(faults, [])
  assert.ok(records > 0)
}

for (const kind of ['memory', 'sqlite'] as const) {
  describe(`S12: a clock that jumps, over the store ${kind}`, () => {
    for (const { name, by } of JUMPS) {
      it(`${name} by an hour neither cuts a call short nor lets it run on, and keys replay`, async (t) => {
        const slow = steeredTool('slow', { ...WRITE, runtime: { timeout: '20s' } })
        const stuck = steeredTool('stuck', { ...WRITE, runtime: { timeout: '500ms' } })
        const reply = gate<string>()
        slow.behave(() => reply.opened)
        stuck.behave(() => new Promise(() => {}))
        const here = await machine(t, kind, [slow, stuck])
        const began = performance.now()
        const hung = here.door.call({ tool: 'stuck', idempotencyKey: 'hung' })
        const waited = here.door.call({
          tool: 'slow',
          idempotencyKey: 'k',
          deadlineUnixMs: here.now() + 20_000,
        })
        await until(() => slow.sends.length + stuck.sends.length === 2)
        here.jump(by)

        const late = await hung
        const took = performance.now() - began
        assert.deepEqual([late.state, late.failure?.id], ['unknown', 'timeout-unknown-commit'])
        assert.ok(took >= 500 && took < 500 + SLACK_MS, `its 500 ms took ${took} ms`)
        reply.open('done')
        const answer = await waited
        assert.deepEqual([answer.state, answer.output], ['succeeded', 'done'])

        // The key was made in what is now the future, or an hour ago; and after the clock is put right, the other way.
        for (const correction of [0, -by]) {
          here.jump(correction)
          const again = await here.door.call({ tool: 'slow', idempotencyKey: 'k' })
          assert.deepEqual([again.state, again.replayed], ['succeeded', true])
          const held = await here.door.call({ tool: 'stuck', idempotencyKey: 'hung' })
          assert.deepEqual([held.state, held.replayed], ['unknown', true])
        }
        assert.deepEqual([slow.sends.length, stuck.sends.length], [1, 1])
        await assertEvidence(here)
      })
    }

    it('back by an hour leaves a commit in time, and a rollback comes late by the jump at most', async (t) => {
      const tool = await startTwoPhaseTool()
      t.after(() => tool.close())
      const here = await machine(t, kind, [])
      const manifest = { text: tool.manifest('deadline: 30m'), file: 'book.yaml' }
      assert.ok((await here.runtime.resources.apply([manifest])).ok)
      const prepare = (key: string) => here.door.call({ tool: 'book', input: {}, idempotencyKey: key })
      const [taken, left] = [await prepare('taken'), await prepare('left')]
      const counts = () => [...tool.kept.values()].map((one) => [one.committed, one.rolledBack])

      here.jump(-HOUR)
      const ms = await dueIn(here, 'commit-deadline', left.callId)
      assert.ok(ms > HOUR && ms <= HOUR + 30 * MINUTE, `due in ${ms} ms: not early, and late by the jump`)
      const committed = await here.door.commit(taken.callId, taken.commitToken ?? '')
      assert.equal(committed.kind, 'ok')
      assert.deepEqual(counts(), [
        [1, 0],
        [0, 0],
      ])

      // That time passes.
      here.jump(HOUR + 30 * MINUTE)
      await until(() => counts()[1]?.[1] === 1)
      await until(async () => (await entryOf(here, left.callId))?.state === 'rolled-back')
      const tooLate = await here.door.commit(left.callId, left.commitToken ?? '')
      assert.equal(tooLate.kind, 'refused')
      assert.deepEqual(counts(), [
        [1, 0],
        [0, 1],
      ])
      await assertEvidence(here)
    })

    it('forward by an hour ends no commit that has two', async (t) => {
      const tool = await startTwoPhaseTool()
      t.after(() => tool.close())
      const here = await machine(t, kind, [])
      const manifest = { text: tool.manifest('deadline: 2h'), file: 'book.yaml' }
      assert.ok((await here.runtime.resources.apply([manifest])).ok)
      const prepared = await here.door.call({ tool: 'book', input: {}, idempotencyKey: 'k' })
      here.jump(HOUR)
      const ms = await dueIn(here, 'commit-deadline', prepared.callId)
      assert.ok(ms > 0 && ms <= HOUR, `due in ${ms} ms`)
      assert.equal((await here.door.commit(prepared.callId, prepared.commitToken ?? '')).kind, 'ok')
      assert.deepEqual([tool.count('commit'), tool.count('rollback')], [1, 0])
    })

    it('back by an hour makes the question about an unknown effect late, and loses it not', async (t) => {
      const pay = steeredTool('pay', {
        ...FENCING,
        runtime: { timeout: '200ms' },
        limits: { timeout_max: '200ms' },
      })
      pay.behave(() => new Promise(() => {}))
      const here = await machine(t, kind, [pay])
      const answer = await here.door.call({ tool: 'pay', idempotencyKey: 'k' })
      assert.equal(answer.state, 'unknown')
      here.jump(-HOUR)
      const asked = pay.questions.length
      const ms = await dueIn(here, 'reconcile', answer.callId)
      assert.ok(ms > HOUR - MINUTE && ms <= HOUR + MINUTE, `due in ${ms} ms`)
      pay.say(() => ({ state: 'done' }))
      here.jump(HOUR + MINUTE)
      await until(async () => (await here.door.getCall(answer.callId))?.state === 'succeeded')
      assert.ok(pay.questions.length > asked)
      assert.equal(pay.sends.length, 1)
      await assertEvidence(here)
    })

    it('S18: erases nothing before its time, and what it made in the future in the end', async (t) => {
      const pay = steeredTool('pay', WRITE)
      const here = await machine(t, kind, [pay], 3 * HOUR)
      const ask = (key: string) => here.door.call({ tool: 'pay', idempotencyKey: key })
      const sweepIn = async () => {
        const timer = await here.store.timers.get('', 'retention', '')
        assert.ok(timer, 'the timer of retention is there')
        return timer.dueAt - here.now()
      }
      await until(async () => (await sweepIn()) > 0)
      await ask('now')
      here.jump(HOUR)
      await ask('future')
      here.jump(-HOUR)
      for (const key of ['now', 'future']) assert.equal((await ask(key)).replayed, true)
      const ms = await sweepIn()
      assert.ok(ms <= 2 * HOUR, `the next sweep is due in ${ms} ms: late by the jump at most`)

      // Ahead by more than things are kept: a sweep goes by the time it was due, and leaves what is an hour old.
      here.jump(4 * HOUR)
      await until(async () => (await sweepIn()) > 0)
      for (const key of ['now', 'future']) assert.equal((await ask(key)).replayed, true)

      // That time passes indeed.
      here.jump(2 * HOUR)
      await until(async () => {
        const entries = await here.store.entries.list({ namespace: 'default', limit: 10 })
        return entries.length === 2 && entries.every(({ erased }) => erased === true)
      })
      for (const key of ['now', 'future']) assert.equal((await ask(key)).failure?.id, 'key-expired')
      assert.equal(pay.sends.length, 2)
      await assertEvidence(here)
    })
  })
}
