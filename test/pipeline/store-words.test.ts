// What a store says when it fails (hosts, file names) is for its operator: no caller is told (S37).
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Answer } from '../../src/contract/answer.ts'
import { createWorld } from '../../src/runtime.ts'
import type { ActionResult, CallerDoor } from '../../src/runtime-api.ts'
import { type FailingStore, failingStore } from './failing-store.ts'
import { READ, runtimeWith, type SteeredTool, steeredTool, WRITE } from './harness.ts'
import { startTwoPhaseTool, type TwoPhaseTool } from './two-phase-tool.ts'

const CANARY = 'db-host-canary'

interface Scene extends FailingStore {
  readonly door: CallerDoor
  readonly tools: Readonly<Record<'write' | 'read' | 'strict' | 'asks', SteeredTool>>
  readonly book: TwoPhaseTool
  prepared(): Promise<Answer & { readonly commitToken: string }>
}

async function scene(t: TestContext): Promise<Scene> {
  const world = createWorld()
  t.after(() => world.network.destroy())
  const failing = await failingStore(world, `connect ECONNREFUSED ${CANARY}:5432`)
  const book = await startTwoPhaseTool()
  t.after(() => book.close())
  const tools = {
    write: steeredTool('write', WRITE),
    read: steeredTool('read', READ),
    strict: steeredTool('strict', { ...READ, audit: 'strict' }),
    asks: steeredTool('asks', { ...WRITE, approval_triggers: [{ field: '/amount', op: 'gt', value: 1 }] }),
  }
  const given = { world, store: { kind: 'given', store: failing.store } } as const
  const { runtime, door } = await runtimeWith(t, Object.values(tools), given)
  const applied = await runtime.resources.apply([{ text: book.manifest(), file: 'book.yaml' }])
  assert.ok(applied.ok, JSON.stringify(applied.problems))
  return {
    ...failing,
    door,
    tools,
    book,
    async prepared() {
      const answer = await door.call({ tool: 'book', input: {}, idempotencyKey: 'k' })
      return { ...answer, commitToken: answer.commitToken ?? assert.fail(JSON.stringify(answer)) }
    },
  }
}

type Told = Answer | ActionResult | { readonly kind: string; readonly failure?: { readonly id: string } }

/** Every place that tells a caller that something could not be written down, and the row it answers with. */
const PLACES: Readonly<Record<string, readonly [string, (at: Scene) => Promise<Told>]>> = {
  'recall: the key cannot be looked up': [
    'intent-not-recorded',
    async ({ door, failing }) => {
      failing.add('find')
      return door.call({ tool: 'write', idempotencyKey: 'k' })
    },
  ],
  'admit: the store has failed': [
    'intent-not-recorded',
    async ({ door, failing }) => {
      failing.add('all')
      return door.call({ tool: 'read' })
    },
  ],
  'approve: the suspension is not written': [
    'intent-not-recorded',
    async ({ door, failing }) => {
      failing.add('intend')
      return door.call({ tool: 'asks', input: { amount: 2 } })
    },
  ],
  'execute: the intent is not written': [
    'intent-not-recorded',
    async ({ door, failing }) => {
      failing.add('intend')
      return door.call({ tool: 'write' })
    },
  ],
  'settle: the outcome of a write is not written': [
    'outcome-not-recorded',
    async ({ door, failing }) => {
      failing.add('settle')
      return door.call({ tool: 'write' })
    },
  ],
  'settle: a read cannot be noted': [
    'intent-not-recorded',
    async ({ door, tools, failing }) => {
      tools.read.behave(() => {
        failing.add('note')
        return 1
      })
      return door.call({ tool: 'read' })
    },
  ],
  'settle: a read of audit strict is not written': [
    'intent-not-recorded',
    async ({ door, tools, failing }) => {
      tools.strict.behave(() => {
        failing.add('intend')
        return 1
      })
      return door.call({ tool: 'strict' })
    },
  ],
  'prepare: its intent is not written': [
    'intent-not-recorded',
    async ({ door, failing }) => {
      failing.add('intend')
      return door.call({ tool: 'book', input: {} })
    },
  ],
  'prepare: what was prepared is not written': [
    'outcome-not-recorded',
    async ({ door, failing }) => {
      failing.add('settle')
      return door.call({ tool: 'book', input: {} })
    },
  ],
  'commit: the store has failed before': [
    'intent-not-recorded',
    async ({ door, prepared, failing }) => {
      const { callId, commitToken } = await prepared()
      failing.add('all')
      return door.commit(callId, commitToken)
    },
  ],
  'commit: its beginning is not written': [
    'intent-not-recorded',
    async ({ door, prepared, failing }) => {
      const { callId, commitToken } = await prepared()
      failing.add('settle')
      return door.commit(callId, commitToken)
    },
  ],
  'commit: its end is not written': [
    'outcome-not-recorded',
    async ({ door, prepared, failing, onWritten }) => {
      const { callId, commitToken } = await prepared()
      onWritten(() => failing.add('settle'))
      return door.commit(callId, commitToken)
    },
  ],
  'commit: the store fails between its beginning and the send': [
    'intent-not-recorded',
    async ({ door, prepared, failing, onWritten }) => {
      const { callId, commitToken } = await prepared()
      onWritten(() => failing.add('all'))
      return door.commit(callId, commitToken)
    },
  ],
  'commit: neither the send nor its end can be written': [
    'intent-not-recorded',
    async ({ door, prepared, failing, onWritten }) => {
      const { callId, commitToken } = await prepared()
      onWritten(() => failing.add('all').add('settle'))
      return door.commit(callId, commitToken)
    },
  ],
  'rollback: its beginning is not written': [
    'intent-not-recorded',
    async ({ door, prepared, failing }) => {
      const { callId } = await prepared()
      failing.add('settle')
      return door.rollback(callId)
    },
  ],
  'saga: it cannot be opened': [
    'intent-not-recorded',
    async ({ door, failing }) => {
      failing.add('intend')
      return door.openSaga('trip')
    },
  ],
}

for (const [name, [row, happen]] of Object.entries(PLACES)) {
  test(`S37: a caller is not told what the store says: ${name}`, async (t) => {
    const at = await scene(t)
    const told = await happen(at)
    at.failing.clear()
    const failure = 'failure' in told ? told.failure : undefined
    assert.equal(failure?.id, row, JSON.stringify(told))
    assert.ok(!JSON.stringify(told).includes(CANARY), JSON.stringify(told))
    const shown = await at.door.listCalls({ limit: 10 })
    assert.ok(!JSON.stringify(shown).includes(CANARY), 'nor by its record')
  })
}
