// What happens to an approval that somebody may want to hear of.
import type { Approval } from './approval.ts'

export const APPROVAL_EVENTS = [
  'approval.requested',
  /** one of several has decided; more are needed */
  'approval.voted',
  'approval.delegated',
  'approval.approved',
  /** its call has gone on with it */
  'approval.used',
  'approval.denied',
  'approval.expired',
  'approval.stale',
  'approval.canceled',
] as const
export type ApprovalEvent = (typeof APPROVAL_EVENTS)[number]

/** One event, with the approval as it was right after it. */
export interface ApprovalNews {
  /** Stays the same however often it is told. */
  readonly id: string
  readonly type: ApprovalEvent
  readonly at: number
  readonly approval: Approval
}
