// Literal comparisons on the input. What cannot be judged restricts, and never permits.
import type { Condition } from '../resource/resolved-governance.ts'
import { canonicalJson } from '../util/canonical.ts'
import type { Json, JsonObject } from '../util/json.ts'
import { writeOnlyPaths } from '../util/json-schema.ts'
import { readPointer } from '../util/pointer.ts'

/** For what restricts: a comparison that cannot be made (another type, nothing there) counts as true. */
export function fires(condition: Condition, input: Json | undefined): boolean {
  return judge(condition, readPointer(input, condition.field)) !== false
}

/** For what permits: a comparison that cannot be made counts as false. */
export function holds(condition: Condition, input: Json | undefined): boolean {
  return judge(condition, readPointer(input, condition.field)) === true
}

/** Undefined: it cannot be judged. */
export type Judge = (actual: Json | undefined) => boolean | undefined

export function judge(condition: Omit<Condition, 'field'>, actual: Json | undefined): boolean | undefined {
  return judgeOf(condition)(actual)
}

/** The comparison alone, for rules that are asked often. */
export function judgeOf({ op, value }: Omit<Condition, 'field'>): Judge {
  switch (op) {
    case 'exists':
      return (actual) => (actual !== undefined) === (value !== false)
    case 'eq':
      return (actual) => same(actual, value)
    case 'ne':
      return (actual) => !same(actual, value) && (typeOf(actual) === typeOf(value) || undefined)
    case 'in':
      return (actual) => (Array.isArray(value) ? isIn(actual, value) : undefined)
    case 'not_in':
      return (actual) => {
        if (!Array.isArray(value)) return undefined
        return !isIn(actual, value) && (value.some((one) => typeOf(one) === typeOf(actual)) || undefined)
      }
    default:
      return typeof value === 'number' || typeof value === 'string' ? ordered(op, value) : () => undefined
  }
}

/** Numbers among numbers, texts among texts. */
function ordered(op: 'gt' | 'gte' | 'lt' | 'lte', value: number | string): Judge {
  const type = typeof value
  const known = <T>(actual: T): actual is T & (number | string) => typeof actual === type
  if (op === 'gt') return (actual) => (known(actual) ? actual > value : undefined)
  if (op === 'gte') return (actual) => (known(actual) ? actual >= value : undefined)
  if (op === 'lt') return (actual) => (known(actual) ? actual < value : undefined)
  return (actual) => (known(actual) ? actual <= value : undefined)
}

function isIn(actual: Json | undefined, values: readonly Json[]): boolean {
  return values.some((one) => same(actual, one))
}

function typeOf(value: Json | undefined): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

function same(left: Json | undefined, right: Json | undefined): boolean {
  if (left === right) return true
  if (typeof left !== 'object' || typeof right !== 'object') return false
  return canonicalJson(left) === canonicalJson(right)
}

/** The value that a sensitive field is compared with may be that field's value (S5). */
export function sayCondition({ field, op, value }: Condition, schema: JsonObject | undefined): string {
  const sensitive = schema !== undefined && writeOnlyPaths(schema).length > 0
  return `${field} ${op}${value === undefined || sensitive ? '' : ` ${JSON.stringify(value)}`}`
}
