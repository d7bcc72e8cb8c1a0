// Roles, permissions and policies with every default applied: what governance decides by. Frozen.
import type { DecisionKind } from '../contract/decision.ts'
import type { Json } from '../util/json.ts'
import type { Comparison, DataClassification, OperationClass, RiskLevel } from './resolved-tool.ts'

/** A literal comparison on the input. */
export interface Condition {
  /** JSON pointer into the input. */
  readonly field: string
  readonly op: Comparison
  readonly value?: Json
}

/** Who decides, how many of them, and in which time. */
export interface ApprovalRule {
  /** Absent: whoever may decide at all. */
  readonly role?: string
  readonly quorum: number
  readonly ttlMs: number
}

interface Governing {
  readonly namespace: string
  readonly name: string
  /** Changes whenever the resource does: generation and digest. */
  readonly version: string
}

export interface ResolvedRole extends Governing {
  readonly description: string
  /** Trimmed, fixed parts in lower case, names as they are, without repeats. */
  readonly permissions: readonly string[]
  /** Other roles whose permissions it has as well. */
  readonly inherits: readonly string[]
  readonly clearance: DataClassification
}

/** Whom a rule is about: everybody, or those it names. */
export interface Targets {
  readonly applyMode: 'global' | 'scoped'
  /** Actors and agents. */
  readonly agents: readonly string[]
  readonly systems: readonly string[]
  readonly tasks: readonly string[]
}

export interface OperationVerdict {
  readonly operationClass: OperationClass | '*'
  readonly verdict: 'allow' | 'deny' | 'approval_required'
}

export interface ResolvedToolPermission extends Governing {
  readonly tool: string
  readonly action: string
  readonly requiredPermissions: readonly string[]
  readonly matchMode: 'all' | 'any'
  readonly targets: Targets
  readonly operationRules: readonly OperationVerdict[]
  readonly approval: ApprovalRule
}

/** A rule of literal clauses: it matches where all of them hold. */
export interface PolicyRule {
  /** Names of tools, `*` at the end of one stands for any rest; empty: all that the policy is about. */
  readonly tools: readonly string[]
  readonly operations: readonly string[]
  readonly operationClasses: readonly OperationClass[]
  readonly riskLevels: readonly RiskLevel[]
  readonly when: readonly Condition[]
  readonly decision: Exclude<DecisionKind, 'transform'>
  readonly reason?: string
  /** A denial that passes by itself says when to come back (S45). */
  readonly retryAfterMs?: number
}

export type Narrow =
  | { readonly kind: 'clamp'; readonly field: string; readonly min?: number; readonly max?: number }
  | { readonly kind: 'drop'; readonly fields: readonly string[] }
  | { readonly kind: 'dry_run' }

export interface PolicyTransform {
  readonly tools: readonly string[]
  readonly when: readonly Condition[]
  readonly narrow: Narrow
}

export interface PolicyBudget {
  readonly tools: readonly string[]
  readonly per: 'caller' | 'tool'
  readonly periodMs: number
  /** JSON pointer to what is summed up; absent: calls are counted. */
  readonly sum?: string
  /** In whole millionths. */
  readonly max: number
}

export interface ResolvedPolicy extends Governing {
  /** `monitor`: it only says what it would have done. */
  readonly mode: 'enforce' | 'monitor'
  readonly targets: Targets
  /** As in a rule: what of the policy is about which tools at all. Empty: all. */
  readonly targetTools: readonly string[]
  readonly blockedTools: readonly string[]
  readonly rules: readonly PolicyRule[]
  /** Cedar policies, as written. */
  readonly cedar?: string
  readonly transforms: readonly PolicyTransform[]
  readonly budgets: readonly PolicyBudget[]
  readonly approval: ApprovalRule
  /** The role that decides an escalation. */
  readonly escalateTo?: string
  /** Fields that are read and have no meaning here (S47). */
  readonly notEnforced: readonly string[]
}

/** All that governs one namespace. */
export interface GovernanceSet {
  readonly roles: readonly ResolvedRole[]
  readonly permissions: readonly ResolvedToolPermission[]
  readonly policies: readonly ResolvedPolicy[]
}
