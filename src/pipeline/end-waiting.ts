// The end of a call that waited for people, and of the question with it: both in one write, or neither (S16, S45).
import type { Approval } from '../contract/approval.ts'
import type { ApprovalEvent } from '../contract/approval-event.ts'
import type { Entry } from '../contract/entry.ts'
import type { EvidenceType } from '../contract/evidence.ts'
import type { Failure } from '../contract/failure.ts'
import type { Fact, MoveResult } from '../ledger/ledger.ts'
import type { JsonObject } from '../util/json.ts'
import { callbackTimers } from './callback-timer.ts'
import { recordOfEntry, recordWith } from './closed-record.ts'
import type { Kit } from './kit.ts'
import { resultOfEntry } from './result.ts'
import { memberSettled } from './saga-member.ts'

export interface WaitingEnd {
  readonly state: 'denied' | 'expired' | 'stale' | 'canceled'
  /** What its caller is told. */
  readonly failure: Failure
  /** What the one who ended it adds to the question, such as a decision. */
  readonly change?: Partial<Approval>
  /** For the evidence of the end. */
  readonly body?: JsonObject
}

const ENDED: Readonly<Record<WaitingEnd['state'], EvidenceType & string>> = {
  denied: 'approval.decided',
  expired: 'approval.expired',
  stale: 'approval.stale',
  canceled: 'approval.canceled',
}

/** `approval` as it was read; undefined where an earlier version of Writ kept none. Conflicts where either has changed. */
export async function endWaiting(
  entry: Entry,
  approval: Approval | undefined,
  end: WaitingEnd,
  kit: Kit,
): Promise<MoveResult> {
  const { state, failure } = end
  const at = kit.world.clock.now()
  const ended = approval && endedApproval(approval, end, at)
  const to = state === 'canceled' ? 'canceled' : 'not-done'
  const outcome = { failure, sideEffects: [], warnings: entry.outcome?.warnings ?? [] }
  const result = { ...resultOfEntry({ ...entry, state: to, outcome }), replayed: false }
  const record = (await kit.ledger.call(entry.namespace, entry.callId)) ?? recordOfEntry(entry)
  const moved = await kit.ledger.move(entry, {
    path: [to],
    set: { outcome, settledAt: at },
    calls: [recordWith(record, result, at)],
    ...(ended === undefined ? {} : { approval: { kind: 'update', approval: ended } }),
    facts: factsOf(entry, end),
    timers: [
      { kind: 'approval', subject: entry.id },
      ...memberSettled(entry, result),
      ...wakeUndo(entry),
      ...(ended === undefined ? [] : [...kit.notify(ended, eventOf(state)), ...callbackTimers(ended, 0)]),
    ],
  })
  if (moved.kind === 'moved' && ended !== undefined) emitDecided(ended, kit)
  return moved
}

export function eventOf(state: WaitingEnd['state'] | 'approved' | 'used'): ApprovalEvent {
  return `approval.${state}`
}

export function emitDecided(approval: Approval, kit: Kit): void {
  const { namespace, id, entryId, callId, state, binding, createdAt } = approval
  kit.events.emit('approval:decided', {
    namespace,
    approval_id: id,
    entry_id: entryId,
    call_id: callId,
    tool_id: binding.tool,
    state,
    waited_ms: Math.max(0, kit.world.clock.now() - createdAt),
  })
}

/** What an effect that is being undone waits for has come to an end: it is looked at now, and not only by and by (S29). */
export function wakeUndo({ request }: Entry) {
  const undone = request?.undoes?.entryId
  return undone === undefined ? [] : [{ kind: 'compensation', subject: undone, inMs: 0, data: {} } as const]
}

function endedApproval(approval: Approval, { state, failure, change }: WaitingEnd, at: number): Approval {
  return {
    ...approval,
    ...change,
    state,
    revision: approval.revision + 1,
    endedAt: at,
    ...(state === 'stale' ? { why: failure.message } : {}),
  }
}

function factsOf(entry: Entry, { state, failure, body = {} }: WaitingEnd): readonly Fact[] {
  const about = {
    entry_id: entry.id,
    approval_id: entry.approvalId ?? '',
    actor: entry.caller.actor,
    tool: entry.tool,
    operation: entry.operation,
  }
  const changed = failure.details.changed === undefined ? {} : { changed: failure.details.changed }
  return [
    { type: ENDED[state], body: { ...about, ...changed, ...body } },
    // It was asked for and not made, and this is why.
    { type: 'request.skipped', body: { ...about, status: 'SKIPPED', reason: failure.id } },
  ]
}
