// What earlier lives of the process left behind. Runs before any call is taken.
//
// A write that was intended and not settled may have been sent: it becomes unknown and is never sent again. A read did
// nothing: it is closed, and its key is free.
import { type Answer, isOutcome } from '../contract/answer.ts'
import type { CallRecord, DialectName, Trace } from '../contract/call.ts'
import type { Entry } from '../contract/entry.ts'
import type { Failure } from '../contract/failure.ts'
import { createFailure, stateOf } from '../contract/projection.ts'
import type { Events } from '../event/event.ts'
import type { Store } from '../store/store.ts'
import type { World } from '../util/world.ts'

const PAGE = 500
const NO_TRACE: Trace = { traceId: '', spanId: '' }

export interface Recovered {
  readonly unknown: number
  readonly closed: number
}

export async function recover(world: World, store: Store, events: Events): Promise<Recovered> {
  let unknown = 0
  let closed = 0
  for (;;) {
    const entries = await store.entries.orphans(world.epoch, PAGE)
    if (entries.length === 0) break
    await Promise.all(entries.map((entry) => closeEntry(world, store, entry)))
    for (const entry of entries) {
      if (entry.readOnly) closed++
      else unknown++
    }
  }
  for (;;) {
    const calls = await store.calls.orphans(world.epoch, PAGE)
    if (calls.length === 0) break
    await Promise.all(calls.map((call) => closeCall(world, store, call)))
    closed += calls.length
  }
  events.emit('recovery:ended', { unknown, closed })
  return { unknown, closed }
}

async function closeEntry(world: World, store: Store, entry: Entry): Promise<void> {
  const failure = interrupted(entry.readOnly)
  const to = entry.readOnly ? 'not-done' : 'unknown'
  const at = world.clock.now()
  const effect = entry.readOnly ? 'none' : 'unknown'
  const record: CallRecord = {
    namespace: entry.namespace,
    id: entry.callId,
    requestId: entry.requestId,
    dialect: entry.dialect as DialectName,
    actor: entry.caller.actor,
    tool: entry.tool,
    version: entry.version,
    operation: entry.operation,
    entryId: entry.id,
    state: stateOf(failure, effect),
    effect,
    epoch: world.epoch,
    createdAt: entry.createdAt,
    endedAt: at,
    answer: {
      ...answer(entry.callId, entry.requestId, entry.trace, failure, at - entry.createdAt),
      state: stateOf(failure, effect),
      final: isOutcome(stateOf(failure, effect)),
      effect,
      tool: { name: entry.tool, operation: entry.operation, version: entry.version, digest: entry.digest },
    },
  }
  await store.ledger.settle({
    namespace: entry.namespace,
    entry: {
      kind: 'update',
      scope: entry.scope,
      key: entry.key,
      revision: entry.revision,
      path: [to],
      set: { epoch: world.epoch, outcome: { failure, sideEffects: [], warnings: [] }, settledAt: at },
    },
    calls: [record],
    evidence: [
      {
        namespace: entry.namespace,
        callId: entry.callId,
        type: 'tool.interrupted',
        at,
        body: { entry_id: entry.id, effect },
      },
    ],
  })
}

/** Accepted, and never as far as an entry: nothing was sent. */
async function closeCall(world: World, store: Store, call: CallRecord): Promise<void> {
  const failure = interrupted(true)
  const at = world.clock.now()
  const state = stateOf(failure, 'none')
  await store.ledger.settle({
    namespace: call.namespace,
    calls: [
      {
        ...call,
        state,
        effect: 'none',
        epoch: world.epoch,
        endedAt: at,
        answer: {
          ...answer(call.id, call.requestId, call.answer?.trace ?? NO_TRACE, failure, at - call.createdAt),
          state,
          final: true,
          effect: 'none',
          tool: { name: call.tool, operation: call.operation },
        },
      },
    ],
    evidence: [
      {
        namespace: call.namespace,
        callId: call.id,
        type: 'request.interrupted',
        at,
        body: { effect: 'none' },
      },
    ],
  })
}

function interrupted(harmless: boolean): Failure {
  return createFailure('interrupted', { harmless, said: { retryable: true, counts: harmless } })
}

function answer(
  callId: string,
  requestId: string,
  trace: Trace,
  failure: Failure,
  durationMs: number,
): Omit<Answer, 'state' | 'final' | 'effect' | 'tool'> {
  return {
    callId,
    requestId,
    failure,
    usage: { durationMs: Math.max(0, durationMs), attempt: 0 },
    trace,
    replayed: false,
    warnings: [],
    sideEffects: [],
  }
}
