// The end of a runtime is bounded while its database is away, whatever is being written then.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRuntime, createWorld } from '../../src/runtime.ts'
import { createMemoryStore } from '../../src/store/memory/memory-store.ts'
import { type Store, StoreUnavailable } from '../../src/store/store.ts'
import { gate, steeredTool, WRITE } from '../pipeline/harness.ts'

const MANIFEST = JSON.stringify({
  apiVersion: 'writ.dev/v1',
  kind: 'McpServer',
  metadata: { name: 'gone' },
  spec: { transport: 'stdio', command: '/there/is/no/such/program' },
})

/** Writes are tried until the database is back, or until somebody is in a hurry: as those of PostgreSQL. */
async function awayStore(world: ReturnType<typeof createWorld>) {
  const real = await createMemoryStore({ world })
  const hurried = gate()
  const asked = gate()
  let away = false
  const given = async <T>(write: () => Promise<T>): Promise<T> => {
    if (!away) return write()
    asked.open()
    await hurried.opened
    throw new StoreUnavailable('given up')
  }
  const store: Store = Object.create(real, {
    hurry: {
      value: () => {
        hurried.open()
        real.hurry()
      },
    },
    resources: {
      value: {
        ...real.resources,
        apply: (...args: Parameters<Store['resources']['apply']>) =>
          given(() => real.resources.apply(...args)),
      },
    },
    ledger: {
      value: {
        ...real.ledger,
        settle: (...args: Parameters<Store['ledger']['settle']>) => given(() => real.ledger.settle(...args)),
      },
    },
  })
  return {
    store,
    asked: asked.opened,
    goAway: () => {
      away = true
    },
  }
}

test('close() does not wait for what discovery writes', async (t) => {
  const world = createWorld()
  t.after(() => world.network.destroy())
  const { store, asked, goAway } = await awayStore(world)
  const runtime = await createRuntime({ world, store: { kind: 'given', store } })
  assert.ok((await runtime.resources.apply([{ text: MANIFEST, file: 'server.json' }])).ok)
  goAway()
  await asked
  await runtime.close({ drainMs: 50 })
})

test('close() does not wait for the outcome of a call', async (t) => {
  const world = createWorld()
  t.after(() => world.network.destroy())
  const { store, asked, goAway } = await awayStore(world)
  const tool = steeredTool('t', WRITE)
  tool.behave(() => {
    goAway()
    return 'done'
  })
  const runtime = await createRuntime({ world, store: { kind: 'given', store }, tools: [tool.definition] })
  const answer = runtime
    .as({ actor: 'agent-a', permissions: ['tool:*:invoke', 'class:*'] })
    .call({ tool: 't' })
  await asked
  await runtime.close({ drainMs: 50 })
  const { effect, failure } = await answer
  assert.deepEqual([effect, failure?.id], ['unknown', 'outcome-not-recorded'])
})
