// What of a slice is about one caller, made once for all callers that the same rules name.
import type { ResolvedTool } from '../resource/resolved-tool.ts'
import { sha256Base64url } from '../util/canonical.ts'
import type { CompiledBudget } from './budget.ts'
import type { Found } from './found.ts'
import type { PermissionPiece } from './operation-rule.ts'
import { indexRules, type RuleIndex } from './rule-index.ts'
import type { Facts } from './rules.ts'
import type { PolicyPiece, Slice } from './slice.ts'
import type { CompiledTransform } from './transform.ts'

export interface Concerned {
  readonly slice: Slice
  readonly permissions: readonly PermissionPiece[]
  /** Something here can ask for approval, where the operation needs a rule that can. */
  readonly asks: boolean
  readonly blocked: readonly Found[]
  readonly rules: readonly RuleIndex[]
  readonly transforms: readonly CompiledTransform[]
  readonly budgets: readonly CompiledBudget[]
  readonly policyVersion: string
}

type ConcernedBy = (slice: Slice, facts: Facts) => Concerned

export function createConcerned(): ConcernedBy {
  // By what is scoped to the caller: `scoped` answers the same list for the same rules.
  const known = new WeakMap<Slice, WeakMap<object, WeakMap<object, Concerned>>>()
  return (slice, facts) => {
    const permissions = slice.permissions.scoped(facts)
    const policies = slice.policies.scoped(facts)
    const ofSlice = known.get(slice) ?? new WeakMap<object, WeakMap<object, Concerned>>()
    known.set(slice, ofSlice)
    const ofPermissions = ofSlice.get(permissions) ?? new WeakMap<object, Concerned>()
    ofSlice.set(permissions, ofPermissions)
    const before = ofPermissions.get(policies)
    if (before !== undefined) return before
    const concerned = concernedOf(slice, facts.tool, permissions, policies)
    ofPermissions.set(policies, concerned)
    return concerned
  }
}

function concernedOf(
  slice: Slice,
  tool: ResolvedTool,
  scopedPermissions: readonly PermissionPiece[],
  scopedPolicies: readonly PolicyPiece[],
): Concerned {
  const permissions = [...slice.permissions.global, ...scopedPermissions]
  const policies = [...slice.policies.global, ...scopedPolicies]
  const scopedRules = scopedPolicies.flatMap((piece) => piece.rules)
  return {
    slice,
    permissions,
    asks: policies.some((piece) => piece.asks) || permissions.some(({ found }) => found.some(isAsking)),
    blocked: policies.flatMap((piece) => piece.blocked ?? []),
    rules: scopedRules.length === 0 ? [slice.rules] : [slice.rules, indexRules(scopedRules)],
    transforms: policies.flatMap((piece) => piece.transforms),
    budgets: policies.flatMap((piece) => piece.budgets),
    policyVersion: versionOf(tool, permissions, policies),
  }
}

function isAsking({ match }: Found): boolean {
  return match.decision === 'require-approval'
}

/**
 * Over all that matched or could have matched for this caller, tool and operation. A policy in monitor mode decides nothing,
 * and what governs other tools has no part in it: a change there makes no approval stale.
 */
function versionOf(
  { approval: { role = '', quorum, ttlMs } }: ResolvedTool,
  permissions: readonly PermissionPiece[],
  policies: readonly PolicyPiece[],
): string {
  const names = [
    ...permissions.map(({ permission }) => `ToolPermission/${permission.name}@${permission.version}`),
    ...policies.flatMap(({ policy }) =>
      policy.mode === 'monitor' ? [] : [`AgentPolicy/${policy.name}@${policy.version}`],
    ),
  ]
  return sha256Base64url(`${role} ${quorum} ${ttlMs}`, ...names.sort()).slice(0, 16)
}
