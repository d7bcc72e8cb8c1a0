// A whole runtime on a file: the process dies in the middle of an abort, and the next one ends it (S29, S36).
import assert from 'node:assert/strict'
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createLocalAdmin } from '../../src/contract/caller.ts'
import { defineTool } from '../../src/define-tool.ts'
import { createRuntime, createWorld } from '../../src/runtime.ts'
import type { CallerDoor, SagaView } from '../../src/runtime-api.ts'
import type { Json, JsonObject } from '../../src/util/json.ts'
import type { World } from '../../src/util/world.ts'
import { EVERYTHING, gate } from '../pipeline/harness.ts'

const effect = { class: 'external-communication' } as const

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'writ-saga-'))
  t.after(() => rmSync(path, { recursive: true, force: true, maxRetries: 5 }))
  return path
}

interface Process {
  readonly door: CallerDoor
  readonly admin: CallerDoor
  /** Moves its clock on. */
  sleep(ms: number): void
  readonly log: Json[]
}

/** `hang` holds the undoing of one thing for good, after it was done. */
async function processOn(t: TestContext, path: string, hang?: string): Promise<Process> {
  const log: Json[] = []
  const book = defineTool({
    name: 'book',
    effect: { ...effect, compensation: { tool: 'cancel', input_map: { what: '/input/what' } } },
    handler: (input) => ({ booked: input as Json }),
  })
  const held = gate<Json>()
  const cancel = defineTool({
    name: 'cancel',
    effect,
    handler: (input) => {
      log.push((input as JsonObject).what ?? null)
      return (input as JsonObject).what === hang ? held.opened : 'ok'
    },
  })
  let skew = 0
  const system = createWorld()
  const world: World = {
    ...system,
    clock: { now: () => system.clock.now() + skew, monotonic: () => system.clock.monotonic() },
  }
  const runtime = await createRuntime({
    world,
    store: { kind: 'sqlite', path },
    tools: [book, cancel],
    onWarning: () => {},
  })
  t.after(async () => {
    held.open('too late')
    await runtime.close({ drainMs: 0 })
    await system.network.destroy()
  })
  return {
    door: runtime.as({ actor: 'agent-a', permissions: EVERYTHING }),
    admin: runtime.as(createLocalAdmin()),
    log,
    sleep(ms) {
      skew += ms
    },
  }
}

async function until(door: CallerDoor, is: (saga: SagaView) => boolean): Promise<SagaView> {
  const end = Date.now() + 20_000
  for (;;) {
    const saga = (await door.getSaga('trip')) ?? assert.fail('the saga is gone')
    if (is(saga)) return saga
    if (Date.now() > end) assert.fail(`it is still ${JSON.stringify(saga)}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

test('S29: an abort goes on in the next process; what the last one was undoing is for a person to settle', async (t) => {
  const path = folder(t)
  const first = await processOn(t, join(path, 'a.db'), 'room')
  await first.door.openSaga('trip')
  for (const what of ['flight', 'room', 'car']) {
    const answer = await first.door.call({ tool: 'book', input: { what }, saga: 'trip' })
    assert.equal(answer.state, 'succeeded')
  }
  await first.door.abortSaga('trip', 'no')
  while (first.log.length < 2) await new Promise((resolve) => setTimeout(resolve, 5))
  assert.deepEqual(first.log, ['car', 'room'])
  // What a killed process leaves is what is on disk now.
  for (const end of ['', '-wal', '-shm']) {
    if (existsSync(join(path, `a.db${end}`))) copyFileSync(join(path, `a.db${end}`), join(path, `b.db${end}`))
  }

  const second = await processOn(t, join(path, 'b.db'))
  const [flight, room, car] = (await until(second.door, ({ state }) => state === 'aborting')).members
  assert.deepEqual([flight?.state, room?.state, car?.state], ['done', 'compensating', 'compensated'])
  const undoing = room?.compensationCallId ?? ''
  assert.equal((await second.door.getCall(undoing))?.state, 'unknown')
  assert.deepEqual(second.log, [], 'what may have happened is not sent again')

  const settled = await second.admin.settle(undoing, { as: 'done', reason: 'seen in the log of the tool' })
  assert.equal(settled.kind, 'ok')
  second.sleep(60_000)
  const { members } = await until(second.door, ({ state }) => state === 'aborted')
  assert.deepEqual(
    members.map(({ state }) => state),
    ['compensated', 'compensated', 'compensated'],
  )
  assert.deepEqual(second.log, ['flight'])
  const again = await second.door.compensate(members[0]?.callId ?? '')
  assert.equal(again.kind === 'refused' && again.failure.id, 'not-compensable')
})
