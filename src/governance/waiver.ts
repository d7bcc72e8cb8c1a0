// What cannot be undone, is financial or administrative needs an approval rule in profile production, or a written waiver.
// At apply the whole set is looked at; at a call only what concerns its caller, so that a rule about others does not help.
import { lacksApprovalRule } from '../resource/approval-cover.ts'
import type { GovernanceSet, ResolvedPolicy } from '../resource/resolved-governance.ts'
import type { ResolvedOperation, ResolvedTool } from '../resource/resolved-tool.ts'

const NOTHING: GovernanceSet = Object.freeze({ roles: [], permissions: [], policies: [] })

/** Whether the operation runs in production only where some rule can ask for approval. */
export function needsApprovalRule(tool: ResolvedTool, operation: ResolvedOperation): boolean {
  return lacksApprovalRule(tool, operation, NOTHING)
}

/** Whether the policy is enough for an operation that needs such a rule; true for one that needs none. */
export function canAsk(policy: ResolvedPolicy, tool: ResolvedTool, operation: ResolvedOperation): boolean {
  return !lacksApprovalRule(tool, operation, { ...NOTHING, policies: [policy] })
}
