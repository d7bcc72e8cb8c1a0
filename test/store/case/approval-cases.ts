// Approvals: kept whole, moved along their table by compare-and-set, written with the rest or not at all (S45).
import assert from 'node:assert/strict'
import {
  APPROVAL_MOVES,
  APPROVAL_STATES,
  type Approval,
  type ApprovalState,
} from '../../../src/contract/approval.ts'
import { type ApprovalFilter, IllegalWrite, type LedgerWrite, type Store } from '../../../src/store/store.ts'
import { insertOf, keep, makeApproval, makeCall, makeEntry, makeEvidence, updateOf } from '../fixture.ts'
import type { StoreCase } from '../store-contract.ts'

const CONFLICT = { kind: 'conflict', on: 'approval' }
const WRITTEN = { kind: 'written' }

function insert(approval: Approval): LedgerWrite {
  return { namespace: approval.namespace, approval: { kind: 'insert', approval } }
}

/** A change of `approval` as it was last read. */
function next(approval: Approval, over: Partial<Approval>): Approval {
  return { ...approval, revision: approval.revision + 1, ...over }
}

function update(approval: Approval, over: Partial<Approval>): LedgerWrite {
  return {
    namespace: approval.namespace,
    approval: { kind: 'update', approval: next(approval, over) },
  }
}

/** The shortest way there; each state is one move or two from the beginning. */
async function bring(store: Store, approval: Approval, state: ApprovalState): Promise<Approval> {
  await store.ledger.intend(insert(approval))
  let at = approval
  for (const step of state === 'pending' ? [] : state === 'used' ? (['approved', state] as const) : [state]) {
    assert.deepEqual(await store.ledger.settle(update(at, { state: step })), WRITTEN)
    at = next(at, { state: step })
  }
  return at
}

export const approvalCases: readonly StoreCase[] = [
  {
    name: 'S45: an approval is kept whole, and found in its own namespace only',
    async run({ world, open }) {
      const store = await open()
      const approval = makeApproval(world, {
        agent: 'planner',
        taskId: 'task-1',
        callback: { url: 'https://example.com/done' },
      })
      assert.deepEqual(await store.ledger.intend(insert(approval)), WRITTEN)
      assert.deepEqual(await store.approvals.get('default', approval.id), approval)
      assert.equal(await store.approvals.get('other', approval.id), undefined)
      const decided = next(approval, {
        state: 'denied',
        decisions: [
          {
            by: 'ann',
            kind: 'person',
            roles: ['lead'],
            decision: 'denied',
            at: 1_500.5,
            comment: 'not this one',
            via: 'api',
          },
        ],
        usedLinks: ['link-1'],
        endedAt: 1_500.5,
        why: 'denied',
      })
      const write = { namespace: 'default', approval: { kind: 'update', approval: decided } } as const
      assert.deepEqual(await store.ledger.settle(write), WRITTEN)
      assert.deepEqual(await store.approvals.get('default', approval.id), decided)
      const { shown, asked, ...bare } = makeApproval(world, { namespace: 'other', id: approval.id })
      assert.deepEqual(await store.ledger.intend(insert(bare)), WRITTEN)
      assert.deepEqual(await store.approvals.get('other', bare.id), bare)
    },
  },
  {
    name: 'S45: of all pairs of states an approval moves along those of its table, and no other',
    async run({ world, open }) {
      const store = await open()
      for (const from of APPROVAL_STATES) {
        for (const to of APPROVAL_STATES) {
          const approval = await bring(store, makeApproval(world), from)
          const call = makeCall(world)
          const write = {
            ...update(approval, { state: to }),
            calls: [call],
            evidence: [makeEvidence(call.id)],
          }
          const pair = `${from} > ${to}`
          if (APPROVAL_MOVES[from].includes(to)) {
            assert.deepEqual(await store.ledger.settle(write), WRITTEN, pair)
            const found = await store.approvals.get('default', approval.id)
            assert.deepEqual(found, next(approval, { state: to }), pair)
          } else {
            await assert.rejects(store.ledger.settle(write), IllegalWrite, pair)
            assert.deepEqual(await store.approvals.get('default', approval.id), approval, pair)
            assert.equal(await store.calls.get('default', call.id), undefined, pair)
            assert.deepEqual(await store.evidence.forCall('default', call.id), [], pair)
          }
        }
      }
    },
  },
  {
    name: 'an approval begins as pending with revision 1, in the namespace of its write',
    async run({ world, open }) {
      const store = await open()
      const refused: LedgerWrite[] = [
        insert(makeApproval(world, { state: 'approved' })),
        insert(makeApproval(world, { revision: 2 })),
        insert(makeApproval(world, { id: 'a\0b' })),
        { ...insert(makeApproval(world, { namespace: 'other' })), namespace: 'default' },
      ]
      for (const write of refused) {
        await assert.rejects(store.ledger.intend(write), IllegalWrite)
        const { namespace, id } = write.approval!.approval
        assert.equal(await store.approvals.get(namespace, id), undefined)
      }
    },
  },
  {
    name: 'S45: what an approval was asked about, and by whom, never changes',
    async run({ world, open }) {
      const store = await open()
      const approval = makeApproval(world)
      await store.ledger.intend(insert(approval))
      const others: Partial<Approval>[] = [
        { binding: { ...approval.binding, payloadHash: 'other' } },
        { entryId: 'other' },
        { requester: 'other' },
        { requesterKind: 'person' },
        { createdAt: 2_000 },
      ]
      for (const other of others)
        await assert.rejects(
          store.ledger.settle(update(approval, { state: 'approved', ...other })),
          IllegalWrite,
        )
      assert.deepEqual(await store.approvals.get('default', approval.id), approval)
    },
  },
  {
    name: 'S45: of two that decide at once one does; an id that is taken is a conflict',
    async run({ world, open }) {
      const store = await open()
      const approval = makeApproval(world)
      const results = await Promise.all([
        store.ledger.intend(insert(approval)),
        store.ledger.intend(insert(makeApproval(world, { id: approval.id, entryId: 'other' }))),
        store.ledger.settle(update(approval, { state: 'denied' })),
        store.ledger.settle(update(approval, { state: 'approved' })),
      ])
      assert.deepEqual(results, [WRITTEN, CONFLICT, WRITTEN, CONFLICT])
      assert.deepEqual(await store.approvals.get('default', approval.id), next(approval, { state: 'denied' }))
      const nobody = update(makeApproval(world), { state: 'approved' })
      assert.deepEqual(await store.ledger.settle(nobody), CONFLICT)
    },
  },
  {
    name: 'S45: an approval is used once: of two intents that would use it, one is written',
    async run({ world, open }) {
      const store = await open()
      const approved = await bring(store, makeApproval(world), 'approved')
      const use = update(approved, { state: 'used' })
      const first = makeEntry(world)
      const second = makeEntry(world)
      const results = await Promise.all([
        store.ledger.intend({ ...use, ...insertOf(first), evidence: [makeEvidence(first.callId)] }),
        store.ledger.intend({ ...use, ...insertOf(second), evidence: [makeEvidence(second.callId)] }),
      ])
      assert.deepEqual(results, [WRITTEN, CONFLICT])
      assert.equal(await store.entries.get('default', second.id), undefined)
      assert.deepEqual(await store.evidence.forCall('default', second.callId), [])
      assert.equal((await store.approvals.get('default', approved.id))?.state, 'used')
    },
  },
  {
    name: 'an entry that conflicts leaves the approval of its write as it was, and says so first',
    async run({ world, open }) {
      const store = await open()
      const entry = await keep(store, makeEntry(world, { state: 'unknown' }))
      const approval = makeApproval(world)
      const taken = await store.ledger.intend({
        ...insert(approval),
        ...insertOf(makeEntry(world, { key: entry.key })),
      })
      assert.deepEqual(taken, { kind: 'conflict', on: 'key', entry })
      assert.equal(await store.approvals.get('default', approval.id), undefined)
      await store.ledger.intend(insert(approval))
      const both = { ...insert(approval), ...updateOf({ ...entry, revision: 9 }, ['done']) }
      assert.deepEqual(await store.ledger.settle(both), { kind: 'conflict', on: 'revision', entry })
      const illegal = { ...insert(approval), ...updateOf(entry, ['committed']) }
      await assert.rejects(store.ledger.settle(illegal), IllegalWrite)
    },
  },
  {
    name: 'approvals are listed newest first, by states, requester and tool, in pages',
    async run({ world, open }) {
      const store = await open()
      const binding = (tool: string) => ({ ...makeApproval(world).binding, tool })
      const a = makeApproval(world, { requester: 'ann', binding: binding('pay') })
      const b = await bring(
        store,
        makeApproval(world, { requester: 'bob', binding: binding('pay') }),
        'denied',
      )
      const c = await bring(store, makeApproval(world, { requester: 'ann' }), 'approved')
      await store.ledger.intend(insert(makeApproval(world, { namespace: 'other', requester: 'ann' })))
      await store.ledger.intend(insert(a))
      const ids = async (filter: Partial<ApprovalFilter>) =>
        (await store.approvals.list({ namespace: 'default', limit: 10, ...filter })).map(({ id }) => id)
      assert.deepEqual(await ids({}), [c.id, b.id, a.id])
      assert.deepEqual(await ids({ states: ['pending', 'approved', 'pending'] }), [c.id, a.id])
      assert.deepEqual(await ids({ states: ['pending', 'denied', 'approved'], limit: 2 }), [c.id, b.id])
      assert.deepEqual(await ids({ states: [] }), [])
      assert.deepEqual(await ids({ requester: 'ann' }), [c.id, a.id])
      assert.deepEqual(await ids({ tool: 'pay' }), [b.id, a.id])
      assert.deepEqual(await ids({ tool: 'pay', requester: 'ann', states: ['pending'] }), [a.id])
      assert.deepEqual(await ids({ before: c.id, limit: 1 }), [b.id])
    },
  },
  {
    name: 'S43: what policy made of a payload is kept with the entry, changed with another attempt, and erased with it',
    async run({ world, open }) {
      const store = await open()
      const narrowed = { payload: { inline: { to: 'a@example.com' } }, hash: 'cc' }
      const entry = makeEntry(world, { narrowed })
      await store.ledger.intend(insertOf(entry))
      assert.deepEqual(await store.entries.find(entry.scope, entry.key), entry)
      const at = (revision: number) => ({ ...entry, revision })
      const kept = () => store.entries.find(entry.scope, entry.key)
      await store.ledger.settle(updateOf(entry, ['sent', 'not-done'], { settledAt: 2_000 }))
      assert.deepEqual((await kept())?.narrowed, narrowed, 'a move keeps it')
      const other = { payload: { inline: {} }, hash: 'dd' }
      await store.ledger.intend(updateOf(at(2), ['intended'], { narrowed: other }))
      assert.deepEqual((await kept())?.narrowed, other)
      await store.ledger.settle(updateOf(at(3), ['sent', 'not-done'], { settledAt: 2_000 }))
      await store.ledger.intend(updateOf(at(4), ['intended']))
      const { narrowed: _, ...asked } = entry
      assert.deepEqual(
        await kept(),
        { ...asked, revision: 5 },
        'another attempt begins with what was asked for',
      )
      await store.ledger.settle(updateOf(at(5), ['sent', 'not-done'], { settledAt: 2_000, narrowed }))
      await store.ledger.intend(updateOf(at(6), ['awaiting-approval']))
      assert.deepEqual(
        await kept(),
        { ...asked, state: 'awaiting-approval', revision: 7 },
        'while it waits again, nothing of the attempt before is shown',
      )
      await store.ledger.settle(updateOf(at(7), ['not-done'], { settledAt: 2_000, narrowed }))
      assert.equal(await store.entries.erase(3_000, 10), 1)
      assert.equal((await kept())?.erased, true)
      assert.equal((await kept())?.narrowed, undefined)
    },
  },
  {
    name: 'S18: what people were shown is erased with the payload of its entry, and the approval is forgotten with it',
    async run({ world, open }) {
      const store = await open()
      const done = await keep(store, makeEntry(world, { state: 'done', settledAt: 2_000 }))
      const unknown = await keep(store, makeEntry(world, { state: 'unknown' }))
      const stale = await bring(store, makeApproval(world, { entryId: done.id }), 'stale')
      const used = await bring(store, makeApproval(world, { entryId: done.id }), 'used')
      const waiting = makeApproval(world, { entryId: unknown.id })
      const elsewhere = makeApproval(world, { namespace: 'other', entryId: done.id })
      for (const one of [waiting, elsewhere]) await store.ledger.intend(insert(one))
      const get = ({ namespace, id }: Approval) => store.approvals.get(namespace, id)
      assert.equal(await store.entries.erase(3_000, 10), 1, 'only the entry is counted')
      for (const one of [stale, used]) {
        const { shown, asked, ...rest } = one
        assert.deepEqual(await get(one), { ...rest, revision: one.revision + 1 })
      }
      assert.deepEqual([await get(waiting), await get(elsewhere)], [waiting, elsewhere])
      assert.equal(await store.entries.forget(3_000, 10), 1)
      assert.deepEqual([await get(stale), await get(used)], [undefined, undefined])
      assert.deepEqual([await get(waiting), await get(elsewhere)], [waiting, elsewhere])
    },
  },
  {
    name: 'S45: a timer can wait for somebody to be told of an approval',
    async run({ world, open }) {
      const store = await open()
      const approval = makeApproval(world)
      const subject = `${approval.id}/1/mail`
      await store.ledger.intend({
        ...insert(approval),
        timers: [{ kind: 'notify', subject, inMs: 0, data: { target: 'mail' } }],
      })
      const [due] = await store.timers.claim(10)
      assert.deepEqual([due?.kind, due?.subject, due?.data], ['notify', subject, { target: 'mail' }])
    },
  },
]
