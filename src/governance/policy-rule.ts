// AgentPolicies: blocked tools and rules of literal clauses. A rule matches where all of its clauses hold.
import type { DecisionKind, RuleMatch, RuleRef } from '../contract/decision.ts'
import type { PolicyRule, ResolvedPolicy } from '../resource/resolved-governance.ts'
import type { ResolvedOperation, ResolvedTool } from '../resource/resolved-tool.ts'
import type { Found } from './found.ts'
import { matchesName, matchesNames } from './name-pattern.ts'
import {
  allFire,
  allHold,
  type FieldList,
  type ReadCondition,
  type Reader,
  readConditions,
} from './reading.ts'
import type { ReasonCode } from './reason-code.ts'

export interface CompiledRule {
  readonly when: readonly ReadCondition[]
  /** An allowing rule says that the call is fine, so it has to be certain; the others have not. */
  readonly certain: boolean
  readonly found: Found
}

const CODES: Readonly<Record<PolicyRule['decision'], ReasonCode>> = Object.freeze({
  allow: 'policy-allowed',
  'require-approval': 'policy-approval',
  escalate: 'policy-escalated',
  deny: 'policy-denied',
})

const SAYS: Readonly<Record<PolicyRule['decision'], string>> = Object.freeze({
  allow: 'allows it',
  'require-approval': 'asks for approval',
  escalate: 'hands it to a specialist',
  deny: 'denies it',
})

export function refOf({ name, version }: ResolvedPolicy, rule: string): RuleRef {
  return { policyId: `AgentPolicy/${name}`, policyVersion: version, rule }
}

/** A match of a policy; one in monitor mode only says. */
export function matchOf(
  policy: ResolvedPolicy,
  rule: string,
  answer: { readonly decision: DecisionKind; readonly code: ReasonCode; readonly reason: string },
): RuleMatch {
  return { ...refOf(policy, rule), ...answer, ...(policy.mode === 'monitor' ? { monitored: true } : {}) }
}

/** `blocked_tools` names its tools by itself: `target_tools` takes none of them back. */
export function blockedBy(policy: ResolvedPolicy, tool: ResolvedTool): Found | undefined {
  if (!policy.blockedTools.some((pattern) => matchesName(pattern, tool.name))) return undefined
  const reason = `AgentPolicy ${policy.name} blocks the tool ${tool.name}`
  return { match: matchOf(policy, 'blocked_tools', { decision: 'deny', code: 'tool-blocked', reason }) }
}

/** The clauses that can be told without the input. */
export function isAbout(rule: PolicyRule, tool: ResolvedTool, operation: ResolvedOperation): boolean {
  return (
    matchesNames(rule.tools, tool.name) &&
    matchesNames(rule.operations, operation.name) &&
    (rule.operationClasses.length === 0 ||
      rule.operationClasses.some((one) => operation.classes.includes(one))) &&
    (rule.riskLevels.length === 0 || rule.riskLevels.includes(tool.riskLevel))
  )
}

export function compileRules(
  policy: ResolvedPolicy,
  tool: ResolvedTool,
  operation: ResolvedOperation,
  fields: FieldList,
): readonly CompiledRule[] {
  if (!matchesNames(policy.targetTools, tool.name)) return []
  return policy.rules.flatMap((rule, index): CompiledRule[] => {
    if (!isAbout(rule, tool, operation)) return []
    const { decision, retryAfterMs } = rule
    const reason = rule.reason ?? `AgentPolicy ${policy.name} ${SAYS[decision]}`
    const match = matchOf(policy, `rules[${index}]`, { decision, code: CODES[decision], reason })
    const found: Found = {
      match,
      approval: policy.approval,
      ...(policy.escalateTo === undefined ? {} : { escalateTo: policy.escalateTo }),
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    }
    return [{ when: readConditions(rule.when, fields), certain: decision === 'allow', found }]
  })
}

export function ruleMatches({ when, certain }: CompiledRule, reader: Reader): boolean {
  return certain ? allHold(when, reader) : allFire(when, reader)
}
