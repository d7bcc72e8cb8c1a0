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
import type { Kit } from './pipeline/kit.ts'
import { type LiveCall, startLiveCall } from './pipeline/live-call.ts'
import { receive } from './pipeline/receive.ts'
import { resultOfEntry } from './pipeline/result.ts'
import { runCall } from './pipeline/run-call.ts'
import { STAGES, type StageReport } from './pipeline/stages.ts'
import type { CallerDoor, CallHandle, Explanation } from './runtime-api.ts'
import { type CallFilter, type Store, StoreUnavailable } from './store/store.ts'

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
    if (live.closing) {
      return ended(reject(call, createFailure('tool-unhealthy', { message: 'the runtime is shutting down' })))
    }
    const one = startLiveCall((onFact) => receive(call, forCall(call), kit.world, onFact), kit)
    live.byId.set(one.id, one)
    one.done.finally(() => live.byId.delete(one.id))
    return {
      id: one.id,
      answer: one.answer,
      accepted: one.accepted,
      cancel: () => one.abort('canceled'),
      hangUp: one.hangUp,
      onFact: one.onFact,
    }
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
      const reports: StageReport[] = []
      const call = { ...decoded.call, dryRun: true }
      const answer = await runCall(
        receive(call, forCall(call), kit.world, () => {}, reports),
        kit,
      )
      const stages = notReached(reports)
      const { failure, state } = answer
      if (failure === undefined) return { decision: 'allow', stages }
      return {
        decision: state === 'awaiting-approval' ? 'require-approval' : state === 'denied' ? 'deny' : 'error',
        stages,
        failure,
      }
    },

    async getCall(id) {
      const running = live.byId.get(id)
      if (running !== undefined) return mayRead(running) ? running.record() : undefined
      const record = kit.ledger.pending.get(id) ?? (await store.calls.get(caller.namespace, id))
      return record !== undefined && mayRead(record) ? withEntry(record, store) : undefined
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
        if (matches(record, wanted)) byId.set(record.id, record)
      }
      const all = [...byId.values()]
      const page = all.sort((a, b) => (a.id < b.id ? 1 : -1)).slice(0, filter.limit)
      return Promise.all(page.map((record) => withEntry(record, store)))
    },

    async cancelCall(id) {
      const running = live.byId.get(id)
      if (running !== undefined && mayRead(running)) {
        running.abort('canceled')
        return 'canceling'
      }
      const record = await store.calls.get(caller.namespace, id)
      return record !== undefined && mayRead(record) ? 'ended' : 'not-found'
    },
  }
}

/** What the store's filter asks, of a call that is not in the store yet. */
function matches(record: CallRecord, filter: CallFilter): boolean {
  return (
    record.namespace === filter.namespace &&
    (filter.actor === undefined || record.actor === filter.actor) &&
    (filter.tool === undefined || record.tool === filter.tool) &&
    (filter.state === undefined || record.state === filter.state) &&
    (filter.requestId === undefined || record.requestId === filter.requestId) &&
    (filter.before === undefined || record.id < filter.before)
  )
}

/** The output lies in the entry; and a call that stopped listening learns there how it ended. */
async function withEntry(record: CallRecord, store: Store): Promise<CallRecord> {
  if (record.entryId === undefined || record.answer === undefined) return record
  const entry = await store.entries.get(record.namespace, record.entryId)
  if (entry === undefined) return record
  const now = resultOfEntry(entry)
  if (!isOutcome(record.state) && entry.settledAt !== undefined) {
    const { failure: _, ...answer } = record.answer
    return {
      ...record,
      state: now.state,
      effect: now.effect,
      answer: {
        ...answer,
        state: now.state,
        final: isOutcome(now.state),
        effect: now.effect,
        ...(now.output === undefined ? {} : { output: now.output }),
        ...(now.failure === undefined ? {} : { failure: now.failure }),
      },
    }
  }
  return now.output === undefined || record.answer.failure !== undefined
    ? record
    : { ...record, answer: { ...record.answer, output: now.output } }
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

function isCall(request: CallOptions | Call): request is Call {
  return 'dialect' in request && 'claims' in request
}

function onlyFailedStore(error: unknown): void {
  if (!(error instanceof StoreUnavailable)) throw error
}
