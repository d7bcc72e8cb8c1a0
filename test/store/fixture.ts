// Rows for the store tests: whole and valid, with what a case cares about put over them.

import { getGlobalDispatcher } from 'undici'
import type { Approval } from '../../src/contract/approval.ts'
import type { CallRecord } from '../../src/contract/call.ts'
import type { Spend } from '../../src/contract/decision.ts'
import { ENTRY_STATES, type Entry, type EntryState } from '../../src/contract/entry.ts'
import type { Saga } from '../../src/contract/saga.ts'
import { TRANSITIONS } from '../../src/contract/transitions.ts'
import type {
  CheckpointRow,
  EntryInsert,
  EntryUpdate,
  LedgerWrite,
  NewEvidence,
  Store,
} from '../../src/store/store.ts'
import { createSystemWorld } from '../../src/util/clock.ts'
import type { World } from '../../src/util/world.ts'

export const SCOPE = JSON.stringify(['default', 'agent', 'mail', 'send'])

/** A world of another life of the process. Stores never use its network. */
export function newLife(world?: World): World {
  const system = world ?? createSystemWorld({ network: getGlobalDispatcher() })
  return { ...system, epoch: system.id() }
}

export function makeEntry(world: World, over: Partial<Entry> = {}): Entry {
  const callId = over.callId ?? world.id()
  return {
    namespace: 'default',
    scope: SCOPE,
    key: callId,
    id: world.id(),
    state: 'intended',
    revision: 1,
    epoch: world.epoch,
    callId,
    requestId: `request-${callId}`,
    dialect: 'v1',
    tool: 'mail',
    version: '1.2.3',
    digest: 'sha256:00',
    operation: 'send',
    readOnly: false,
    caller: {
      actor: 'agent',
      namespace: 'default',
      roles: ['writer'],
      permissions: ['tool:mail:invoke'],
      admin: false,
    },
    payload: { inline: { to: 'a@example.com', text: 'hello \u{1f600} \u0000 "quoted"' } },
    payloadHash: 'aa',
    fingerprint: 'bb',
    fingerprintFields: ['/to'],
    trace: { traceId: 'trace-1', spanId: 'span-1' },
    attempts: 1,
    cancelRequested: false,
    createdAt: 1_000,
    ...(over.identity === undefined ? {} : { identityAt: over.createdAt ?? 1_000 }),
    ...over,
  }
}

export function makeCall(world: World, over: Partial<CallRecord> = {}): CallRecord {
  return {
    namespace: 'default',
    id: world.id(),
    requestId: 'request-1',
    dialect: 'v1',
    actor: 'agent',
    tool: 'mail',
    operation: 'send',
    state: 'running',
    effect: 'pending',
    epoch: world.epoch,
    createdAt: 1_000,
    ...over,
  }
}

/** The record of a call that ended well, with an answer that has everything an answer can have. */
export function makeEndedCall(world: World, over: Partial<CallRecord> = {}): CallRecord {
  const record = makeCall(world, {
    version: '1.2.3',
    state: 'succeeded',
    effect: 'done',
    endedAt: 2_000,
    ...over,
  })
  return {
    ...record,
    answer: {
      callId: record.id,
      requestId: record.requestId,
      state: record.state,
      final: true,
      effect: record.effect,
      output: { id: 'm-1', nothing: null },
      usage: { durationMs: 12.5, attempt: 1 },
      trace: { traceId: 'ab', spanId: 'cd' },
      tool: { name: record.tool, operation: record.operation, version: '1.2.3', digest: 'sha256:00' },
      replayed: false,
      warnings: ['slow'],
      sideEffects: [{ kind: 'mail-sent' }],
      commitToken: 'token',
    },
    ...over,
  }
}

export function makeSaga(world: World, over: Partial<Saga> = {}): Saga {
  const { caller } = makeEntry(world)
  return {
    namespace: 'default',
    id: world.id(),
    caller,
    state: 'open',
    revision: 1,
    reason: '',
    createdAt: 1_000,
    ...over,
  }
}

export function makeApproval(world: World, over: Partial<Approval> = {}): Approval {
  return {
    namespace: 'default',
    id: world.id(),
    state: 'pending',
    revision: 1,
    entryId: 'entry-1',
    callId: 'call-1',
    requestId: 'request-1',
    requester: 'agent',
    requesterKind: 'agent',
    binding: {
      tool: 'mail',
      version: '1.2.3',
      digest: 'sha256:00',
      operation: 'send',
      payloadHash: 'aa',
      policyVersion: 'p-1',
      limits: { timeoutMs: 1_000, maxAttempts: 3 },
    },
    operationClasses: ['write'],
    riskLevel: 'high',
    effectClass: 'irreversible',
    readOnly: false,
    reasons: ['it sends \u{1f600} \u0000 "quoted"'],
    rules: [{ policyId: 'AgentPolicy/mail', policyVersion: '1', rule: 'rules[0]' }],
    needs: [{ role: 'lead', quorum: 2 }],
    shown: { inline: { to: 'a@example.com', text: '***' } },
    asked: { inline: { to: 'a@example.com', text: '***', limit: 9 } },
    decisions: [],
    delegations: [],
    usedLinks: [],
    createdAt: 1_000,
    expiresAt: 601_000,
    ...over,
  }
}

export function makeSpend(over: Partial<Spend> = {}): Spend {
  const amount = over.amount ?? 40
  return { budget: 'mail#0', subject: 'agent', from: 0, until: 86_400_000, max: 100, ...over, amount }
}

export function makeCheckpoint(number: number, over: Partial<CheckpointRow> = {}): CheckpointRow {
  return {
    number,
    at: 1_000 + number,
    hash: `hash-${number}`,
    body: JSON.stringify({ number }),
    keyId: 'key-1',
    signature: `signature-${number}`,
    ...over,
  }
}

export function makeEvidence(callId: string, over: Partial<NewEvidence> = {}): NewEvidence {
  return {
    namespace: 'default',
    callId,
    type: 'tool.started',
    at: 1_000,
    body: { b: 1, a: ['x', null, 2.5], '1': 'é' },
    ...over,
  }
}

export function insertOf(entry: Entry, uniqueSince?: number): LedgerWrite {
  const insert: EntryInsert = { kind: 'insert', entry, ...(uniqueSince === undefined ? {} : { uniqueSince }) }
  return { namespace: entry.namespace, entry: insert }
}

/** A change of `entry` as it was last read. */
export function updateOf(entry: Entry, path: EntryUpdate['path'], set: EntryUpdate['set'] = {}): LedgerWrite {
  const { namespace, scope, key, revision } = entry
  return { namespace, entry: { kind: 'update', scope, key, revision, path, set } }
}

/** Every state that an entry on disk can be in. */
export const KEPT_STATES = ENTRY_STATES.filter((state) => state !== 'reserved')

/** The shortest legal way from the intent to a state. */
export function pathTo(state: EntryState): readonly EntryState[] {
  const ways: EntryState[][] = [[]]
  const seen = new Set<EntryState>(['intended'])
  for (const way of ways) {
    const at = way.at(-1) ?? 'intended'
    if (at === state) return way
    for (const next of TRANSITIONS[at]) {
      if (!seen.has(next)) ways.push([...way, next])
      seen.add(next)
    }
  }
  throw new Error(`no entry on disk can become ${state}`)
}

/** Keeps an entry of any state: inserted as intended, moved to where it should be. Gives it as it is kept. */
export async function keep(store: Store, entry: Entry, uniqueSince?: number): Promise<Entry> {
  const { outcome, settledAt, ...begun } = { ...entry, state: 'intended' as const, revision: 1 }
  await store.ledger.intend(insertOf(begun, uniqueSince))
  const path = pathTo(entry.state)
  if (path.length === 0) return begun
  const set = {
    ...(outcome === undefined ? {} : { outcome }),
    ...(settledAt === undefined ? {} : { settledAt }),
  }
  await store.ledger.settle(updateOf(begun, path, set))
  return { ...entry, revision: 2 }
}

export const OUTCOME = Object.freeze({
  output: { inline: { id: 'm-1' } },
  sideEffects: [{ kind: 'mail-sent' }],
  warnings: ['slow'],
  commitToken: 'token',
})
