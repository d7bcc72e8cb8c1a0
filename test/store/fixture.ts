// Rows for the store tests: whole and valid, with what a case cares about put over them.

import { getGlobalDispatcher } from 'undici'
import type { CallRecord } from '../../src/contract/call.ts'
import type { Entry } from '../../src/contract/entry.ts'
import type { EntryInsert, EntryUpdate, EvidenceRecord, LedgerWrite } from '../../src/store/store.ts'
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

export function makeEvidence(callId: string, over: Partial<EvidenceRecord> = {}): EvidenceRecord {
  return {
    namespace: 'default',
    callId,
    type: 'call.intended',
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

export const OUTCOME = Object.freeze({
  output: { inline: { id: 'm-1' } },
  sideEffects: [{ kind: 'mail-sent' }],
  warnings: ['slow'],
  commitToken: 'token',
})
