// Calls: kept whole, found by id and request id, listed newest first.
import assert from 'node:assert/strict'
import type { CallRecord } from '../../../src/contract/call.ts'
import type { CallFilter, Store } from '../../../src/store/store.ts'
import { makeCall, makeEndedCall } from '../fixture.ts'
import type { StoreCase } from '../store-contract.ts'

function keep(store: Store, ...calls: CallRecord[]) {
  return store.ledger.settle({ namespace: 'default', calls })
}

export const callCases: readonly StoreCase[] = [
  {
    name: 'S8: a call without an entry is kept whole',
    async run({ world, open }) {
      const store = await open()
      const [bare, full] = [makeCall(world), makeEndedCall(world)]
      await keep(store, bare, full)
      assert.deepEqual(await store.calls.get('default', bare.id), bare)
      assert.deepEqual(await store.calls.get('default', full.id), full)
    },
  },
  {
    name: 'an answer without output stays without, one with the output null keeps it',
    async run({ world, open }) {
      const store = await open()
      const call = makeEndedCall(world)
      const { output, commitToken, ...answer } = call.answer!
      const without = { ...call, answer: { ...answer, sideEffects: [] } }
      await keep(store, without)
      assert.deepEqual(await store.calls.get('default', call.id), without)
      const withNull = { ...call, answer: { ...answer, output: null } }
      await keep(store, withNull)
      assert.deepEqual(await store.calls.get('default', call.id), withNull)
    },
  },
  {
    name: 'a caller may send any text as its request id; the call is found by it',
    async run({ world, open }) {
      const store = await open()
      const strange = makeCall(world, { requestId: 'a\0b\ud800' })
      await keep(store, strange, makeCall(world, { requestId: 'a' }))
      const found = await store.calls.list({ namespace: 'default', requestId: 'a\0b\ud800', limit: 10 })
      assert.deepEqual(
        found.map((call) => call.id),
        [strange.id],
      )
    },
  },
  {
    name: 'a record replaces the one before it',
    async run({ world, open }) {
      const store = await open()
      const running = makeCall(world, { entryId: 'entry' })
      await keep(store, running)
      const ended = makeEndedCall(world, { id: running.id, entryId: 'entry' })
      await keep(store, ended)
      assert.deepEqual(await store.calls.get('default', running.id), ended)
      assert.equal((await store.calls.list({ namespace: 'default', limit: 10 })).length, 1)
    },
  },
  {
    name: 'a call is found in its own namespace only',
    async run({ world, open }) {
      const store = await open()
      const call = makeCall(world, { namespace: 'team-a' })
      await store.ledger.settle({ namespace: 'team-a', calls: [call] })
      assert.deepEqual(await store.calls.get('team-a', call.id), call)
      assert.equal(await store.calls.get('default', call.id), undefined)
      assert.deepEqual(await store.calls.list({ namespace: 'default', limit: 10 }), [])
    },
  },
  {
    name: 'calls are listed newest first and filtered by each field and by all',
    async run({ world, open }) {
      const store = await open()
      const a = makeCall(world, { actor: 'ann', tool: 'mail', requestId: 'r-1' })
      const b = makeEndedCall(world, { actor: 'ann', tool: 'pay', requestId: 'r-2' })
      const c = makeEndedCall(world, { actor: 'bob', tool: 'mail', requestId: 'r-1' })
      await keep(store, c, a, b)
      const ids = async (filter: Partial<CallFilter>) =>
        (await store.calls.list({ namespace: 'default', limit: 10, ...filter })).map((call) => call.id)
      assert.deepEqual(await ids({}), [c.id, b.id, a.id])
      assert.deepEqual(await ids({ actor: 'ann' }), [b.id, a.id])
      assert.deepEqual(await ids({ tool: 'mail' }), [c.id, a.id])
      assert.deepEqual(await ids({ state: 'running' }), [a.id])
      assert.deepEqual(await ids({ state: 'succeeded' }), [c.id, b.id])
      assert.deepEqual(await ids({ state: 'unknown' }), [])
      assert.deepEqual(await ids({ requestId: 'r-1' }), [c.id, a.id])
      assert.deepEqual(await ids({ before: c.id }), [b.id, a.id])
      assert.deepEqual(
        await ids({ actor: 'ann', tool: 'mail', state: 'running', requestId: 'r-1', before: c.id }),
        [a.id],
      )
      assert.deepEqual(await ids({ actor: "' or 1=1 --" }), [])
    },
  },
  {
    name: 'pages that begin before the last one seen show every call once',
    async run({ world, open }) {
      const store = await open()
      const calls = Array.from({ length: 25 }, () => makeCall(world))
      await keep(store, ...calls)
      const seen: string[] = []
      for (;;) {
        const before = seen.at(-1)
        const page = await store.calls.list({
          namespace: 'default',
          limit: 10,
          ...(before ? { before } : {}),
        })
        seen.push(...page.map((call) => call.id))
        if (page.length < 10) break
      }
      assert.deepEqual(seen, calls.map((call) => call.id).reverse())
    },
  },
  {
    name: 'a record that only says that the call runs replaces none',
    async run({ world, open }) {
      const store = await open()
      const running = makeCall(world, { entryId: 'entry' })
      await keep(store, running)
      assert.deepEqual(await store.calls.get(running.namespace, running.id), running)
      const ended = { ...makeEndedCall(world), id: running.id }
      await keep(store, ended)
      await keep(store, running)
      assert.equal((await store.calls.get(running.namespace, running.id))?.state, ended.state)
    },
  },
]
