// For explanations: rules about this tool that were one clause away, and what would have to change for them to match.
import type { DecisionKind, RuleNear } from '../contract/decision.ts'
import type { GovernanceSet, PolicyRule, ResolvedPolicy, Targets } from '../resource/resolved-governance.ts'
import { fires, holds, sayCondition } from './condition.ts'
import { matchesNames } from './name-pattern.ts'
import { isOfClass } from './operation-rule.ts'
import { refOf } from './policy-rule.ts'
import type { Facts } from './rules.ts'
import { isTarget } from './targets.ts'
import { toolVersion } from './trigger.ts'

/** A rule about another tool is not near: it would be listed with every other one. */
export function nearOf(set: GovernanceSet, facts: Facts): readonly RuleNear[] {
  return [
    ...nearPermissions(set, facts),
    ...set.policies.flatMap((one) => nearPolicy(one, facts)),
    ...nearTriggers(facts),
  ]
}

function nearPermissions({ permissions }: GovernanceSet, facts: Facts): RuleNear[] {
  return permissions.flatMap((permission) => {
    if (permission.tool !== facts.tool.name) return []
    const target = missedTarget(permission.targets, facts)
    return permission.operationRules.flatMap(({ operationClass, verdict }, index) => {
      const missed = [...target]
      if (!isOfClass(operationClass, facts.operation.classes))
        missed.push(`the operation is of class ${operationClass}`)
      const ref = {
        policyId: `ToolPermission/${permission.name}`,
        policyVersion: permission.version,
        rule: `operation_rules[${index}]`,
      }
      const decision = verdict === 'approval_required' ? 'require-approval' : verdict
      return missed.length === 1 ? [{ ...ref, decision, missed: missed.join() }] : []
    })
  })
}

function nearPolicy(policy: ResolvedPolicy, facts: Facts): RuleNear[] {
  const near: RuleNear[] = []
  const target = missedTarget(policy.targets, facts)
  const add = (rule: string, decision: DecisionKind, missed: readonly string[]) => {
    if (missed.length === 1) near.push({ ...refOf(policy, rule), decision, missed: missed.join() })
  }
  if (policy.blockedTools.length > 0 && matchesNames(policy.blockedTools, facts.tool.name))
    add('blocked_tools', 'deny', target)
  if (!matchesNames(policy.targetTools, facts.tool.name)) return near
  policy.rules.forEach((rule, index) => {
    if (!matchesNames(rule.tools, facts.tool.name)) return
    add(`rules[${index}]`, rule.decision, [...target, ...missedClauses(rule, facts)])
  })
  policy.transforms.forEach(({ tools, when }, index) => {
    if (!matchesNames(tools, facts.tool.name)) return
    add(`transforms[${index}]`, 'transform', [...target, ...missedConditions(when, facts, fires)])
  })
  return near
}

function nearTriggers({ tool, operation, input }: Facts): RuleNear[] {
  return operation.approvalTriggers.flatMap((trigger, index) => {
    if (fires(trigger, input)) return []
    const ref = {
      policyId: `Tool/${tool.name}`,
      policyVersion: toolVersion(tool),
      rule: `approval_triggers[${index}]`,
    }
    const missed = sayCondition(trigger, operation.inputSchema)
    return [{ ...ref, decision: 'require-approval' as const, missed }]
  })
}

export function missedTarget(targets: Targets, facts: Facts): string[] {
  if (isTarget(targets, facts)) return []
  const kinds = [
    ['agent', targets.agents],
    ['system', targets.systems],
    ['task', targets.tasks],
  ] as const
  const named = kinds.filter(([, names]) => names.length > 0)
  if (named.length === 0) return ['the policy names somebody: it is scoped and names nobody']
  return [`the call is of ${named.map(([kind, names]) => `${kind} ${names.join(', ')}`).join(' or ')}`]
}

function missedClauses(rule: PolicyRule, facts: Facts): string[] {
  const { tool, operation } = facts
  const missed: string[] = []
  if (!matchesNames(rule.operations, operation.name))
    missed.push(`the operation is ${rule.operations.join(' or ')}`)
  if (
    rule.operationClasses.length > 0 &&
    !rule.operationClasses.some((one) => operation.classes.includes(one))
  )
    missed.push(`the operation is of class ${rule.operationClasses.join(' or ')}`)
  if (rule.riskLevels.length > 0 && !rule.riskLevels.includes(tool.riskLevel))
    missed.push(`the risk level of the tool is ${rule.riskLevels.join(' or ')}`)
  return [...missed, ...missedConditions(rule.when, facts, rule.decision === 'allow' ? holds : fires)]
}

function missedConditions(
  when: PolicyRule['when'],
  { operation, input }: Facts,
  test: typeof fires,
): string[] {
  return when
    .filter((condition) => !test(condition, input))
    .map((condition) => sayCondition(condition, operation.inputSchema))
}
