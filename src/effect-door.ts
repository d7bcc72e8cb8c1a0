// What a caller can do about an effect after its call: commit or roll back, settle, verify, and see what is open.

import type { CallRecord } from './contract/call.ts'
import type { Caller } from './contract/caller.ts'
import { type Entry, type EntryState, NEEDS_A_LOOK } from './contract/entry.ts'
import type { Failure } from './contract/failure.ts'
import type { FailureId } from './contract/failures.ts'
import { createFailure } from './contract/projection.ts'
import { hasPermission } from './governance/held.ts'
import type { UndoKit } from './pipeline/compensate.ts'
import { settleByHand } from './pipeline/settle-by-hand.ts'
import { standingOf } from './pipeline/standing.ts'
import { commitEntry, rollbackEntry } from './pipeline/two-phase.ts'
import { prepareProbe, sendTwice } from './pipeline/verify-tool.ts'
import type { ActionResult, CallerDoor, OpenEntry } from './runtime-api.ts'
import type { Store, TimerKind } from './store/store.ts'
import { onlyUnavailable } from './store/unavailable.ts'

type EffectDoor = Pick<CallerDoor, 'commit' | 'rollback' | 'settle' | 'listOpen' | 'verifyTool'>

/** What each open state waits for, by itself. */
const NEXT: Partial<Record<EntryState, TimerKind>> = {
  unknown: 'reconcile',
  reconciling: 'reconcile',
  'commit-unknown': 'reconcile',
  prepared: 'commit-deadline',
  'rolling-back': 'rollback',
  compensating: 'compensation',
  'awaiting-approval': 'approval',
}

export function createEffectDoor(
  caller: Caller,
  kit: UndoKit,
  door: Pick<CallerDoor, 'getCall' | 'call'>,
): EffectDoor {
  const { store } = kit

  const seesAll = () => caller.admin || hasPermission(standingOf(caller, kit).held, 'call:read')

  /** Does something about the entry of a call that the caller may read; `none` where the call never got one. */
  async function act(
    id: string,
    none: FailureId,
    run: (entry: Entry) => Promise<Failure | undefined>,
  ): Promise<ActionResult> {
    const record = await door.getCall(id)
    if (record === undefined) return { kind: 'not-found' }
    const entry =
      record.entryId === undefined ? undefined : await store.entries.get(record.namespace, record.entryId)
    const failure =
      entry === undefined
        ? createFailure(none, { message: `the call is ${record.state} and brought nothing about` })
        : await run(entry)
    const now = await door
      .getCall(id)
      .catch(onlyUnavailable)
      .then((found) => found ?? lastKnown(record, failure))
    if (failure === undefined) return { kind: 'ok', record: now }
    return { kind: 'refused', failure, record: now }
  }

  return {
    commit: (id, token) => act(id, 'commit-token-invalid', (entry) => commitEntry(entry, caller, token, kit)),
    rollback: (id) => act(id, 'commit-token-invalid', (entry) => rollbackEntry(entry, caller, kit)),
    settle: (id, verdict) => act(id, 'not-unknown', (entry) => settleByHand(entry, verdict, caller, kit)),

    async listOpen({ states = NEEDS_A_LOOK, before, limit }) {
      const entries = await store.entries.list({
        namespace: caller.namespace,
        states,
        limit,
        ...(before === undefined ? {} : { before }),
        ...(seesAll() ? {} : { actor: caller.actor }),
      })
      return Promise.all(entries.map((entry) => openEntry(entry, store)))
    },

    async verifyTool(name, options) {
      const probe = prepareProbe(name, options, caller, kit)
      if (probe.kind === 'refused') return probe
      const { target, operation } = probe
      const { version, digest } = target.tool
      const answer = await door.call({
        tool: name,
        version,
        operation: operation.name,
        idempotencyKey: `verify:${kit.world.id()}`,
        ...(options.input === undefined ? {} : { input: options.input }),
      })
      if (answer.failure !== undefined) return { kind: 'refused', failure: answer.failure }
      await store.flush()
      const record = await store.calls.get(caller.namespace, answer.callId)
      const entry =
        record?.entryId === undefined ? undefined : await store.entries.get(caller.namespace, record.entryId)
      if (entry === undefined) throw new Error(`call ${answer.callId} succeeded and left no entry`)
      const entrance = kit.admission.enter(target.tool)
      if (entrance.kind === 'full') {
        const details = { limit: entrance.max, retry_after_ms: entrance.retryAfterMs }
        const message = 'the tool was called once; its limits leave no room for the second send'
        const row = entrance.limit === 'rate' ? 'rate-limited' : 'concurrency-exceeded'
        return { kind: 'refused', failure: createFailure(row, { message, details }) }
      }
      const sent = sendTwice(entry, answer, target, operation, kit)
      const { same, detail } = await sent.finally(() => entrance.slot.leave())
      const kind = same ? 'verified' : 'refuted'
      const verdict = { tool: name, version, digest, declared: operation.effect.repeat, detail }
      await kit.ledger.record(caller.namespace, answer.callId, {
        type: 'tool.verified',
        body: { ...verdict, verdict: kind, operation: operation.name, actor: caller.actor },
      })
      return { kind, ...verdict, callId: answer.callId }
    },
  }
}

/** It is done or refused, whether or not it can be looked at now: the call as it was, and no surer than it is. */
function lastKnown(record: CallRecord, failure: Failure | undefined): CallRecord {
  const maybeDone = failure?.id === 'outcome-not-recorded' || failure?.id === 'commit-unknown'
  return maybeDone ? { ...record, state: 'unknown', effect: 'unknown' } : record
}

/** What stands in the way: for an effect that could not be undone, why not. */
function failureOf({ state, outcome }: Entry): Pick<OpenEntry, 'failure'> {
  const failure = state === 'compensation-failed' ? outcome?.compensation?.failure : outcome?.failure
  return failure === undefined ? {} : { failure }
}

async function openEntry(entry: Entry, store: Store): Promise<OpenEntry> {
  const kind = NEXT[entry.state]
  const timer = kind && (await store.timers.get(entry.namespace, kind, entry.id))
  return {
    entryId: entry.id,
    callId: entry.callId,
    requestId: entry.requestId,
    actor: entry.caller.actor,
    tool: entry.tool,
    version: entry.version,
    operation: entry.operation,
    state: entry.state,
    attempts: entry.attempts,
    createdAt: entry.createdAt,
    ...(entry.settledAt === undefined ? {} : { since: entry.settledAt }),
    ...failureOf(entry),
    ...(timer === undefined ? {} : { next: { kind: timer.kind, at: timer.dueAt } }),
  }
}
