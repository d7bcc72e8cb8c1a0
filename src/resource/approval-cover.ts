// Whether any rule can ask for approval of an operation that cannot be taken back. Profile production demands one, or a waiver.
import type { EffectClass } from '../contract/effect.ts'
import type { GovernanceSet, PolicyRule, ResolvedPolicy } from './resolved-governance.ts'
import type { ResolvedOperation, ResolvedTool } from './resolved-tool.ts'

const CLASSES: readonly EffectClass[] = ['irreversible', 'financial-high-impact', 'administrative']

/** Whether the Cedar text of a policy can ask for approval of the operation. This layer does not read Cedar. */
export type CedarAsks = (policy: ResolvedPolicy, tool: ResolvedTool, operation: ResolvedOperation) => boolean

/** Whether the operation runs in production only where some rule can ask for approval. */
export function needsApprovalRule(tool: ResolvedTool, operation: ResolvedOperation): boolean {
  if (operation.internal || !CLASSES.includes(operation.effect.class)) return false
  return tool.approvalWaiver === undefined && operation.approvalTriggers.length === 0
}

/** At apply: whoever may call, no rule of the whole set can ask for the approval that is needed. */
export function lacksApprovalRule(
  tool: ResolvedTool,
  operation: ResolvedOperation,
  set: GovernanceSet,
  cedarAsks: CedarAsks,
): boolean {
  if (!needsApprovalRule(tool, operation)) return false
  const permitted = set.permissions.some(
    (permission) =>
      permission.tool === tool.name &&
      permission.operationRules.some(
        ({ operationClass, verdict }) =>
          verdict === 'approval_required' &&
          (operationClass === '*' || operation.classes.includes(operationClass)),
      ),
  )
  return (
    !permitted &&
    !set.policies.some(
      (policy) =>
        rulesAsk(policy, tool, operation) ||
        (isAbout(policy, tool) && policy.cedar !== undefined && cedarAsks(policy, tool, operation)),
    )
  )
}

/** Whether a rule of the policy, apart from Cedar, can ask for approval of the operation. */
export function rulesAsk(policy: ResolvedPolicy, tool: ResolvedTool, operation: ResolvedOperation): boolean {
  return isAbout(policy, tool) && policy.rules.some((rule) => asksBy(rule, tool, operation))
}

function isAbout({ mode, targets, targetTools }: ResolvedPolicy, tool: ResolvedTool): boolean {
  const { applyMode, agents, systems, tasks } = targets
  if (applyMode === 'scoped' && agents.length + systems.length + tasks.length === 0) return false
  return mode === 'enforce' && matchesName(targetTools, tool.name)
}

function asksBy(rule: PolicyRule, tool: ResolvedTool, operation: ResolvedOperation): boolean {
  if (rule.decision !== 'require-approval' && rule.decision !== 'escalate') return false
  return (
    matchesName(rule.tools, tool.name) &&
    matchesName(rule.operations, operation.name) &&
    (rule.operationClasses.length === 0 ||
      rule.operationClasses.some((one) => operation.classes.includes(one))) &&
    (rule.riskLevels.length === 0 || rule.riskLevels.includes(tool.riskLevel))
  )
}

/** A `*` at the end of a pattern stands for any rest; no pattern at all for every name. */
function matchesName(patterns: readonly string[], name: string): boolean {
  return (
    patterns.length === 0 ||
    patterns.some((one) => (one.endsWith('*') ? name.startsWith(one.slice(0, -1)) : name === one))
  )
}
