// What governance answers about a call, and what it answered by.

/** From the weakest to the strictest: the strictest of all that match wins (S42). */
export const DECISIONS = ['allow', 'transform', 'require-approval', 'escalate', 'deny'] as const
export type DecisionKind = (typeof DECISIONS)[number]

export function stricter(one: DecisionKind, other: DecisionKind): DecisionKind {
  return DECISIONS.indexOf(one) >= DECISIONS.indexOf(other) ? one : other
}

/** Somebody has to agree. */
export function asksPeople({ kind }: Pick<Decision, 'kind'>): boolean {
  return kind === 'require-approval' || kind === 'escalate'
}

/** One rule of one resource. */
export interface RuleRef {
  /** The resource: `AgentPolicy/payments`, `ToolPermission/pay`, `Tool/pay`, or `permissions` for what roles grant. */
  readonly policyId: string
  /** Changes whenever the resource does. */
  readonly policyVersion: string
  /** Where in its spec: `operation_rules[0]`, `cedar:4:1`, `blocked_tools`. */
  readonly rule: string
}

/** A rule that matched, and what it asks for. */
export interface RuleMatch extends RuleRef {
  readonly decision: DecisionKind
  /** A constant that programs can rely on, such as `operation-denied`. */
  readonly code: string
  /** A sentence for people; never a value of the input. */
  readonly reason: string
  /** It only says what it would have done: its policy is in monitor mode. */
  readonly monitored?: true
}

/** A rule that was one clause away from matching. */
export interface RuleNear extends RuleRef {
  readonly decision: DecisionKind
  /** The clause that did not hold, in words: what would have to change for the rule to match. */
  readonly missed: string
}

/** Who has to agree before a call runs. */
export interface ApprovalNeed {
  /** The role that decides; absent: whoever may decide at all. */
  readonly role?: string
  /** How many of them. */
  readonly quorum: number
  /** By an escalation. */
  readonly escalated?: true
}

/** What a transform changed. Values of the input are not in it. */
export interface Narrowing extends RuleRef {
  readonly kind: 'clamp' | 'drop' | 'dry_run'
  /** JSON pointer into the input; empty for a dry run. */
  readonly field: string
  /** For a clamp: the bound that the field was moved to, which is a value of the policy. */
  readonly to?: number
}

/** What a budget takes from a call (S38). Whole millionths, so that sums are exact. */
export interface Spend {
  /** `POLICY#INDEX` of the budget. */
  readonly budget: string
  /** The caller or the tool that it is counted for. */
  readonly subject: string
  /** Wall time at which its period began, and ends. */
  readonly from: number
  readonly until: number
  readonly amount: number
  readonly max: number
}

export interface Decision {
  readonly kind: DecisionKind
  /** Everything that matched, the strictest first; what is monitored is among it. */
  readonly matches: readonly RuleMatch[]
  /** Only where somebody asked for an explanation. */
  readonly near: readonly RuleNear[]
  /** Cedar policies that were not looked at for `near`, because there are too many; absent where all were. */
  readonly unchecked?: number
  /** For `require-approval` and `escalate`; all of them have to be met. */
  readonly needs: readonly ApprovalNeed[]
  /** How long somebody may take to decide, at most. */
  readonly ttlMs: number
  readonly narrowings: readonly Narrowing[]
  readonly spends: readonly Spend[]
  /** JSON pointers to what was read of the input, '' for all of it. Never values. */
  readonly fields: readonly string[]
  /** A denial that passes by itself, such as one that depends on the time (S45). */
  readonly retryAfterMs?: number
  /** Over everything that the decision was made by: another one makes an approval stale. */
  readonly policyVersion: string
}
