// A rule that matched, with what its resource says about who decides and when to come back.
import type { RuleMatch } from '../contract/decision.ts'
import type { ApprovalRule } from '../resource/resolved-governance.ts'

export interface Found {
  readonly match: RuleMatch
  /** For what has to be decided by people. */
  readonly approval?: ApprovalRule
  /** The role that decides an escalation. */
  readonly escalateTo?: string
  /** A denial that passes by itself (S45). */
  readonly retryAfterMs?: number
}

export const DEFAULT_APPROVAL: ApprovalRule = Object.freeze({ quorum: 1, ttlMs: 600_000 })
