// What compiled Cedar answers about a call, and how it fails.
import type { RuleMatch, RuleNear } from '../../contract/decision.ts'
import type { Facts } from '../rules.ts'

/** A Cedar policy that matched, or that nothing permitted what was asked for. */
export interface CedarMatch extends RuleMatch {
  /** By `@retry_after`: a denial that passes by itself (S45). */
  readonly retryAfterMs?: number
}

/** Policies that were one clause away, and how many were not looked at because there are too many. */
export interface CedarNear {
  readonly near: readonly RuleNear[]
  readonly unchecked: number
}

export interface CompiledCedar {
  /** Whether a policy that could match reads what budgets have taken: `facts.spent` has to be there then. */
  readsSpend(facts: Facts): boolean
  /** Everything that matches, in no order. Throws `CedarFailed` where that cannot be found out. */
  matches(facts: Facts): readonly CedarMatch[]
  /** For explanations only: it costs far more than a decision. */
  near(facts: Facts): CedarNear
  /** Whether a policy whose scope is about this caller, tool and operation can ask for approval. */
  asks(facts: Facts): boolean
}

/** A policy could not be evaluated. It is no denial: nothing was decided, and nothing runs (S42). */
export class CedarFailed extends Error {
  override readonly name = 'CedarFailed'
  /** `AgentPolicy/NAME`. */
  readonly policyId: string
  /** `cedar:LINE:COLUMN#ID` in its text. */
  readonly rule: string

  constructor(policyId: string, rule: string, why: string) {
    super(`${policyId} ${rule}: ${why}`)
    this.policyId = policyId
    this.rule = rule
  }
}

/** What `@decision` of a forbid may ask for. */
export const FORBID_DECISIONS = ['require-approval', 'escalate', 'deny'] as const
export type ForbidDecision = (typeof FORBID_DECISIONS)[number]
