// A standing approval for a bounded class of calls, against approval fatigue: this tool, amounts below 50, for an hour.
import type { ApprovalNeed } from '../contract/decision.ts'
import type { Condition } from '../resource/resolved-governance.ts'
import { holds } from './condition.ts'
import type { Facts } from './rules.ts'

export interface ApprovalGrant {
  readonly id: string
  readonly tool: string
  /** Another build of the tool is another thing to approve. */
  readonly digest: string
  readonly operation: string
  /** All of them have to hold; what cannot be judged does not. */
  readonly when: readonly Condition[]
  /** Absent: whoever may call the tool. */
  readonly caller?: string
  /** The need that it stands for: the one of this role, or the one without. */
  readonly role?: string
  readonly by: string
  /** Wall time. */
  readonly until: number
  /** Counted by whoever uses it, together with the intent. */
  readonly maxUses?: number
}

/**
 * Whether the grant stands for the need in this very call. It is the word of one person: a quorum of more, or an
 * escalation, needs people. Nobody grants anything to itself, or to an agent that it speaks for.
 */
export function coveredBy(grant: ApprovalGrant, facts: Facts, need: ApprovalNeed): boolean {
  const { caller, agent, tool, operation, input, now } = facts
  return (
    need.role === grant.role &&
    need.quorum === 1 &&
    need.escalated !== true &&
    grant.tool === tool.name &&
    grant.digest === tool.digest &&
    grant.operation === operation.name &&
    (grant.caller === undefined || grant.caller === caller.actor) &&
    grant.by !== caller.actor &&
    grant.by !== agent &&
    now < grant.until &&
    grant.when.every((condition) => holds(condition, input))
  )
}
