// Approvals and what budgets have taken, as they are kept. Both are written with the ledger, never beside it.
import type { Approval, ApprovalState } from '../contract/approval.ts'
import type { Spend } from '../contract/decision.ts'

export interface ApprovalFilter {
  readonly namespace: string
  readonly states?: readonly ApprovalState[]
  /** The actor that asked. */
  readonly requester?: string
  readonly tool?: string
  /** Ids sort by time, newest first; the page ends before this one. */
  readonly before?: string
  readonly limit: number
}

export interface ApprovalStore {
  get(namespace: string, id: string): Promise<Approval | undefined>
  /** Newest first. */
  list(filter: ApprovalFilter): Promise<readonly Approval[]>
}

/** One period of one budget of one caller or tool. */
export type SpendKey = Pick<Spend, 'budget' | 'subject' | 'from'>

export interface BudgetStore {
  /** What is taken so far, in whole millionths; 0 where nothing is. */
  spent(namespace: string, keys: readonly SpendKey[]): Promise<readonly number[]>
}
