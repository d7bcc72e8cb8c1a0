// What earlier lives of the process left behind. Runs before any call is taken.
//
// A write that was intended and not settled may have been sent: it becomes unknown and is never sent again. A read did
// nothing: it is closed, and its key is free. A call that was accepted is closed by what became of its entry.
import { type Answer, isOutcome } from '../contract/answer.ts'
import type { CallRecord, DialectName, Trace } from '../contract/call.ts'
import type { Entry } from '../contract/entry.ts'
import type { Failure } from '../contract/failure.ts'
import { createFailure } from '../contract/projection.ts'
import type { Events } from '../event/event.ts'
import { resultOfEntry } from '../pipeline/result.ts'
import type { CallResult } from '../pipeline/stages.ts'
import type { Store } from '../store/store.ts'
import type { World } from '../util/world.ts'

const PAGE = 500

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
  // The intent was for one more send, and nobody knows whether it left.
  const attempts = entry.attempts + 1
  const outcome = { failure, sideEffects: [], warnings: [] }
  const result = { ...resultOfEntry({ ...entry, state: to, attempts, outcome }), replayed: false }
  const known = await store.calls.get(entry.namespace, entry.callId)
  await store.ledger.settle({
    namespace: entry.namespace,
    entry: {
      kind: 'update',
      scope: entry.scope,
      key: entry.key,
      revision: entry.revision,
      path: [to],
      set: { epoch: world.epoch, attempts, outcome, settledAt: at },
    },
    calls: [ended(world, known ?? recordOf(entry), result, at)],
    evidence: [
      {
        namespace: entry.namespace,
        callId: entry.callId,
        type: 'tool.interrupted',
        at,
        body: { entry_id: entry.id, effect: result.effect },
      },
    ],
  })
}

/** Accepted and never ended. Where its entry is not on record, nothing was sent for it. */
async function closeCall(world: World, store: Store, call: CallRecord): Promise<void> {
  const entry = call.entryId === undefined ? undefined : await store.entries.get(call.namespace, call.entryId)
  const nothing: CallResult = {
    state: 'failed',
    effect: 'none',
    failure: interrupted(true),
    attempt: 0,
    replayed: false,
    warnings: [],
    sideEffects: [],
  }
  const result = entry === undefined ? nothing : resultOfEntry(entry)
  const at = world.clock.now()
  await store.ledger.settle({
    namespace: call.namespace,
    calls: [ended(world, call, result, at)],
    evidence: [
      {
        namespace: call.namespace,
        callId: call.id,
        type: 'request.interrupted',
        at,
        body: { effect: result.effect, ...(entry === undefined ? {} : { entry_id: entry.id }) },
      },
    ],
  })
}

function interrupted(harmless: boolean): Failure {
  return createFailure('interrupted', { harmless, said: { retryable: true, counts: harmless } })
}

/** The call that claimed an entry, as far as the entry knows it. */
function recordOf(entry: Entry): CallRecord {
  return {
    namespace: entry.namespace,
    id: entry.callId,
    requestId: entry.requestId,
    dialect: entry.dialect as DialectName,
    actor: entry.caller.actor,
    tool: entry.tool,
    version: entry.version,
    operation: entry.operation,
    entryId: entry.id,
    state: 'running',
    effect: 'pending',
    epoch: entry.epoch,
    createdAt: entry.createdAt,
    answer: runningAnswer(entry.callId, entry.requestId, entry.trace, entry.tool, entry.operation),
  }
}

function runningAnswer(
  callId: string,
  requestId: string,
  trace: Trace,
  name: string,
  operation: string,
): Answer {
  return {
    callId,
    requestId,
    state: 'running',
    final: false,
    effect: 'pending',
    usage: { durationMs: 0, attempt: 0 },
    trace,
    tool: { name, operation },
    replayed: false,
    warnings: [],
    sideEffects: [],
  }
}

function ended(world: World, call: CallRecord, result: CallResult, at: number): CallRecord {
  const { state, effect, output: _, failure, attempt, replayed, tool } = result
  const final = isOutcome(state)
  const known = call.answer ?? runningAnswer(call.id, call.requestId, NO_TRACE, call.tool, call.operation)
  return {
    ...call,
    state,
    effect,
    epoch: world.epoch,
    ...(final ? { endedAt: at } : {}),
    answer: {
      ...known,
      state,
      final,
      effect,
      ...(failure === undefined ? {} : { failure }),
      usage: { durationMs: Math.max(0, at - call.createdAt), attempt },
      tool: { ...known.tool, ...tool },
      replayed,
    },
  }
}

const NO_TRACE: Trace = { traceId: '', spanId: '' }
