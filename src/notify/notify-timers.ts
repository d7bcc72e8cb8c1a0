// The outbox: news of an approval are timers in the very write that changes it, one for each channel.
import type { Approval } from '../contract/approval.ts'
import type { ApprovalEvent, ApprovalNews } from '../contract/approval-event.ts'
import type { DueTimer, TimerChange } from '../store/store.ts'
import { type Channel, concerns } from './channel.ts'

/** `approval` as the write makes it. Whoever writes it adds these timers, so that neither is there without the other. */
export function notifyTimers(
  approval: Approval,
  event: ApprovalEvent,
  at: number,
  channels: readonly Channel[],
): readonly TimerChange[] {
  const { namespace, id, revision, state, decisions, delegations, endedAt } = approval
  const data = {
    type: event,
    at,
    state,
    decisions: decisions.length,
    delegations: delegations.length,
    ...(endedAt === undefined ? {} : { ended_at: endedAt }),
  }
  return channels
    .filter((channel) => concerns(channel, namespace, event))
    .map(({ name }) => ({ kind: 'notify', subject: notifySubject(id, revision, name), inMs: 0, data }))
}

export function notifySubject(approvalId: string, seq: number, channel: string): string {
  return `${approvalId}/${seq}/${channel}`
}

export interface NotifySubject {
  readonly approvalId: string
  /** Of all news of one approval for one channel, the lowest goes first. */
  readonly seq: number
  readonly channel: string
}

export function readNotifySubject(subject: string): NotifySubject | undefined {
  const [, approvalId, seq, channel] = /^([^/]+)\/(\d{1,9})\/(.+)$/s.exec(subject) ?? []
  if (approvalId === undefined || seq === undefined || channel === undefined) return undefined
  return { approvalId, seq: Number(seq), channel }
}

/**
 * The news of a timer, with the approval as it was then: what came later is cut off, so that a delivery that is late
 * still says what happened when it was due.
 */
export function newsOf({ data }: Pick<DueTimer, 'data'>, seq: number, now: Approval): ApprovalNews {
  const { endedAt: _, why, ...rest } = now
  const ended = typeof data.ended_at === 'number' ? data.ended_at : undefined
  const approval: Approval = {
    ...rest,
    state: data.state as Approval['state'],
    revision: seq,
    decisions: now.decisions.slice(0, Number(data.decisions)),
    delegations: now.delegations.slice(0, Number(data.delegations)),
    ...(ended === undefined ? {} : { endedAt: ended }),
    ...(why === undefined || ended === undefined ? {} : { why }),
  }
  return { id: `${now.id}.${seq}`, type: data.type as ApprovalNews['type'], at: Number(data.at), approval }
}
