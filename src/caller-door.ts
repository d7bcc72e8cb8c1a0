// Everything one caller can do. The library, the server and the conformance suite all come through here.
import type { Answer } from './contract/answer.ts'
import { isOutcome } from './contract/answer.ts'
import type { Call, CallRecord } from './contract/call.ts'
import { type CallOptions, createCall } from './contract/call-options.ts'
import type { Caller } from './contract/caller.ts'
import type { RefusedCall } from './contract/dialect/dialect.ts'
import { answerRefused } from './contract/dialect/refused-answer.ts'
import type { Failure } from './contract/failure.ts'
import { createFailure } from './contract/projection.ts'
import { refusedRecord } from './pipeline/answer.ts'
import { cancelSuspended } from './pipeline/cancel-suspended.ts'
import type { Kit } from './pipeline/kit.ts'
import { LiveCall } from './pipeline/live-call.ts'
import { receive } from './pipeline/receive.ts'
import { resultOfEntry } from './pipeline/result.ts'
import { runCall } from './pipeline/run-call.ts'
import { type CallResult, STAGES, type StageReport } from './pipeline/stages.ts'
import type { CallerDoor, CallHandle, Explanation } from './runtime-api.ts'
import { matchesFilter } from './store/call-filter.ts'
import { isKeepable } from './store/entry-rule.ts'
import { type Store, StoreUnavailable } from './store/store.ts'

/** The calls under way in this process, and whether new ones are taken. */
export interface LiveCalls {
  readonly byId: Map<string, LiveCall>
  closing: boolean
}

export function createCallerDoor(caller: Caller, kit: Kit, store: Store, live: LiveCalls): CallerDoor {
  /** Only the local admin may name another namespace than its own. */
  const forCall = (call: Call): Caller =>
    caller.admin && call.namespace !== undefined && call.namespace !== caller.namespace
      ? { ...caller, namespace: call.namespace }
      : caller

  const mayRead = (record: { readonly namespace: string; readonly actor: string }) =>
    record.namespace === caller.namespace && (caller.admin || record.actor === caller.actor)

  function reject(call: RefusedCall, failure: Failure): Answer {
    const answer = answerRefused(call, failure, 0)
    const { record, fact } = refusedRecord(call, caller, answer, kit)
    try {
      kit.ledger.note(record, [fact]).catch(onlyFailedStore)
    } catch (error) {
      onlyFailedStore(error)
    }
    return answer
  }

  function start(request: CallOptions | Call): CallHandle {
    const decoded = isCall(request)
      ? ({ ok: true, call: request } as const)
      : createCall(request, kit.world.id)
    if (!decoded.ok) return ended(reject(decoded.call, decoded.failure))
    const { call } = decoded
    const unusable = unusableKey(call)
    if (unusable !== undefined) return ended(reject(call, unusable))
    if (live.closing) {
      return ended(reject(call, createFailure('tool-unhealthy', { message: 'the runtime is shutting down' })))
    }
    const one = new LiveCall(
      (onFact) => receive(call, forCall(call), kit.world, onFact),
      kit,
      (over) => live.byId.delete(over.id),
    )
    live.byId.set(one.id, one)
    return one
  }

  return {
    caller,
    start,
    call: (request, options) => start(request).answer(options),
    reject,

    async explain(request): Promise<Explanation> {
      const decoded = isCall(request)
        ? ({ ok: true, call: request } as const)
        : createCall(request, kit.world.id)
      if (!decoded.ok) return { decision: 'error', stages: notReached([]), failure: decoded.failure }
      const call = { ...decoded.call, dryRun: true }
      const received = receive(call, forCall(call), kit.world, () => {})
      const answer = await runCall(received, kit)
      const reports = received.reports ?? []
      const stages = notReached(reports)
      const { failure, state } = answer
      const waits = reports.some((report) => report.verdict === 'suspend')
      if (failure === undefined) return { decision: waits ? 'require-approval' : 'allow', stages }
      return { decision: state === 'denied' ? 'deny' : 'error', stages, failure }
    },

    async getCall(id) {
      const running = live.byId.get(id)
      if (running !== undefined) return mayRead(running) ? running.record() : undefined
      const record = kit.ledger.pending.get(id) ?? (await store.calls.get(caller.namespace, id))
      return record !== undefined && mayRead(record) ? withEntry(record, store, kit) : undefined
    },

    async listCalls(filter) {
      const wanted = {
        ...filter,
        namespace: caller.namespace,
        ...(caller.admin ? {} : { actor: caller.actor }),
      }
      const kept = await store.calls.list(wanted)
      const byId = new Map(kept.map((record) => [record.id, record]))
      const running = [...live.byId.values()].map((one) => one.record())
      // What is over and not on disk yet comes last: it is the newest that is known of a call.
      for (const record of [...running, ...kit.ledger.pending.values()]) {
        if (matchesFilter(record, wanted)) byId.set(record.id, record)
      }
      const all = [...byId.values()]
      const page = all.sort((a, b) => (a.id < b.id ? 1 : -1)).slice(0, filter.limit)
      return Promise.all(page.map((record) => withEntry(record, store, kit)))
    },

    async cancelCall(id) {
      const running = live.byId.get(id)
      if (running !== undefined && mayRead(running)) {
        running.abort('canceled')
        return 'canceling'
      }
      const record = kit.ledger.pending.get(id) ?? (await store.calls.get(caller.namespace, id))
      if (record === undefined || !mayRead(record)) return 'not-found'
      if (record.state === 'awaiting-approval' && (await cancelSuspended(record, store, kit)))
        return 'canceling'
      return 'ended'
    },
  }
}

/** The output lies in the entry; and a call that stopped listening learns there how it ended. */
async function withEntry(record: CallRecord, store: Store, kit: Kit): Promise<CallRecord> {
  if (record.entryId === undefined || record.answer === undefined) return record
  const entry = await store.entries.get(record.namespace, record.entryId)
  if (entry === undefined) return record.state === 'running' ? ifStillRunning(record, kit) : record
  const now = resultOfEntry(entry)
  if (!isOutcome(record.state) && entry.settledAt !== undefined) return inState(record, now, entry.settledAt)
  return now.output === undefined || record.answer.failure !== undefined
    ? record
    : { ...record, answer: { ...record.answer, output: now.output } }
}

/** It waited for a call that ended without leaving anything: nothing happened on its behalf. */
function ifStillRunning(record: CallRecord, kit: Kit): CallRecord {
  if (kit.flights.isWorking(record.entryId ?? '')) return record
  const failure = createFailure('interrupted', {
    message: 'the call that this one waited for ended without an outcome',
    said: { retryable: true, counts: true },
  })
  const result: CallResult = {
    state: 'failed',
    effect: 'none',
    failure,
    attempt: 0,
    replayed: true,
    warnings: [],
    sideEffects: [],
  }
  return inState(record, result, record.createdAt)
}

/** The same record with what is known by now. */
function inState(record: CallRecord, now: CallResult, endedAt: number): CallRecord {
  if (record.answer === undefined) return record
  const { failure: _, ...answer } = record.answer
  return {
    ...record,
    state: now.state,
    effect: now.effect,
    ...(isOutcome(now.state) ? { endedAt } : {}),
    answer: {
      ...answer,
      state: now.state,
      final: isOutcome(now.state),
      effect: now.effect,
      usage: { ...answer.usage, attempt: now.attempt },
      tool: { ...answer.tool, ...now.tool },
      ...(now.output === undefined ? {} : { output: now.output }),
      ...(now.failure === undefined ? {} : { failure: now.failure }),
    },
  }
}

/** Over before it began. */
function ended(answer: Answer): CallHandle {
  return {
    id: answer.callId,
    answer: async () => answer,
    accepted: async () => {},
    cancel() {},
    hangUp() {},
    onFact: () => () => {},
  }
}

function notReached(reports: readonly StageReport[]): StageReport[] {
  const rest = STAGES.slice(reports.length).map(
    (stage): StageReport => ({ stage, verdict: 'not-reached', reason: '', details: {} }),
  )
  return [...reports, ...rest]
}

/** A key that a database would change on the way in could meet another one there. */
function unusableKey(call: Call): Failure | undefined {
  if (isKeepable(call.key ?? call.requestId)) return undefined
  const message = 'must not have a NUL or half of a surrogate pair'
  const path = call.key === undefined ? '/request_id' : '/idempotency_key'
  return createFailure('envelope-invalid', {
    message: `${path}: ${message}`,
    details: { violations: [{ path, message }] },
  })
}

function isCall(request: CallOptions | Call): request is Call {
  return 'dialect' in request && 'claims' in request
}

function onlyFailedStore(error: unknown): void {
  if (!(error instanceof StoreUnavailable)) throw error
}
