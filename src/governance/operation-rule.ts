// ToolPermissions: what they demand of whoever calls, and their verdicts by class of operation. Every rule that matches
// counts, `*` too, and the strictest wins (S42).
import type { DecisionKind } from '../contract/decision.ts'
import type { OperationVerdict, ResolvedToolPermission } from '../resource/resolved-governance.ts'
import type { OperationClass, ResolvedOperation } from '../resource/resolved-tool.ts'
import type { Found } from './found.ts'
import { hasPermission } from './held.ts'
import type { ReasonCode } from './reason-code.ts'
import type { Held } from './rules.ts'

const VERDICTS: Readonly<
  Record<
    OperationVerdict['verdict'],
    { readonly decision: DecisionKind; readonly code: ReasonCode; readonly says: string }
  >
> = Object.freeze({
  allow: { decision: 'allow', code: 'operation-allowed', says: 'allows' },
  deny: { decision: 'deny', code: 'operation-denied', says: 'denies' },
  approval_required: {
    decision: 'require-approval',
    code: 'operation-approval',
    says: 'asks for approval of',
  },
})

/** What of a ToolPermission is about one operation. */
export interface PermissionPiece {
  readonly permission: ResolvedToolPermission
  readonly found: readonly Found[]
}

export function permissionPiece(
  permission: ResolvedToolPermission,
  operation: ResolvedOperation,
): PermissionPiece {
  const found = permission.operationRules.flatMap((rule, index): Found[] => {
    if (!isOfClass(rule.operationClass, operation.classes)) return []
    const { decision, code, says } = VERDICTS[rule.verdict]
    const of = rule.operationClass === '*' ? 'every operation' : `operations of class ${rule.operationClass}`
    const match = {
      policyId: `ToolPermission/${permission.name}`,
      policyVersion: permission.version,
      rule: `operation_rules[${index}]`,
      decision,
      code,
      reason: `ToolPermission ${permission.name} ${says} ${of}`,
    }
    return [{ match, approval: permission.approval }]
  })
  return { permission, found }
}

export function isOfClass(wanted: OperationClass | '*', classes: readonly OperationClass[]): boolean {
  return wanted === '*' || classes.includes(wanted)
}

/** What the caller would have to hold besides what the tool itself asks for; undefined where it holds enough. */
export function lacking(
  { requiredPermissions, matchMode }: ResolvedToolPermission,
  held: Held,
  wildcards: boolean,
): readonly string[] | undefined {
  if (requiredPermissions.length === 0) return undefined
  const missing = requiredPermissions.filter((wanted) => !hasPermission(held, wanted, wildcards))
  const enough = matchMode === 'all' ? missing.length === 0 : missing.length < requiredPermissions.length
  return enough ? undefined : missing
}

export function foundLacking(
  { name, version, matchMode }: ResolvedToolPermission,
  missing: readonly string[],
  actor: string,
): Found {
  const what = `${matchMode === 'any' && missing.length > 1 ? 'any of ' : ''}${missing.join(', ')}`
  return {
    match: {
      policyId: `ToolPermission/${name}`,
      policyVersion: version,
      rule: 'required_permissions',
      decision: 'deny',
      code: 'permission-missing',
      reason: `${actor} lacks ${what}, which ToolPermission ${name} demands`,
    },
  }
}
