// What governance answers about these very arguments. Pure: the facts are passed in; the most restrictive answer wins (S42).
import type { ApprovalTrigger, ResolvedOperation } from '../resource/resolved-tool.ts'
import { canonicalJson } from '../util/canonical.ts'
import type { Json } from '../util/json.ts'
import { writeOnlyPaths } from '../util/json-schema.ts'
import { readPointer } from '../util/pointer.ts'

export type Decision =
  | { readonly kind: 'allow' }
  | { readonly kind: 'require-approval'; readonly reasons: readonly string[] }

export function authorize(operation: ResolvedOperation, input: Json | undefined): Decision {
  if (operation.approvalTriggers.length === 0) return ALLOW
  const fired = operation.approvalTriggers.filter((trigger) => fires(trigger, input))
  const reasons = fired.map((trigger) => reasonOf(trigger, operation))
  return reasons.length === 0 ? ALLOW : { kind: 'require-approval', reasons }
}

const ALLOW: Decision = Object.freeze({ kind: 'allow' })

/** A comparison that cannot be made (another type, nothing there) fires: what cannot be judged is asked about. */
function fires(trigger: ApprovalTrigger, input: Json | undefined): boolean {
  const actual = readPointer(input, trigger.field)
  const { op, value } = trigger
  switch (op) {
    case 'exists':
      return (actual !== undefined) === (value !== false)
    case 'eq':
      return same(actual, value)
    case 'ne':
      return !same(actual, value)
    case 'in':
      return Array.isArray(value) ? value.some((one) => same(actual, one)) : true
    case 'not_in':
      return Array.isArray(value) ? !value.some((one) => same(actual, one)) : true
    default:
      return ordered(op, actual, value)
  }
}

function ordered(
  op: 'gt' | 'gte' | 'lt' | 'lte',
  actual: Json | undefined,
  value: Json | undefined,
): boolean {
  const comparable =
    (typeof actual === 'number' && typeof value === 'number') ||
    (typeof actual === 'string' && typeof value === 'string')
  if (!comparable) return true
  if (op === 'gt') return actual > value
  if (op === 'gte') return actual >= value
  if (op === 'lt') return actual < value
  return actual <= value
}

function same(left: Json | undefined, right: Json | undefined): boolean {
  if (left === right) return true
  if (typeof left !== 'object' || typeof right !== 'object') return false
  return canonicalJson(left) === canonicalJson(right)
}

/** The value that a sensitive field is compared with may be that field's value (S5). */
function reasonOf(trigger: ApprovalTrigger, { inputSchema }: ResolvedOperation): string {
  if (trigger.reason !== undefined) return trigger.reason
  const sensitive = inputSchema !== undefined && writeOnlyPaths(inputSchema).length > 0
  const value = trigger.value === undefined || sensitive ? '' : ` ${JSON.stringify(trigger.value)}`
  return `${trigger.field} ${trigger.op}${value}`
}
