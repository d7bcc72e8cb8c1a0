// Everything one caller can do. The library, the server and the conformance suite all come through here.

import { createApprovalDoor } from './approval-door.ts'
import type { StopDoor } from './catalog/stop-door.ts'
import type { Answer } from './contract/answer.ts'
import { isOutcome } from './contract/answer.ts'
import type { Call, CallRecord } from './contract/call.ts'
import { type CallOptions, createCall } from './contract/call-options.ts'
import type { Caller } from './contract/caller.ts'
import type { RefusedCall } from './contract/dialect/dialect.ts'
import { answerRefused } from './contract/dialect/refused-answer.ts'
import type { Entry } from './contract/entry.ts'
import type { Failure } from './contract/failure.ts'
import { createFailure } from './contract/projection.ts'
import { type ShownCall, viewOfEntry } from './contract/shown-call.ts'
import type { Stop } from './contract/stop.ts'
import { createEffectDoor } from './effect-door.ts'
import { createFreezeDoor } from './freeze-door.ts'
import { hasPermission } from './governance/held.ts'
import { refusedRecord } from './pipeline/answer.ts'
import { cancelSuspended } from './pipeline/cancel-suspended.ts'
import { recordWith } from './pipeline/closed-record.ts'
import type { UndoKit } from './pipeline/compensate.ts'
import { explanationOf, notReached } from './pipeline/explanation.ts'
import { joinedResult } from './pipeline/joined-result.ts'
import type { Kit } from './pipeline/kit.ts'
import { LiveCall } from './pipeline/live-call.ts'
import { receive } from './pipeline/receive.ts'
import { resultOfEntry } from './pipeline/result.ts'
import { runCall } from './pipeline/run-call.ts'
import type { CallResult, FactSink, Received } from './pipeline/stages.ts'
import { standingOf } from './pipeline/standing.ts'
import { UNDO_KEY_PREFIX } from './pipeline/undo-plan.ts'
import type { CallerDoor, CallHandle, Explanation } from './runtime-api.ts'
import { createSagaDoor } from './saga-door.ts'
import { matchesFilter } from './store/call-filter.ts'
import { isKeepable } from './store/entry-rule.ts'
import type { Store } from './store/store.ts'
import { onlyUnavailable } from './store/unavailable.ts'
import type { Json } from './util/json.ts'
import type { World } from './util/world.ts'

/** The calls under way in this process, and whether new ones are taken. */
export interface LiveCalls {
  readonly byId: Map<string, LiveCall>
  closing: boolean
}

/** Runs a call where it can be seen and stopped. */
export function begin(live: LiveCalls, make: (onFact: FactSink) => Received, kit: Kit): LiveCall {
  const one = new LiveCall(make, kit, (over) => live.byId.delete(over.id))
  live.byId.set(one.id, one)
  return one
}

/** S44: a stop that says so ends what is under way; what was sent may still have its effect, and is answered as such. */
export function endStopped(live: LiveCalls, stop: Stop): void {
  if (stop.inFlight !== 'end') return
  for (const call of live.byId.values()) if (call.owns && call.isStoppedBy(stop)) call.abort('canceled')
}

export function createCallerDoor(caller: Caller, kit: UndoKit, live: LiveCalls, stops: StopDoor): CallerDoor {
  const { store } = kit

  /** Only the local admin may name another namespace than its own. */
  const forCall = (call: Call): Caller =>
    caller.admin && call.namespace !== undefined && call.namespace !== caller.namespace
      ? { ...caller, namespace: call.namespace }
      : caller

  const seesAll = () => caller.admin || hasPermission(standingOf(caller, kit).held, 'call:read')
  const isOwn = (record: { readonly namespace: string; readonly actor: string }) =>
    record.namespace === caller.namespace && (caller.admin || record.actor === caller.actor)
  /** What somebody may look at is not what they may act on. */
  const mayRead = (record: { readonly namespace: string; readonly actor: string }) =>
    isOwn(record) || (record.namespace === caller.namespace && seesAll())

  /** A commit token is for the caller it was given to alone, whoever else may read the call (S26). */
  function forReader(record: ShownCall): ShownCall {
    if (record.actor === caller.actor || record.answer?.commitToken === undefined) return record
    const { commitToken: _, ...answer } = record.answer
    return { ...record, answer }
  }

  function reject(call: RefusedCall, failure: Failure): Answer {
    const answer = answerRefused(call, failure, 0)
    const { record, fact } = refusedRecord(call, caller, answer, kit)
    try {
      const facts = kit.refusals.count(record.namespace, record.id, fact)
      kit.ledger.note(record, facts).catch(onlyUnavailable)
    } catch (error) {
      onlyUnavailable(error)
    }
    return answer
  }

  async function getCall(id: string): Promise<ShownCall | undefined> {
    const running = live.byId.get(id)
    if (running !== undefined) return mayRead(running) ? running.record() : undefined
    const record = await kit.ledger.call(caller.namespace, id)
    if (record === undefined || !mayRead(record)) return undefined
    return forReader(await withEntry(record, store, kit, live))
  }

  function start(request: CallOptions | Call): CallHandle {
    const decoded = isCall(request)
      ? ({ ok: true, call: request } as const)
      : createCall(request, kit.world.id)
    if (!decoded.ok) return ended(reject(decoded.call, decoded.failure))
    const { call } = decoded
    const unusable = unusableKey(call) ?? unusableCallback(call, kit)
    if (unusable !== undefined) return ended(reject(call, unusable))
    if (live.closing) {
      return ended(reject(call, createFailure('tool-unhealthy', { message: 'the runtime is shutting down' })))
    }
    return begin(live, (onFact) => receive(call, forCall(call), kit.world, onFact), kit)
  }

  const effects = createEffectDoor(caller, kit, {
    call: (request, options) => start(request).answer(options),
    getCall,
  })

  return {
    ...effects,
    ...createSagaDoor(caller, kit),
    ...createFreezeDoor(caller, stops, kit),
    ...createApprovalDoor(caller, kit),
    caller,
    start,
    call: (request, options) => start(request).answer(options),
    reject,
    getCall,

    async explain(request): Promise<Explanation> {
      const decoded = isCall(request)
        ? ({ ok: true, call: request } as const)
        : createCall(request, kit.world.id)
      if (!decoded.ok)
        return { decision: 'error', stages: notReached([]), changes: [], failure: decoded.failure }
      const call = { ...decoded.call, dryRun: true }
      const received = receive(call, forCall(call), kit.world, () => {})
      return explanationOf(received, await runCall(received, kit))
    },

    async listCalls(filter) {
      const wanted = {
        ...filter,
        namespace: caller.namespace,
        ...(seesAll() ? {} : { actor: caller.actor }),
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
      return Promise.all(page.map(async (record) => forReader(await withEntry(record, store, kit, live))))
    },

    async cancelCall(id) {
      const running = live.byId.get(id)
      if (running !== undefined && isOwn(running)) {
        running.abort('canceled')
        return 'canceling'
      }
      const record = await kit.ledger.call(caller.namespace, id)
      if (record === undefined || !isOwn(record)) return 'not-found'
      if (record.state === 'awaiting-approval' && (await cancelSuspended(record, store, kit)))
        return 'canceling'
      return record.state === 'running' && (await cancelElsewhere(record, kit)) ? 'canceling' : 'ended'
    },
  }
}

/**
 * It is followed here, or another process works on it: that one looks (S11). A call that only joined another's has
 * nothing to cancel there.
 */
async function cancelElsewhere(
  { namespace, id, entryId }: CallRecord,
  { store, accepted }: UndoKit,
): Promise<boolean> {
  const entry = entryId === undefined ? undefined : await store.entries.get(namespace, entryId)
  if (entry?.callId !== id) return false
  return accepted?.cancel(entry.id) === true || store.entries.requestCancel(namespace, entry.id)
}

/** The output lies in the entry; and a call that stopped listening learns there how it ended. */
async function withEntry(record: CallRecord, store: Store, kit: Kit, live: LiveCalls): Promise<ShownCall> {
  if (record.entryId === undefined || record.answer === undefined) return record
  const entry = await store.entries.get(record.namespace, record.entryId)
  // It may wait for a call that ended without leaving anything.
  if (entry === undefined) return live.byId.has(record.id) ? record : kit.orphans.closed(record)
  const joined =
    record.state === 'awaiting-approval' ? await joinedResult(entry, record.answer, kit) : undefined
  const now =
    joined === undefined
      ? upToEntry(record, record.answer, entry)
      : recordWith(record, joined.result, joined.at)
  return { ...now, entry: viewOfEntry(entry) }
}

function upToEntry(record: CallRecord, answer: Answer, entry: Entry): CallRecord {
  const now = resultOfEntry(entry)
  if (!isOutcome(record.state) && entry.settledAt !== undefined) {
    // A call that is open because of its entry says what the entry says; who only joined it learns it here.
    return recordWith(
      record,
      record.state === 'unknown' && now.effect === 'unknown' ? asOpen(now) : now,
      entry.settledAt,
    )
  }
  if (entry.state === 'compensated' && record.effect === 'done') {
    return {
      ...record,
      effect: 'compensated',
      answer: { ...answer, effect: 'compensated', ...outputOf(now) },
    }
  }
  return now.output === undefined || answer.failure !== undefined
    ? record
    : { ...record, answer: { ...answer, output: now.output } }
}

/** In question, and the runtime still looks into it: not over, whatever the failure alone would say. */
function asOpen(now: CallResult): CallResult {
  return now.state === 'reconciling' ? now : { ...now, state: 'unknown' }
}

function outputOf(now: CallResult): { readonly output?: Json } {
  return now.output === undefined ? {} : { output: now.output }
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

/** A key that a database would change on the way in could meet another one there; so could one like the runtime's own. */
function unusableKey(call: Call): Failure | undefined {
  const key = call.key ?? call.requestId
  const own = key.startsWith(UNDO_KEY_PREFIX)
  if (isKeepable(key) && !own) return undefined
  const message = own
    ? `must not begin with '${UNDO_KEY_PREFIX}': such keys are the runtime's own`
    : 'must not have a NUL or half of a surrogate pair'
  const path = call.key === undefined ? '/request_id' : '/idempotency_key'
  return createFailure('envelope-invalid', {
    message: `${path}: ${message}`,
    details: { violations: [{ path, message }] },
  })
}

/** Only to where an operator lets it: a caller must not be able to have this process send anything anywhere. */
function unusableCallback({ callback }: Call, { callbackOrigins }: Kit): Failure | undefined {
  if (callback === undefined) return undefined
  const url = URL.canParse(callback) ? new URL(callback) : undefined
  const plain = url !== undefined && url.username === '' && url.password === ''
  if (plain && callbackOrigins?.has(url.origin)) return undefined
  const message = plain
    ? `its origin ${url.origin} is none that this server calls back`
    : 'must be an http or https address without a user or a password'
  return createFailure('envelope-invalid', {
    message: `Writ-Callback: ${message}`,
    fix: 'Have the operator add its origin to callback_allow, or wait with GET /v1/calls/{id}?wait=60.',
    details: { violations: [{ path: '/headers/writ-callback', message }] },
  })
}

function isCall(request: CallOptions | Call): request is Call {
  return 'dialect' in request && 'claims' in request
}

/** Resolves when every call under way has ended, or the time is up. */
export async function drained(live: LiveCalls, ms: number, world: World): Promise<void> {
  const all = Promise.allSettled([...live.byId.values()].map((call) => call.done))
  await new Promise<void>((resolve) => {
    const timer = world.after(ms, resolve)
    all.then(() => {
      timer.cancel()
      resolve()
    })
  })
}
