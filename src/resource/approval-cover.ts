// Whether any rule can ask for approval of an operation that cannot be taken back. Profile production demands one, or a waiver.
import type { EffectClass } from '../contract/effect.ts'
import type { GovernanceSet, PolicyRule, ResolvedPolicy } from './resolved-governance.ts'
import type { ResolvedOperation, ResolvedTool } from './resolved-tool.ts'

const CLASSES: readonly EffectClass[] = ['irreversible', 'financial-high-impact', 'administrative']
/** In the text of Cedar policies; whether one concerns the tool is Cedar's to say. */
const CEDAR_ASKS = /@decision\s*\(\s*"(?:require-approval|escalate)"\s*\)/

export function lacksApprovalRule(
  tool: ResolvedTool,
  operation: ResolvedOperation,
  set: GovernanceSet,
): boolean {
  if (operation.internal || !CLASSES.includes(operation.effect.class)) return false
  if (tool.approvalWaiver !== undefined || operation.approvalTriggers.length > 0) return false
  const permitted = set.permissions.some(
    (permission) =>
      permission.tool === tool.name &&
      permission.operationRules.some(
        ({ operationClass, verdict }) =>
          verdict === 'approval_required' &&
          (operationClass === '*' || operation.classes.includes(operationClass)),
      ),
  )
  return !permitted && !set.policies.some((policy) => asks(policy, tool, operation))
}

function asks(policy: ResolvedPolicy, tool: ResolvedTool, operation: ResolvedOperation): boolean {
  if (policy.mode !== 'enforce' || !matchesName(policy.targetTools, tool.name)) return false
  const { applyMode, agents, systems, tasks } = policy.targets
  if (applyMode === 'scoped' && agents.length + systems.length + tasks.length === 0) return false
  if (policy.cedar !== undefined && CEDAR_ASKS.test(withoutComments(policy.cedar))) return true
  return policy.rules.some((rule) => asksBy(rule, tool, operation))
}

/** Cedar has line comments only; a text may hold two slashes, so texts are taken whole. */
function withoutComments(cedar: string): string {
  return cedar.replace(/("(?:[^"\\]|\\.)*")|\/\/[^\n]*/g, (_, text: string | undefined) => text ?? '')
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
