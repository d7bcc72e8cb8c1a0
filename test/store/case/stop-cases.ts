// Stops: looked at in the transaction of the write that they would refuse (S44).
import assert from 'node:assert/strict'
import type { LedgerWrite, Store } from '../../../src/store/store.ts'
import type { JsonObject } from '../../../src/util/json.ts'
import { insertOf, keep, makeApproval, makeEntry, makeEvidence, makeSpend } from '../fixture.ts'
import type { StoreCase } from '../store-contract.ts'

const WRITTEN = { kind: 'written' }

function stopping(store: Store, namespace: string, name: string, body?: JsonObject) {
  const change = { kind: 'Stop', name, version: '0.0.0' }
  const put = body === undefined ? {} : { put: { digest: JSON.stringify(body), body } }
  return store.resources.apply(namespace, [{ ...change, ...put }], 7, [])
}

const FREEZE = { kind: 'freeze', reason: 'incident', by: 'ann', at: 7, in_flight: 'finish' }
const GUARDS = [
  { stop: 'all' },
  { stop: 'namespace' },
  { stop: 'tool:mail' },
  { stop: 'caller:agent' },
  { stop: 'tokens:agent', issuedAt: 5_000 },
]

export const stopCases: readonly StoreCase[] = [
  {
    name: 'S44: an intent is refused while a stop that it is guarded by stands, here or for all namespaces, and nothing of it is written',
    async run({ world, open }) {
      const store = await open()
      const guarded = () => ({ ...insertOf(makeEntry(world)), unless: GUARDS })
      assert.deepEqual(await store.ledger.intend(guarded()), WRITTEN)
      await stopping(store, 'default', 'tool:pay', FREEZE)
      await stopping(store, 'other', 'tool:mail', FREEZE)
      assert.deepEqual(await store.ledger.intend(guarded()), WRITTEN, 'about others')
      const stops: [string, string][] = [
        ['default', 'tool:mail'],
        ['*', 'all'],
        ['*', 'caller:agent'],
      ]
      for (const [namespace, name] of stops) {
        const applied = await stopping(store, namespace, name, FREEZE)
        assert.equal(applied.kind, 'applied')
        const entry = makeEntry(world)
        const approval = makeApproval(world)
        const write: LedgerWrite = {
          ...insertOf(entry),
          unless: GUARDS,
          evidence: [makeEvidence(entry.callId)],
          approval: { kind: 'insert', approval },
          spends: [makeSpend()],
        }
        assert.deepEqual(await store.ledger.intend(write), { kind: 'conflict', on: 'stopped', stop: name })
        assert.equal(await store.entries.get('default', entry.id), undefined)
        assert.deepEqual(await store.evidence.forCall('default', entry.callId), [])
        assert.equal(await store.approvals.get('default', approval.id), undefined)
        assert.deepEqual(await store.budgets.spent('default', [makeSpend()]), [0])
        assert.deepEqual(await store.ledger.intend(insertOf(makeEntry(world))), WRITTEN, 'without a guard')
        await stopping(store, namespace, name)
        assert.deepEqual(await store.ledger.intend(guarded()), WRITTEN, 'lifted')
      }
    },
  },
  {
    name: 'S44: a stop and an intent in one batch count in their order',
    async run({ world, open }) {
      const store = await open()
      const guarded = () => store.ledger.intend({ ...insertOf(makeEntry(world)), unless: GUARDS })
      const [before, , after, , lifted] = await Promise.all([
        guarded(),
        stopping(store, '*', 'all', FREEZE),
        guarded(),
        stopping(store, '*', 'all'),
        guarded(),
      ])
      assert.deepEqual(before, WRITTEN)
      assert.deepEqual(after, { kind: 'conflict', on: 'stopped', stop: 'all' })
      assert.deepEqual(lifted, WRITTEN)
    },
  },
  {
    name: 'S36: a revocation of tokens from before a time is about those alone',
    async run({ world, open }) {
      const store = await open()
      const body = { kind: 'revocation', reason: 'lost', by: 'ann', at: 7, in_flight: 'end', before: 5_000 }
      await stopping(store, 'default', 'tokens:agent', body)
      const intend = (issuedAt?: number) =>
        store.ledger.intend({
          ...insertOf(makeEntry(world)),
          unless: [{ stop: 'tokens:agent', ...(issuedAt === undefined ? {} : { issuedAt }) }],
        })
      const stopped = { kind: 'conflict', on: 'stopped', stop: 'tokens:agent' }
      assert.deepEqual(await intend(4_999), stopped)
      assert.deepEqual(await intend(5_000), WRITTEN)
      assert.deepEqual(await intend(), WRITTEN, 'without a token')
      await stopping(store, 'default', 'tokens:agent', { ...body, before: null })
      assert.deepEqual(await intend(5_000), stopped, 'what is no time does not weaken it')
    },
  },
  {
    name: 'a stop whose time is over by the clock of the store no longer counts',
    async run({ world, open }) {
      const store = await open()
      const intend = () => store.ledger.intend({ ...insertOf(makeEntry(world)), unless: GUARDS })
      await stopping(store, 'default', 'namespace', { ...FREEZE, until: 1 })
      assert.deepEqual(await intend(), WRITTEN)
      await stopping(store, 'default', 'namespace', { ...FREEZE, until: Number.MAX_SAFE_INTEGER })
      assert.deepEqual(await intend(), { kind: 'conflict', on: 'stopped', stop: 'namespace' })
      await stopping(store, 'default', 'namespace', { ...FREEZE, until: 'tomorrow' })
      assert.deepEqual(await intend(), { kind: 'conflict', on: 'stopped', stop: 'namespace' })
    },
  },
  {
    name: 'S16: whoever repeats a call that is there hears of that, stopped or not',
    async run({ world, open }) {
      const store = await open()
      const entry = await keep(store, makeEntry(world, { state: 'done' }))
      await stopping(store, '*', 'all', FREEZE)
      const again = { ...insertOf(makeEntry(world, { key: entry.key })), unless: GUARDS }
      assert.deepEqual(await store.ledger.intend(again), { kind: 'conflict', on: 'key', entry })
    },
  },
  {
    name: 'a guarded write without an entry is refused as well',
    async run({ world, open }) {
      const store = await open()
      await stopping(store, 'default', 'tool:mail', FREEZE)
      const approval = makeApproval(world)
      const write: LedgerWrite = {
        namespace: 'default',
        unless: GUARDS,
        approval: { kind: 'insert', approval },
      }
      assert.deepEqual(await store.ledger.settle(write), {
        kind: 'conflict',
        on: 'stopped',
        stop: 'tool:mail',
      })
      assert.equal(await store.approvals.get('default', approval.id), undefined)
    },
  },
]
