// Everything that governs one operation of one tool, compiled: a call pays for its slice, not for the namespace (S44).
import { rulesAsk } from '../resource/approval-cover.ts'
import type {
  GovernanceSet,
  ResolvedPolicy,
  ResolvedToolPermission,
} from '../resource/resolved-governance.ts'
import type { ResolvedOperation, ResolvedTool } from '../resource/resolved-tool.ts'
import { type CompiledBudget, compileBudgets } from './budget.ts'
import type { Found } from './found.ts'
import { isPattern, matchesNames } from './name-pattern.ts'
import { type PermissionPiece, permissionPiece } from './operation-rule.ts'
import { blockedBy, type CompiledRule, compileRules } from './policy-rule.ts'
import { createFieldList, type FieldList } from './reading.ts'
import { indexRules, type RuleIndex } from './rule-index.ts'
import { indexTargets, type Targeted } from './targets.ts'
import { type CompiledTransform, compileTransforms } from './transform.ts'
import { compileTriggers } from './trigger.ts'

/** What of an AgentPolicy is about one operation. */
export interface PolicyPiece {
  readonly policy: ResolvedPolicy
  readonly blocked?: Found
  readonly rules: readonly CompiledRule[]
  readonly transforms: readonly CompiledTransform[]
  readonly budgets: readonly CompiledBudget[]
  /** One of its rules can ask for approval; Cedar is asked with the caller. */
  readonly asks: boolean
}

export interface Slice {
  readonly fields: FieldList
  /** The triggers of the tool, and the rules of policies about everybody. */
  readonly rules: RuleIndex
  readonly permissions: Targeted<PermissionPiece>
  readonly policies: Targeted<PolicyPiece>
  readonly hasCedar: boolean
}

export type SliceOf = (tool: ResolvedTool, operation: ResolvedOperation) => Slice

/** Slices are made when they are first asked for and live as long as the tool that they are about. */
export function createSlices(set: GovernanceSet): SliceOf {
  const permissions = Map.groupBy(set.permissions, (permission) => permission.tool)
  const policies = indexPolicies(set.policies)
  const slices = new WeakMap<ResolvedTool, Map<ResolvedOperation, Slice>>()
  return (tool, operation) => {
    const ofTool = slices.get(tool) ?? new Map<ResolvedOperation, Slice>()
    slices.set(tool, ofTool)
    const known = ofTool.get(operation)
    if (known !== undefined) return known
    const slice = createSlice(tool, operation, permissions.get(tool.name) ?? [], policies(tool.name))
    ofTool.set(operation, slice)
    return slice
  }
}

function createSlice(
  tool: ResolvedTool,
  operation: ResolvedOperation,
  permissions: readonly ResolvedToolPermission[],
  policies: readonly ResolvedPolicy[],
): Slice {
  const fields = createFieldList()
  const triggers = compileTriggers(tool, operation, fields)
  const pieces = policies.map((policy) => policyPiece(policy, tool, operation, fields))
  const concerned = pieces.filter((piece) => concerns(piece, tool))
  const targeted = indexTargets(concerned, (piece) => piece.policy.targets)
  return {
    fields,
    rules: indexRules([...triggers, ...targeted.global.flatMap((piece) => piece.rules)]),
    permissions: indexTargets(
      permissions.map((permission) => permissionPiece(permission, operation)),
      (piece) => piece.permission.targets,
    ),
    policies: targeted,
    hasCedar: concerned.some(({ policy }) => policy.cedar !== undefined),
  }
}

function policyPiece(
  policy: ResolvedPolicy,
  tool: ResolvedTool,
  operation: ResolvedOperation,
  fields: FieldList,
): PolicyPiece {
  const blocked = blockedBy(policy, tool)
  return {
    policy,
    ...(blocked === undefined ? {} : { blocked }),
    rules: compileRules(policy, tool, operation, fields),
    transforms: compileTransforms(policy, tool, fields),
    budgets: compileBudgets(policy, tool, fields),
    asks: rulesAsk(policy, tool, operation),
  }
}

function concerns({ policy, blocked, rules, transforms, budgets }: PolicyPiece, tool: ResolvedTool): boolean {
  if (blocked !== undefined || rules.length + transforms.length + budgets.length > 0) return true
  return policy.cedar !== undefined && matchesNames(policy.targetTools, tool.name)
}

/** Policies that only name tools are found by these names; the others are looked at for every tool. */
function indexPolicies(policies: readonly ResolvedPolicy[]): (tool: string) => readonly ResolvedPolicy[] {
  const anyTool: ResolvedPolicy[] = []
  const byTool = new Map<string, ResolvedPolicy[]>()
  for (const policy of policies) {
    const names = exactTools(policy)
    if (names === undefined) anyTool.push(policy)
    for (const name of names ?? []) {
      const there = byTool.get(name)
      if (there === undefined) byTool.set(name, [policy])
      else there.push(policy)
    }
  }
  return (tool) => [...anyTool, ...(byTool.get(tool) ?? [])]
}

function exactTools({
  blockedTools,
  targetTools,
  rules,
  transforms,
  budgets,
  cedar,
}: ResolvedPolicy): ReadonlySet<string> | undefined {
  const parts = [...rules, ...transforms, ...budgets]
  const open = cedar !== undefined || parts.some(({ tools }) => tools.length === 0)
  if (open && targetTools.length === 0) return undefined
  const names = new Set([...blockedTools, ...(open ? targetTools : parts.flatMap(({ tools }) => tools))])
  return [...names].some(isPattern) ? undefined : names
}
